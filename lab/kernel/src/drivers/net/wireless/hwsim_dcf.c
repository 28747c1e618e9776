// SPDX-License-Identifier: GPL-2.0-only
/*
 * Glue between mac80211_hwsim and the DCF model: queues, aggregation, timers, tx status, air time.
 *
 *	mac80211 -> hwsim_dcf_enqueue -> a queue of the radio -> its head, or an A-MPDU, offered to the channel's model
 *	timer at the model's next event -> attempts end -> deliver to the addressee, tx status, next head
 *
 * The model's event times are used throughout, never the time at which the timer ran. mac80211 gets frames outside the
 * lock, since it may enqueue the next ones from that call; and it gets a frame's status before the next frame is
 * offered, so that a rate control that works attempt by attempt has used it.
 *
 * Without access categories every frame is in the radio's queue for best effort, which contends with that category's
 * parameters: 802.11g without WMM. With them a radio has four queues, and each stops mac80211's of its category.
 *
 * A frame to an absent addressee takes one attempt and ends without ACK; the model has no list of receivers.
 *
 * Each channel has a model and a timer of its own: radios on one share its air. A channel is its primary 20 MHz; wider ones
 * that overlap with another primary do not disturb each other.
 *
 * Aggregation, as ath9k does it (drivers/net/wireless/ath/ath9k/xmit.c):
 *  - mac80211 negotiates block-ack sessions and marks their frames (IEEE80211_TX_CTL_AMPDU). An A-MPDU is what the queue
 *    has for the receiver and traffic identifier of its head, up to the limits; frames that come while it contends are
 *    added to it. A frame by which the rate control tries a rate out goes alone;
 *  - its rates are those of the rate control's table at that time, and it is short enough for the slowest of them;
 *  - MPDUs that the block ack does not have go back to their place in the queue, and are given up after MPDU_TRIES_MAX
 *    attempts; then mac80211 sends a BlockAckReq that moves the receiver's window.
 */
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait.h>

#include "dcf_error.h"
#include "dcf_model.h"
#include "hwsim_dcf.h"

#define CREATE_TRACE_POINTS
#include <trace/events/hwsim_dcf.h>

/* The parameters are named as hwsim's own: mac80211_hwsim.dcf and so on. */
#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "mac80211_hwsim."

static bool dcf = true;
module_param(dcf, bool, 0644);
MODULE_PARM_DESC(dcf, "Frames contend for one channel by 802.11 DCF");

static bool dcf_access_categories;
module_param(dcf_access_categories, bool, 0644);
MODULE_PARM_DESC(dcf_access_categories, "Four queues a radio, as with WMM; set before any frame is sent");

static bool dcf_aql = true;
module_param(dcf_aql, bool, 0444);
MODULE_PARM_DESC(dcf_aql, "mac80211 shares air time between stations and limits what is pending in the driver");

static uint dcf_access_points = 1;
module_param(dcf_access_points, uint, 0444);
MODULE_PARM_DESC(dcf_access_points, "How many radios, from the first, are access points");

static uint dcf_streams;
module_param(dcf_streams, uint, 0444);
MODULE_PARM_DESC(dcf_streams, "Spatial streams of each radio, 1 or 2; 0: as many as hwsim says");

static bool dcf_short_gi = true;
module_param(dcf_short_gi, bool, 0444);
MODULE_PARM_DESC(dcf_short_gi, "Radios can use the short guard interval");

static bool dcf_5_ghz;
module_param(dcf_5_ghz, bool, 0444);
MODULE_PARM_DESC(dcf_5_ghz, "An access point may use 5 GHz, 80 MHz wide, without a regulatory database");

static uint dcf_rts_bytes = UINT_MAX;
module_param(dcf_rts_bytes, uint, 0644);
MODULE_PARM_DESC(dcf_rts_bytes, "PSDUs longer than this begin with RTS and CTS, beside those for which rate control says so");

static uint dcf_ap_queue_frames = 64;
module_param(dcf_ap_queue_frames, uint, 0644);
MODULE_PARM_DESC(dcf_ap_queue_frames, "Driver queue of the access points, frames (of each category)");

static uint dcf_sta_queue_frames = 64;
module_param(dcf_sta_queue_frames, uint, 0644);
MODULE_PARM_DESC(dcf_sta_queue_frames, "Driver queue of every other radio, frames");

static bool dcf_orphan;
module_param(dcf_orphan, bool, 0644);
MODULE_PARM_DESC(dcf_orphan, "Detach frames from their socket at driver entry, as some phones' drivers do");

static uint dcf_loss_ppm;
module_param(dcf_loss_ppm, uint, 0644);
MODULE_PARM_DESC(dcf_loss_ppm, "Chance that an attempt is lost on its link, parts per million");

static uint dcf_retry_limit;
module_param(dcf_retry_limit, uint, 0644);
MODULE_PARM_DESC(dcf_retry_limit, "Attempts a frame at most, whatever its rate chain allows; 0: the chain alone decides");

static char *rate_control = "minstrel_ht";
module_param(rate_control, charp, 0444);
MODULE_PARM_DESC(rate_control, "Rate control of the stations: minstrel_ht, fixed, aarf");

static char *ap_rate_control = "minstrel_ht";
module_param(ap_rate_control, charp, 0444);
MODULE_PARM_DESC(ap_rate_control, "Rate control of the access points");

#define MPDU_TRIES_MAX		30	/* ath9k's ATH_MAX_SW_RETRIES */
#define CHANNELS_MAX		8

struct dcf_queued {
	struct list_head list;
	struct sk_buff *skb;
	struct ieee80211_channel *channel;
	enum hwsim_dcf_kind kind;
	u8 category;
	bool ack_expected;
	bool in_session;		/* of block acks: may share a PPDU */
	bool alone;			/* tries a rate out: with the rates it came with, and not in an A-MPDU */
	u8 tid;				/* if in a session */
	u8 tries;			/* as part of PPDUs that have ended */
	u8 chain_length;
	struct ieee80211_tx_rate chain[DCF_CHAIN_MAX];

