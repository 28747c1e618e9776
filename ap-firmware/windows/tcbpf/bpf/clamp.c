// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follows the TCP connections of stations at the interface of a BSS, and limits the receive windows that stations are
 * offered. One program is at the interface's ingress (uplink: from a station), one at its egress (downlink).
 *
 * A window means something only with the scale that both sides named in their SYNs (RFC 7323, 2.2), so a connection
 * whose SYNs did not pass here is counted and left alone. So is one of MPTCP: its windows are relative to another
 * sequence (RFC 8684, 3.3.1).
 *
 * The window field of a downlink segment is lowered to the limit, but never so far that the right edge (acknowledgment
 * number and window) is left of one that the station was offered before (RFC 9293, 3.8.6.2.1): a station that already
 * has more in flight would have it outside of its window. A window of 0 and one below the limit pass as they are. Where
 * one unit of the field is more than a segment, a window cannot follow the acknowledgment numbers, and either the edge
 * moves by up to a unit to the right with each of them, for ever, or it returns to the left by less than a unit. The
 * latter is what receivers do, and senders must expect (RFC 7323, 2.4 and appendix F).
 *
 * Round trips are measured in two halves, each from here to one side and back: by sequence and acknowledgment numbers,
 * and towards the station also by time stamps (RFC 7323, 3), since what it gets while it sends are bare
 * acknowledgments, which it does not acknowledge. What was sent again gives no sample (Karn's algorithm).
 *
 * Limits have a lease, whose end is compared here with the clock: if nobody renews it, windows are as their receivers
 * offer them.
 *
 * Packets are read by bpf_skb_load_bytes, which takes those with non-linear data as well, and makes no copy of a cloned
 * one's headers as bpf_skb_pull_data does; only the two helpers that write do that, by themselves. A GSO packet has one
 * header for all of its segments. bpf_l4_csum_replace leaves the field alone if the checksum is to be completed later
 * (CHECKSUM_PARTIAL: the field then has the sum of the pseudo header only, which the window is no part of), and with
 * CHECKSUM_COMPLETE the sum over the packet stays what it was.
 *
 * Nothing is locked. Packets of one direction of a connection follow one another on one CPU, or would be reordered. What
 * both programs write is atomic, or one word.
 */
#include "kernel.h"

enum { UP, DOWN };

enum { /* flow.flags, of what one direction has sent */
	HAD_SYN = 1 << 0,
	HAD_FIN = 1 << 1,
	/* Its SYN has ACK and answers the other's: shift[] is in effect. */
	HAD_ANSWER = 1 << 2,
	/* Something else than a SYN. */
	HAD_MORE = 1 << 3,
	/* The SYN has an option of MPTCP. */
	HAD_MPTCP = 1 << 4,
	/* Of the downlink: edge is one. */
	HAS_EDGE = 1 << 5,
};

enum { /* Ethernet, IP and TCP */
	ETH_BYTES = 14,
	VLAN_BYTES = 4,
	VLANS_MAX = 2,
	ETHERTYPE_IPV4 = 0x0800,
	ETHERTYPE_IPV6 = 0x86dd,
	ETHERTYPE_VLAN = 0x8100,
	ETHERTYPE_QINQ = 0x88a8,
	IPV4_BYTES = 20,
	IPV4_FRAGMENT = 0x3fff, /* more fragments, and the offset */
	IPV6_BYTES = 40,
	IPV6_EXTENSIONS_MAX = 4,
	PROTOCOL_HOP_BY_HOP = 0,
	PROTOCOL_TCP = 6,
	PROTOCOL_ROUTING = 43,
	PROTOCOL_AUTHENTICATION = 51,
	PROTOCOL_DESTINATION = 60,
	TCP_BYTES = 20,
	TCP_WINDOW_AT = 14,
	TCP_CHECKSUM_AT = 16,
	FIN = 0x01,
	SYN = 0x02,
	RST = 0x04,
	ACK = 0x10,
	OPTIONS_MAX = 40,
	STAMPS_BYTES = 12,	/* with the padding that all senders give them */
	OPTION_END = 0,
	OPTION_NOP = 1,
	OPTION_MSS = 2,
	OPTION_WSCALE = 3,
	OPTION_MPTCP = 30,
	SHIFT_MAX = 14,		/* RFC 7323, 2.3 */
	NO_SHIFT = 0xff,	/* no such option */
	MSS_DEFAULT_IPV4 = 536, /* RFC 9293, 3.7.1 */
	MSS_DEFAULT_IPV6 = 1220,
	MSS_MIN = 88, /* of Linux: TCP_MIN_SND_MSS and its options */
	LEASES = 16,
	NS_PER_US = 1000,
	RTT_MAX_US = 60000000,
	/* Of a connection in a time in which it was not followed. */
	UNSEEN_MAX_BYTES = 1 << 28,
};

#define UNSEEN_MAX_NS 60000000000ULL

struct flow_key {
	__u8 mac[6];
	__u8 family; /* 4 or 6 */
	__u8 pad;
	__u8 station[16];
	__u8 remote[16];
	__u16 station_port; /* ports in network byte order */
	__u16 remote_port;
};

/* The round trip from here to one side. */
struct half {
	/*
	 * What ends the measurement, an acknowledgment number, in the upper half, and since when it is under way, in us,
	 * in the lower one; 0 if none is.
	 */
	__u64 pending;
	__u32 srtt_us;
	__u32 min_us;
};

struct flow {
	__u64 seen_ns;
	/* Of the last RST. Data that the station sends afterwards shows that it was not accepted. */
	__u64 reset_ns;
	/* When the station last sent data; 0: never. */
	__u64 sent_ns;
	__u64 sent_bytes;
	__u64 received_bytes;
	struct half wired;
	struct half air;
	/* As half.pending, but a time stamp ends it. */
	__u64 pending_stamp;
	__u32 isn[2];
	/* After the last byte that was sent. */
	__u32 end[2];
	/* The rightmost edge that the station was offered. */
	__u32 edge;
	/* As of the last packet. */
	__u32 epoch;
	__u32 stamp_down;
	__u32 pad;
	/* Of the side that sends in a direction: what it can receive. 0: not known. */
	__u16 mss[2];
	/* Each is written by the program of its direction alone, but in the handshake. */
	__u8 flags[2];
	__u8 shift[2];
};

struct limit_key {
	__u8 mac[6];
	__u8 family; /* 0: any address */
	__u8 pad;
	__u8 address[16];
};

struct limit {
	__u32 max_bytes;
	/* Number of the lease. */
	__u32 lease;
};

struct state {
	/* When each lease ends, CLOCK_MONOTONIC. */
	__u64 deadline_ns[LEASES];
	/* When the last one ends. */
	__u64 latest_ns;
	/* Another one whenever connections may have passed without these programs. */
	__u32 epoch;
	/* Is 0, which the verifier does not know: see parse(). */
	__u32 zero;
};

struct counters {
	__u64 created;
	__u64 limited_segments;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct flow_key);
	__type(value, struct flow);
} airbound_flows SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 4096);
	__type(key, struct limit_key);
	__type(value, struct limit);
} airbound_limits SEC(".maps");

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

