// SPDX-License-Identifier: GPL-2.0
/*
 * Bounds connections of a cgroup from when they are established: at that moment, and with each round trip (the
 * kernel calls once for each), so that other rules, and the end of the lease, reach connections that are in use.
 *
 * Built twice: with the kernel's BTF, and without it (PLAIN). The plain one cannot read a socket's uid or clamp. It
 * remembers what it has set in the socket's storage, and counts the connections that have a maximum: without the
 * iterator nothing else can lift it, so the program must stay until there are none.
 */
#include "rules.h"

#ifdef PLAIN
/* Whether bpf_get_netns_cookie may be called, which is since Linux 5.15: set by the loader. */
volatile const bool check_netns_cookie = 1;

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, __u32);
} airbound_set SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} airbound_left SEC(".maps");

static __always_inline void count_left(__u64 difference)
{
	__u32 zero = 0;
	__u64 *left = bpf_map_lookup_elem(&airbound_left, &zero);

	if (left)
		__sync_fetch_and_add(left, difference);
}
#endif

static __always_inline void set_clamp(struct bpf_sock_ops *ctx, int segs)
{
	bpf_setsockopt(ctx, SOL_TCP, TCP_BPF_SNDCWND_CLAMP, &segs, sizeof(segs));
}

static __always_inline void update(struct bpf_sock_ops *ctx, void *sk, struct config *config)
{
	__u32 family = ctx->family, cwnd = ctx->snd_cwnd;
	struct remote remote = {};
	struct rule *rule;
	__u32 wanted;

	if (family == AF_INET) {
		set_ipv4(&remote, ctx->remote_ip4);
	} else {
		__u32 a = ctx->remote_ip6[0], b = ctx->remote_ip6[1], c = ctx->remote_ip6[2], d = ctx->remote_ip6[3];

		set_ipv6(&remote, a, b, c, d);
	}
#ifdef PLAIN
	{
		__u32 *set = bpf_sk_storage_get(&airbound_set, sk, NULL, 0);
		__u32 now = set ? *set : NO_MAXIMUM;

		rule = rule_of(config, &remote, 0, 0);
		wanted = rule ? rule->max_segs : NO_MAXIMUM;
		if (rule)
			count_lowered(rule, cwnd);
		if (now == wanted)
			return;
		if (!set)
			set = bpf_sk_storage_get(&airbound_set, sk, NULL, BPF_SK_STORAGE_GET_F_CREATE);
		if (!set) /* no memory: what is not remembered could not be lifted */
			return;
		if (now == NO_MAXIMUM)
			count_left(1);
		if (wanted == NO_MAXIMUM)
			count_left(-1);
		*set = wanted;
		set_clamp(ctx, wanted);
	}
#else
	{
		struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
		__u32 now;

		if (!tp || tp->inet_conn.icsk_inet.sk.__sk_common.skc_net.net->ns.inum != config->netns_inum)
			return;
		rule = rule_of(config, &remote, 1, tp->inet_conn.icsk_inet.sk.sk_uid.val);
		wanted = rule ? rule->max_segs : NO_MAXIMUM;
		if (rule)
			count_lowered(rule, cwnd);
		now = tp->snd_cwnd_clamp;
		if (now == wanted || (now >= NO_MAXIMUM && wanted == NO_MAXIMUM))
			return;
		set_clamp(ctx, wanted);
	}
#endif
}

SEC("sockops")
int airbound_new(struct bpf_sock_ops *ctx)
{
	struct config *config = configuration();
	void *sk = ctx->sk;
	__u32 op = ctx->op;

	if (op != BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB && op != BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB &&
	    op != BPF_SOCK_OPS_RTT_CB && op != BPF_SOCK_OPS_STATE_CB)
		return 1;
	if (!config || !sk || !ctx->is_fullsock)
		return 1;
#ifdef PLAIN
	if (check_netns_cookie && bpf_get_netns_cookie(ctx) != config->netns_cookie)
		return 1;
	if (op == BPF_SOCK_OPS_STATE_CB) {
		__u32 *set;

		if (ctx->args[1] != TCP_CLOSE)
			return 1;
		set = bpf_sk_storage_get(&airbound_set, sk, NULL, 0);
		if (set && *set != NO_MAXIMUM) {
			*set = NO_MAXIMUM;
			count_left(-1);
		}
		return 1;
	}
#else
	if (op == BPF_SOCK_OPS_STATE_CB)
		return 1;
#endif
	if (op != BPF_SOCK_OPS_RTT_CB) {
		__u32 flags = ctx->bpf_sock_ops_cb_flags | BPF_SOCK_OPS_RTT_CB_FLAG;

#ifdef PLAIN
		flags |= BPF_SOCK_OPS_STATE_CB_FLAG;
#endif
		bpf_sock_ops_cb_flags_set(ctx, flags);
	}
	update(ctx, sk, config);
	return 1;
}
