// SPDX-License-Identifier: GPL-2.0-only
/*
 * AARF: adaptive auto rate fallback.
 *
 * M. Lacage, M. H. Manshaei, T. Turletti: IEEE 802.11 Rate Adaptation: A Practical Approach. MSWiM 2004.
 *
 * Two failed attempts in a row lower the rate; ten successes in a row raise it. The first attempt after a rise is a
 * probe: if it fails, the rate falls back at once and the number of successes needed for the next rise doubles (at most
 * fifty). A failure is a missing ACK, whatever its cause: a collision is taken for a bad channel. Phones of about 2011
 * to 2013 plausibly behaved so, which is why their cells collapsed when many sent at once.
 *
 * mac80211 expects a chain of rates per frame. A chain can express what AARF does attempt by attempt: two tries at the
 * present rate (one if it is a probe), two at the next lower one, and so on. The chain is published as the station's
 * rate table, which the driver reads when the frame is at the head of its queue; the attempts that the driver reports
 * are replayed one by one.
 *
 * Differs from ns-3's AarfWifiManager in having no timer: there fifteen attempts without a fall raise the rate as well,
 * however many of them failed. ARF's timer is for idle stations; under load it raises the rates of a crowded cell again
 * every few frames.
 */
#include <linux/slab.h>
#include <net/mac80211.h>

#include "rate.h"

#define AARF_FAILURES_DOWN	2	/* consecutive */
#define AARF_SUCCESSES_MIN	10	/* consecutive, to go up */
#define AARF_SUCCESSES_MAX	50
#define AARF_RETRY_LIMIT	7	/* attempts a frame: dot11ShortRetryLimit's default */

struct aarf_sta {
	struct ieee80211_sta *sta;
	u8 rates[12];			/* indexes of the band's bitrates, slowest first */
	u8 n_rates;
	u8 current_rate;		/* index of rates[] */
	bool probing;			/* the next attempt is the first at this rate */
	u32 failures;			/* consecutive */
	u32 successes;			/* consecutive */
	u32 success_threshold;
	u32 published;			/* the state from which the chain in the rate table was made */
};

static void change_rate(struct aarf_sta *a, int step)
{
	a->current_rate += step;
	a->failures = 0;
	a->successes = 0;
}

static void attempt_succeeded(struct aarf_sta *a)
{
	a->failures = 0;
	a->probing = false;
	a->successes++;
	if (a->current_rate + 1 < a->n_rates && a->successes >= a->success_threshold) {
		change_rate(a, 1);
		a->probing = true;
	}
}

static void attempt_failed(struct aarf_sta *a)
{
	a->successes = 0;
	a->failures++;
	if (a->probing) {
		a->probing = false;
		a->success_threshold = min_t(u32, 2 * a->success_threshold, AARF_SUCCESSES_MAX);
		change_rate(a, -1);
	} else if (a->failures >= AARF_FAILURES_DOWN) {
		a->success_threshold = AARF_SUCCESSES_MIN;
		change_rate(a, a->current_rate ? -1 : 0);
	}
}

/* Publishes the chain that follows from the present state as the station's rate table. */
static void publish_chain(struct ieee80211_hw *hw, struct aarf_sta *a)
{
	u32 state = BIT(31) | a->probing << 16 | a->failures << 8 | a->current_rate;
	int rate = a->current_rate, left = AARF_RETRY_LIMIT, i;
	struct ieee80211_sta_rates *table;

	if (state == a->published)
		return;
	table = kzalloc(sizeof(*table), GFP_ATOMIC);
	if (!table)
		return;		/* the old chain stays */
	for (i = 0; i < IEEE80211_TX_RATE_TABLE_SIZE; i++) {
		int tries = i == 0 && a->probing ? 1 : AARF_FAILURES_DOWN - (i == 0 ? a->failures : 0);

		table->rate[i].idx = left ? a->rates[rate] : -1;
		if (!rate || i == IEEE80211_TX_RATE_TABLE_SIZE - 1)
			tries = left;
		table->rate[i].count = min(tries, left);
		left -= table->rate[i].count;
		if (rate)
			rate--;
	}
	if (rate_control_set_rates(hw, a->sta, table))
		kfree(table);
	else
		a->published = state;
}

