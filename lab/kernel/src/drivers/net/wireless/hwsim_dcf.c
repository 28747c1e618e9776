// SPDX-License-Identifier: GPL-2.0-only
/*
 * Glue between mac80211_hwsim and the DCF model.
 *
 *	mac80211 -> hwsim_dcf_enqueue -> a queue of the radio -> its head, or an A-MPDU, offered to the channel's model
 *	timer at the model's next event -> attempts end -> deliver to the addressee, tx status, next head
 *
 * The model's event times are used throughout, never the time at which the timer ran. mac80211 gets frames outside the
 * lock, since it may enqueue the next ones from that call; and it gets a frame's status before the next frame is
 * offered, so that a rate control that works attempt by attempt has used it.
 *
 * Each channel has a model and a timer of its own: radios on one share its air. A channel is its primary 20 MHz; wider ones
 * that overlap with another primary do not disturb each other.
 *
 * Beside this file, which has channels and radios: hwsim_dcf_parameters.c, hwsim_dcf_queue.c with dcf_aggregate.c,
 * hwsim_dcf_rates.c, hwsim_dcf_status.c.
 */
#include <linux/hrtimer.h>
#include <linux/slab.h>

#include "hwsim_dcf_internal.h"

#define CREATE_TRACE_POINTS
#include <trace/events/hwsim_dcf.h>

DEFINE_SPINLOCK(dcf_lock);
struct dcf_channel dcf_channels[DCF_CHANNELS_MAX];
struct hwsim_dcf_radio *dcf_radios[DCF_STATIONS_MAX];
bool dcf_any_noise;

static enum hrtimer_restart dcf_fire(struct hrtimer *timer);

void dcf_arm_timer(struct dcf_channel *channel)
{
	u64 next_ns = dcf_next_event_ns(&channel->model);

	if (next_ns != DCF_NEVER_NS)
		hrtimer_start(&channel->timer, ns_to_ktime(next_ns), HRTIMER_MODE_ABS_SOFT);
}

struct dcf_channel *dcf_channel_of(const struct ieee80211_channel *channel)
{
	struct dcf_channel *found = dcf_channels;
	int i, c;

	while (found < &dcf_channels[DCF_CHANNELS_MAX - 1] && found->center_freq_mhz &&
	       found->center_freq_mhz != channel->center_freq)
		found++;
	if (found->center_freq_mhz)
		return found;
	found->center_freq_mhz = channel->center_freq;
	dcf_init(&found->model, dcf_channel_seed(found));
	if (channel->band != NL80211_BAND_2GHZ)
		dcf_set_phy(&found->model, &dcf_phy_5_ghz);
	hrtimer_init(&found->timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	found->timer.function = dcf_fire;
	dcf_start_interference(found);
	dcf_hide_pairs(found);
	for (i = 0; i < DCF_STATIONS_MAX; i++)
		for (c = 0; dcf_radios[i] && c < DCF_CATEGORIES; c++)
			if (dcf_radios[i]->edca_known[c])
				dcf_set_edca(&found->model, i, c, &dcf_radios[i]->edca[c]);
	return found;
}

/* A frame that came after an attempt had begun did not contend with it. */
static u16 contenders(const struct dcf_model *model, const struct dcf_queue *with)
{
	u16 count = 0;
	u32 i;

	for (i = 0; i < model->queues_used; i++)
		if (model->used[i]->contending && model->used[i]->head_since_ns <= with->start_ns)
			count++;
	return count;
}

/* Called before the attempts that end now have ended. */
static void trace_attempts(const struct dcf_model *model, u64 now_ns)
{
	u32 i;

	for (i = 0; i < model->queues_used; i++)
		if (dcf_ends(model, model->used[i], now_ns))
			trace_dcf_attempt(model->used[i], contenders(model, model->used[i]));
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
		dcf_arm_timer(channel);
		spin_unlock_bh(&dcf_lock);
		return false;
	}
	if (trace_dcf_attempt_enabled())
		trace_attempts(&channel->model, event_ns);
	n = dcf_advance(&channel->model, event_ns, results);
	for (i = 0; i < n; i++)
		if (dcf_end_of_attempt(&results[i]))
			results[ended++] = results[i];
	spin_unlock_bh(&dcf_lock);