	/* filled at the end */
	bool heard;
};

/* What a queue sends at once: one frame, or those of an A-MPDU. */
struct dcf_ppdu {
	struct list_head frames;
	struct dcf_frame frame;
	u32 psdu_bytes_max;		/* of an A-MPDU */
	u8 chain_length;
	struct ieee80211_tx_rate chain[DCF_CHAIN_MAX];
	u8 attempts[DCF_CHAIN_MAX];	/* finished, by step of the chain */
	bool in_session;
	bool tries_rate;
	u8 frames_sent;			/* when it ended */
	u8 frames_acked;
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
	bool stopped;
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
	u64 busy_ns_before[CHANNELS_MAX];	/* each channel's, when the radio was created */
	u64 tx_ns;
	u64 rx_ns;
	s16 snr_quarter_db[DCF_STATIONS_MAX];	/* at the other radios */
};

struct dcf_channel {
	u16 center_freq_mhz;		/* 0: not in use */
	struct dcf_model model;
	struct hrtimer timer;
};

static DEFINE_SPINLOCK(dcf_lock);
static struct dcf_channel channels[CHANNELS_MAX];
static u64 seed;
static struct hwsim_dcf_radio *radios[DCF_STATIONS_MAX];
static bool any_noise;

/* The channels' generators start apart from each other; the first one in use starts at the seed itself. */
static u64 channel_seed(const struct dcf_channel *channel)
{
	return seed + 0x632be59bd9b4e019ULL * (channel - channels);
}

static int set_seed(const char *value, const struct kernel_param *kp)
{
	u64 new_seed;
	int i, err = kstrtou64(value, 0, &new_seed);

	if (err)
		return err;
	spin_lock_bh(&dcf_lock);
	seed = new_seed;
	for (i = 0; i < CHANNELS_MAX; i++)
		channels[i].model.rng_state = channel_seed(&channels[i]);
	spin_unlock_bh(&dcf_lock);
	return 0;
}

static const struct kernel_param_ops seed_ops = { .set = set_seed };
module_param_cb(dcf_seed, &seed_ops, NULL, 0200);
MODULE_PARM_DESC(dcf_seed, "Seed of the back-off counters and link losses; takes effect when written");

/* "SENDER RECEIVER QUARTER_DB": radios by number. Both directions have their own. */
static int set_snr(const char *value, const struct kernel_param *kp)
{
	unsigned int sender, receiver;
	int quarter_db, err = 0;

	if (sscanf(value, "%u %u %d", &sender, &receiver, &quarter_db) != 3 || sender >= DCF_STATIONS_MAX ||
	    receiver >= DCF_STATIONS_MAX || quarter_db <= -DCF_NO_NOISE || quarter_db > DCF_NO_NOISE)
		return -EINVAL;
	spin_lock_bh(&dcf_lock);
	if (radios[sender]) {
		radios[sender]->snr_quarter_db[receiver] = quarter_db;
		any_noise = true;
	} else {
		err = -ENODEV;
	}
	spin_unlock_bh(&dcf_lock);
	return err;
}

static const struct kernel_param_ops snr_ops = { .set = set_snr };
module_param_cb(dcf_snr, &snr_ops, NULL, 0200);
MODULE_PARM_DESC(dcf_snr, "Of one stream in 20 MHz: SENDER RECEIVER QUARTER_DB; at first nothing is lost to noise");

static int get_stats(char *buffer, const struct kernel_param *kp)
{
	struct dcf_counters sum = {};
	int i;

	spin_lock_bh(&dcf_lock);
	for (i = 0; i < CHANNELS_MAX; i++) {
		const struct dcf_counters *c = &channels[i].model.counters;

		sum.busy_ns += c->busy_ns;
		sum.attempts += c->attempts;
		sum.collided_attempts += c->collided_attempts;
		sum.lost_attempts += c->lost_attempts;
		sum.lost_mpdus += c->lost_mpdus;
		sum.delivered += c->delivered;
		sum.failed += c->failed;
		sum.internal_collisions += c->internal_collisions;
		sum.mpdus += c->mpdus;
	}
	spin_unlock_bh(&dcf_lock);
	return sysfs_emit(buffer, "busy_ns %llu\nattempts %llu\ncollided_attempts %llu\nlost_attempts %llu\n"
			  "delivered %llu\nfailed %llu\ninternal_collisions %llu\nmpdus %llu\nlost_mpdus %llu\n",
			  sum.busy_ns, sum.attempts, sum.collided_attempts, sum.lost_attempts, sum.delivered,
			  sum.failed, sum.internal_collisions, sum.mpdus, sum.lost_mpdus);
}

static const struct kernel_param_ops stats_ops = { .get = get_stats };
module_param_cb(dcf_stats, &stats_ops, NULL, 0444);

bool hwsim_dcf_enabled(void)
{
	return dcf;
}

bool hwsim_dcf_limits_air_time(void)
{
	return dcf_aql;
}

const struct ieee80211_regdomain *hwsim_dcf_regulatory_domain(void)
{
	static const struct ieee80211_regdomain lab = {
		.n_reg_rules = 4,
		.alpha2 = "99",
		.reg_rules = {
			REG_RULE(2412 - 10, 2462 + 10, 40, 0, 20, 0),
			REG_RULE(5180 - 10, 5240 + 10, 80, 0, 23, 0),
			REG_RULE(5500 - 10, 5560 + 10, 80, 0, 23, 0),
			REG_RULE(5745 - 10, 5825 + 10, 80, 0, 23, 0),
		},
	};

	return dcf_5_ghz ? &lab : NULL;
}

static bool is_access_point(int idx)
{
	return idx < dcf_access_points;
}