static void aarf_tx_status(void *priv, struct ieee80211_supported_band *sband, void *priv_sta,
			   struct ieee80211_tx_status *st)
{
	struct aarf_sta *a = priv_sta;
	const struct ieee80211_tx_rate *rates = st->info->status.rates;
	bool acked = st->info->flags & IEEE80211_TX_STAT_ACK;
	int attempts = 0, i;

	if (!a->n_rates || (st->info->flags & IEEE80211_TX_CTL_USE_MINRATE))
		return;
	for (i = 0; i < IEEE80211_TX_MAX_RATES && rates[i].idx >= 0; i++)
		attempts += rates[i].count;
	for (i = 1; i < attempts; i++)
		attempt_failed(a);
	if (acked)
		attempt_succeeded(a);
	else if (attempts)
		attempt_failed(a);
	publish_chain(priv, a);
}

/* The driver reads the rates from the table; these are for a driver that does not. */
static void aarf_get_rate(void *priv, struct ieee80211_sta *sta, void *priv_sta,
			  struct ieee80211_tx_rate_control *txrc)
{
	struct ieee80211_tx_info *info = IEEE80211_SKB_CB(txrc->skb);
	struct aarf_sta *a = priv_sta;

	info->control.rates[0].idx = a->rates[a->current_rate];
	info->control.rates[0].count = AARF_RETRY_LIMIT;
}

static void aarf_rate_init(void *priv, struct ieee80211_supported_band *sband, struct cfg80211_chan_def *chandef,
			   struct ieee80211_sta *sta, void *priv_sta)
{
	struct aarf_sta *a = priv_sta;
	int i, j, bitrate;

	a->sta = sta;
	a->n_rates = 0;
	for (i = 0; i < sband->n_bitrates && a->n_rates < ARRAY_SIZE(a->rates); i++) {
		if (!rate_supported(sta, sband->band, i))
			continue;
		bitrate = sband->bitrates[i].bitrate;
		for (j = a->n_rates; j > 0 && sband->bitrates[a->rates[j - 1]].bitrate > bitrate; j--)
			a->rates[j] = a->rates[j - 1];
		a->rates[j] = i;
		a->n_rates++;
	}
	/* A new station starts at the highest rate: the lab's channel is good, only collisions lower the rate. */
	a->current_rate = a->n_rates ? a->n_rates - 1 : 0;
	a->probing = false;
	a->success_threshold = AARF_SUCCESSES_MIN;
	if (a->n_rates)
		publish_chain(priv, a);
}

static void *aarf_alloc_sta(void *priv, struct ieee80211_sta *sta, gfp_t gfp)
{
	return kzalloc(sizeof(struct aarf_sta), gfp);
}

static void aarf_free_sta(void *priv, struct ieee80211_sta *sta, void *priv_sta)
{
	kfree(priv_sta);
}

static void *aarf_alloc(struct ieee80211_hw *hw)
{
	return hw;
}

static void aarf_free(void *priv)
{
}

static const struct rate_control_ops aarf_ops = {
	.name = "aarf",
	.alloc = aarf_alloc,
	.free = aarf_free,
	.alloc_sta = aarf_alloc_sta,
	.free_sta = aarf_free_sta,
	.rate_init = aarf_rate_init,
	.get_rate = aarf_get_rate,
	.tx_status_ext = aarf_tx_status,
};

static int __init rc80211_aarf_init(void)
{
	return ieee80211_rate_control_register(&aarf_ops);
}
subsys_initcall(rc80211_aarf_init);