	for (i = 0; i < ended; i++) {
		u8 category = results[i].category;

		radio = dcf_radios[results[i].station];
		dcf_complete_ppdu(channel, radio, category);
		spin_lock_bh(&dcf_lock);
		dcf_offer_head(radio, category, event_ns);
		dcf_wake_if_drained(radio, category);
		spin_unlock_bh(&dcf_lock);
		dcf_pull_next(radio, category);
	}
	return true;
}

static enum hrtimer_restart dcf_fire(struct hrtimer *timer)
{
	while (run_event(container_of(timer, struct dcf_channel, timer)))
		;
	return HRTIMER_NORESTART;
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
	if (!dcf_parameters.access_categories && vif->type == NL80211_IFTYPE_STATION)
		return;
	spin_lock_bh(&dcf_lock);
	radio->edca[category] = edca;
	radio->edca_known[category] = true;
	for (i = 0; i < DCF_CHANNELS_MAX; i++) {
		if (!dcf_channels[i].center_freq_mhz)
			continue;
		dcf_set_edca(&dcf_channels[i].model, radio->index, category, &edca);
		dcf_arm_timer(&dcf_channels[i]);
	}
	spin_unlock_bh(&dcf_lock);
}

void hwsim_dcf_survey(struct hwsim_dcf_radio *radio, struct survey_info *survey)
{
	u64 now_ns = ktime_get_ns();
	struct dcf_channel *channel;

	spin_lock_bh(&dcf_lock);
	channel = dcf_channel_of(survey->channel);
	survey->filled = SURVEY_INFO_TIME | SURVEY_INFO_TIME_BUSY | SURVEY_INFO_TIME_RX | SURVEY_INFO_TIME_TX |
			 SURVEY_INFO_IN_USE;
	survey->time = div_u64(now_ns - radio->created_ns, NSEC_PER_MSEC);
	survey->time_busy = div_u64(dcf_busy_ns(&channel->model, now_ns) -
				    radio->busy_ns_before[channel - dcf_channels], NSEC_PER_MSEC);
	survey->time_rx = div_u64(radio->rx_ns, NSEC_PER_MSEC);
	survey->time_tx = div_u64(radio->tx_ns, NSEC_PER_MSEC);
	spin_unlock_bh(&dcf_lock);
}

struct hwsim_dcf_radio *hwsim_dcf_radio_create(struct ieee80211_hw *hw, int idx)
{
	struct hwsim_dcf_radio *radio;
	int i;

	if (idx >= DCF_STATIONS_MAX)
		return NULL;
	radio = kzalloc(sizeof(*radio), GFP_KERNEL);
	if (!radio)
		return NULL;
	radio->hw = hw;
	radio->index = idx;
	radio->rates_at_head = strcmp(hwsim_dcf_rate_control(idx), "minstrel_ht");
	dcf_init_queues(radio);

	spin_lock_bh(&dcf_lock);
	radio->created_ns = ktime_get_ns();
	for (i = 0; i < DCF_STATIONS_MAX; i++)
		radio->snr_quarter_db[i] = DCF_NO_NOISE;
	for (i = 0; i < DCF_CHANNELS_MAX; i++)
		radio->busy_ns_before[i] = dcf_busy_ns(&dcf_channels[i].model, radio->created_ns);
	dcf_radios[idx] = radio;
	spin_unlock_bh(&dcf_lock);
	return radio;
}

void hwsim_dcf_radio_destroy(struct hwsim_dcf_radio *radio)
{
	if (!radio)
		return;
	hwsim_dcf_purge(radio);
	spin_lock_bh(&dcf_lock);
	dcf_radios[radio->index] = NULL;
	spin_unlock_bh(&dcf_lock);
	kfree(radio);
}