/* Ethernet and the fixed part of IPv4 or IPv6, which has as many bytes as IPv4 and TCP have together. */
struct frame {
	__u16 align;
	__u8 dst[6];
	__u8 src[6];
	__u16 ethertype;
	union {
		struct {
			__u8 version_length;
			__u8 tos;
			__u16 length;
			__u16 id;
			__u16 fragment;
			__u8 ttl;
			__u8 protocol;
			__u16 checksum;
			__u32 saddr;
			__u32 daddr;
			__u8 rest[20];
		} ip4;
		struct {
			__u32 version_class_label;
			__u16 length;
			__u8 protocol;
			__u8 hops;
			__u32 saddr[4];
			__u32 daddr[4];
		} ip6;
	};
};

struct tcp {
	__u16 source;
	__u16 dest;
	__u32 seq;
	__u32 ack;
	__u8 length; /* in its upper half, in words */
	__u8 flags;
	__u16 window;
	__u16 checksum;
	__u16 urgent;
};

struct segment {
	struct flow_key key;
	struct tcp tcp;
	__u32 tcp_at;	 /* offset of the header */
	__u32 header;	 /* its length */
	__u32 payload;	 /* bytes */
	__u32 seq, ack;	 /* in the CPU's byte order */
	__u32 seq_after; /* after payload, SYN and FIN */
	__u16 window;
};

/* Whether a is before b: sequence numbers, and time stamps, are of a circle. */
static __always_inline bool before(__u32 a, __u32 b)
{
	return (__s32)(a - b) < 0;
}

