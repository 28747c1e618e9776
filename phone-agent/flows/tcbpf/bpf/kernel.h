/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the program needs of the kernel's interface, and no more: helpers and constants of the user space API by their
 * numbers, which never change. Nothing is read of the kernel's own structures, so a kernel without BTF will do.
 */
#ifndef AIRBOUND_KERNEL_H
#define AIRBOUND_KERNEL_H

typedef unsigned char __u8;
typedef unsigned short __u16;
typedef unsigned int __u32;
typedef unsigned long long __u64;
typedef _Bool bool;

#define NULL ((void *)0)
#define SEC(name) __attribute__((section(name), used))
#define __always_inline inline __attribute__((always_inline))

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define be16(value) __builtin_bswap16(value)
#else
#define be16(value) ((__u16)(value))
#endif

/* A map's definition, as the loader reads it from the object's BTF. */
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) * name

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_F_NO_PREALLOC = 1,
	BPF_HDR_START_NET = 1,
};

enum {
	/* The next program or filter of the interface decides: TC_ACT_UNSPEC of clsact, TCX_NEXT of TCX. */
	CONTINUE = -1,
	/* The packet is dropped: TC_ACT_SHOT, TCX_DROP. */
	DROP = 2,
};

/* The context of a tc program, up to the last field that is used. */
struct __sk_buff {
	__u32 len;
	__u32 pkt_type;
	__u32 mark;
	__u32 queue_mapping;
	__u32 protocol;
	__u32 vlan_present;
	__u32 vlan_tci;
	__u32 vlan_proto;
	__u32 priority;
	__u32 unused[27];
	__u64 flow_keys;
	__u64 tstamp;
	__u32 wire_len;
	__u32 gso_segs;
};

struct bpf_spin_lock {
	__u32 val;
};

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static __u32 (*bpf_get_socket_uid)(struct __sk_buff *skb) = (void *)47;
static long (*bpf_skb_load_bytes_relative)(const struct __sk_buff *skb, __u32 offset, void *to, __u32 len,
					   __u32 start) = (void *)68;
static long (*bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static __u64 (*bpf_ktime_get_boot_ns)(void) = (void *)125;

#endif
