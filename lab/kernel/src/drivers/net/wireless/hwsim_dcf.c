// SPDX-License-Identifier: GPL-2.0-only
/*
 * Glue between mac80211_hwsim and the DCF model: queues, one timer, tx status, air time.
 *
 *	mac80211 -> hwsim_dcf_enqueue -> a queue of the radio -> head offered to the model
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
 */
#include <linux/hrtimer.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/wait.h>

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

static uint dcf_ap_queue_frames = 64;
module_param(dcf_ap_queue_frames, uint, 0644);
MODULE_PARM_DESC(dcf_ap_queue_frames, "Driver queue of the first radio, frames (of each category)");

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
MODULE_PARM_DESC(rate_control, "Rate control of the stations: minstrel_ht, fixed54, aarf");

static char *ap_rate_control = "minstrel_ht";
module_param(ap_rate_control, charp, 0444);
MODULE_PARM_DESC(ap_rate_control, "Rate control of the first radio, the access point");

struct dcf_queued {
	struct list_head list;
	struct sk_buff *skb;
	struct ieee80211_channel *channel;
	enum hwsim_dcf_kind kind;
	u8 category;
	bool ack_expected;
	u8 chain_length;
	struct ieee80211_tx_rate chain[DCF_CHAIN_MAX];
	u8 attempts[DCF_CHAIN_MAX];	/* finished, by step of the chain */

	/* filled at the end */
	struct ieee80211_hw *hw;
	bool heard;
	u32 airtime_ns;			/* of the last attempt */
	u32 tx_airtime_ns;		/* of all attempts */
};

struct hwsim_dcf_queue {
	struct list_head frames;
	u32 length;
	bool stopped;
};

struct hwsim_dcf_radio {
	struct ieee80211_hw *hw;
	int index;
	bool rates_at_head;		/* rate control by table: the rate is chosen at the head of the queue */
	struct hwsim_dcf_queue queue[DCF_CATEGORIES];
	wait_queue_head_t drained;
	u64 created_ns;
	u64 busy_ns_before;		/* the channel's, when the radio was created */
	u64 tx_ns;
	u64 rx_ns;
};

static DEFINE_SPINLOCK(dcf_lock);
static struct dcf_model model;
static struct hwsim_dcf_radio *radios[DCF_STATIONS_MAX];
static struct hrtimer dcf_timer;
static bool dcf_ready;

static int set_seed(const char *value, const struct kernel_param *kp)
{
	u64 seed;
	int err = kstrtou64(value, 0, &seed);

	if (err)
		return err;
	spin_lock_bh(&dcf_lock);
	model.rng_state = seed;
	spin_unlock_bh(&dcf_lock);
	return 0;
}

static const struct kernel_param_ops seed_ops = { .set = set_seed };
module_param_cb(dcf_seed, &seed_ops, NULL, 0200);
MODULE_PARM_DESC(dcf_seed, "Seed of the back-off counters and link losses; takes effect when written");

static int get_stats(char *buffer, const struct kernel_param *kp)
{
	struct dcf_counters c;

	spin_lock_bh(&dcf_lock);
	c = model.counters;
	spin_unlock_bh(&dcf_lock);
	return sysfs_emit(buffer, "busy_ns %llu\nattempts %llu\ncollided_attempts %llu\nlost_attempts %llu\n"
			  "delivered %llu\nfailed %llu\ninternal_collisions %llu\n",
			  c.busy_ns, c.attempts, c.collided_attempts, c.lost_attempts, c.delivered, c.failed,
			  c.internal_collisions);
}

static const struct kernel_param_ops stats_ops = { .get = get_stats };
module_param_cb(dcf_stats, &stats_ops, NULL, 0444);

bool hwsim_dcf_enabled(void)
{
	return dcf;
}

const char *hwsim_dcf_rate_control(int idx)
{
	const char *name = idx ? rate_control : ap_rate_control;

	return strcmp(name, "minstrel") ? name : "minstrel_ht";
}