const char *hwsim_dcf_rate_control(int idx)
{
	const char *name = is_access_point(idx) ? ap_rate_control : rate_control;

	return strcmp(name, "minstrel") ? name : "minstrel_ht";
}

void hwsim_dcf_limit_capabilities(struct ieee80211_supported_band *band)
{
	const u16 short_gi_ht = IEEE80211_HT_CAP_SGI_20 | IEEE80211_HT_CAP_SGI_40;
	u16 vht_map = 0xffff;	/* of each number of streams: not supported */
	int i;

	if (!dcf_streams)
		return;
	/* the medium needs no time between MPDUs */
	band->ht_cap.ampdu_density = IEEE80211_HT_MPDU_DENSITY_NONE;
	for (i = 0; i < IEEE80211_HT_MCS_MASK_LEN; i++)
		band->ht_cap.mcs.rx_mask[i] = i < dcf_streams ? 0xff : 0;
	for (i = 0; i < dcf_streams; i++)
		vht_map &= ~(3 << 2 * i) | IEEE80211_VHT_MCS_SUPPORT_0_9 << 2 * i;
	band->vht_cap.vht_mcs.rx_mcs_map = cpu_to_le16(vht_map);
	band->vht_cap.vht_mcs.tx_mcs_map = cpu_to_le16(vht_map);
	if (!dcf_short_gi) {
		band->ht_cap.cap &= ~short_gi_ht;
		band->vht_cap.cap &= ~(IEEE80211_VHT_CAP_SHORT_GI_80 | IEEE80211_VHT_CAP_SHORT_GI_160);
	}
}

static enum hrtimer_restart dcf_fire(struct hrtimer *timer);

/* Its channel; the last one if there are more than CHANNELS_MAX. */
static struct dcf_channel *channel_of(const struct ieee80211_channel *channel)
{
	struct dcf_channel *found = channels;
	int i, c;

	while (found < &channels[CHANNELS_MAX - 1] && found->center_freq_mhz &&
	       found->center_freq_mhz != channel->center_freq)
		found++;
	if (found->center_freq_mhz)
		return found;
	found->center_freq_mhz = channel->center_freq;
	dcf_init(&found->model, channel_seed(found));
	if (channel->band != NL80211_BAND_2GHZ)
		dcf_set_phy(&found->model, &dcf_phy_5_ghz);
	hrtimer_init(&found->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	found->timer.function = dcf_fire;
	for (i = 0; i < DCF_STATIONS_MAX; i++)
		for (c = 0; radios[i] && c < DCF_CATEGORIES; c++)
			if (radios[i]->edca_known[c])
				dcf_set_edca(&found->model, i, c, &radios[i]->edca[c]);
	return found;
}

static u32 queue_limit(const struct hwsim_dcf_radio *radio)
{
	return max(1U, is_access_point(radio->index) ? dcf_ap_queue_frames : dcf_sta_queue_frames);
}

static bool is_legacy(const struct ieee80211_tx_rate *rate)
{
	return !(rate->flags & (IEEE80211_TX_RC_MCS | IEEE80211_TX_RC_VHT_MCS));
}

static struct dcf_rate model_rate(struct hwsim_dcf_radio *radio, const struct ieee80211_channel *channel,
				  const struct ieee80211_tx_rate *rate)
{
	const struct ieee80211_supported_band *sband = radio->hw->wiphy->bands[channel->band];
	struct dcf_rate r = { .rate_100kbps = 60 };

	if (is_legacy(rate)) {
		if (rate->idx < sband->n_bitrates)
			r.rate_100kbps = sband->bitrates[rate->idx].bitrate;
		return r;
	}
	if (rate->flags & IEEE80211_TX_RC_VHT_MCS) {
		r.format = DCF_VHT;
		r.mcs = min_t(u8, ieee80211_rate_get_vht_mcs(rate), 9);
		r.streams = ieee80211_rate_get_vht_nss(rate);
	} else {
		r.format = DCF_HT;
		r.mcs = rate->idx % 8;
		r.streams = rate->idx / 8 + 1;
	}
	r.width_mhz = rate->flags & IEEE80211_TX_RC_80_MHZ_WIDTH ? 80 :
		      rate->flags & IEEE80211_TX_RC_40_MHZ_WIDTH ? 40 : 20;
	r.short_gi = rate->flags & IEEE80211_TX_RC_SHORT_GI;
	r.rts = rate->flags & IEEE80211_TX_RC_USE_RTS_CTS;
	r.rate_100kbps = dcf_rate_100kbps(&r);
	return r;
}

static void copy_chain(struct dcf_queued *q, const struct ieee80211_tx_rate *rates)
{
	q->chain_length = 0;
	while (q->chain_length < DCF_CHAIN_MAX && rates[q->chain_length].idx >= 0) {
		q->chain[q->chain_length] = rates[q->chain_length];
		q->chain_length++;
	}
}

/*
 * Firmware adapts its rate attempt by attempt, not when a frame is queued. The table that a rate control publishes
 * (rate_control_set_rates) is therefore read here, when the frame is at the head of the queue.
 */
static void choose_rates_at_head(struct hwsim_dcf_radio *radio, struct dcf_queued *q)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(q->skb);
	struct ieee80211_hdr *hdr = (void *)q->skb->data;
	struct ieee80211_sta_rates *table;
	struct ieee80211_sta *sta;
	int i;

	if (!(radio->rates_at_head || (q->in_session && !q->alone)) || !q->ack_expected ||
	    !ieee80211_is_data_present(hdr->frame_control) || (info->flags & IEEE80211_TX_CTL_USE_MINRATE))
		return;
	rcu_read_lock();
	sta = ieee80211_find_sta_by_ifaddr(radio->hw, hdr->addr1, hdr->addr2);
	table = sta ? rcu_dereference(sta->rates) : NULL;
	for (i = 0; table && i < DCF_CHAIN_MAX; i++) {
		q->chain[i].idx = table->rate[i].idx;
		q->chain[i].count = table->rate[i].count;
		q->chain[i].flags = table->rate[i].flags;
		if (table->rate[i].idx < 0)
			break;
		q->chain_length = i + 1;
	}
	rcu_read_unlock();
}

