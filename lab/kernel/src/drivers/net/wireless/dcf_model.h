/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * 802.11 DCF and EDCA in one collision domain, with the frames of 802.11g, n and ac; arithmetic only: no kernel, no clock,
 * no frames but their lengths and rates. The same file is compiled into mac80211_hwsim and into a user-space test
 * (lab/kernel/tests).
 *
 * Every station receives every other, but for pairs that are hidden from each other; there is no capture. A source from
 * outside may interfere. Times are nanoseconds of the caller's clock.
 *
 * Rules of this file
 *  - The caller owns the queues; the model has at most one frame per queue, its head. A station has up to four queues,
 *    one per access category, which contend as if they were stations (EDCA). With one queue only, and the parameters
 *    of dcf_init(), that is DCF.
 *  - Time is an argument and never decreases. dcf_next_event_ns() returns the next moment at which dcf_advance() has
 *    something to do; the caller may arm one timer with it.
 *  - Random numbers come from the seed given to dcf_init(): same seed and same calls, same outcome.
 *
 * Source: IEEE Std 802.11-2016, clauses 10.3.2-10.3.4 (DCF), 10.13 (A-MPDU), 10.22.2 (EDCA), 10.24 (block ack),
 * 17.4.3 (OFDM TXTIME), 18.4.4 (ERP), 19.4.3 (HT TXTIME), 21.4.3 (VHT TXTIME).
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
typedef int16_t s16;
#endif

#define DCF_STATIONS_MAX	128
#define DCF_CATEGORIES		4	/* in order of priority, as mac80211 numbers them: voice, video, best effort, ... */
#define DCF_BEST_EFFORT		2
#define DCF_QUEUES_MAX		(DCF_STATIONS_MAX * DCF_CATEGORIES)
#define DCF_CHAIN_MAX		4	/* IEEE80211_TX_MAX_RATES */
#define DCF_MPDUS_MAX		64	/* what a compressed block ack has bits for */
#define DCF_NEVER_NS		(~0ULL)
#define DCF_NO_NOISE		32767	/* an SNR at which nothing is lost to noise, quarters of a dB */

/* At 2.4 GHz with short slots, clause 18.4.4 and Table 18-5; dcf_init() sets these, dcf_set_phy() others */
#define DCF_SLOT_NS		9000U
#define DCF_SIFS_NS		10000U
#define DCF_DIFS_NS		(DCF_SIFS_NS + 2 * DCF_SLOT_NS)
/* At 5 GHz, Table 17-21 */
#define DCF_SIFS_5_GHZ_NS	16000U
#define DCF_AIFSN		2U	/* SIFS and two slots are a DIFS */
#define DCF_CW_MIN		15U
#define DCF_CW_MAX		1023U
#define DCF_ACK_BYTES		14U
#define DCF_CTS_BYTES		14U
#define DCF_RTS_BYTES		20U
#define DCF_BLOCK_ACK_BYTES	32U	/* compressed */
#define DCF_FCS_BYTES		4U
#define DCF_DELIMITER_BYTES	4U	/* before each MPDU of an A-MPDU */
#define DCF_PPDU_MAX_NS		5484000U	/* aPPDUMaxTime, Tables 19-25 and 21-28 */

/* What differs between the bands. */
struct dcf_phy {
	u32 slot_ns;
	u32 sifs_ns;
	u32 extension_ns;		/* at 2.4 GHz after OFDM, HT: time for a receiver to decode within the short SIFS */
};

extern const struct dcf_phy dcf_phy_2_ghz, dcf_phy_5_ghz;

/* How a queue contends. */
struct dcf_edca {
	u8 aifsn;			/* slots after a SIFS before its back-off counts, at least 1 */
	u16 cw_min;			/* slots, 2^k - 1 */
	u16 cw_max;
	u32 txop_limit_ns;		/* of one access: further frames follow after SIFS; 0: one frame */
};

enum dcf_format {
	DCF_LEGACY,			/* DSSS, CCK, OFDM */
	DCF_HT,				/* mixed format */
	DCF_VHT,
};

/* One step of a rate chain: a number of attempts at a rate. */
struct dcf_rate {
	u16 rate_100kbps;		/* of a legacy rate; of the others what dcf_rate_100kbps() returns, for traces */
	u8 tries;
	u8 format;
	u8 mcs;				/* of one stream: 0 to 7, of VHT to 9 */
	u8 streams;
	u8 width_mhz;			/* 20, 40, 80 */
	bool short_gi;
	bool rts;			/* RTS and CTS first */
};

