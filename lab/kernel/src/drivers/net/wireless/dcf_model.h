/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 802.11 DCF and EDCA in one collision domain, arithmetic only: no kernel, no clock, no frames but their lengths and rates.
 * The same file is compiled into mac80211_hwsim and into a user-space test (lab/kernel/tests).
 *
 * Every station receives every other (no hidden nodes, no capture). Times are nanoseconds of the caller's clock.
 *
 * Rules of this file
 *  - The caller owns the queues; the model has at most one frame per queue, its head. A station has up to four queues,
 *    one per access category, which contend as if they were stations (EDCA). With one queue only, and the parameters
 *    of dcf_init(), that is DCF.
 *  - Time is an argument and never decreases. dcf_next_event_ns() returns the next moment at which dcf_advance() has
 *    something to do; the caller may arm one timer with it.
 *  - Random numbers come from the seed given to dcf_init(): same seed and same calls, same outcome.
 *
 * Source: IEEE Std 802.11-2016, clauses 10.3.2-10.3.4 (DCF), 10.22.2 (EDCA), 17.4.3 (OFDM TXTIME),
 * 18.4.4 (ERP).
 */
#ifndef AIRBOUND_DCF_MODEL_H
#define AIRBOUND_DCF_MODEL_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
#endif

#define DCF_STATIONS_MAX	128
#define DCF_CATEGORIES		4	/* in order of priority, as mac80211 numbers them: voice, video, best effort, ... */
#define DCF_BEST_EFFORT		2
#define DCF_QUEUES_MAX		(DCF_STATIONS_MAX * DCF_CATEGORIES)
#define DCF_CHAIN_MAX		4	/* IEEE80211_TX_MAX_RATES */
#define DCF_NEVER_NS		(~0ULL)

/* 802.11g with short slots, clause 18.4.4 and Table 18-5 */
#define DCF_SLOT_NS		9000U
#define DCF_SIFS_NS		10000U
#define DCF_DIFS_NS		(DCF_SIFS_NS + 2 * DCF_SLOT_NS)
#define DCF_AIFSN		2U	/* SIFS and two slots are a DIFS */
#define DCF_CW_MIN		15U
#define DCF_CW_MAX		1023U
#define DCF_ACK_BYTES		14U
#define DCF_FCS_BYTES		4U

/* How a queue contends. */
struct dcf_edca {
	u8 aifsn;			/* slots after a SIFS before its back-off counts, at least 1 */
	u16 cw_min;			/* slots, 2^k - 1 */
	u16 cw_max;
	u32 txop_limit_ns;		/* of one access: further frames follow after SIFS; 0: one frame */
};

/* One step of a rate chain: a number of attempts at a rate. */
struct dcf_rate {
	u16 rate_100kbps;
	u8 tries;
};

/* The frame at the head of a queue. */
struct dcf_frame {
	u32 bytes;			/* MAC header to FCS, both included */
	bool ack_expected;		/* individually addressed */
	u32 loss_ppm;			/* chance that the receiver misses one attempt without any collision */
	u8 chain_length;
	struct dcf_rate chain[DCF_CHAIN_MAX];
};

enum dcf_outcome {
	DCF_RETRY,			/* the queue contends again with the same frame */
	DCF_DELIVERED,			/* acknowledged, or sent where no ACK is expected */
	DCF_FAILED,			/* the end of the chain */
};

/* The end of one attempt. */
struct dcf_result {
	u16 station;
	u8 category;
	enum dcf_outcome outcome;
	bool collided;
	bool heard;			/* the receiver got the frame (also without ACK: broadcast) */
	u32 airtime_ns;			/* of the attempt: frame, and SIFS + ACK if that came */
};

struct dcf_queue {
	u16 station;
	u8 category;
	struct dcf_edca edca;
	bool contending;		/* a frame is at the head of the queue */
	bool on_air;
	bool collided;			/* valid while on_air */
	u32 cw;				/* contention window, slots */
	u32 backoff_slots;		/* from the end of the AIFS of the idle period */
	u64 head_since_ns;
	u8 attempts;			/* finished attempts of the head frame */
	u8 chain_index;
	u8 chain_tries;			/* finished at chain[chain_index] */
	u32 airtime_ns;
	struct dcf_frame frame;
};

struct dcf_counters {
	u64 busy_ns;			/* frames, and SIFS + ACK after them */
	u64 attempts;
	u64 collided_attempts;
	u64 lost_attempts;		/* by loss_ppm */
	u64 internal_collisions;	/* two queues of one station at once: the lower one backs off, no attempt */
	u64 delivered;
	u64 failed;
};

struct dcf_model {
	u64 rng_state;
	bool busy;
	u64 busy_since_ns;
	u64 busy_until_ns;		/* while busy: end of the exchange, EIFS not included */
	u64 idle_ref_ns;		/* while idle: slots are counted from here, a SIFS after the exchange (or EIFS) */
	u64 access_since_ns;		/* when the last access of the air began */
	struct dcf_queue *txop_holder;	/* it may go on if its next frame comes at once and fits; or NULL */
	bool txop_goes_on;		/* the holder sends again after SIFS */
	struct dcf_counters counters;
	u32 queues_used;
	struct dcf_queue *used[DCF_QUEUES_MAX];	/* ever offered a frame, by station and category */
	struct dcf_queue queue[DCF_STATIONS_MAX][DCF_CATEGORIES];
};

/* Time on air of a frame, ns: OFDM rates with the ERP signal extension, DSSS/CCK with the long preamble. */
u32 dcf_frame_airtime_ns(u32 bytes, u16 rate_100kbps);

/* Rate at which a frame is acknowledged: the highest mandatory rate that is not above its own. */
u16 dcf_ack_rate_100kbps(u16 rate_100kbps);

void dcf_init(struct dcf_model *m, u64 seed);

/* How a queue contends from now on; a back-off that has begun goes on. */
void dcf_set_edca(struct dcf_model *m, u32 station, u32 category, const struct dcf_edca *edca);

/* The queue has a frame to send. It must not be contending already. */
void dcf_offer(struct dcf_model *m, u32 station, u32 category, const struct dcf_frame *frame, u64 now_ns);

/* The station has nothing to send any more (its radio is stopped); a frame on air is not received. */
void dcf_withdraw(struct dcf_model *m, u32 station);

/* When dcf_advance() is due; DCF_NEVER_NS if no queue contends. */
u64 dcf_next_event_ns(const struct dcf_model *m);

/*
 * Processes the event that is due at @now_ns, if one is. Returns how many results it wrote to @results (size
 * DCF_STATIONS_MAX): none when transmissions began, one for each transmitter when they ended.
 */
u32 dcf_advance(struct dcf_model *m, u64 now_ns, struct dcf_result *results);

/* Rate of the attempt that is on air or comes next. */
u16 dcf_current_rate_100kbps(const struct dcf_queue *q);

/* Time the channel was busy up to @now_ns, ns. */
u64 dcf_busy_ns(const struct dcf_model *m, u64 now_ns);

#endif
