// SPDX-License-Identifier: GPL-2.0-only
/*
 * A constant rate: every data frame at 54 Mb/s, or at the station's highest rate if it lacks that. Bianchi's model
 * applies to this setting, in which a collision costs its air time and nothing more.
 */
#include <net/mac80211.h>

#include "rate.h"

#define FIXED_TRIES	7	/* dot11ShortRetryLimit's default */

static void fixed54_get_rate(void *priv, struct ieee80211_sta *sta, void *priv_sta,
			     struct ieee80211_tx_rate_control *txrc)
{
	struct ieee80211_tx_rate *rate = &IEEE80211_SKB_CB(txrc->skb)->control.rates[0];
	int i;

	rate->idx = rate_lowest_index(txrc->sband, sta);
	for (i = 0; i < txrc->sband->n_bitrates; i++)
		if (rate_supported(sta, txrc->sband->band, i) &&
		    txrc->sband->bitrates[i].bitrate >= txrc->sband->bitrates[rate->idx].bitrate)
			rate->idx = i;
	rate->count = FIXED_TRIES;
}

/* mac80211 calls it without checking for NULL */
static void fixed54_tx_status(void *priv, struct ieee80211_supported_band *sband, void *priv_sta,
			      struct ieee80211_tx_status *st)
{
}

static void *fixed54_alloc(struct ieee80211_hw *hw)
{
	return hw;
}

static void fixed54_free(void *priv)
{
}

static void *fixed54_alloc_sta(void *priv, struct ieee80211_sta *sta, gfp_t gfp)
{
	return sta;
}

static void fixed54_rate_init(void *priv, struct ieee80211_supported_band *sband, struct cfg80211_chan_def *chandef,
			      struct ieee80211_sta *sta, void *priv_sta)
{
}

static void fixed54_free_sta(void *priv, struct ieee80211_sta *sta, void *priv_sta)
{
}

static const struct rate_control_ops fixed54_ops = {
	.name = "fixed54",
	.alloc = fixed54_alloc,
	.free = fixed54_free,
	.alloc_sta = fixed54_alloc_sta,
	.rate_init = fixed54_rate_init,
	.free_sta = fixed54_free_sta,
	.get_rate = fixed54_get_rate,
	.tx_status_ext = fixed54_tx_status,
};

static int __init rc80211_fixed54_init(void)
{
	return ieee80211_rate_control_register(&fixed54_ops);
}
subsys_initcall(rc80211_fixed54_init);
