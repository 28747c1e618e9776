// SPDX-License-Identifier: GPL-2.0
/*
 * Visits every TCP socket of the network namespace that the reader is in, and sets or lifts the maximum of those in
 * the cgroup. User space runs it for each set of rules, and to restore the kernel's defaults.
 */
#include "rules.h"

/* A cgroup lies at most so deep; the kernel itself has no limit. */
#define DEPTH_MAX 64

struct visited {
	/* Connections in the network namespace and the cgroup. */
	__u64 connections;
	/* Of those, the ones that had a maximum before, and those that have one now. */
	__u64 bounded_before;
	__u64 bounded;
	__u64 failed;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct visited);
} airbound_seen SEC(".maps");

/* Only count: set nothing. */
volatile const bool count_only = 0;

static __always_inline bool is_below(struct cgroup *cgroup, __u64 ancestor_id)
{
	struct cgroup_subsys_state *parent;
	int depth;

	for (depth = 0; cgroup && depth < DEPTH_MAX; depth++) {
		if (cgroup->kn->id == ancestor_id)
			return 1;
		parent = cgroup->self.parent;
		cgroup = parent ? parent->cgroup : NULL;
	}
	return 0;
}

SEC("iter/tcp")
int airbound_old(struct bpf_iter__tcp *ctx)
{
	struct sock_common *common = ctx->sk_common;
	struct config *config = configuration();
	struct remote remote = {};
	struct visited *visited;
	struct tcp_sock *tp;
	struct rule *rule;
	__u32 zero = 0, now, wanted;
	__u8 state;
	int flags;

	visited = bpf_map_lookup_elem(&airbound_seen, &zero);
	if (!common || !config || !visited)
		return 0;
	tp = bpf_skc_to_tcp_sock(common);
	if (!tp) /* no full socket: TIME_WAIT, SYN_RECV */
		return 0;
	state = tp->inet_conn.icsk_inet.sk.__sk_common.skc_state;
	if (state == TCP_LISTEN || state == TCP_CLOSE)
		return 0;
	if (!is_below(tp->inet_conn.icsk_inet.sk.sk_cgrp_data.cgroup, config->cgroup_id))
		return 0;
	visited->connections++;
	if (tp->inet_conn.icsk_inet.sk.__sk_common.skc_family == AF_INET) {
		set_ipv4(&remote, tp->inet_conn.icsk_inet.sk.__sk_common.skc_daddr);
	} else {
		struct in6_addr *address = &tp->inet_conn.icsk_inet.sk.__sk_common.skc_v6_daddr;

		set_ipv6(&remote, address->in6_u.u6_addr32[0], address->in6_u.u6_addr32[1],
			 address->in6_u.u6_addr32[2], address->in6_u.u6_addr32[3]);
	}
	rule = rule_of(config, &remote, 1, tp->inet_conn.icsk_inet.sk.sk_uid.val);
	wanted = rule ? rule->max_segs : NO_MAXIMUM;
	now = tp->snd_cwnd_clamp;
	if (now < NO_MAXIMUM)
		visited->bounded_before++;
	if (rule)
		visited->bounded++;
	if (count_only || now == wanted || (now >= NO_MAXIMUM && !rule))
		return 0;
	if (rule) {
		count_lowered(rule, tp->snd_cwnd);
		/* Where the kernel can (6.12), the other program sees the round trips of this connection as well. */
		flags = tp->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RTT_CB_FLAG;
		bpf_setsockopt(tp, SOL_TCP, TCP_BPF_SOCK_OPS_CB_FLAGS, &flags, sizeof(flags));
	}
	if (bpf_setsockopt(tp, SOL_TCP, TCP_BPF_SNDCWND_CLAMP, &wanted, sizeof(wanted)))
		visited->failed++;
	return 0;
}
