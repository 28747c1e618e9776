// SPDX-License-Identifier: GPL-2.0-only
/*
 * The queues of the medium's radios: frames of mac80211 that wait, what of them is offered to the model, and what is to
 * be sent again.
 *
 * Aggregation is that of dcf_aggregate.c. mac80211 negotiates block-ack sessions and marks their frames
 * (IEEE80211_TX_CTL_AMPDU). An A-MPDU is what the queue has for the receiver and traffic identifier of its head, up to
 * the limits; frames that come while it contends are added to it. Its rates are those of the rate control's table at that
 * time, and it is short enough for the slowest of them. A frame by which the rate control tries a rate out goes alone.
 * After an MPDU that is given up mac80211 sends a BlockAckReq, which moves the receiver's window.
 *
 * Without access categories every frame is in the radio's queue for best effort, which contends with that category's
 * parameters: 802.11g without WMM. With them a radio has four queues, and each stops mac80211's of its category.
 */
#include <linux/slab.h>

#include "hwsim_dcf_internal.h"

void dcf_init_queues(struct hwsim_dcf_radio *radio)
{
	int c;

	for (c = 0; c < DCF_CATEGORIES; c++) {
		INIT_LIST_HEAD(&radio->queue[c].frames);
		INIT_LIST_HEAD(&radio->queue[c].offered.aggregate.mpdus);
		INIT_LIST_HEAD(&radio->queue[c].ended.aggregate.mpdus);
	}
	init_waitqueue_head(&radio->drained);
}

void dcf_offer_head(struct hwsim_dcf_radio *radio, u32 category, u64 now_ns)
{
	struct hwsim_dcf_queue *queue = &radio->queue[category];
	struct dcf_mpdu *head = list_first_entry_or_null(&queue->frames, struct dcf_mpdu, list);
	struct dcf_ppdu *ppdu = &queue->offered;
	struct dcf_aggregate *a = &ppdu->aggregate;
	struct dcf_frame frame;
	struct dcf_queued *q;

	if (!head || !list_empty(&a->mpdus))
		return;
	q = dcf_queued_of(head);
	queue->channel = dcf_channel_of(q->channel);
	dcf_choose_rates_at_head(radio, q);
	memset(ppdu, 0, sizeof(*ppdu));
	INIT_LIST_HEAD(&a->mpdus);
	list_move_tail(&head->list, &a->mpdus);
	ether_addr_copy(ppdu->receiver, head->receiver);
	ether_addr_copy(ppdu->transmitter, head->transmitter);
	ppdu->band = q->channel->band;
	ppdu->in_session = head->in_session;
	ppdu->tries_rate = head->alone;
	dcf_set_chain(radio, ppdu, q);
	if (head->in_session && !head->alone && a->frame.chain[0].format != DCF_LEGACY) {
		a->psdu_bytes_max = dcf_psdu_max_bytes(radio, q, queue->channel, &a->frame);
		dcf_aggregate_fill(a, &queue->frames);
	} else {
		dcf_aggregate_single(a);
	}
	frame = dcf_aggregate_on_air(a, dcf_parameters.rts_bytes);
	dcf_offer(&queue->channel->model, radio->index, category, &frame, now_ns);
}

/* Adds a frame to the A-MPDU that contends, if there is time and room for it, and none of its stream waits before it. */
static bool join_offered(struct hwsim_dcf_radio *radio, struct hwsim_dcf_queue *queue, struct dcf_queued *q, u64 now_ns)
{
	struct dcf_aggregate *a = &queue->offered.aggregate;
	struct dcf_frame before = a->frame, frame;

	if (!dcf_aggregate_extend(a, &queue->frames, &q->mpdu))
		return false;
	frame = dcf_aggregate_on_air(a, dcf_parameters.rts_bytes);
	if (!dcf_replace(&queue->channel->model, radio->index, q->category, &frame, now_ns)) {
		a->frame = before;
		return false;
	}
	list_add_tail(&q->mpdu.list, &a->mpdus);
	return true;
}

static u8 category_of(const struct sk_buff *skb, enum hwsim_dcf_kind kind)
{
	BUILD_BUG_ON(DCF_CATEGORIES != IEEE80211_NUM_ACS || DCF_BEST_EFFORT != IEEE80211_AC_BE);
	if (!dcf_parameters.access_categories)
		return DCF_BEST_EFFORT;
	return kind == HWSIM_DCF_BEACON ? IEEE80211_AC_VO : min_t(u16, skb_get_queue_mapping(skb), IEEE80211_AC_BK);
}

static void stop_queue(struct hwsim_dcf_radio *radio, u32 category)
{
	radio->queue[category].stopped = true;
	if (dcf_parameters.access_categories)
		ieee80211_stop_queue(radio->hw, category);
	else
		ieee80211_stop_queues(radio->hw);
}

