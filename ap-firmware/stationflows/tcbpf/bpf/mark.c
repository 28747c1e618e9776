// SPDX-License-Identifier: GPL-2.0-only
/*
 * Gives packets from an address to a station another access category, at the egress of a BSS's interface.
 *
 * cfg80211_classify8021d (net/wireless/util.c) takes a priority of 256 to 263 for the user priority itself, before it
 * looks at the packet's DSCP, and the queue is chosen after this program has run (net/core/dev.c: sch_handle_egress,
 * then netdev_core_pick_tx). So no octet of the packet changes, and what sends the frame is the only one to see it.
 *
 * Whose a packet is, its Ethernet destination says: the address of the station. Its IP source is the other part of the
 * key. Up to two VLAN tags may be between them; a tag that is beside the packet is none of its octets.
 *
 * The set has a lease, whose end is compared here with the clock.
 */
#include "../../../windows/tcbpf/bpf/kernel.h"

enum {
	ETHERTYPE_AT = 12,
	ETH_BYTES = 14,
	VLAN_BYTES = 4,
	VLANS_MAX = 2,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_QINQ = 0x88a8,
	IPV4_SOURCE_AT = 12,
	IPV6_SOURCE_AT = 8,
};

struct mark_key {
	__u8 mac[6];
	__u8 family; /* 4 or 6 */
	__u8 pad;
	__u8 address[16];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 512);
	__type(key, struct mark_key);
	__type(value, __u32); /* the packets' priority */
} airbound_marks SEC(".maps");

/* When the lease ends, CLOCK_MONOTONIC; ns. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} airbound_deadline SEC(".maps");

/* Packets that had another priority. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} airbound_marked SEC(".maps");

static __always_inline bool parse(struct __sk_buff *skb, struct mark_key *key)
{
	__u32 ip_at = ETH_BYTES;
	__u16 ethertype;
	int i;

	if (bpf_skb_load_bytes(skb, 0, key->mac, sizeof(key->mac)) ||
	    bpf_skb_load_bytes(skb, ETHERTYPE_AT, &ethertype, sizeof(ethertype)))
		return 0;
	for (i = 0; i < VLANS_MAX; i++) {
		if (be16(ethertype) != ETHERTYPE_VLAN && be16(ethertype) != ETHERTYPE_QINQ)
			break;
		if (bpf_skb_load_bytes(skb, ip_at + 2, &ethertype, sizeof(ethertype)))
			return 0;
		ip_at += VLAN_BYTES;
	}
	if (be16(ethertype) == ETHERTYPE_IPV4) {
		key->family = 4;
		return !bpf_skb_load_bytes(skb, ip_at + IPV4_SOURCE_AT, key->address, 4);
	}
	if (be16(ethertype) == ETHERTYPE_IPV6) {
		key->family = 6;
		return !bpf_skb_load_bytes(skb, ip_at + IPV6_SOURCE_AT, key->address, 16);
	}
	return 0;
}

SEC("tc")
int airbound_mark(struct __sk_buff *skb)
{
	struct mark_key key = {};
	__u64 *deadline_ns, *marked;
	__u32 zero = 0, *priority;

	deadline_ns = bpf_map_lookup_elem(&airbound_deadline, &zero);
	if (!deadline_ns || bpf_ktime_get_ns() >= *deadline_ns || !parse(skb, &key))
		return CONTINUE;
	priority = bpf_map_lookup_elem(&airbound_marks, &key);
	if (!priority || skb->priority == *priority)
		return CONTINUE;
	skb->priority = *priority;
	marked = bpf_map_lookup_elem(&airbound_marked, &zero);
	if (marked)
		__sync_fetch_and_add(marked, 1);
	return CONTINUE;
}

char _license[] SEC("license") = "GPL";
