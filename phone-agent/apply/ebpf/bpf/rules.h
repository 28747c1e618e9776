/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The rules in force, as both programs read them. A set of rules is written to the slot that is not in force, and one
 * store to config.slot then makes it the one in force. User space has put the smallest of all maxima that match into
 * each prefix and uid already (the longest prefix alone would not be the smallest maximum), so that three look-ups
 * find the maximum of a connection. A fourth one comes first, where a socket's uid can be read: if there are rules for
 * the uid and the destination together, the one with the longest prefix alone is in force.
 */
#ifndef AIRBOUND_RULES_H
#define AIRBOUND_RULES_H

#include "kernel.h"

#define SLOTS 2
#define RULES_MAX 256
#define NO_RULE 0xffffffff
/* Lifts a maximum. TCP_INFINITE_SSTHRESH: the clamp sets ssthresh as well, see README. */
#define NO_MAXIMUM 0x7fffffff

struct config {
	/* 0 or 1; anything else: no rules are in force. */
	__u32 slot;
	/* Of the network namespace whose connections are bounded. */
	__u32 netns_inum;
	__u64 netns_cookie;
	/* The lease ends, on CLOCK_BOOTTIME. */
	__u64 deadline_ns;
	__u64 cgroup_id;
	/* Of each slot: the rule for all connections, or NO_RULE. */
	__u32 all[SLOTS];
	/* The process that sets the rules; 0 if it has ended and only maxima are to be lifted. */
	__u32 agent_pid;
	__u32 reserved;
};

struct rule {
	__u8 address[16];
	__u32 kind;
	__u32 family;
	__u32 length_bits;
	__u32 uid;
	__u32 max_segs;
	__u32 reserved;
	/* How often a window was found at the maximum or above. */
	__u64 lowered;
};

struct prefix_key {
	__u32 length_bits;
	__u16 slot;
	__u16 family;
	__u8 address[16];
};

struct uid_key {
	__u32 slot;
	__u32 uid;
};

struct uid_dst_key {
	__u32 length_bits;
	__u16 slot;
	__u16 family;
	__u32 uid;
	__u8 address[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct config);
} airbound_config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS * RULES_MAX);
	__type(key, __u32);
	__type(value, struct rule);
} airbound_rules SEC(".maps");

/* The value is the number of a rule. */
struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SLOTS * RULES_MAX);
	__type(key, struct prefix_key);
	__type(value, __u32);
} airbound_dst SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SLOTS * RULES_MAX);
	__type(key, struct uid_key);
	__type(value, __u32);
} airbound_uid SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SLOTS * RULES_MAX);
	__type(key, struct uid_dst_key);
	__type(value, __u32);
} airbound_uiddst SEC(".maps");

/* The other end of a connection. */
struct remote {
	__u16 family;
	__u32 words[4];
};

static __always_inline void set_ipv4(struct remote *remote, __u32 address)
{
	remote->family = AF_INET;
	remote->words[0] = address;
	remote->words[1] = 0;
	remote->words[2] = 0;
	remote->words[3] = 0;
}

static __always_inline void set_ipv6(struct remote *remote, __u32 a, __u32 b, __u32 c, __u32 d)
{
	/* An IPv4 connection of an IPv6 socket: ::ffff:0:0/96. */
	if (a == 0 && b == 0 && c == __builtin_bswap32(0xffff)) {
		set_ipv4(remote, d);
		return;
	}
	remote->family = AF_INET6;
	remote->words[0] = a;
	remote->words[1] = b;
	remote->words[2] = c;
	remote->words[3] = d;
}

static __always_inline struct config *configuration(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&airbound_config, &zero);
}

static __always_inline struct rule *tighter(struct rule *tightest, __u32 number)
{
	struct rule *rule = bpf_map_lookup_elem(&airbound_rules, &number);

	if (!rule || (tightest && tightest->max_segs <= rule->max_segs))
		return tightest;
	return rule;
}

/* The rule for the uid and the longest prefix that matches, or NULL. */
static __always_inline struct rule *specific(__u32 slot, struct remote *remote, __u32 uid)
{
	struct uid_dst_key key = { .length_bits = 8 * (sizeof(key) - sizeof(key.length_bits)) };
	__u32 *number;

	key.slot = slot;
	key.family = remote->family;
	key.uid = uid;
	__builtin_memcpy(key.address, remote->words, sizeof(key.address));
	number = bpf_map_lookup_elem(&airbound_uiddst, &key);
	return number ? tighter(NULL, *number) : NULL;
}

/* The rule in force for a connection, or NULL. */
static __always_inline struct rule *rule_of(struct config *config, struct remote *remote, bool has_uid, __u32 uid)
{
	__u32 slot = *(volatile __u32 *)&config->slot, *number;
	struct rule *tightest = NULL;
	struct prefix_key prefix = { .length_bits = 8 * (sizeof(prefix) - sizeof(prefix.length_bits)) };

	if (slot >= SLOTS || bpf_ktime_get_boot_ns() >= config->deadline_ns)
		return NULL;
	if (has_uid) {
		struct rule *alone = specific(slot, remote, uid);

		if (alone)
			return alone;
	}
	tightest = tighter(tightest, slot == 0 ? config->all[0] : config->all[1]);
	prefix.slot = slot;
	prefix.family = remote->family;
	__builtin_memcpy(prefix.address, remote->words, sizeof(prefix.address));
	number = bpf_map_lookup_elem(&airbound_dst, &prefix);
	if (number)
		tightest = tighter(tightest, *number);
	if (has_uid) {
		struct uid_key key = { .slot = slot, .uid = uid };

		number = bpf_map_lookup_elem(&airbound_uid, &key);
		if (number)
			tightest = tighter(tightest, *number);
	}
	return tightest;
}

static __always_inline void count_lowered(struct rule *rule, __u32 cwnd_segs)
{
	if (cwnd_segs >= rule->max_segs)
		__sync_fetch_and_add(&rule->lowered, 1);
}

char airbound_license[] SEC("license") = "GPL";

#endif