/* The receiver's limit of an A-MPDU, bytes; 9.4.2.56.3 and 9.4.2.158.2. */
static u32 receiver_limit_bytes(struct hwsim_dcf_radio *radio, const struct ieee80211_hdr *hdr, bool vht)
{
	struct ieee80211_sta *sta;
	u32 exponent = 0;

	rcu_read_lock();
	sta = ieee80211_find_sta_by_ifaddr(radio->hw, hdr->addr1, hdr->addr2);
	if (sta && vht)
		exponent = (sta->deflink.vht_cap.cap & IEEE80211_VHT_CAP_MAX_A_MPDU_LENGTH_EXPONENT_MASK) >>
			   IEEE80211_VHT_CAP_MAX_A_MPDU_LENGTH_EXPONENT_SHIFT;
	else if (sta)
		exponent = sta->deflink.ht_cap.ampdu_factor;
	rcu_read_unlock();
	return (1U << (IEEE80211_HT_MAX_AMPDU_FACTOR + exponent)) - 1;
}

/* Of the link to a frame's receiver. */
static s16 link_snr(const struct hwsim_dcf_radio *radio, const struct dcf_queued *q)
{
	const struct ieee80211_hdr *hdr = (void *)q->skb->data;
	int i;

	for (i = 0; any_noise && i < DCF_STATIONS_MAX; i++)
		if (radios[i] && ether_addr_equal(radios[i]->hw->wiphy->addresses[0].addr, hdr->addr1))
			return radio->snr_quarter_db[i];
	return DCF_NO_NOISE;
}

/* At the lowest rate loss goes from 1 to 0 within 1 dB: a random number for each receiver would change little but all. */
bool hwsim_dcf_hears(const struct hwsim_dcf_radio *receiver, const struct hwsim_dcf_radio *sender,
		     const struct sk_buff *skb)
{
	static const struct dcf_rate lowest = { .rate_100kbps = 60 };
	s16 snr_quarter_db = READ_ONCE(sender->snr_quarter_db[receiver->index]);

	return dcf_noise_loss_ppm(&lowest, snr_quarter_db, skb->len + DCF_FCS_BYTES) < DCF_LOST_PPM / 2;
}

/* The rates of @ppdu from its first frame; of an A-MPDU up to the first one that has none. */
static void set_chain(struct hwsim_dcf_radio *radio, struct dcf_ppdu *ppdu, const struct dcf_queued *q)
{
	u32 attempts_left = dcf_retry_limit ? dcf_retry_limit : U32_MAX;
	struct dcf_frame *frame = &ppdu->frame;
	int i;

	frame->ack_expected = q->ack_expected;
	frame->loss_ppm = min(dcf_loss_ppm, 1000000U);
	frame->snr_quarter_db = q->ack_expected ? link_snr(radio, q) : DCF_NO_NOISE;
	frame->chain_length = 1;
	frame->chain[0] = (struct dcf_rate){ .rate_100kbps = 60, .tries = 1 };	/* beacons: the lowest basic rate */
	for (i = 0; i < q->chain_length && attempts_left; i++) {
		if (q->in_session && !q->alone && i && is_legacy(&q->chain[i]))
			break;
		frame->chain[i] = model_rate(radio, q->channel, &q->chain[i]);
		frame->chain[i].tries = q->ack_expected ? clamp_t(u32, q->chain[i].count, 1, attempts_left) : 1;
		frame->chain_length = i + 1;
		attempts_left -= frame->chain[i].tries;
		ppdu->chain[i] = q->chain[i];
		ppdu->chain_length = i + 1;
	}
}

/* How long an A-MPDU may be: that of the slowest rate in time, in its TXOP, and within what its receiver takes. */
static u32 psdu_limit_bytes(struct hwsim_dcf_radio *radio, const struct dcf_queued *q,
			    const struct dcf_channel *channel, const struct dcf_frame *frame)
{
	u32 txop_ns = channel->model.queue[radio->index][q->category].edca.txop_limit_ns, limit_bytes, i;
	u32 limit_ns = txop_ns ? min(txop_ns, DCF_PPDU_MAX_NS) : DCF_PPDU_MAX_NS;

	limit_bytes = receiver_limit_bytes(radio, (void *)q->skb->data, frame->chain[0].format == DCF_VHT);
	for (i = 0; i < frame->chain_length; i++)
		limit_bytes = min(limit_bytes, dcf_psdu_limit_bytes(&frame->chain[i], limit_ns));
	return limit_bytes;
}

static u16 sequence_number(const struct dcf_queued *q)
{
	return IEEE80211_SEQ_TO_SN(le16_to_cpu(((struct ieee80211_hdr *)q->skb->data)->seq_ctrl));
}

/* Whether a frame is for the same receiver and traffic identifier, so that their order matters. */
static bool same_stream(const struct dcf_queued *a, const struct dcf_queued *b)
{
	const struct ieee80211_hdr *of_a = (void *)a->skb->data, *of_b = (void *)b->skb->data;

	return a->in_session && b->in_session && a->tid == b->tid && ether_addr_equal(of_a->addr1, of_b->addr1) &&
	       ether_addr_equal(of_a->addr2, of_b->addr2);
}

