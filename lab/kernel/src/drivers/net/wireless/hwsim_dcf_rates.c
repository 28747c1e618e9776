// SPDX-License-Identifier: GPL-2.0-only
/* Rates of the medium's PPDUs: from mac80211's rate control to the model, and the lengths that they permit. */
#include "dcf_error.h"
#include "hwsim_dcf_internal.h"

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

int dcf_index_of(const u8 *address)
{
	int i;

	for (i = 0; i < DCF_STATIONS_MAX; i++)
		if (dcf_radios[i] && ether_addr_equal(dcf_radios[i]->hw->wiphy->addresses[0].addr, address))
			return i;
	return -1;
}

void dcf_copy_chain(struct dcf_queued *q, const struct ieee80211_tx_rate *rates)
{
	q->chain_length = 0;
	while (q->chain_length < DCF_CHAIN_MAX && rates[q->chain_length].idx >= 0) {
		q->chain[q->chain_length] = rates[q->chain_length];
		q->chain_length++;
	}
}

void dcf_choose_rates_at_head(struct hwsim_dcf_radio *radio, struct dcf_queued *q)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(q->skb);
	struct ieee80211_hdr *hdr = (void *)q->skb->data;
	struct ieee80211_sta_rates *table;
	struct ieee80211_sta *sta;
	int i;

	if (!(radio->rates_at_head || (q->mpdu.in_session && !q->mpdu.alone)) || !q->ack_expected ||
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
	int receiver = dcf_any_noise ? dcf_index_of(hdr->addr1) : -1;

	return receiver < 0 ? DCF_NO_NOISE : radio->snr_quarter_db[receiver];
}

/* At the lowest rate loss goes from 1 to 0 within 1 dB: a random number for each receiver would change little but all. */
bool hwsim_dcf_hears(const struct hwsim_dcf_radio *receiver, const struct hwsim_dcf_radio *sender,
		     const struct sk_buff *skb)
{
	static const struct dcf_rate lowest = { .rate_100kbps = 60 };
	s16 snr_quarter_db = READ_ONCE(sender->snr_quarter_db[receiver->index]);

	return dcf_noise_loss_ppm(&lowest, snr_quarter_db, skb->len + DCF_FCS_BYTES) < DCF_LOST_PPM / 2;
}

void dcf_set_chain(struct hwsim_dcf_radio *radio, struct dcf_ppdu *ppdu, const struct dcf_queued *q)
{
	u32 attempts_left = dcf_parameters.retry_limit ? dcf_parameters.retry_limit : U32_MAX;
	struct dcf_frame *frame = &ppdu->aggregate.frame;
	int i;

	frame->ack_expected = q->ack_expected;
	frame->loss_ppm = min(dcf_parameters.loss_ppm, 1000000U);
	frame->snr_quarter_db = q->ack_expected ? link_snr(radio, q) : DCF_NO_NOISE;
	frame->chain_length = 1;
	frame->chain[0] = (struct dcf_rate){ .rate_100kbps = 60, .tries = 1 };	/* beacons: the lowest basic rate */
	for (i = 0; i < q->chain_length && attempts_left; i++) {
		if (q->mpdu.in_session && !q->mpdu.alone && i && is_legacy(&q->chain[i]))
			break;
		frame->chain[i] = model_rate(radio, q->channel, &q->chain[i]);
		frame->chain[i].tries = q->ack_expected ? clamp_t(u32, q->chain[i].count, 1, attempts_left) : 1;
		frame->chain_length = i + 1;
		attempts_left -= frame->chain[i].tries;
		ppdu->chain[i] = q->chain[i];
		ppdu->chain_length = i + 1;
	}
}

u32 dcf_psdu_max_bytes(struct hwsim_dcf_radio *radio, const struct dcf_queued *q,
		       const struct dcf_channel *channel, const struct dcf_frame *frame)
{
	u32 txop_ns = channel->model.queue[radio->index][q->category].edca.txop_limit_ns, limit_bytes, i;
	u32 limit_ns = txop_ns ? min(txop_ns, DCF_PPDU_MAX_NS) : DCF_PPDU_MAX_NS;

	limit_bytes = receiver_limit_bytes(radio, (void *)q->skb->data, frame->chain[0].format == DCF_VHT);
	for (i = 0; i < frame->chain_length; i++)
		limit_bytes = min(limit_bytes, dcf_psdu_limit_bytes(&frame->chain[i], limit_ns));
	return limit_bytes;
}
