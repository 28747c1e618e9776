# SPDX-License-Identifier: GPL-2.0
#
# Makes the hooks of count_insns.c from a System.map.
#
# Only a sender of data calls tcp_sendmsg_locked, tcp_write_xmit or, in tcp_ack with data outstanding, tcp_rate_gen;
# tcp_tsq_handler and tcp_write_timer_handler are its tasklet and its timer. Functions that receive, forward or delay
# are "other" where they could share a span with a sender.
BEGIN {
	kind["do_syscall_64"] = "span"
	kind["finish_task_switch"] = "span"
	kind["handle_softirqs"] = "softirq"
	kind["net_rx_action"] = "vector"
	kind["net_tx_action"] = "vector"
	kind["tasklet_action_common"] = "vector"
	kind["run_timer_softirq"] = "vector"
	kind["call_timer_fn"] = "vector"
	kind["hrtimer_run_softirq"] = "vector"
	kind["rcu_core"] = "vector"
	kind["__netif_receive_skb_one_core"] = "packet"
	kind["tcp_sendmsg_locked"] = "sender"
	kind["tcp_write_xmit"] = "sender"
	kind["tcp_rate_gen"] = "sender"
	kind["tcp_tsq_handler"] = "sender"
	kind["tcp_write_timer_handler"] = "sender"
	kind["sk_stream_wait_memory"] = "sender"
	kind["tcp_recvmsg_locked"] = "other"
	kind["ip_forward"] = "other"
	kind["netem_dequeue"] = "other"
}

# The compiler adds suffixes to copies of a function; parts that it split off are called from the function.
{
	name = $3
	sub(/\.(isra|constprop|part).*/, "", name)
}

waiting && $1 != first {
	print waiting, first, $1
	waiting = ""
}

$2 ~ /^[tT]$/ && name in kind {
	waiting = kind[name]
	first = $1
	found[name] = 1
}

END {
	for (name in kind)
		if (!(name in found)) {
			print "hooks: no function " name > "/dev/stderr"
			exit 1
		}
}