static __always_inline __u32 larger(__u32 a, __u32 b)
{
	return a > b ? a : b;
}

static __always_inline __u32 smaller(__u32 a, __u32 b)
{
	return a < b ? a : b;
}

static __always_inline struct counters *counters(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&airbound_counts, &zero);
}

/* Returns the offset of the TCP header, or 0 if there is none to be looked at. *end is where the IP packet ends. */
static __always_inline __u32 parse_ip(struct __sk_buff *skb, int direction, struct flow_key *key, __u32 *end)
{
	__u32 ip_at = ETH_BYTES, tcp_at, length;
	struct frame frame;
	__u16 ethertype;
	int i;

	/* TCP over IPv4 has at least as many bytes as that. */
	if (bpf_skb_load_bytes(skb, 0, frame.dst, sizeof(frame) - sizeof(frame.align)))
		return 0;
	if (direction == UP)
		__builtin_memcpy(key->mac, frame.src, sizeof(key->mac));
	else
		__builtin_memcpy(key->mac, frame.dst, sizeof(key->mac));
	if (key->mac[0] & 1) /* a group */
		return 0;
	ethertype = be16(frame.ethertype);
	for (i = 0; i < VLANS_MAX; i++) {
		__u16 inner;

		if (ethertype != ETHERTYPE_VLAN && ethertype != ETHERTYPE_QINQ)
			break;
		if (bpf_skb_load_bytes(skb, ip_at + 2, &inner, sizeof(inner)))
			return 0;
		ethertype = be16(inner);
		ip_at += VLAN_BYTES;
	}
	if (ip_at != ETH_BYTES && bpf_skb_load_bytes(skb, ip_at, &frame.ip4, sizeof(frame.ip4)))
		return 0;
	if (ethertype == ETHERTYPE_IPV4) {
		__u32 header = (frame.ip4.version_length & 0x0f) * 4;

		if (frame.ip4.version_length >> 4 != 4 || header < IPV4_BYTES || frame.ip4.protocol != PROTOCOL_TCP ||
		    be16(frame.ip4.fragment) & IPV4_FRAGMENT)
			return 0;
		tcp_at = ip_at + header;
		length = be16(frame.ip4.length);
		key->family = 4;
		*(__u32 *)key->station = direction == UP ? frame.ip4.saddr : frame.ip4.daddr;
		*(__u32 *)key->remote = direction == UP ? frame.ip4.daddr : frame.ip4.saddr;
	} else if (ethertype == ETHERTYPE_IPV6) {
		__u8 protocol = frame.ip6.protocol;

		if (be32(frame.ip6.version_class_label) >> 28 != 6)
			return 0;
		tcp_at = ip_at + IPV6_BYTES;
		for (i = 0; i < IPV6_EXTENSIONS_MAX; i++) {
			__u8 extension[2]; /* next header, length */

			if (protocol != PROTOCOL_HOP_BY_HOP && protocol != PROTOCOL_ROUTING &&
			    protocol != PROTOCOL_DESTINATION && protocol != PROTOCOL_AUTHENTICATION)
				break;
			if (bpf_skb_load_bytes(skb, tcp_at, extension, sizeof(extension)))
				return 0;
			tcp_at += protocol == PROTOCOL_AUTHENTICATION ? (extension[1] + 2) * 4 : (extension[1] + 1) * 8;
			protocol = extension[0];
		}
		if (protocol != PROTOCOL_TCP) /* also a fragment */
			return 0;
		length = be16(frame.ip6.length);
		if (length)
			length += IPV6_BYTES;
		key->family = 6;
		__builtin_memcpy(key->station, direction == UP ? frame.ip6.saddr : frame.ip6.daddr, 16);
		__builtin_memcpy(key->remote, direction == UP ? frame.ip6.daddr : frame.ip6.saddr, 16);
	} else {
		return 0;
	}
	/* A length of 0 is that of a GSO packet of more than 64 KiB. Ethernet may have added bytes at the end. */
	*end = length ? ip_at + length : skb->len;
	return *end > skb->len ? 0 : tcp_at;
}

