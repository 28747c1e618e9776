/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lab's medium between the radios of mac80211_hwsim: frames take air time, collide and are retried (dcf_model.h).
 * A radio whose queue is full stops mac80211's queues, so that the qdisc backs up as it does above a real driver.
 */
#ifndef AIRBOUND_HWSIM_DCF_H
#define AIRBOUND_HWSIM_DCF_H

#include <net/mac80211.h>

struct hwsim_dcf_radio;

/* False: hwsim's own medium (frames arrive at once). Module parameter mac80211_hwsim.dcf. */
bool hwsim_dcf_enabled(void);

/*
 * Whether mac80211 shares air time between stations and limits what is pending in the driver (AQL), where it has queues
 * of its own. Module parameter mac80211_hwsim.dcf_aql.
 */
bool hwsim_dcf_limits_air_time(void);

/* Where an access point may send; NULL: as cfg80211 says. Module parameter mac80211_hwsim.dcf_5_ghz. */
const struct ieee80211_regdomain *hwsim_dcf_regulatory_domain(void);

/* Takes away what the radios shall not have: mac80211_hwsim.dcf_streams, .dcf_short_gi. */
void hwsim_dcf_limit_capabilities(struct ieee80211_supported_band *band);

/* Rate control of radio @idx: mac80211_hwsim.ap_rate_control for access points, .rate_control for the others. */
const char *hwsim_dcf_rate_control(int idx);

/* NULL if there is no memory, or if the model has no station left. */
struct hwsim_dcf_radio *hwsim_dcf_radio_create(struct ieee80211_hw *hw, int idx);
void hwsim_dcf_radio_destroy(struct hwsim_dcf_radio *radio);

enum hwsim_dcf_kind {
	HWSIM_DCF_QUEUED,		/* from mac80211: gets a tx status */
	HWSIM_DCF_BEACON,		/* from the driver itself: put at the head of the queue, no tx status */
};

/* Takes over @skb. Called with bottom halves disabled. */
void hwsim_dcf_enqueue(struct hwsim_dcf_radio *radio, struct sk_buff *skb, struct ieee80211_channel *channel,
		       enum hwsim_dcf_kind kind);

/* Frees all queued frames. */
void hwsim_dcf_purge(struct hwsim_dcf_radio *radio);

/* Waits until all queued frames have been sent, a second at most. May sleep. */
void hwsim_dcf_flush(struct hwsim_dcf_radio *radio);

/* How the frames of an access category contend from now on; mac80211's conf_tx. */
void hwsim_dcf_conf_tx(struct hwsim_dcf_radio *radio, const struct ieee80211_vif *vif, u16 category,
		       const struct ieee80211_tx_queue_params *params);

/*
 * Whether a radio receives a group-addressed frame of another one, noise considered. Such a frame has no answer, so the
 * medium itself has no receiver of it.
 */
bool hwsim_dcf_hears(const struct hwsim_dcf_radio *receiver, const struct hwsim_dcf_radio *sender,
		     const struct sk_buff *skb);

/*
 * The PHY rates of a station as the access points' driver reports them in place of mac80211's; changes nothing unless the
 * module parameter mac80211_hwsim.dcf_station_rates says so.
 */
void hwsim_dcf_station_rates(struct hwsim_dcf_radio *radio, const struct ieee80211_sta *sta,
			     struct station_info *sinfo);

/* Times since the radio was created, busy ones of survey->channel: active, busy, receiving, transmitting. */
void hwsim_dcf_survey(struct hwsim_dcf_radio *radio, struct survey_info *survey);

/*
 * Implemented by mac80211_hwsim: delivers a copy of the frame to the radio it is addressed to (to every other radio on
 * the channel that hears it if it is a multicast), and returns that radio; NULL if there is none or the frame is a multicast.
 */
struct ieee80211_hw *mac80211_hwsim_deliver(struct ieee80211_hw *hw, struct sk_buff *skb,
					    struct ieee80211_channel *channel);

/*
 * Implemented by mac80211_hwsim: takes frames from mac80211's queues of an access category, as many as it lets go; nothing
 * where mac80211 has none for drivers such as hwsim (Linux 6.1). Not called under the medium's lock.
 */
void mac80211_hwsim_pull(struct ieee80211_hw *hw, u8 ac);

/* Implemented by mac80211_hwsim: what mac80211's function for it is called depends on the kernel. */
void mac80211_hwsim_tx_status(struct ieee80211_hw *hw, struct sk_buff *skb);

/* Implemented by mac80211_hwsim: the medium's side of a radio. */
struct hwsim_dcf_radio *mac80211_hwsim_dcf_radio(struct ieee80211_hw *hw);

#endif