/* Adds a frame to an A-MPDU if it fits; @frame and the list of @ppdu are as before if not. */
static bool fits(const struct dcf_ppdu *ppdu, const struct dcf_queued *q, struct dcf_frame *frame)
{
	const struct dcf_queued *first = list_first_entry(&ppdu->frames, struct dcf_queued, list);

	/* the receiver's window begins at the first MPDU that it has not acknowledged */
	if (!same_stream(first, q) || q->alone ||
	    ieee80211_sn_sub(sequence_number(q), sequence_number(first)) >= DCF_MPDUS_MAX)
		return false;
	return dcf_add_mpdu(frame, q->skb->len + DCF_FCS_BYTES, ppdu->psdu_bytes_max);
}

/* What goes on air: an MPDU by itself is answered by an ACK, whether or not its format needs a delimiter. */
static struct dcf_frame on_air(const struct dcf_ppdu *ppdu)
{
	struct dcf_frame frame = ppdu->frame;
	u32 i;

	if (frame.mpdus == 1) {
		frame.mpdus = 0;
		if (frame.chain[0].format != DCF_VHT)
			frame.bytes = frame.mpdu_bytes[0];
	}
	for (i = 0; i < frame.chain_length; i++)
		if (frame.ack_expected && frame.bytes > dcf_rts_bytes)
			frame.chain[i].rts = true;
	return frame;
}

static void offer_head(struct hwsim_dcf_radio *radio, u32 category, u64 now_ns)
{
	struct hwsim_dcf_queue *queue = &radio->queue[category];
	struct dcf_queued *q = list_first_entry_or_null(&queue->frames, struct dcf_queued, list), *next;
	struct dcf_ppdu *ppdu = &queue->offered;
	struct ieee80211_hdr *hdr;
	struct dcf_frame frame;

	if (!q || !list_empty(&ppdu->frames))
		return;
	queue->channel = channel_of(q->channel);
	choose_rates_at_head(radio, q);
	memset(ppdu, 0, sizeof(*ppdu));
	INIT_LIST_HEAD(&ppdu->frames);
	list_move_tail(&q->list, &ppdu->frames);
	hdr = (void *)q->skb->data;
	ether_addr_copy(ppdu->receiver, hdr->addr1);
	ether_addr_copy(ppdu->transmitter, hdr->addr2);
	ppdu->band = q->channel->band;
	ppdu->in_session = q->in_session;
	ppdu->tries_rate = q->alone;
	set_chain(radio, ppdu, q);
	if (q->in_session && !q->alone && ppdu->frame.chain[0].format != DCF_LEGACY) {
		ppdu->psdu_bytes_max = psdu_limit_bytes(radio, q, queue->channel, &ppdu->frame);
		/* the first MPDU is sent whatever the limit */
		dcf_add_mpdu(&ppdu->frame, q->skb->len + DCF_FCS_BYTES, U32_MAX);
		list_for_each_entry_safe(q, next, &queue->frames, list) {
			if (!fits(ppdu, q, &ppdu->frame)) {
				if (same_stream(q, list_first_entry(&ppdu->frames, struct dcf_queued, list)))
					break;
				continue;
			}
			list_move_tail(&q->list, &ppdu->frames);
		}
	} else {
		ppdu->frame.bytes = q->skb->len + DCF_FCS_BYTES;
		if (ppdu->frame.chain[0].format == DCF_VHT)
			ppdu->frame.bytes = DCF_DELIMITER_BYTES + ALIGN(ppdu->frame.bytes, 4);
	}
	frame = on_air(ppdu);
	dcf_offer(&queue->channel->model, radio->index, category, &frame, now_ns);
}

static bool any_waits(const struct hwsim_dcf_queue *queue, const struct dcf_queued *of)
{
	struct dcf_queued *q;

	list_for_each_entry(q, &queue->frames, list)
		if (same_stream(q, of))
			return true;
	return false;
}

/* Adds a frame to the A-MPDU that contends, if there is time and room for it, and none of its stream waits before it. */
static bool join_offered(struct hwsim_dcf_radio *radio, struct hwsim_dcf_queue *queue, struct dcf_queued *q, u64 now_ns)
{
	struct dcf_ppdu *ppdu = &queue->offered;
	struct dcf_frame before, frame;

	if (!q->in_session || !ppdu->frame.mpdus)
		return false;
	before = ppdu->frame;
	if (!fits(ppdu, q, &ppdu->frame))
		return false;
	frame = on_air(ppdu);
	if (any_waits(queue, q) ||
	    !dcf_replace(&queue->channel->model, radio->index, q->category, &frame, now_ns)) {
		ppdu->frame = before;
		return false;
	}
	list_add_tail(&q->list, &ppdu->frames);
	return true;
}

static void arm_timer(struct dcf_channel *channel)
{
	u64 next_ns = dcf_next_event_ns(&channel->model);

	if (next_ns != DCF_NEVER_NS)
		hrtimer_start(&channel->timer, ns_to_ktime(next_ns), HRTIMER_MODE_ABS_SOFT);
}

static u8 category_of(const struct sk_buff *skb, enum hwsim_dcf_kind kind)
{
	BUILD_BUG_ON(DCF_CATEGORIES != IEEE80211_NUM_ACS || DCF_BEST_EFFORT != IEEE80211_AC_BE);
	if (!dcf_access_categories)
		return DCF_BEST_EFFORT;
	return kind == HWSIM_DCF_BEACON ? IEEE80211_AC_VO : min_t(u16, skb_get_queue_mapping(skb), IEEE80211_AC_BK);
}

static void stop_queue(struct hwsim_dcf_radio *radio, u32 category)
{
	radio->queue[category].stopped = true;
	if (dcf_access_categories)
		ieee80211_stop_queue(radio->hw, category);
	else
		ieee80211_stop_queues(radio->hw);
}

static void wake_queue(struct hwsim_dcf_radio *radio, u32 category)
{
	radio->queue[category].stopped = false;
	if (dcf_access_categories)
		ieee80211_wake_queue(radio->hw, category);
	else
		ieee80211_wake_queues(radio->hw);
}