static __always_inline bool parse(struct __sk_buff *skb, const struct state *state, int direction, struct segment *s)
{
	__u32 end;

	/*
	 * The verifier follows each offset that it knows for itself, and so the rest of the program as often as there are
	 * kinds of headers. A number that it does not know it follows once.
	 */
	s->tcp_at = parse_ip(skb, direction, &s->key, &end);
	if (!s->tcp_at)
		return 0;
	s->tcp_at += state->zero;
	if (bpf_skb_load_bytes(skb, s->tcp_at, &s->tcp, sizeof(s->tcp)))
		return 0;
	s->header = (s->tcp.length >> 4) * 4;
	if (s->header < TCP_BYTES || s->tcp_at + s->header > end)
		return 0;
	s->payload = end - s->tcp_at - s->header;
	s->key.station_port = direction == UP ? s->tcp.source : s->tcp.dest;
	s->key.remote_port = direction == UP ? s->tcp.dest : s->tcp.source;
	s->seq = be32(s->tcp.seq);
	s->ack = be32(s->tcp.ack);
	s->window = be16(s->tcp.window);
	s->seq_after = s->seq + s->payload + !!(s->tcp.flags & SYN) + !!(s->tcp.flags & FIN);
	return 1;
}

/* Whether there are time stamps where every common system puts them. */
static __always_inline bool parse_stamps(struct __sk_buff *skb, const struct segment *s, __u32 *value, __u32 *echo)
{
	__u32 option[3];

	if (s->header < TCP_BYTES + sizeof(option) || s->tcp.flags & (SYN | RST) ||
	    bpf_skb_load_bytes(skb, s->tcp_at + TCP_BYTES, option, sizeof(option)) || be32(option[0]) != 0x0101080a)
		return 0;
	*value = be32(option[1]);
	*echo = be32(option[2]);
	return 1;
}

static __always_inline __u64 pending(__u32 expected, __u64 now_ns)
{
	return (__u64)expected << 32 | (__u32)(now_ns / NS_PER_US) | 1;
}

static __always_inline void take_sample(struct half *half, __u64 since, __u64 now_ns)
{
	__u32 rtt_us = (__u32)(now_ns / NS_PER_US) - (__u32)since, srtt_us = half->srtt_us;

	if (rtt_us > RTT_MAX_US)
		return;
	rtt_us = larger(rtt_us, 1);
	/* RFC 6298: alpha is 1/8. */
	half->srtt_us = srtt_us ? srtt_us - srtt_us / 8 + rtt_us / 8 : rtt_us;
	if (!half->min_us || rtt_us < half->min_us)
		half->min_us = rtt_us;
}

/* What a segment that was sent means for the half round trip that begins with it. */
static __always_inline void begin_sample(struct half *half, struct flow *flow, int direction, const struct segment *s,
					 __u64 now_ns)
{
	if (s->seq_after == s->seq)
		return;
	if (before(s->seq, flow->end[direction])) {
		/* Sent again, or out of order: an acknowledgment does not say of which. */
		half->pending = 0;
	} else if (!half->pending) {
		half->pending = pending(s->seq_after, now_ns);
	}
	if (before(flow->end[direction], s->seq_after))
		flow->end[direction] = s->seq_after;
}

/* And for the one that ends with it. */
static __always_inline void end_sample(struct half *half, const struct segment *s, __u64 now_ns)
{
	__u64 waiting = half->pending;

	if (!(s->tcp.flags & ACK) || !waiting || before(s->ack, waiting >> 32))
		return;
	half->pending = 0;
	take_sample(half, waiting, now_ns);
}

static __always_inline struct flow *create(const struct segment *s, const struct state *state, bool replaces,
					   int direction, __u64 now_ns)
{
	struct counters *counts = counters();
	struct flow flow = {};

	flow.seen_ns = now_ns;
	flow.epoch = state->epoch;
	flow.end[direction] = s->seq;
	if (s->tcp.flags & ACK)
		flow.end[!direction] = s->ack;
	if (bpf_map_update_elem(&airbound_flows, &s->key, &flow, BPF_ANY))
		return NULL;
	if (counts && !replaces)
		__sync_fetch_and_add(&counts->created, 1);
	return bpf_map_lookup_elem(&airbound_flows, &s->key);
}

/*
 * The options of a SYN, as Linux reads them: the rest is not read after one whose length cannot be, and a scale above
 * the largest is the largest. They are written into the map at once, and this is the last thing that is done with a
 * packet: of what is kept in registers and on the stack, the verifier would follow each combination, and of what comes
 * after the loop, each way out of it. Without CAP_PERFMON it follows what a CPU may speculate on as well, and gives up.
 */
