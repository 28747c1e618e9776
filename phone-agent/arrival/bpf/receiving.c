// SPDX-License-Identifier: GPL-2.0
/*
 * Lists the TCP connections of the network namespace that the reader is in that have received data and can receive
 * more, with what an acknowledgement of theirs has. It changes nothing.
 */
#include "../../apply/ebpf/bpf/kernel.h"

/* As arrival/downloads_list.go reads it. Addresses and the remote port are in network order, the rest in the
 * processor's. */
struct receiving {
	__u32 local[4]; /* of IPv4 the first */
	__u32 remote[4];
	__u32 snd_nxt;
	__u32 rcv_nxt;
	__u32 rcv_wup; /* rcv_nxt when the window was last announced: it ends at rcv_wup + rcv_wnd */
	__u32 rcv_wnd;
	__u32 timestamp; /* what a segment of now would have (RFC 7323), in milliseconds */
	__u32 echo;
	__u32 quiet_jiffies; /* since data came */
	__u16 local_port;
	__u16 remote_port;
	__u16 family;
	__u8 window_shift;
	__u8 has_timestamps;
};

#define NS_PER_MS 1000000

static __always_inline void copy(__u32 to[4], struct in6_addr *address)
{
	to[0] = address->in6_u.u6_addr32[0];
	to[1] = address->in6_u.u6_addr32[1];
	to[2] = address->in6_u.u6_addr32[2];
	to[3] = address->in6_u.u6_addr32[3];
}

SEC("iter/tcp")
int airbound_receiving(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct receiving found = {};
	struct tcp_sock *tp;
	__u64 bits = 0;
	__u8 state;

	if (!common)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp) /* no full socket: TIME_WAIT, SYN_RECV */
		return 0;
	state = tp->inet_conn.icsk_inet.sk.__sk_common.skc_state;
	if (state != TCP_ESTABLISHED && state != TCP_FIN_WAIT1 && state != TCP_FIN_WAIT2)
		return 0;
	if (!tp->bytes_received)
		return 0;
	found.snd_nxt = tp->snd_nxt;
	found.rcv_nxt = tp->rcv_nxt;
	found.rcv_wup = tp->rcv_wup;
	found.rcv_wnd = tp->rcv_wnd;
	found.quiet_jiffies = (__u32)bpf_jiffies64() - tp->inet_conn.icsk_ack.lrcvtime;
	READ_BITS(tp, rx_opt.rcv_wscale, bits);
	found.window_shift = bits;
	READ_BITS(tp, rx_opt.tstamp_ok, bits);
	found.has_timestamps = bits;
	found.timestamp = (__u32)(bpf_ktime_get_ns() / NS_PER_MS) + tp->tsoffset;
	found.echo = tp->rx_opt.ts_recent;
	found.family = tp->inet_conn.icsk_inet.sk.__sk_common.skc_family;
	found.local_port = tp->inet_conn.icsk_inet.sk.__sk_common.skc_num;
	found.remote_port = tp->inet_conn.icsk_inet.sk.__sk_common.skc_dport;
	if (found.family == AF_INET) {
		found.local[0] = tp->inet_conn.icsk_inet.sk.__sk_common.skc_rcv_saddr;
		found.remote[0] = tp->inet_conn.icsk_inet.sk.__sk_common.skc_daddr;
	} else {
		copy(found.local, &tp->inet_conn.icsk_inet.sk.__sk_common.skc_v6_rcv_saddr);
		copy(found.remote, &tp->inet_conn.icsk_inet.sk.__sk_common.skc_v6_daddr);
	}
	bpf_seq_write(ctx->meta->seq, &found, sizeof(found));
	return 0;
}

/* bpf_seq_write, bpf_jiffies64 and bpf_ktime_get_ns are for programs under the GPL only. */
char airbound_license[] SEC("license") = "GPL";
