/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the programs need of the kernel's interface, and no more: helpers and constants of the user space API by their
 * numbers, which never change, and the fields that are read of the kernel's own structures. Their offsets are put in
 * by the loader from the running kernel's BTF (preserve_access_index), so a field may lie anywhere. With this in place
 * of a generated vmlinux.h and of libbpf's headers, the objects depend on nothing but the compiler.
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

/* A map's definition, as the loader reads it from the object's BTF. */
#define __uint(name, value) int (*name)[value]
#define __type(name, value) __typeof__(value) * name

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_LPM_TRIE = 11,
	BPF_MAP_TYPE_SK_STORAGE = 24,
	BPF_F_NO_PREALLOC = 1,
	BPF_SK_STORAGE_GET_F_CREATE = 1,
};

enum { /* bpf_sock_ops.op */
	BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB = 4,
	BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB = 5,
	BPF_SOCK_OPS_STATE_CB = 10,
	BPF_SOCK_OPS_RTT_CB = 12,
};

enum { /* bpf_sock_ops.bpf_sock_ops_cb_flags */
	BPF_SOCK_OPS_STATE_CB_FLAG = 1 << 2,
	BPF_SOCK_OPS_RTT_CB_FLAG = 1 << 3,
};

enum {
	SOL_TCP = 6,
	TCP_BPF_SNDCWND_CLAMP = 1002,
	TCP_BPF_SOCK_OPS_CB_FLAGS = 1008, /* since Linux 6.12 */
	AF_INET = 2,
	AF_INET6 = 10,
	TCP_ESTABLISHED = 1,
	TCP_SYN_SENT = 2,
	TCP_FIN_WAIT1 = 4,
	TCP_FIN_WAIT2 = 5,
	TCP_CLOSE = 7,
	TCP_LISTEN = 10,
};

/* The context of a sockops program, up to the last field that is read. */
struct bpf_sock_ops {
	__u32 op;
	__u32 args[4];
	__u32 family;
	__u32 remote_ip4;
	__u32 local_ip4;
	__u32 remote_ip6[4];
	__u32 local_ip6[4];
	__u32 remote_port;
	__u32 local_port;
	__u32 is_fullsock;
	__u32 snd_cwnd;
	__u32 srtt_us;
	__u32 bpf_sock_ops_cb_flags;
	__u32 state;
	__u32 rtt_min;
	__u32 snd_ssthresh;
	__u32 rcv_nxt;
	__u32 snd_nxt;
	__u32 snd_una;
	__u32 mss_cache;
	__u32 ecn_flags;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	__u32 packets_out;
	__u32 retrans_out;
	__u32 total_retrans;
	__u32 segs_in;
	__u32 data_segs_in;
	__u32 segs_out;
	__u32 data_segs_out;
	__u32 lost_out;
	__u32 sacked_out;
	__u32 sk_txhash;
	__u64 bytes_received;
	__u64 bytes_acked;
	void *sk;
};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct ns_common {
	unsigned int inum;
};

struct net {
	struct ns_common ns;
};

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
};

typedef struct {
	struct net *net;
} possible_net_t;

typedef struct {
	unsigned int val;
} kuid_t;

struct kernfs_node {
	__u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct sock_common {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	__u16 skc_family;
	volatile __u8 skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	kuid_t sk_uid;
	struct sock_cgroup_data sk_cgrp_data;
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	__u8 icsk_retransmits;
	__u8 icsk_backoff;
	struct {
		__u32 lrcvtime;
	} icsk_ack;
};

struct tcp_options_received {
	__u32 ts_recent;
	__u16 tstamp_ok : 1;
	__u16 rcv_wscale : 4;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u64 bytes_received;
	__u32 rcv_nxt;
	__u32 rcv_wup;
	__u32 rcv_wnd;
	__u32 snd_nxt;
	__u32 snd_cwnd;
	__u32 snd_cwnd_clamp;
	__u32 snd_una;
	__u32 tsoffset;
	struct tcp_options_received rx_opt;
	__u8 bpf_sock_ops_cb_flags;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

#pragma clang attribute pop

/*
 * READ_BITS(pointer, field, to) reads a field of less than an octet's size or alignment. The loader puts in where the
 * octets are that have it (clang's __builtin_preserve_field_info, as in libbpf's bpf_core_read.h).
 */
#define FIELD_BYTE_OFFSET 0
#define FIELD_BYTE_SIZE 1
#define FIELD_LSHIFT_U64 4
#define FIELD_RSHIFT_U64 5
#define READ_BITS(pointer, field, to)                                                                                 \
	do {                                                                                                          \
		const void *at = (const void *)(pointer) +                                                            \
				 __builtin_preserve_field_info((pointer)->field, FIELD_BYTE_OFFSET);                  \
                                                                                                                      \
		switch (__builtin_preserve_field_info((pointer)->field, FIELD_BYTE_SIZE)) {                           \
		case 1:                                                                                               \
			to = *(const __u8 *)at;                                                                       \
			break;                                                                                        \
		case 2:                                                                                               \
			to = *(const __u16 *)at;                                                                      \
			break;                                                                                        \
		case 4:                                                                                               \
			to = *(const __u32 *)at;                                                                      \
			break;                                                                                        \
		default:                                                                                              \
			to = *(const __u64 *)at;                                                                      \
		}                                                                                                     \
		to <<= __builtin_preserve_field_info((pointer)->field, FIELD_LSHIFT_U64);                             \
		to >>= __builtin_preserve_field_info((pointer)->field, FIELD_RSHIFT_U64);                             \
	} while (0)

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static __u64 (*bpf_ktime_get_ns)(void) = (void *)5;
static long (*bpf_setsockopt)(void *sk, int level, int name, void *value, int bytes) = (void *)49;
static long (*bpf_sock_ops_cb_flags_set)(struct bpf_sock_ops *ctx, int flags) = (void *)59;
static void *(*bpf_sk_storage_get)(void *map, void *sk, void *value, __u64 flags) = (void *)107;
static __u64 (*bpf_jiffies64)(void) = (void *)118;
static __u64 (*bpf_get_netns_cookie)(void *ctx) = (void *)122;
static __u64 (*bpf_ktime_get_boot_ns)(void) = (void *)125;
static long (*bpf_seq_write)(struct seq_file *to, const void *data, __u32 bytes) = (void *)127;
static struct tcp_sock *(*bpf_skc_to_tcp_sock)(void *sk) = (void *)137;

#endif