static __always_inline void learn(struct __sk_buff *skb, struct flow *flow, int direction, const struct segment *s)
{
	__u32 at = s->tcp_at + TCP_BYTES, end = s->tcp_at + s->header;
	int i;

	flow->shift[direction] = NO_SHIFT;
	flow->mss[direction] = s->key.family == 4 ? MSS_DEFAULT_IPV4 : MSS_DEFAULT_IPV6;
#pragma clang loop unroll(disable)
	for (i = 0; i < OPTIONS_MAX; i++) {
		__u8 kind = 0, length = 0;

		if (at >= end || bpf_skb_load_bytes(skb, at, &kind, sizeof(kind)) || kind == OPTION_END)
			return;
		if (kind == OPTION_NOP) {
			at++;
			continue;
		}
		if (at + 1 >= end || bpf_skb_load_bytes(skb, at + 1, &length, sizeof(length)))
			return;
		if (length < 2 || at + length > end)
			return;
		if (kind == OPTION_MSS && length == 4) {
			__u16 mss = 0;

			bpf_skb_load_bytes(skb, at + 2, &mss, sizeof(mss));
			if (mss)
				flow->mss[direction] = larger(be16(mss), MSS_MIN);
		} else if (kind == OPTION_WSCALE && length == 3) {
			__u8 shift = 0;

			bpf_skb_load_bytes(skb, at + 2, &shift, sizeof(shift));
			flow->shift[direction] = smaller(shift, SHIFT_MAX);
		} else if (kind == OPTION_MPTCP) {
			flow->flags[direction] |= HAD_MPTCP;
		}
		at += length;
	}
}

static __always_inline void begin(struct flow *flow, int direction, const struct segment *s)
{
	flow->isn[direction] = s->seq;
	flow->end[direction] = s->seq;
	flow->mss[direction] = 0;
	flow->flags[direction] = (flow->flags[direction] | HAD_SYN) & ~HAD_MPTCP;
}

/* Returns the connection that a SYN belongs to. *is_news: its options are to be learnt. */
static __always_inline struct flow *follow_syn(struct flow *flow, const struct state *state, int direction,
					       const struct segment *s, __u64 now_ns, bool *is_news)
{
	bool again = flow && flow->flags[direction] & HAD_SYN && flow->isn[direction] == s->seq;
	__u32 answered;

	if (!(s->tcp.flags & ACK)) {
		/* Another number is another connection with the same ports, unless both sides open it at once. */
		bool crossing = flow && !(flow->flags[direction] & (HAD_SYN | HAD_MORE)) &&
				(flow->flags[!direction] & (HAD_SYN | HAD_MORE)) == HAD_SYN;

		if (again)
			return flow;
		if (!crossing)
			flow = create(s, state, flow, direction, now_ns);
		if (!flow)
			return NULL;
		begin(flow, direction, s);
		*is_news = 1;
		if (direction == DOWN)
			flow->edge = s->window; /* counts from the station's SYN */
		return flow;
	}
	if (!flow || (flow->flags[UP] | flow->flags[DOWN]) & HAD_MORE)
		return flow;
	/* It acknowledges the SYN, and perhaps data with it (RFC 7413). */
	answered = s->ack - flow->isn[!direction];
	if (!(flow->flags[!direction] & HAD_SYN) || !answered || answered > 0xffff)
		return flow;
	if (!again) {
		begin(flow, direction, s);
		*is_news = 1;
		if (direction == UP) {
			flow->edge += s->seq + 1;
			flow->flags[DOWN] |= HAS_EDGE;
		}
	}
	flow->flags[direction] |= HAD_ANSWER;
	return flow;
}

/* The limit in force for a connection, bytes; 0: none. */
static __always_inline __u32 limit_of(const struct flow_key *flow, const struct state *state, __u64 now_ns)
{
	struct limit_key key = {};
	struct limit *limit;

	if (now_ns >= state->latest_ns)
		return 0;
	__builtin_memcpy(key.mac, flow->mac, sizeof(key.mac));
	key.family = flow->family;
	__builtin_memcpy(key.address, flow->remote, sizeof(key.address));
	limit = bpf_map_lookup_elem(&airbound_limits, &key);
	if (!limit) {
		key.family = 0;
		__builtin_memset(key.address, 0, sizeof(key.address));
		limit = bpf_map_lookup_elem(&airbound_limits, &key);
	}
	if (!limit || limit->lease >= LEASES || now_ns >= state->deadline_ns[limit->lease])
		return 0;
	return limit->max_bytes;
}