/* What a queue has to send at once: an MPDU, or several in one A-MPDU. */
struct dcf_frame {
	u32 bytes;			/* of the PSDU: MAC header to FCS, both included; of an A-MPDU with its delimiters */
	bool ack_expected;		/* individually addressed */
	u8 mpdus;			/* of the A-MPDU, which a block ack answers; 0: one MPDU, which an ACK answers */
	u32 loss_ppm;			/* chance that the receiver misses one MPDU of an attempt without any collision */
	s16 snr_quarter_db;		/* at the receiver, of one stream in 20 MHz; by it more is lost, see dcf_error.h */
	u8 chain_length;
	struct dcf_rate chain[DCF_CHAIN_MAX];
	u16 mpdu_bytes[DCF_MPDUS_MAX];	/* of an A-MPDU, each MAC header to FCS */
};

enum dcf_outcome {
	DCF_RETRY,			/* the queue contends again with the same frame */
	DCF_DELIVERED,			/* an ACK or a block ack came, or none is expected; see heard_mpdus for the latter */
	DCF_FAILED,			/* the end of the chain */
};

/* The end of one attempt. */
struct dcf_result {
	u16 station;
	u8 category;
	enum dcf_outcome outcome;
	bool collided;
	bool heard;			/* the receiver got the frame (also without ACK: broadcast), or some of its MPDUs */
	u64 heard_mpdus;		/* which: bit i is that of the frame's mpdu_bytes[i]; bit 0 if it is no A-MPDU */
	u32 airtime_ns;			/* of the attempt: RTS, CTS, PPDU, ACK or block ack with their SIFS, if they came */
};

struct dcf_queue {
	u16 station;
	u8 category;
	struct dcf_edca edca;
	bool contending;		/* a frame is at the head of the queue */
	bool begins;			/* now */
	bool on_air;
	bool collided;			/* valid while on_air, as the next */
	bool answered;			/* its CTS, ACK or block ack has begun, which all stations hear */
	u64 start_ns;
	u64 answer_ns;			/* when that begins; DCF_NEVER_NS: it does not, or has */
	u32 cw;				/* contention window, slots */
	u32 backoff_slots;		/* from the end of the AIFS of the idle period */
	u64 head_since_ns;
	u8 attempts;			/* finished attempts of the head frame */
	u8 chain_index;
	u8 chain_tries;			/* finished at chain[chain_index] */
	u64 heard_mpdus;
	u32 airtime_ns;
	struct dcf_frame frame;
};

struct dcf_counters {
	u64 busy_ns;			/* frames, SIFS + ACK after them, interference */
	u64 attempts;
	u64 mpdus;			/* of all attempts */
	u64 collided_attempts;
	u64 lost_attempts;		/* on the link or to interference, all MPDUs of them */
	u64 lost_mpdus;			/* likewise, those of lost attempts included */
	u64 internal_collisions;	/* two queues of one station at once: the lower one backs off, no attempt */
	u64 delivered;
	u64 failed;
	u64 interference_ns;		/* part of the busy time in which a source from outside sent */
};

/*
 * A source in the same band that is not 802.11, such as a microwave oven: it neither waits nor is decoded, all stations
 * hear it, and what it overlaps with is lost. Bursts and pauses last between half and one and a half of their mean.
 */
struct dcf_interference {
	u32 burst_ns;			/* mean; 0: there is none */
	u32 pause_ns;
	u64 rng_state;			/* of its own, so that back-offs are drawn as without it */
	u64 start_ns;			/* of the next burst */
	u64 end_ns;
	u64 until_ns;			/* end of the last one */
};

/*
 * The channel as a station hears it. The stations that hear all others, among them an access point, share one; a station
 * from which another is hidden has its own.
 */
struct dcf_view {
	u16 station;			/* whose it is; not of the shared one */
	bool busy;
	bool begins, ends, decoded;	/* in the event that is processed */
	u64 busy_since_ns;
	u64 busy_until_ns;		/* while busy: end of what is heard, EIFS not included */
	u64 idle_ref_ns;		/* while idle: slots are counted from here, a SIFS after the exchange (or EIFS) */
	u64 access_since_ns;		/* when the last access of the air began */
	struct dcf_queue *txop_holder;	/* it may go on if its next frame comes at once and fits; or NULL */
	bool txop_goes_on;		/* the holder sends again after SIFS */
};

