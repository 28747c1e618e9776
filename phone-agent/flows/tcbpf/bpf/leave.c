// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives packets of a phone another access category, and packets of UDP a rate, at the egress of the Wi-Fi interface.
 *
 * The category is that of skb->priority: 256 and a user priority is that priority (cfg80211_classify8021d() of
 * net/wireless/util.c), whatever the packet's DSCP. Egress comes before the choice of the queue, which goes by it
 * (sch_handle_egress() and netdev_core_pick_tx() of net/core/dev.c). No octet of the packet changes.
 *
 * Of the flows that match a packet the most specific one decides: of the app and to the address, of the app, to the
 * address, all. A packet that is forwarded, as of a tethered device, or that has no socket any more is no app's:
 * bpf_get_socket_uid() then returns the overflow uid, which no flow may have, so that only flows without a uid match it.
 *
 * A rate is that of a bucket which is emptied by time and has room for BURST_NS of it: a packet passes if the bucket has
 * not flowed over yet, and is dropped otherwise (the virtual scheduling of ITU-T I.371's generic cell rate algorithm).
 * So also a GSO packet that is larger than the bucket passes, and delays the next ones by all of its bytes: wire_len has
 * the headers of each of its segments (qdisc_pkt_len_init() of net/core/dev.c). The application sees what it sees of a
 * full queue: nothing, or ENOBUFS if it has asked for errors.
 *
 * The set has a lease, whose end is compared here with the clock: if nobody renews it, packets leave as they are. There
 * are two slots of flows; one word says which is in force, so that a set is replaced as a whole.
 */
#include "kernel.h"

enum {
	ETH_BYTES = 14,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	PROTOCOL_UDP = 17,
	PROTOCOL_FRAGMENT = 44,
	IPV4_PROTOCOL_AT = 9,
	IPV4_DESTINATION_AT = 16,
	IPV4_BYTES = 20, /* without options */
	IPV6_PROTOCOL_AT = 6,
	IPV6_DESTINATION_AT = 24,
	IPV6_BYTES = 40,
	SLOTS = 2,
	FLOWS_MAX = 64,
};

enum { /* state.kinds: which selectors a slot has */
	BY_BOTH = 1 << 0,
	BY_UID = 1 << 1,
	BY_ADDRESS = 1 << 2,
	BY_NOTHING = 1 << 3,
};

#define BITS_NS 8000000000ULL /* a byte's bits, in nanoseconds of a bit a second */
#define BURST_NS 50000000ULL

struct key {
	__u32 uid;
	__u8 slot;
	__u8 has_uid;
	__u8 family; /* 4 or 6; 0 for every address */
	__u8 pad;
	__u8 address[16];
};

struct flow {
	struct bpf_spin_lock lock;
	__u32 priority; /* 0 leaves the packet's own */
	__u64 udp_bps;	/* 0: as they come */
	/* When the bucket will be empty, CLOCK_BOOTTIME. */
	__u64 empty_ns;
};

struct state {
	/* When the lease ends, CLOCK_BOOTTIME. */
	__u64 deadline_ns;
	__u32 slot;
	__u32 kinds[SLOTS];
	__u32 pad;
};

struct counters {
	__u64 marked;
	__u64 dropped;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, SLOTS * FLOWS_MAX);
	__type(key, struct key);
	__type(value, struct flow);
} airbound_flows SEC(".maps");