/*
 * The window field for so many segments, which it is never exactly: it counts in units, and time stamps take their part
 * of each segment. What is over goes out as a small segment. After one, a receiver that acknowledges every second
 * segment does so between two that were sent together, and the second waits there for the next round trip while it
 * counts as in flight. So a window for an even number of segments is one for the odd number above, less what makes the
 * last of them a small one: as many pairs are under way as with a congestion window of the even number, and one waits.
 * A bound of an odd number has one waiting in any case.
 *
 * A unit larger than a segment may have no multiple between the last two segments; then the nearest is taken. Less than
 * two whole segments it never is: a sender does not begin one that does not fit, and the receiver would wait for it
 * until its timer for delayed acknowledgments ends.
 */
static __always_inline __u32 window_of(__u32 segments, __u32 payload, __u8 shift)
{
	__u32 odd = larger(segments, 2) | 1, window = (odd * payload - 1) >> shift;

	if (window << shift < (odd - 1) * payload)
		window = (odd * payload - payload / 2 + (1U << shift) / 2) >> shift;
	return larger(window, (2 * payload + (1U << shift) - 1) >> shift);
}

/* The window field for a limit; it may be larger than the one that is there. */
static __always_inline __u32 limited(const struct flow *flow, __u32 ack, __u32 limit, __u8 shift)
{
	__u32 unit = 1U << shift, mss = flow->mss[UP], offered = 0, window;

	/* That of the server is not known yet when its SYN is limited. */
	if (flow->mss[DOWN])
		mss = smaller(mss, flow->mss[DOWN]);
	/* A limit is of whole segments, perhaps of another connection's size. */
	window = window_of((limit + mss / 2) / mss, mss - (flow->stamp_down ? STAMPS_BYTES : 0), shift);

	if (flow->flags[DOWN] & HAS_EDGE && before(ack, flow->edge))
		offered = flow->edge - ack;
	/* See the beginning of the file. */
	return larger(window, unit <= mss ? (offered + unit - 1) >> shift : offered >> shift);
}

static __always_inline void limit_window(struct __sk_buff *skb, struct flow *flow, const struct state *state,
					 const struct segment *s, __u64 now_ns)
{
	__u8 shift = 0;
	__u32 window = s->window, limit, edge;

	if (!(s->tcp.flags & ACK) || s->tcp.flags & RST)
		return;
	if (!((flow->flags[UP] | flow->flags[DOWN]) & HAD_ANSWER) ||
	    flow->flags[UP] & flow->flags[DOWN] & HAD_MPTCP)
		return;
	/* Of a SYN the window is not scaled. */
	if (!(s->tcp.flags & SYN) && flow->shift[UP] != NO_SHIFT && flow->shift[DOWN] != NO_SHIFT)
		shift = flow->shift[DOWN] & 0x0f;
	/* A SYN's answer is the first that has an edge; whether it has an option of MPTCP is not known yet. */
	if (window && (s->tcp.flags & SYN ? !(flow->flags[UP] & HAD_MPTCP) : flow->flags[DOWN] & HAS_EDGE)) {
		limit = limit_of(&s->key, state, now_ns);
		if (limit)
			window = limited(flow, s->ack, limit, shift);
		if (window < s->window) {
			struct counters *counts = counters();
			__u16 wanted = be16((__u16)window);

			/* The first one reaches further: if it can write, so can the second. */
			if (bpf_l4_csum_replace(skb, s->tcp_at + TCP_CHECKSUM_AT, s->tcp.window, wanted, sizeof(wanted)) ||
			    bpf_skb_store_bytes(skb, s->tcp_at + TCP_WINDOW_AT, &wanted, sizeof(wanted), 0))
				window = s->window;
			else if (counts)
				__sync_fetch_and_add(&counts->limited_segments, 1);
		} else {
			window = s->window;
		}
	}
	edge = s->ack + (window << shift);
	if (!(flow->flags[DOWN] & HAS_EDGE)) {
		flow->edge = edge;
		flow->flags[DOWN] |= HAS_EDGE;
	} else if (before(flow->edge, edge)) {
		/* If two CPUs did this at once, the sum would be too far to the right, and never too far to the left. */
		__sync_fetch_and_add(&flow->edge, edge - flow->edge);
	}
}