static void wake_queue(struct hwsim_dcf_radio *radio, u32 category)
{
	radio->queue[category].stopped = false;
	if (dcf_parameters.access_categories)
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
		q->mpdu.in_session = true;
		q->mpdu.alone = info->flags & IEEE80211_TX_CTL_RATE_CTRL_PROBE;
		q->mpdu.tid = ieee80211_get_tid(hdr);
		q->mpdu.sequence_number = IEEE80211_SEQ_TO_SN(le16_to_cpu(hdr->seq_ctrl));
	}
	q->mpdu.bytes = skb->len + DCF_FCS_BYTES;
	ether_addr_copy(q->mpdu.receiver, hdr->addr1);
	ether_addr_copy(q->mpdu.transmitter, hdr->addr2);
	/* the interface may be removed before the frame is sent; tx status uses the memory of the rates */
	dcf_copy_chain(q, info->control.rates);
	info->control.vif = NULL;
	if (dcf_parameters.orphan)
		skb_orphan(skb);

	spin_lock_bh(&dcf_lock);
	contends = !list_empty(&queue->offered.aggregate.mpdus);
	was_empty = !contends && list_empty(&queue->frames);
	queue->length++;
	if (kind == HWSIM_DCF_BEACON && !was_empty)
		list_add(&q->mpdu.list, contends ? &queue->frames : queue->frames.next);
	else if (!contends || !join_offered(radio, queue, q, ktime_get_ns()))
		list_add_tail(&q->mpdu.list, &queue->frames);
	if (!queue->stopped && queue->length >= dcf_queue_limit(radio))
		stop_queue(radio, q->category);
	if (was_empty) {
		dcf_offer_head(radio, q->category, ktime_get_ns());
		dcf_arm_timer(queue->channel);
	}
	spin_unlock_bh(&dcf_lock);
}

static u32 mpdu_tries_max(void)
{
	u32 limit = dcf_parameters.retry_limit;

	return limit ? min_t(u32, limit, DCF_MPDU_TRIES_MAX) : DCF_MPDU_TRIES_MAX;
}

/* Separates the frames that have ended, in queue->ended, from those to be sent again. */
static void end_ppdu(struct hwsim_dcf_queue *queue, const struct dcf_result *r)
{
	struct dcf_ppdu *ppdu = &queue->offered;
	u32 i, attempts = 0;

	for (i = 0; i < ppdu->chain_length; i++)
		attempts += ppdu->attempts[i];
	queue->length -= dcf_aggregate_end(&ppdu->aggregate, r->heard_mpdus, attempts, mpdu_tries_max(),
					   &queue->frames);
	queue->ended = *ppdu;
	INIT_LIST_HEAD(&queue->ended.aggregate.mpdus);
	list_splice_tail_init(&ppdu->aggregate.mpdus, &queue->ended.aggregate.mpdus);
}

bool dcf_end_of_attempt(const struct dcf_result *r)
{
	struct hwsim_dcf_radio *radio = dcf_radios[r->station];
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

static bool is_empty(const struct hwsim_dcf_radio *radio)
{
	int c;

	for (c = 0; c < DCF_CATEGORIES; c++)
		if (READ_ONCE(radio->queue[c].length))
			return false;
	return true;
}

void dcf_wake_if_drained(struct hwsim_dcf_radio *radio, u32 category)
{
	struct hwsim_dcf_queue *queue = &radio->queue[category];

	if (queue->stopped && queue->length <= dcf_queue_limit(radio) / 2)
		wake_queue(radio, category);
	if (!queue->length && is_empty(radio))
		wake_up(&radio->drained);
}

void dcf_pull_next(struct hwsim_dcf_radio *radio, u8 category)
{
	u8 ac;

	if (dcf_parameters.access_categories) {
		mac80211_hwsim_pull(radio->hw, category);
		return;
	}
	for (ac = 0; ac < IEEE80211_NUM_ACS; ac++)
		mac80211_hwsim_pull(radio->hw, ac);
}

void hwsim_dcf_purge(struct hwsim_dcf_radio *radio)
{
	struct dcf_mpdu *mpdu, *next;
	LIST_HEAD(purged);
	int c, i;

	spin_lock_bh(&dcf_lock);
	for (i = 0; i < DCF_CHANNELS_MAX; i++)
		if (dcf_channels[i].center_freq_mhz)
			dcf_withdraw(&dcf_channels[i].model, radio->index);
	for (c = 0; c < DCF_CATEGORIES; c++) {
		list_splice_tail_init(&radio->queue[c].offered.aggregate.mpdus, &purged);
		list_splice_tail_init(&radio->queue[c].frames, &purged);
		radio->queue[c].length = 0;
	}
	for (c = 0; c < DCF_CATEGORIES; c++)
		dcf_wake_if_drained(radio, c);
	spin_unlock_bh(&dcf_lock);

	list_for_each_entry_safe(mpdu, next, &purged, list) {
		struct dcf_queued *q = dcf_queued_of(mpdu);

		ieee80211_free_txskb(radio->hw, q->skb);
		kfree(q);
	}
}

void hwsim_dcf_flush(struct hwsim_dcf_radio *radio)
{
	wait_event_timeout(radio->drained, is_empty(radio), HZ);
}