static u32 queue_limit(const struct hwsim_dcf_radio *radio)
{
	return max(1U, radio->index ? dcf_sta_queue_frames : dcf_ap_queue_frames);
}

static u16 rate_100kbps(struct hwsim_dcf_radio *radio, struct ieee80211_channel *channel,
			const struct ieee80211_tx_rate *rate)
{
	const struct ieee80211_supported_band *sband = radio->hw->wiphy->bands[channel->band];

	if (rate->flags & (IEEE80211_TX_RC_MCS | IEEE80211_TX_RC_VHT_MCS)) {
		pr_warn_once("hwsim_dcf: the medium knows 802.11g only; HT and VHT frames are sent at 6 Mb/s\n");
		return 60;
	}
	return rate->idx < sband->n_bitrates ? sband->bitrates[rate->idx].bitrate : 60;
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

	if (!radio->rates_at_head || !q->ack_expected || !ieee80211_is_data_present(hdr->frame_control) ||
	    (info->flags & IEEE80211_TX_CTL_USE_MINRATE))
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

static void offer_head(struct hwsim_dcf_radio *radio, u32 category, u64 now_ns)
{
	struct dcf_queued *q = list_first_entry_or_null(&radio->queue[category].frames, struct dcf_queued, list);
	u32 attempts_left = dcf_retry_limit ? dcf_retry_limit : U32_MAX;
	struct dcf_frame frame = {};
	int i;

	if (!q || model.queue[radio->index][category].contending)
		return;
	choose_rates_at_head(radio, q);
	frame.bytes = q->skb->len + DCF_FCS_BYTES;
	frame.ack_expected = q->ack_expected;
	frame.loss_ppm = min(dcf_loss_ppm, 1000000U);
	frame.chain_length = 1;
	frame.chain[0].rate_100kbps = 60;	/* no rate given (beacons): the lowest basic rate */
	frame.chain[0].tries = 1;
	for (i = 0; i < q->chain_length && attempts_left; i++) {
		frame.chain[i].rate_100kbps = rate_100kbps(radio, q->channel, &q->chain[i]);
		frame.chain[i].tries = q->ack_expected ? clamp_t(u32, q->chain[i].count, 1, attempts_left) : 1;
		frame.chain_length = i + 1;
		attempts_left -= frame.chain[i].tries;
	}
	dcf_offer(&model, radio->index, category, &frame, now_ns);
}

static void arm_timer(void)
{
	u64 next_ns = dcf_next_event_ns(&model);

	if (next_ns != DCF_NEVER_NS)
		hrtimer_start(&dcf_timer, ns_to_ktime(next_ns), HRTIMER_MODE_ABS_SOFT);
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
	bool was_empty;

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
	/* the interface may be removed before the frame is sent; tx status uses the memory of the rates */
	copy_chain(q, info->control.rates);
	info->control.vif = NULL;
	if (dcf_orphan)
		skb_orphan(skb);

	spin_lock_bh(&dcf_lock);
	was_empty = list_empty(&queue->frames);
	if (kind == HWSIM_DCF_BEACON && !was_empty)
		list_add(&q->list, queue->frames.next);
	else
		list_add_tail(&q->list, &queue->frames);
	queue->length++;
	if (!queue->stopped && queue->length >= queue_limit(radio))
		stop_queue(radio, q->category);
	if (was_empty) {
		offer_head(radio, q->category, ktime_get_ns());
		arm_timer();
	}
	spin_unlock_bh(&dcf_lock);
}

/* Counts the attempt; moves the frame to @done if it was the last one. */
static void end_of_attempt(const struct dcf_result *r, struct list_head *done)
{
	struct hwsim_dcf_radio *radio = radios[r->station];
	struct hwsim_dcf_queue *queue = &radio->queue[r->category];
	struct dcf_queued *q = list_first_entry(&queue->frames, struct dcf_queued, list);
	int step = 0;

	while (step + 1 < q->chain_length && q->attempts[step] >= max_t(u8, q->chain[step].count, 1))
		step++;
	q->attempts[step]++;
	q->tx_airtime_ns += r->airtime_ns;
	radio->tx_ns += r->airtime_ns;
	if (r->outcome == DCF_RETRY)
		return;
	q->hw = radio->hw;
	q->heard = r->heard;
	q->airtime_ns = r->airtime_ns;
	list_move_tail(&q->list, done);
	queue->length--;
}

static void register_airtime(struct ieee80211_hw *hw, const u8 *peer, const u8 *self, u32 tx_ns, u32 rx_ns)
{
	struct ieee80211_sta *sta = ieee80211_find_sta_by_ifaddr(hw, peer, self);

	if (sta)
		ieee80211_sta_register_airtime(sta, 0, DIV_ROUND_CLOSEST(tx_ns, NSEC_PER_USEC),
					       DIV_ROUND_CLOSEST(rx_ns, NSEC_PER_USEC));
}

static void report_status(struct dcf_queued *q, bool acked)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(q->skb);
	int i;

	ieee80211_tx_info_clear_status(info);
	for (i = 0; i < IEEE80211_TX_MAX_RATES; i++) {
		bool used = i < q->chain_length && q->attempts[i];

		info->status.rates[i].idx = used ? q->chain[i].idx : -1;
		info->status.rates[i].flags = used ? q->chain[i].flags : 0;
		info->status.rates[i].count = used ? q->attempts[i] : 0;
	}
	if (acked)
		info->flags |= IEEE80211_TX_STAT_ACK;
	ieee80211_tx_status(q->hw, q->skb);
}