/*
 * Takes a connection over after a time in which packets may have passed unseen. It may have been offered any window
 * since, so the next one passes as it is. If it may have ended, and another one have begun with the same ports, its
 * scale is not known any more.
 */
static __always_inline void resume(struct flow *flow, const struct state *state, int direction,
				   const struct segment *s, __u64 now_ns)
{
	__u32 unseen = s->seq - flow->end[direction] + UNSEEN_MAX_BYTES;

	flow->epoch = state->epoch;
	flow->flags[DOWN] &= ~HAS_EDGE;
	if (now_ns - flow->seen_ns > UNSEEN_MAX_NS || unseen > 2 * UNSEEN_MAX_BYTES) {
		flow->flags[UP] = 0;
		flow->flags[DOWN] = 0;
	}
	flow->wired.pending = 0;
	flow->air.pending = 0;
	flow->pending_stamp = 0;
	flow->end[direction] = s->seq_after;
	if (s->tcp.flags & ACK)
		flow->end[!direction] = s->ack;
}

static __always_inline int follow(struct __sk_buff *skb, int direction)
{
	struct segment s = {};
	__u32 value, echo;
	struct flow *flow;
	__u64 now_ns, waiting;
	bool is_news = 0;
	struct state *state;
	__u32 zero = 0;

	state = bpf_map_lookup_elem(&airbound_state, &zero);
	if (!state || !parse(skb, state, direction, &s))
		return CONTINUE;
	now_ns = bpf_ktime_get_ns();
	flow = bpf_map_lookup_elem(&airbound_flows, &s.key);
	if (s.tcp.flags & SYN && !(s.tcp.flags & RST)) {
		flow = follow_syn(flow, state, direction, &s, now_ns, &is_news);
	} else if (!flow && direction == UP && s.tcp.flags & ACK && !(s.tcp.flags & (SYN | RST))) {
		/* Only a station makes one: what is sent to it by others proves no connection. */
		flow = create(&s, state, 0, direction, now_ns);
	}
	if (!flow)
		return CONTINUE;
	if (flow->epoch != state->epoch)
		resume(flow, state, direction, &s, now_ns);
	flow->seen_ns = now_ns;
	if (!(s.tcp.flags & SYN))
		flow->flags[direction] |= HAD_MORE;
	if (s.tcp.flags & FIN)
		flow->flags[direction] |= HAD_FIN;
	if (s.tcp.flags & RST)
		flow->reset_ns = now_ns;
	if (direction == UP) {
		if (s.payload) {
			flow->sent_ns = now_ns;
			flow->sent_bytes += s.payload;
		}
		end_sample(&flow->air, &s, now_ns);
		begin_sample(&flow->wired, flow, UP, &s, now_ns);
		waiting = flow->pending_stamp;
		if (waiting && parse_stamps(skb, &s, &value, &echo) && !before(echo, waiting >> 32)) {
			flow->pending_stamp = 0;
			take_sample(&flow->air, waiting, now_ns);
		}
		goto out;
	}
	flow->received_bytes += s.payload;
	end_sample(&flow->wired, &s, now_ns);
	begin_sample(&flow->air, flow, DOWN, &s, now_ns);
	if (parse_stamps(skb, &s, &value, &echo) && (!flow->stamp_down || before(flow->stamp_down, value))) {
		flow->stamp_down = value;
		/*
		 * Only while the station has data in flight: then an acknowledgment makes it send at once. What it sends
		 * later, when its user has done something, is no answer.
		 */
		if (!flow->pending_stamp && before(s.ack, flow->end[UP]))
			flow->pending_stamp = pending(value, now_ns);
	}
	limit_window(skb, flow, state, &s, now_ns);
out:
	if (is_news)
		learn(skb, flow, direction, &s);
	return CONTINUE;
}

SEC("tc")
int airbound_up(struct __sk_buff *skb)
{
	return follow(skb, UP);
}

SEC("tc")
int airbound_down(struct __sk_buff *skb)
{
	return follow(skb, DOWN);
}

char _license[] SEC("license") = "GPL";
