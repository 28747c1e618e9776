// SPDX-License-Identifier: GPL-2.0-only
/*
 * What becomes of a PPDU of the medium that has ended: its frames are delivered, mac80211 gets their tx status and
 * everybody's air time, and the rate control what it learns from.
 *
 * A frame to an absent addressee takes one attempt and ends without ACK. The model has no list of receivers: what it has
 * as delivered is counted as failed here, and the rate control is told that nothing was acknowledged.
 */
#include <linux/slab.h>

#include "hwsim_dcf_internal.h"

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
	if (ppdu->aggregate.acked)
		info.flags |= IEEE80211_TX_STAT_ACK;
	if (ppdu->tries_rate)
		info.flags |= IEEE80211_TX_CTL_RATE_CTRL_PROBE;
	set_status_rates(ppdu, &info);
	info.status.ampdu_len = ppdu->aggregate.sent;
	info.status.ampdu_ack_len = ppdu->aggregate.acked;
	ieee80211_tx_rate_update(hw, sta, &info);
}

u16 dcf_take_tx_time_us(struct hwsim_dcf_queue *queue)
{
	u32 us = min_t(u32, queue->tx_unreported_ns / NSEC_PER_USEC, U16_MAX);

	queue->tx_unreported_ns -= us * NSEC_PER_USEC;
	return us;
}

/*
 * mac80211 takes the air time in the status of a frame from what is admitted for its category
 * (ieee80211_sta_tx_wmm_ac_notify), and uses it for nothing else. That of a PPDU is in the status of the first of its
 * frames that ends.
 */
static void report_status(struct ieee80211_hw *hw, struct dcf_queued *q, const struct dcf_ppdu *ppdu, bool acked,
			  u16 tx_time_us)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(q->skb);

	ieee80211_tx_info_clear_status(info);
	set_status_rates(ppdu, info);
	info->status.tx_time = tx_time_us;
	if (acked)
		info->flags |= IEEE80211_TX_STAT_ACK;
	else if (q->mpdu.in_session)
		info->flags |= IEEE80211_TX_STAT_AMPDU_NO_BACK;
	mac80211_hwsim_tx_status(hw, q->skb);
}

/* The step of the chain that was tried last; -1: there is no chain. */
static int last_step(const struct dcf_ppdu *ppdu)
{
	int step = ppdu->chain_length - 1;

	while (step > 0 && !ppdu->attempts[step])
		step--;
	return step;
}

/* Delivers what was heard; the radio that it is for. */
static struct ieee80211_hw *deliver(struct hwsim_dcf_radio *radio, struct dcf_ppdu *ppdu, struct dcf_queued *q)
{
	int step = last_step(ppdu);

	if (step >= 0)
		IEEE80211_SKB_CB(q->skb)->control.rates[0] = ppdu->chain[step];
	return q->mpdu.heard ? mac80211_hwsim_deliver(radio->hw, q->skb, q->channel) : NULL;
}

static void count_unreceived(struct dcf_channel *channel, struct dcf_ppdu *ppdu)
{
	ppdu->aggregate.acked = 0;
	spin_lock_bh(&dcf_lock);
	channel->unreceived++;
	spin_unlock_bh(&dcf_lock);
}

void dcf_complete_ppdu(struct dcf_channel *channel, struct hwsim_dcf_radio *radio, u8 category)
{
	struct hwsim_dcf_queue *queue = &radio->queue[category];
	struct dcf_ppdu *ppdu = &queue->ended;
	struct ieee80211_hw *receiver = NULL;
	struct dcf_mpdu *mpdu, *next;
	bool awaited = false, data = false;

	rcu_read_lock();
	list_for_each_entry(mpdu, &ppdu->aggregate.mpdus, list) {
		struct dcf_queued *q = dcf_queued_of(mpdu);

		if (!mpdu->heard)
			continue;
		receiver = deliver(radio, ppdu, q);
		awaited = q->ack_expected;
		data = ieee80211_is_data_present(((struct ieee80211_hdr *)q->skb->data)->frame_control);
	}
	if (awaited && !receiver)
		count_unreceived(channel, ppdu);
	register_airtime(radio->hw, ppdu->receiver, ppdu->transmitter, category, ppdu->tx_airtime_ns, 0);
	if (receiver) {
		register_airtime(receiver, ppdu->transmitter, ppdu->receiver, category, 0, ppdu->airtime_ns);
		mac80211_hwsim_dcf_radio(receiver)->rx_ns += ppdu->airtime_ns;
		dcf_see_rates(radio, mac80211_hwsim_dcf_radio(receiver), ppdu, last_step(ppdu), data, awaited);
	}
	if (ppdu->in_session)
		report_rates(radio->hw, ppdu);
	rcu_read_unlock();

	queue->tx_unreported_ns += ppdu->tx_airtime_ns;
	list_for_each_entry_safe(mpdu, next, &ppdu->aggregate.mpdus, list) {
		struct dcf_queued *q = dcf_queued_of(mpdu);
		u16 tx_time_us = dcf_take_tx_time_us(queue);

		list_del(&mpdu->list);
		if (q->kind == HWSIM_DCF_BEACON)
			dev_kfree_skb(q->skb);
		else
			report_status(radio->hw, q, ppdu, receiver && mpdu->heard, tx_time_us);
		kfree(q);
	}
}