void hwsim_dcf_enqueue(struct hwsim_dcf_radio *radio, struct sk_buff *skb, struct ieee80211_channel *channel,
		       enum hwsim_dcf_kind kind)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(skb);
	struct ieee80211_hdr *hdr = (void *)skb->data;
	struct dcf_queued *q = kzalloc(sizeof(*q), GFP_ATOMIC);
	struct hwsim_dcf_queue *queue;
	bool was_empty, contends;

	if (!q) {
		ieee80211_free_txskb(radio->hw, skb);
		return;
	}
	q->skb = skb;
	q->channel = channel;
	q->kind = kind;
	q->category = category_of(skb, kind);
	queue = &radio->queue[q->category];
	q->ack_expected = !is_multicast_ether_addr(hdr->addr1) && !(info->flags & IEEE80211_TX_CTL_NO_ACK);
	if ((info->flags & IEEE80211_TX_CTL_AMPDU) && ieee80211_is_data_qos(hdr->frame_control)) {
		q->in_session = true;
		q->alone = info->flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE;
		q->tid = ieee80211_get_tid(hdr);
	}
	/* the interface may be removed before the frame is sent; tx status uses the memory of the rates */
	copy_chain(q, info->control.rates);
	info->control.vif = NULL;
	if (dcf_orphan)
		skb_orphan(skb);

	spin_lock_bh(&dcf_lock);
	contends = !list_empty(&queue->offered.frames);
	was_empty = !contends && list_empty(&queue->frames);
	queue->length++;
	if (kind == HWSIM_DCF_BEACON && !was_empty)
		list_add(&q->list, contends ? &queue->frames : queue->frames.next);
	else if (!contends || !join_offered(radio, queue, q, ktime_get_ns()))
		list_add_tail(&q->list, &queue->frames);
	if (!queue->stopped && queue->length >= queue_limit(radio))
		stop_queue(radio, q->category);
	if (was_empty) {
		offer_head(radio, q->category, ktime_get_ns());
		arm_timer(queue->channel);
	}
	spin_unlock_bh(&dcf_lock);
}

/* Back to its place: before the first frame of its stream that waits. */
static void requeue(struct hwsim_dcf_queue *queue, struct dcf_queued *q)
{
	struct dcf_queued *other;

	list_for_each_entry(other, &queue->frames, list) {
		if (same_stream(other, q)) {
			list_move_tail(&q->list, &other->list);
			return;
		}
	}
	list_move_tail(&q->list, &queue->frames);
}

static u32 mpdu_tries_max(void)
{
	return dcf_retry_limit ? min_t(u32, dcf_retry_limit, MPDU_TRIES_MAX) : MPDU_TRIES_MAX;
}

/* Separates the frames that have ended, in queue->ended, from those to be sent again. */
static void end_ppdu(struct hwsim_dcf_queue *queue, const struct dcf_result *r)
{
	struct dcf_ppdu *ppdu = &queue->offered, *ended = &queue->ended;
	u32 i, tries = 0, bit = 0;
	struct dcf_queued *q, *next;
	LIST_HEAD(again);

	*ended = *ppdu;
	INIT_LIST_HEAD(&ended->frames);
	for (i = 0; i < ppdu->chain_length; i++)
		tries += ppdu->attempts[i];
	list_for_each_entry_safe(q, next, &ppdu->frames, list) {
		q->heard = r->heard_mpdus & BIT_ULL(bit++);
		q->tries = min(q->tries + tries, 255U);
		if (q->in_session && !q->heard && q->tries < mpdu_tries_max()) {
			q->alone = false;
			list_move_tail(&q->list, &again);
			continue;
		}
		list_move_tail(&q->list, &ended->frames);
		queue->length--;
		ended->frames_acked += q->heard;
	}
	ended->frames_sent = bit;
	list_for_each_entry_safe_reverse(q, next, &again, list)
		requeue(queue, q);
}

/* Counts the attempt; true if it was the last one of its PPDU. */
static bool end_of_attempt(const struct dcf_result *r)
{
	struct hwsim_dcf_radio *radio = radios[r->station];
	struct hwsim_dcf_queue *queue = &radio->queue[r->category];
	struct dcf_ppdu *ppdu = &queue->offered;
	int step = 0;

	while (step + 1 < ppdu->chain_length && ppdu->attempts[step] >= max_t(u8, ppdu->chain[step].count, 1))
		step++;
	ppdu->attempts[step]++;
	ppdu->tx_airtime_ns += r->airtime_ns;
	ppdu->airtime_ns = r->airtime_ns;
	radio->tx_ns += r->airtime_ns;
	if (r->outcome == DCF_RETRY)
		return false;
	end_ppdu(queue, r);
	return true;
}

/* A traffic identifier of each access category. */
static const u8 tid_of[IEEE80211_NUM_ACS] = {
	[IEEE80211_AC_VO] = 6, [IEEE80211_AC_VI] = 4, [IEEE80211_AC_BE] = 0, [IEEE80211_AC_BK] = 1,
};

static void register_airtime(struct ieee80211_hw *hw, const u8 *peer, const u8 *self, u8 category, u32 tx_ns, u32 rx_ns)
{
	struct ieee80211_sta *sta = ieee80211_find_sta_by_ifaddr(hw, peer, self);

	if (sta)
		ieee80211_sta_register_airtime(sta, tid_of[category], DIV_ROUND_CLOSEST(tx_ns, NSEC_PER_USEC),
					       DIV_ROUND_CLOSEST(rx_ns, NSEC_PER_USEC));
}

static void set_status_rates(const struct dcf_ppdu *ppdu, struct ieee80211_tx_info *info)
{
	int i;

	for (i = 0; i < IEEE80211_TX_MAX_RATES; i++) {
		bool used = i < ppdu->chain_length && ppdu->attempts[i];

		info->status.rates[i].idx = used ? ppdu->chain[i].idx : -1;
		info->status.rates[i].flags = used ? ppdu->chain[i].flags : 0;
		info->status.rates[i].count = used ? ppdu->attempts[i] : 0;
	}
}

