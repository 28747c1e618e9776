// SPDX-License-Identifier: GPL-2.0
/*
 * Lists the TCP connections of the network namespace that the reader is in whose retransmission timer has expired since
 * the last acknowledgement. It changes nothing. A SYN that is unanswered is not among them: to the kernel the message
 * that user space then sends would be the end of such a connection.
 */
#include "../../apply/ebpf/bpf/kernel.h"

/* As arrival/list.go reads it. Addresses and the remote port are in network order, the rest in the processor's. */
struct unanswered {
	__u32 local[4]; /* of IPv4 the first */
	__u32 remote[4];
	__u32 snd_una;
	__u16 local_port;
	__u16 remote_port;
	__u16 family;
	__u8 retransmits;
	__u8 backoff;
};

static __always_inline void copy(__u32 to[4], struct in6_addr *address)
{
	to[0] = address->in6_u.u6_addr32[0];
	to[1] = address->in6_u.u6_addr32[1];
	to[2] = address->in6_u.u6_addr32[2];
	to[3] = address->in6_u.u6_addr32[3];
}

SEC("iter/tcp")
int airbound_unanswered(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct unanswered found = {};
	struct tcp_sock *tp;
	__u8 state;

	if (!common)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp) /* no full socket: TIME_WAIT, SYN_RECV */
		return 0;
	state = tp->inet_conn.icsk_inet.sk.__sk_common.skc_state;
	found.retransmits = tp->inet_conn.icsk_retransmits;
	if (state == TCP_LISTEN || state == TCP_CLOSE || state == TCP_SYN_SENT || !found.retransmits)
		return 0;
	found.backoff = tp->inet_conn.icsk_backoff;
	found.snd_una = tp->snd_una;
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

/* bpf_seq_write is for programs under the GPL only. */
char airbound_license[] SEC("license") = "GPL";
