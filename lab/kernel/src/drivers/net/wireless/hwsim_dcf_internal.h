/* SPDX-License-Identifier: GPL-2.0-only */
/* What the files of the medium's driver share: hwsim_dcf.c, hwsim_dcf_parameters.c, hwsim_dcf_queue.c. */
#ifndef AIRBOUND_HWSIM_DCF_INTERNAL_H
#define AIRBOUND_HWSIM_DCF_INTERNAL_H

#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "dcf_aggregate.h"
#include "dcf_model.h"
#include "hwsim_dcf.h"

#define DCF_CHANNELS_MAX	8

/* Module parameters, without those that take effect when written. */
struct dcf_parameters {
	bool enabled;
	bool access_categories;
	bool aql;
	uint access_points;
	uint streams;
	bool short_gi;
	bool allow_5_ghz;
	uint rts_bytes;
	uint ap_queue_frames;
	uint sta_queue_frames;
	bool orphan;
	uint loss_ppm;
	uint retry_limit;
	uint station_rates;
};

/* Which PHY rates an access point's driver reports of its stations; dcf_station_rates. */
enum dcf_station_rates {
	DCF_RATES_OF_DATA,		/* mac80211's: each station's last data frame */
	DCF_RATES_NONE,
	DCF_RATES_ONE,			/* the last data frame of all stations, for each of them */
	DCF_RATES_OF_FRAMES,		/* each station's last frame, ACKs and block acks included */
};

extern struct dcf_parameters dcf_parameters;

/* A frame from its arrival to its tx status. */
struct dcf_queued {
	struct dcf_mpdu mpdu;
	struct sk_buff *skb;
	struct ieee80211_channel *channel;
	enum hwsim_dcf_kind kind;
	u8 category;
	bool ack_expected;
	u8 chain_length;
	struct ieee80211_tx_rate chain[DCF_CHAIN_MAX];
};

static inline struct dcf_queued *dcf_queued_of(struct dcf_mpdu *mpdu)
{
	return container_of(mpdu, struct dcf_queued, mpdu);
}

/* What a queue sends at once: one frame, or those of an A-MPDU. */
struct dcf_ppdu {
	struct dcf_aggregate aggregate;
	u8 chain_length;
	struct ieee80211_tx_rate chain[DCF_CHAIN_MAX];
	u8 attempts[DCF_CHAIN_MAX];	/* finished, by step of the chain */
	bool in_session;
	bool tries_rate;
	u32 airtime_ns;			/* of the last attempt */
	u32 tx_airtime_ns;		/* of all attempts */
	enum nl80211_band band;
	u8 receiver[ETH_ALEN];
	u8 transmitter[ETH_ALEN];
};

struct hwsim_dcf_queue {
	struct list_head frames;	/* that wait */
	struct dcf_ppdu offered;	/* that contends or is on air */
	struct dcf_ppdu ended;		/* until mac80211 knows of its frames */
	struct dcf_channel *channel;	/* of @offered */
	u32 length;			/* of @frames and @offered */
	u32 tx_unreported_ns;		/* air time of PPDUs none of whose frames has ended */
	bool stopped;
};

/* Of the last frame, from an access point's side; all zero: none yet. */
struct dcf_seen_rates {
	struct rate_info tx;
	struct rate_info rx;
};

struct hwsim_dcf_radio {
	struct ieee80211_hw *hw;
	int index;
	bool rates_at_head;		/* rate control by table: the rate is chosen at the head of the queue */
	struct hwsim_dcf_queue queue[DCF_CATEGORIES];
	struct dcf_edca edca[DCF_CATEGORIES];
	bool edca_known[DCF_CATEGORIES];
	wait_queue_head_t drained;
	u64 created_ns;
	u64 busy_ns_before[DCF_CHANNELS_MAX];	/* each channel's, when the radio was created */
	u64 tx_ns;
	u64 rx_ns;
	s16 snr_quarter_db[DCF_STATIONS_MAX];	/* at the other radios */
	struct dcf_seen_rates seen[DCF_STATIONS_MAX];	/* of an access point: frames to and from each other radio */
	struct dcf_seen_rates seen_data;		/* the same: data frames to and from any */
};