/* The flow without a selector, by slot: most sets have no other, and the kernel looks into an array without a call. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct flow);
} airbound_every SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct state);
} airbound_state SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct counters);
} airbound_counts SEC(".maps");

static __always_inline long load(const struct __sk_buff *skb, __u32 at, void *to, __u32 bytes)
{
	return bpf_skb_load_bytes_relative(skb, at, to, bytes, BPF_HDR_START_NET);
}

/* Fills in the destination of the key, and returns the protocol above IP; or 0 if it is neither IPv4 nor IPv6. */
static __always_inline __u8 parse(const struct __sk_buff *skb, struct key *key)
{
	__u8 header[IPV6_BYTES], protocol = 0;

	if (skb->protocol == be16(ETHERTYPE_IPV4)) {
		if (load(skb, 0, header, IPV4_BYTES))
			return 0;
		protocol = header[IPV4_PROTOCOL_AT];
		__builtin_memcpy(key->address, header + IPV4_DESTINATION_AT, 4);
		key->family = 4;
	} else if (skb->protocol == be16(ETHERTYPE_IPV6)) {
		if (load(skb, 0, header, IPV6_BYTES))
			return 0;
		protocol = header[IPV6_PROTOCOL_AT];
		__builtin_memcpy(key->address, header + IPV6_DESTINATION_AT, sizeof(key->address));
		/* A datagram larger than a packet. Other extension headers are not looked behind: no phone sends them. */
		if (protocol == PROTOCOL_FRAGMENT && load(skb, IPV6_BYTES, &protocol, sizeof(protocol)))
			return 0;
		key->family = 6;
	}
	return protocol;
}

static __always_inline struct flow *find(struct __sk_buff *skb, struct key *key, __u32 kinds)
{
	struct flow *flow = NULL;

	if (kinds & (BY_BOTH | BY_UID)) {
		key->uid = bpf_get_socket_uid(skb);
		key->has_uid = 1;
	}
	if (kinds & BY_BOTH)
		flow = bpf_map_lookup_elem(&airbound_flows, key);
	if (!flow && kinds & BY_UID) {
		struct key of_app = {.uid = key->uid, .slot = key->slot, .has_uid = 1};

		flow = bpf_map_lookup_elem(&airbound_flows, &of_app);
	}
	if (!flow && kinds & BY_ADDRESS) {
		key->uid = 0;
		key->has_uid = 0;
		flow = bpf_map_lookup_elem(&airbound_flows, key);
	}
	if (!flow && kinds & BY_NOTHING) {
		__u32 slot = key->slot;

		flow = bpf_map_lookup_elem(&airbound_every, &slot);
	}
	return flow;
}

/* Whether a packet of UDP may leave now. */
static __always_inline bool passes(const struct __sk_buff *skb, struct flow *flow, __u64 bps, __u64 now_ns)
{
	__u32 segments = skb->gso_segs ? skb->gso_segs : 1;
	__u64 bytes = skb->wire_len - segments * ETH_BYTES;
	__u64 takes_ns = bytes * BITS_NS / bps;
	bool has_room;

	bpf_spin_lock(&flow->lock);
	if (flow->empty_ns < now_ns)
		flow->empty_ns = now_ns;
	has_room = flow->empty_ns <= now_ns + BURST_NS;
	if (has_room)
		flow->empty_ns += takes_ns;
	bpf_spin_unlock(&flow->lock);
	return has_room;
}

enum what { MARKED, DROPPED };

static __always_inline void count(enum what what)
{
	struct counters *counts;
	__u32 zero = 0;

	counts = bpf_map_lookup_elem(&airbound_counts, &zero);
	if (counts)
		__sync_fetch_and_add(what == MARKED ? &counts->marked : &counts->dropped, 1);
}

SEC("tc")
int airbound_leave(struct __sk_buff *skb)
{
	struct key key = {};
	struct state *state;
	struct flow *flow;
	__u32 zero = 0, slot;
	__u64 now_ns, bps;
	__u8 protocol;

	state = bpf_map_lookup_elem(&airbound_state, &zero);
	if (!state)
		return CONTINUE;
	now_ns = bpf_ktime_get_boot_ns();
	slot = state->slot;
	if (now_ns >= state->deadline_ns || slot >= SLOTS)
		return CONTINUE;
	protocol = parse(skb, &key);
	if (!protocol)
		return CONTINUE;
	key.slot = slot;
	flow = find(skb, &key, state->kinds[slot]);
	if (!flow)
		return CONTINUE;
	bps = flow->udp_bps;
	if (bps && protocol == PROTOCOL_UDP && !passes(skb, flow, bps, now_ns)) {
		count(DROPPED);
		return DROP;
	}
	if (flow->priority && skb->priority != flow->priority) {
		skb->priority = flow->priority;
		count(MARKED);
	}
	return CONTINUE;
}

char airbound_license[] SEC("license") = "GPL";