/* In a session a rate control gets one status for each PPDU, whichever of its frames have ended. */
static void report_rates(struct ieee80211_hw *hw, const struct dcf_ppdu *ppdu)
{
	struct ieee80211_sta *sta = ieee80211_find_sta_by_ifaddr(hw, ppdu->receiver, ppdu->transmitter);
	struct ieee80211_tx_info info = {
		.flags = IEEE80211_TX_CTL_AMPDU | IEEE80211_TX_STAT_AMPDU,
		.band = ppdu->band,
	};

	if (!sta)
		return;
	if (ppdu->frames_acked)
		info.flags |= IEEE80211_TX_STAT_ACK;
	if (ppdu->tries_rate)
		info.flags |= IEEE80211_TX_CTL_RATE_CTRL_PROBE;
	set_status_rates(ppdu, &info);
	info.status.ampdu_len = ppdu->frames_sent;
	info.status.ampdu_ack_len = ppdu->frames_acked;
	ieee80211_tx_rate_update(hw, sta, &info);
}

static void report_status(struct ieee80211_hw *hw, struct dcf_queued *q, const struct dcf_ppdu *ppdu, bool acked)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(q->skb);

	ieee80211_tx_info_clear_status(info);
	set_status_rates(ppdu, info);
	if (acked)
		info->flags |= IEEE80211_TX_STAT_ACK;
	else if (q->in_session)
		info->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;
	mac80211_hwsim_tx_status(hw, q->skb);
}

/* Delivers what was heard; the radio that it is for. */
static struct ieee80211_hw *deliver(struct hwsim_dcf_radio *radio, struct dcf_ppdu *ppdu, struct dcf_queued *q)
{
	int step = ppdu->chain_length - 1;

	while (step > 0 && !ppdu->attempts[step])
		step--;
	if (step >= 0)
		IEEE80211_SKB_CB(q->skb)->control.rates[0] = ppdu->chain[step];
	return q->heard ? mac80211_hwsim_deliver(radio->hw, q->skb, q->channel) : NULL;
}

static void complete_ppdu(struct hwsim_dcf_radio *radio, u8 category)
{
	struct hwsim_dcf_queue *queue = &radio->queue[category];
	struct dcf_ppdu *ppdu = &queue->ended;
	struct ieee80211_hw *receiver = NULL;
	struct dcf_queued *q, *next;

	rcu_read_lock();
	list_for_each_entry(q, &ppdu->frames, list)
		if (q->heard)
			receiver = deliver(radio, ppdu, q);
	register_airtime(radio->hw, ppdu->receiver, ppdu->transmitter, category, ppdu->tx_airtime_ns, 0);
	if (receiver) {
		register_airtime(receiver, ppdu->transmitter, ppdu->receiver, category, 0, ppdu->airtime_ns);
		mac80211_hwsim_dcf_radio(receiver)->rx_ns += ppdu->airtime_ns;
	}
	if (ppdu->in_session)
		report_rates(radio->hw, ppdu);
	rcu_read_unlock();

	list_for_each_entry_safe(q, next, &ppdu->frames, list) {
		list_del(&q->list);
		if (q->kind == HWSIM_DCF_BEACON)
			dev_kfree_skb(q->skb);
		else
			report_status(radio->hw, q, ppdu, receiver && q->heard);
		kfree(q);
	}
}

static bool is_empty(const struct hwsim_dcf_radio *radio)
{
	int c;

	for (c = 0; c < DCF_CATEGORIES; c++)
		if (READ_ONCE(radio->queue[c].length))
			return false;
	return true;
}

static void wake_if_drained(struct hwsim_dcf_radio *radio, u32 category)
{
	struct hwsim_dcf_queue *queue = &radio->queue[category];

	if (queue->stopped && queue->length <= queue_limit(radio) / 2)
		wake_queue(radio, category);
	if (!queue->length && is_empty(radio))
		wake_up(&radio->drained);
}

/*
 * A frame has ended: its air time is no longer pending, so a station may have more to send. mac80211 does not ask again
 * by itself.
 */
static void pull_next(struct hwsim_dcf_radio *radio, u8 category)
{
	u8 ac;

	if (dcf_access_categories) {
		mac80211_hwsim_pull(radio->hw, category);
		return;
	}
	for (ac = 0; ac < IEEE80211_NUM_ACS; ac++)
		mac80211_hwsim_pull(radio->hw, ac);
}

/* Called when attempts have begun. The timer may run late: a frame that came meanwhile did not contend with them. */
static void trace_attempts(const struct dcf_model *model)
{
	u16 contenders = 0;
	u32 i;

	for (i = 0; i < model->queues_used; i++)
		if (model->used[i]->contending && model->used[i]->head_since_ns <= model->busy_since_ns)
			contenders++;
	for (i = 0; i < model->queues_used; i++)
		if (model->used[i]->on_air)
			trace_dcf_attempt(model->used[i], model->busy_since_ns, contenders);
}

/* Processes one event of the channel's model; false if none is due. */
static bool run_event(struct dcf_channel *channel)
{
	static struct dcf_result results[DCF_STATIONS_MAX];	/* under dcf_lock until the last attempt has been counted */
	struct hwsim_dcf_radio *radio;
	u64 event_ns;
	u32 i, n, ended = 0;

	spin_lock_bh(&dcf_lock);
	event_ns = dcf_next_event_ns(&channel->model);
	if (event_ns > ktime_get_ns()) {
		arm_timer(channel);
		spin_unlock_bh(&dcf_lock);
		return false;
	}
	n = dcf_advance(&channel->model, event_ns, results);
	if (trace_dcf_attempt_enabled() && channel->model.busy)
		trace_attempts(&channel->model);
	for (i = 0; i < n; i++)
		if (end_of_attempt(&results[i]))
			results[ended++] = results[i];
	spin_unlock_bh(&dcf_lock);

	for (i = 0; i < ended; i++) {
		u8 category = results[i].category;

		radio = radios[results[i].station];
		complete_ppdu(radio, category);
		spin_lock_bh(&dcf_lock);
		offer_head(radio, category, event_ns);
		wake_if_drained(radio, category);
		spin_unlock_bh(&dcf_lock);
		pull_next(radio, category);
	}
	return true;
}

