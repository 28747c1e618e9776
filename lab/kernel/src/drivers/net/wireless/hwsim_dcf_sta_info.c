// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PHY rates that an access point's driver reports of its stations (nl80211's tx and rx bitrate). mac80211 has those of
 * the last data frame each way. Other drivers have none, or one for the whole interface, or those of whatever came last:
 * of a station that uploads, every other time those of a block ack, which is a frame of 802.11g.
 */
#include "hwsim_dcf_internal.h"

static struct rate_info as_rate_info(const struct dcf_rate *rate)
{
	struct rate_info info = { .bw = RATE_INFO_BW_20 };

	if (rate->format != DCF_HT && rate->format != DCF_VHT) {
		info.legacy = rate->rate_100kbps;
		return info;
	}
	if (rate->format == DCF_VHT) {
		info.flags = RATE_INFO_FLAGS_VHT_MCS;
		info.mcs = rate->mcs;
		info.nss = rate->streams;
	} else {
		info.flags = RATE_INFO_FLAGS_MCS;
		info.mcs = rate->mcs + 8 * (rate->streams - 1);
	}
	if (rate->short_gi)
		info.flags |= RATE_INFO_FLAGS_SHORT_GI;
	if (rate->width_mhz == 80)
		info.bw = RATE_INFO_BW_80;
	else if (rate->width_mhz == 40)
		info.bw = RATE_INFO_BW_40;
	return info;
}

void dcf_see_rates(struct hwsim_dcf_radio *sender, struct hwsim_dcf_radio *receiver, const struct dcf_ppdu *ppdu,
		   int step, bool data, bool answered)
{
	const struct dcf_rate *rate = &ppdu->aggregate.frame.chain[max(step, 0)];
	const struct dcf_rate answer = { .rate_100kbps = dcf_control_rate_100kbps(rate) };

	spin_lock_bh(&dcf_lock);
	if (dcf_is_access_point(sender->index)) {
		sender->seen[receiver->index].tx = as_rate_info(rate);
		if (answered)
			sender->seen[receiver->index].rx = as_rate_info(&answer);
		if (data)
			sender->seen_data.tx = as_rate_info(rate);
	}
	if (dcf_is_access_point(receiver->index)) {
		receiver->seen[sender->index].rx = as_rate_info(rate);
		if (answered)
			receiver->seen[sender->index].tx = as_rate_info(&answer);
		if (data)
			receiver->seen_data.rx = as_rate_info(rate);
	}
	spin_unlock_bh(&dcf_lock);
}

void hwsim_dcf_station_rates(struct hwsim_dcf_radio *radio, const struct ieee80211_sta *sta,
			     struct station_info *sinfo)
{
	struct dcf_seen_rates seen = {};
	int index = dcf_index_of(sta->addr);

	if (dcf_parameters.station_rates == DCF_RATES_OF_DATA || !dcf_is_access_point(radio->index))
		return;
	spin_lock_bh(&dcf_lock);
	if (dcf_parameters.station_rates == DCF_RATES_ONE)
		seen = radio->seen_data;
	else if (dcf_parameters.station_rates == DCF_RATES_OF_FRAMES && index >= 0)
		seen = radio->seen[index];
	spin_unlock_bh(&dcf_lock);
	/* mac80211 adds its own where the driver has filled in none; a rate of zero is left out for user space */
	sinfo->txrate = seen.tx;
	sinfo->rxrate = seen.rx;
	sinfo->filled |= BIT_ULL(NL80211_STA_INFO_TX_BITRATE) | BIT_ULL(NL80211_STA_INFO_RX_BITRATE);
}
