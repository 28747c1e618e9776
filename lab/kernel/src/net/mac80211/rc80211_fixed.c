// SPDX-License-Identifier: GPL-2.0-only
/*
 * A constant rate: every data frame at the highest that both stations have; in 802.11g 54 Mb/s. Bianchi's model applies to
 * this setting, in which a collision costs its air time and nothing more.
 */
#include <net/mac80211.h>

#include "rate.h"

#define FIXED_TRIES	7	/* dot11ShortRetryLimit's default */

static void highest_legacy(struct ieee80211_tx_rate *rate, struct ieee80211_supported_band *sband,
			   struct ieee80211_sta *sta)
{
	int i;

	rate->idx = rate_lowest_index(sband, sta);
	for (i = 0; i < sband->n_bitrates; i++)
		if (rate_supported(sta, sband->band, i) &&
		    sband->bitrates[i].bitrate >= sband->bitrates[rate->idx].bitrate)
			rate->idx = i;
}

static bool highest_vht(struct ieee80211_tx_rate *rate, struct ieee80211_sta *sta)
{
	u16 map = le16_to_cpu(sta->deflink.vht_cap.vht_mcs.rx_mcs_map);
	int streams = 8, mcs;

	if (!sta->deflink.vht_cap.vht_supported)
		return false;
	while (streams && (map >> 2 * (streams - 1) & 3) == IEEE80211_VHT_MCS_NOT_SUPPORTED)
		streams--;
	if (!streams)
		return false;
	mcs = 7 + (map >> 2 * (streams - 1) & 3);
	/* 21.5: 20 MHz has no MCS 9 for one, two and four streams */
	if (mcs == 9 && sta->deflink.bandwidth == IEEE80211_STA_RX_BW_20)
		mcs = 8;
	ieee80211_rate_set_vht(rate, mcs, streams);
	rate->flags = IEEE80211_TX_RC_VHT_MCS;
	return true;
}

static bool highest_ht(struct ieee80211_tx_rate *rate, struct ieee80211_sta *sta)
{
	int i;

	rate->idx = -1;
	for (i = 0; i < 32 && sta->deflink.ht_cap.ht_supported; i++)
		if (sta->deflink.ht_cap.mcs.rx_mask[i / 8] & BIT(i % 8))
			rate->idx = i;
	rate->flags = IEEE80211_TX_RC_MCS;
	return rate->idx >= 0;
}

static u16 width_and_guard_interval(struct ieee80211_sta *sta, bool vht)
{
	u16 ht_cap = sta->deflink.ht_cap.cap;

	switch (sta->deflink.bandwidth) {
	case IEEE80211_STA_RX_BW_20:
		return ht_cap & IEEE80211_HT_CAP_SGI_20 ? IEEE80211_TX_RC_SHORT_GI : 0;
	case IEEE80211_STA_RX_BW_40:
		return IEEE80211_TX_RC_40_MHZ_WIDTH | (ht_cap & IEEE80211_HT_CAP_SGI_40 ? IEEE80211_TX_RC_SHORT_GI : 0);
	default:
		return (vht ? IEEE80211_TX_RC_80_MHZ_WIDTH : IEEE80211_TX_RC_40_MHZ_WIDTH) |
		       (sta->deflink.vht_cap.cap & IEEE80211_VHT_CAP_SHORT_GI_80 ? IEEE80211_TX_RC_SHORT_GI : 0);
	}
}

static void fixed_get_rate(void *priv, struct ieee80211_sta *sta, void *priv_sta,
			   struct ieee80211_tx_rate_control *txrc)
{
	struct ieee80211_tx_rate *rate = &IEEE80211_SKB_CB(txrc->skb)->control.rates[0];
	bool vht = highest_vht(rate, sta);

	if (vht || highest_ht(rate, sta)) {
		rate->flags |= width_and_guard_interval(sta, vht);
	} else {
		rate->flags = 0;
		highest_legacy(rate, txrc->sband, sta);
	}
	rate->count = FIXED_TRIES;
}

/* Block-ack sessions begin as minstrel_ht has them begin: with the first data frame of a traffic identifier. */
static void fixed_tx_status(void *priv, struct ieee80211_supported_band *sband, void *priv_sta,
			    struct ieee80211_tx_status *st)
{
	struct ieee80211_hdr *hdr;

	if (!st->skb || !st->sta->wme || !st->sta->deflink.ht_cap.ht_supported)
		return;
	hdr = (void *)st->skb->data;
	if (ieee80211_is_data_qos(hdr->frame_control) && st->skb->protocol != cpu_to_be16(ETH_P_PAE))
		ieee80211_start_tx_ba_session(st->sta, ieee80211_get_tid(hdr), 0);
}

static void *fixed_alloc(struct ieee80211_hw *hw)
{
	return hw;
}

static void fixed_free(void *priv)
{
}

static void *fixed_alloc_sta(void *priv, struct ieee80211_sta *sta, gfp_t gfp)
{
	return sta;
}

static void fixed_rate_init(void *priv, struct ieee80211_supported_band *sband, struct cfg80211_chan_def *chandef,
			    struct ieee80211_sta *sta, void *priv_sta)
{
}

static void fixed_free_sta(void *priv, struct ieee80211_sta *sta, void *priv_sta)
{
}

static const struct rate_control_ops fixed_ops = {
	.name = "fixed",
	.alloc = fixed_alloc,
	.free = fixed_free,
	.alloc_sta = fixed_alloc_sta,
	.rate_init = fixed_rate_init,
	.free_sta = fixed_free_sta,
	.get_rate = fixed_get_rate,
	.tx_status_ext = fixed_tx_status,
};

static int __init rc80211_fixed_init(void)
{
	return ieee80211_rate_control_register(&fixed_ops);
}
subsys_initcall(rc80211_fixed_init);