struct dcf_channel {
	u16 center_freq_mhz;		/* 0: not in use */
	u64 unreceived;			/* PPDUs that the model has as delivered, though their receiver was not there */
	struct dcf_model model;
	struct hrtimer timer;
};

/* Of channels, radios, their queues and the parameters that take effect when written. */
extern spinlock_t dcf_lock;
extern struct dcf_channel dcf_channels[DCF_CHANNELS_MAX];
extern struct hwsim_dcf_radio *dcf_radios[DCF_STATIONS_MAX];
extern bool dcf_any_noise;		/* some link has an SNR */

/* hwsim_dcf_parameters.c */
bool dcf_is_access_point(int idx);
u32 dcf_queue_limit(const struct hwsim_dcf_radio *radio);
u64 dcf_channel_seed(const struct dcf_channel *channel);
/* As the parameters say, if they have been written. */
void dcf_start_interference(struct dcf_channel *channel);
void dcf_hide_pairs(struct dcf_channel *channel);

/* hwsim_dcf.c */
/* Its channel; the last one if there are more than DCF_CHANNELS_MAX. */
struct dcf_channel *dcf_channel_of(const struct ieee80211_channel *channel);
void dcf_arm_timer(struct dcf_channel *channel);

/* hwsim_dcf_queue.c; under dcf_lock but for dcf_pull_next() */
void dcf_init_queues(struct hwsim_dcf_radio *radio);
/* Makes what the head of the queue sends, unless something is on its way. */
void dcf_offer_head(struct hwsim_dcf_radio *radio, u32 category, u64 now_ns);
/* Counts the attempt; true if it was the last one of its PPDU. */
bool dcf_end_of_attempt(const struct dcf_result *r);
void dcf_wake_if_drained(struct hwsim_dcf_radio *radio, u32 category);
/*
 * A frame has ended: its air time is no longer pending, so a station may have more to send. mac80211 does not ask again
 * by itself.
 */
void dcf_pull_next(struct hwsim_dcf_radio *radio, u8 category);

/* hwsim_dcf_rates.c */
/* The radio with this address; -1: none. */
int dcf_index_of(const u8 *address);
void dcf_copy_chain(struct dcf_queued *q, const struct ieee80211_tx_rate *rates);
/*
 * Firmware adapts its rate attempt by attempt, not when a frame is queued. The table that a rate control publishes
 * (rate_control_set_rates) is therefore read when the frame is at the head of the queue.
 */
void dcf_choose_rates_at_head(struct hwsim_dcf_radio *radio, struct dcf_queued *q);
/* The rates of @ppdu from its first frame; of an A-MPDU up to the first one that has none. */
void dcf_set_chain(struct hwsim_dcf_radio *radio, struct dcf_ppdu *ppdu, const struct dcf_queued *q);
/* How long an A-MPDU may be: that of the slowest rate in time, in its TXOP, and within what its receiver takes. */
u32 dcf_psdu_max_bytes(struct hwsim_dcf_radio *radio, const struct dcf_queued *q,
		       const struct dcf_channel *channel, const struct dcf_frame *frame);

/* hwsim_dcf_sta_info.c; not under dcf_lock */
/* What an access point learns of a frame's rates: @step of the chain was the last one, @data whether it was data. */
void dcf_see_rates(struct hwsim_dcf_radio *sender, struct hwsim_dcf_radio *receiver, const struct dcf_ppdu *ppdu,
		   int step, bool data, bool answered);

/* hwsim_dcf_status.c; not under dcf_lock */
/* Delivers the frames of a PPDU that has ended, and says so to mac80211. */
void dcf_complete_ppdu(struct dcf_channel *channel, struct hwsim_dcf_radio *radio, u8 category);
/* The air time for the status of the next frame that ends, in us; what does not fit is left for a later one. */
u16 dcf_take_tx_time_us(struct hwsim_dcf_queue *queue);

#endif