struct dcf_model {
	struct dcf_phy phy;
	struct dcf_interference interference;
	u64 rng_state;
	struct dcf_counters counters;
	u32 views_used;
	struct dcf_view view[DCF_STATIONS_MAX + 1];	/* the first is the shared one */
	u8 view_of[DCF_STATIONS_MAX];
	bool hidden[DCF_STATIONS_MAX][DCF_STATIONS_MAX];
	u32 queues_used;
	struct dcf_queue *used[DCF_QUEUES_MAX];	/* ever offered a frame, by station and category */
	struct dcf_queue queue[DCF_STATIONS_MAX][DCF_CATEGORIES];
};

/*
 * Time on air of a PPDU, ns: OFDM with the band's signal extension, DSSS and CCK with the long preamble, HT in mixed
 * format, convolutional code.
 */
u32 dcf_ppdu_ns(const struct dcf_phy *phy, u32 bytes, const struct dcf_rate *rate);

/* The longest PSDU whose PPDU, without signal extension, takes no more than @limit_ns; 0: none. OFDM, HT and VHT. */
u32 dcf_psdu_limit_bytes(const struct dcf_rate *rate, u32 limit_ns);

/*
 * Chance that an MPDU is lost to noise, ppm. A sender's power is shared by its streams, and noise grows with the width:
 * 3 dB less for twice as many of either.
 */
u32 dcf_noise_loss_ppm(const struct dcf_rate *rate, s16 snr_quarter_db, u32 bytes);

/* Rounded down. */
u16 dcf_rate_100kbps(const struct dcf_rate *rate);

/* Rate of the control frames around a frame: the highest mandatory rate whose modulation is not above its own. */
u16 dcf_control_rate_100kbps(const struct dcf_rate *rate);

/*
 * Appends an MPDU to an A-MPDU. False if that already has DCF_MPDUS_MAX, or would be longer than @psdu_bytes_max; then
 * @frame is as before. The chain must have been set: VHT pads the last MPDU too.
 */
bool dcf_add_mpdu(struct dcf_frame *frame, u16 bytes, u32 psdu_bytes_max);

void dcf_init(struct dcf_model *m, u64 seed);

/* The band; before the first offer. */
void dcf_set_phy(struct dcf_model *m, const struct dcf_phy *phy);

/* Interference from @now_ns on; it begins with a pause. A mean burst of 0: none. */
void dcf_set_interference(struct dcf_model *m, u32 burst_ns, u32 pause_ns, u64 seed, u64 now_ns);

/*
 * Two stations, neither of them an access point, do not hear each other from now on: each may transmit while the other
 * does. Then both are lost. What answers them (CTS, ACK, block ack) all stations hear; after a CTS they wait for the end
 * of the exchange.
 */
void dcf_set_hidden(struct dcf_model *m, u32 station, u32 other);

/* How a queue contends from now on; a back-off that has begun goes on. */
void dcf_set_edca(struct dcf_model *m, u32 station, u32 category, const struct dcf_edca *edca);

/* The queue has a frame to send. It must not be contending already. */
void dcf_offer(struct dcf_model *m, u32 station, u32 category, const struct dcf_frame *frame, u64 now_ns);

/*
 * The queue has another frame to send than it offered, which contends in its place: an A-MPDU has become longer. False
 * if it is too late, since its transmission has begun or goes on by a TXOP, or it has been tried before.
 */
bool dcf_replace(struct dcf_model *m, u32 station, u32 category, const struct dcf_frame *frame, u64 now_ns);

/* The station has nothing to send any more (its radio is stopped); a frame on air is not received. */
void dcf_withdraw(struct dcf_model *m, u32 station);

/* When dcf_advance() is due; DCF_NEVER_NS if no queue contends or is on air, and there is no interference. */
u64 dcf_next_event_ns(const struct dcf_model *m);

/*
 * Processes the event that is due at @now_ns, if one is. Returns how many results it wrote to @results (size
 * DCF_STATIONS_MAX): one for each transmitter whose busy period ended, none at other events.
 */
u32 dcf_advance(struct dcf_model *m, u64 now_ns, struct dcf_result *results);

/* Whether dcf_advance() at @now_ns would return the result of the queue's attempt. */
bool dcf_ends(const struct dcf_model *m, const struct dcf_queue *q, u64 now_ns);

/* Of the attempt that is on air or comes next. */
const struct dcf_rate *dcf_current_rate(const struct dcf_queue *q);

/* Time the channel was busy up to @now_ns, ns, to a station that hears all others. */
u64 dcf_busy_ns(const struct dcf_model *m, u64 now_ns);

#endif