static void complete_frame(struct dcf_queued *q)
{
	struct ieee80211_hdr *hdr = (void *)q->skb->data;
	struct ieee80211_hw *receiver = NULL;
	int step = q->chain_length - 1;

	while (step > 0 && !q->attempts[step])
		step--;
	if (step >= 0)
		IEEE80211_SKB_CB(q->skb)->control.rates[0] = q->chain[step];

	rcu_read_lock();
	if (q->heard)
		receiver = mac80211_hwsim_deliver(q->hw, q->skb, q->channel);
	register_airtime(q->hw, hdr->addr1, hdr->addr2, q->tx_airtime_ns, 0);
	if (receiver) {
		register_airtime(receiver, hdr->addr2, hdr->addr1, 0, q->airtime_ns);
		mac80211_hwsim_dcf_radio(receiver)->rx_ns += q->airtime_ns;
	}
	rcu_read_unlock();

	if (q->kind == HWSIM_DCF_BEACON)
		dev_kfree_skb(q->skb);
	else
		report_status(q, receiver);
	kfree(q);
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

static void complete_frames(struct list_head *done, u64 now_ns)
{
	struct dcf_queued *q, *next;

	list_for_each_entry_safe(q, next, done, list) {
		struct hwsim_dcf_radio *radio = mac80211_hwsim_dcf_radio(q->hw);
		u8 category = q->category;

		complete_frame(q);
		spin_lock_bh(&dcf_lock);
		offer_head(radio, category, now_ns);
		wake_if_drained(radio, category);
		spin_unlock_bh(&dcf_lock);
	}
}

/* Called when attempts have begun. The timer may run late: a frame that came meanwhile did not contend with them. */
static void trace_attempts(void)
{
	u16 contenders = 0;
	u32 i;

	for (i = 0; i < model.queues_used; i++)
		if (model.used[i]->contending && model.used[i]->head_since_ns <= model.busy_since_ns)
			contenders++;
	for (i = 0; i < model.queues_used; i++)
		if (model.used[i]->on_air)
			trace_dcf_attempt(model.used[i], model.busy_since_ns, contenders);
}

/* Processes one event of the model; false if none is due. */
static bool run_event(void)
{
	static struct dcf_result results[DCF_STATIONS_MAX];	/* under dcf_lock */
	LIST_HEAD(done);
	u64 event_ns;
	u32 i, n;

	spin_lock_bh(&dcf_lock);
	event_ns = dcf_next_event_ns(&model);
	if (event_ns > ktime_get_ns()) {
		arm_timer();
		spin_unlock_bh(&dcf_lock);
		return false;
	}
	n = dcf_advance(&model, event_ns, results);
	if (trace_dcf_attempt_enabled() && model.busy)
		trace_attempts();
	for (i = 0; i < n; i++)
		end_of_attempt(&results[i], &done);
	spin_unlock_bh(&dcf_lock);

	complete_frames(&done, event_ns);
	return true;
}

static enum hrtimer_restart dcf_fire(struct hrtimer *timer)
{
	while (run_event())
		;
	return HRTIMER_NORESTART;
}

void hwsim_dcf_purge(struct hwsim_dcf_radio *radio)
{
	struct dcf_queued *q, *next;
	LIST_HEAD(purged);
	int c;

	spin_lock_bh(&dcf_lock);
	dcf_withdraw(&model, radio->index);
	for (c = 0; c < DCF_CATEGORIES; c++) {
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

	if (category >= DCF_CATEGORIES)
		return;
	/*
	 * mac80211 gives a station EDCA's defaults even if its access point has no WMM (ieee80211_assoc_config_link:
	 * "might have HT/VHT"). In 802.11g such a station uses DCF, which is what it has here from the start.
	 */
	if (!dcf_access_categories && vif->type == NL80211_IFTYPE_STATION)
		return;
	spin_lock_bh(&dcf_lock);
	dcf_set_edca(&model, radio->index, category, &edca);
	arm_timer();
	spin_unlock_bh(&dcf_lock);
}

void hwsim_dcf_survey(struct hwsim_dcf_radio *radio, struct survey_info *survey)
{
	u64 now_ns = ktime_get_ns();

	spin_lock_bh(&dcf_lock);
	survey->filled = SURVEY_INFO_TIME | SURVEY_INFO_TIME_BUSY | SURVEY_INFO_TIME_RX | SURVEY_INFO_TIME_TX |
			 SURVEY_INFO_IN_USE;
	survey->time = div_u64(now_ns - radio->created_ns, NSEC_PER_MSEC);
	survey->time_busy = div_u64(dcf_busy_ns(&model, now_ns) - radio->busy_ns_before, NSEC_PER_MSEC);
	survey->time_rx = div_u64(radio->rx_ns, NSEC_PER_MSEC);
	survey->time_tx = div_u64(radio->tx_ns, NSEC_PER_MSEC);
	spin_unlock_bh(&dcf_lock);
}

struct hwsim_dcf_radio *hwsim_dcf_radio_create(struct ieee80211_hw *hw, int idx)
{
	struct hwsim_dcf_radio *radio;
	int c;

	if (idx >= DCF_STATIONS_MAX)
		return NULL;
	radio = kzalloc(sizeof(*radio), GFP_KERNEL);
	if (!radio)
		return NULL;
	radio->hw = hw;
	radio->index = idx;
	radio->rates_at_head = strcmp(hwsim_dcf_rate_control(idx), "minstrel_ht");
	for (c = 0; c < DCF_CATEGORIES; c++)
		INIT_LIST_HEAD(&radio->queue[c].frames);
	init_waitqueue_head(&radio->drained);

	spin_lock_bh(&dcf_lock);
	if (!dcf_ready) {
		u64 seed = model.rng_state;	/* from the command line */

		dcf_init(&model, seed);
		hrtimer_init(&dcf_timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
		dcf_timer.function = dcf_fire;
		dcf_ready = true;
	}
	radio->created_ns = ktime_get_ns();
	radio->busy_ns_before = dcf_busy_ns(&model, radio->created_ns);
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
