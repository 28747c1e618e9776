# SPDX-License-Identifier: Apache-2.0
#
# Makes the hooks of kernel/tests/cost/count_insns.c from a System.map: a system call belongs to the sender if it sends
# a datagram, and so does the tasklet in which mac80211 takes the status of a frame that was sent. Nothing is received.
BEGIN {
	kind["do_syscall_64"] = "span"
	kind["finish_task_switch"] = "span"
	kind["handle_softirqs"] = "softirq"
	kind["net_rx_action"] = "vector"
	kind["net_tx_action"] = "vector"
	kind["tasklet_action_common"] = "vector"
	kind["run_timer_softirq"] = "vector"
	kind["hrtimer_run_softirq"] = "vector"
	kind["rcu_core"] = "vector"
	kind["udp_sendmsg"] = "sender"
	kind["ieee80211_tasklet_handler"] = "sender"
}

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