static enum hrtimer_restart dcf_fire(struct hrtimer *timer)
{
	while (run_event(container_of(timer, struct dcf_channel, timer)))
		;
	return HRTIMER_NORESTART;
}

void hwsim_dcf_purge(struct hwsim_dcf_radio *radio)
{
	struct dcf_queued *q, *next;
	LIST_HEAD(purged);
	int c, i;

	spin_lock_bh(&dcf_lock);
	for (i = 0; i < CHANNELS_MAX; i++)
		if (channels[i].center_freq_mhz)
			dcf_withdraw(&channels[i].model, radio->index);
	for (c = 0; c < DCF_CATEGORIES; c++) {
		list_splice_tail_init(&radio->queue[c].offered.frames, &purged);
		list_splice_tail_init(&radio->queue[c].frames, &purged);
		radio->queue[c].length = 0;
	}
	for (c = 0; c < DCF_CATEGORIES; c++)
		wake_if_drained(radio, c);
	spin_unlock_bh(&dcf_lock);

	list_for_each_entry_safe(q, next, &purged, list) {
		ieee80211_free_txskb(radio->hw, q->skb);
		kfree(q);
	}
}

void hwsim_dcf_flush(struct hwsim_dcf_radio *radio)
{
	wait_event_timeout(radio->drained, is_empty(radio), HZ);
}

void hwsim_dcf_conf_tx(struct hwsim_dcf_radio *radio, const struct ieee80211_vif *vif, u16 category,
		       const struct ieee80211_tx_queue_params *params)
{
	const struct dcf_edca edca = {
		.aifsn = params->aifs,
		.cw_min = params->cw_min,
		.cw_max = params->cw_max,
		.txop_limit_ns = params->txop * 32 * NSEC_PER_USEC,
	};
	int i;

	if (category >= DCF_CATEGORIES)
		return;
	/*
	 * mac80211 gives a station EDCA's defaults even if its access point has no WMM (ieee80211_assoc_config_link:
	 * "might have HT/VHT"). In 802.11g such a station uses DCF, which is what it has here from the start.
	 */
	if (!dcf_access_categories && vif->type == NL80211_IFTYPE_STATION)
		return;
	spin_lock_bh(&dcf_lock);
	radio->edca[category] = edca;
	radio->edca_known[category] = true;
	for (i = 0; i < CHANNELS_MAX; i++) {
		if (!channels[i].center_freq_mhz)
			continue;
		dcf_set_edca(&channels[i].model, radio->index, category, &edca);
		arm_timer(&channels[i]);
	}
	spin_unlock_bh(&dcf_lock);
}

void hwsim_dcf_survey(struct hwsim_dcf_radio *radio, struct survey_info *survey)
{
	u64 now_ns = ktime_get_ns();
	struct dcf_channel *channel;

	spin_lock_bh(&dcf_lock);
	channel = channel_of(survey->channel);
	survey->filled = SURVEY_INFO_TIME | SURVEY_INFO_TIME_BUSY | SURVEY_INFO_TIME_RX | SURVEY_INFO_TIME_TX |
			 SURVEY_INFO_IN_USE;
	survey->time = div_u64(now_ns - radio->created_ns, NSEC_PER_MSEC);
	survey->time_busy = div_u64(dcf_busy_ns(&channel->model, now_ns) -
				    radio->busy_ns_before[channel - channels], NSEC_PER_MSEC);
	survey->time_rx = div_u64(radio->rx_ns, NSEC_PER_MSEC);
	survey->time_tx = div_u64(radio->tx_ns, NSEC_PER_MSEC);
	spin_unlock_bh(&dcf_lock);
}

struct hwsim_dcf_radio *hwsim_dcf_radio_create(struct ieee80211_hw *hw, int idx)
{
	struct hwsim_dcf_radio *radio;
	int c, i;

	if (idx >= DCF_STATIONS_MAX)
		return NULL;
	radio = kzalloc(sizeof(*radio), GFP_KERNEL);
	if (!radio)
		return NULL;
	radio->hw = hw;
	radio->index = idx;
	radio->rates_at_head = strcmp(hwsim_dcf_rate_control(idx), "minstrel_ht");
	for (c = 0; c < DCF_CATEGORIES; c++) {
		INIT_LIST_HEAD(&radio->queue[c].frames);
		INIT_LIST_HEAD(&radio->queue[c].offered.frames);
		INIT_LIST_HEAD(&radio->queue[c].ended.frames);
	}
	init_waitqueue_head(&radio->drained);

	spin_lock_bh(&dcf_lock);
	radio->created_ns = ktime_get_ns();
	for (i = 0; i < DCF_STATIONS_MAX; i++)
		radio->snr_quarter_db[i] = DCF_NO_NOISE;
	for (i = 0; i < CHANNELS_MAX; i++)
		radio->busy_ns_before[i] = dcf_busy_ns(&channels[i].model, radio->created_ns);
	radios[idx] = radio;
	spin_unlock_bh(&dcf_lock);
	return radio;
}

void hwsim_dcf_radio_destroy(struct hwsim_dcf_radio *radio)
{
	if (!radio)
		return;
	hwsim_dcf_purge(radio);
	spin_lock_bh(&dcf_lock);
	radios[radio->index] = NULL;
	spin_unlock_bh(&dcf_lock);
	kfree(radio);
}
