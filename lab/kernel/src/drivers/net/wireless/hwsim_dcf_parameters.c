// SPDX-License-Identifier: GPL-2.0-only
/* The medium's module parameters, and what follows from them for the radios. */
#include <linux/module.h>

#include "hwsim_dcf_internal.h"

/* The parameters are named as hwsim's own: mac80211_hwsim.dcf and so on. */
#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX "mac80211_hwsim."

struct dcf_parameters dcf_parameters = {
	.enabled = true,
	.aql = true,
	.access_points = 1,
	.short_gi = true,
	.rts_bytes = UINT_MAX,
	.ap_queue_frames = 64,
	.sta_queue_frames = 64,
};

module_param_named(dcf, dcf_parameters.enabled, bool, 0644);
MODULE_PARM_DESC(dcf, "Frames contend for one channel by 802.11 DCF");

module_param_named(dcf_access_categories, dcf_parameters.access_categories, bool, 0644);
MODULE_PARM_DESC(dcf_access_categories, "Four queues a radio, as with WMM; set before any frame is sent");

module_param_named(dcf_aql, dcf_parameters.aql, bool, 0444);
MODULE_PARM_DESC(dcf_aql, "mac80211 shares air time between stations and limits what is pending in the driver");

module_param_named(dcf_access_points, dcf_parameters.access_points, uint, 0444);
MODULE_PARM_DESC(dcf_access_points, "How many radios, from the first, are access points");

module_param_named(dcf_streams, dcf_parameters.streams, uint, 0444);
MODULE_PARM_DESC(dcf_streams, "Spatial streams of each radio, 1 or 2; 0: as many as hwsim says");

module_param_named(dcf_short_gi, dcf_parameters.short_gi, bool, 0444);
MODULE_PARM_DESC(dcf_short_gi, "Radios can use the short guard interval");

module_param_named(dcf_5_ghz, dcf_parameters.allow_5_ghz, bool, 0444);
MODULE_PARM_DESC(dcf_5_ghz, "An access point may use 5 GHz, 80 MHz wide, without a regulatory database");

module_param_named(dcf_rts_bytes, dcf_parameters.rts_bytes, uint, 0644);
MODULE_PARM_DESC(dcf_rts_bytes, "PSDUs longer than this begin with RTS and CTS, beside those for which rate control says so");

module_param_named(dcf_ap_queue_frames, dcf_parameters.ap_queue_frames, uint, 0644);
MODULE_PARM_DESC(dcf_ap_queue_frames, "Driver queue of the access points, frames (of each category)");

module_param_named(dcf_sta_queue_frames, dcf_parameters.sta_queue_frames, uint, 0644);
MODULE_PARM_DESC(dcf_sta_queue_frames, "Driver queue of every other radio, frames");

module_param_named(dcf_orphan, dcf_parameters.orphan, bool, 0644);
MODULE_PARM_DESC(dcf_orphan, "Detach frames from their socket at driver entry, as some phones' drivers do");

module_param_named(dcf_loss_ppm, dcf_parameters.loss_ppm, uint, 0644);
MODULE_PARM_DESC(dcf_loss_ppm, "Chance that an attempt is lost on its link, parts per million");

module_param_named(dcf_retry_limit, dcf_parameters.retry_limit, uint, 0644);
MODULE_PARM_DESC(dcf_retry_limit, "Attempts a frame at most, whatever its rate chain allows; 0: the chain alone decides");

module_param_named(dcf_station_rates, dcf_parameters.station_rates, uint, 0644);
MODULE_PARM_DESC(dcf_station_rates, "PHY rates that access points report of a station: 0 of its last data frame, 1 none, 2 of the last data frame of any station, 3 of its last frame, ACKs included");

static char *rate_control = "minstrel_ht";
module_param(rate_control, charp, 0444);
MODULE_PARM_DESC(rate_control, "Rate control of the stations: minstrel_ht, fixed, aarf");

static char *ap_rate_control = "minstrel_ht";
module_param(ap_rate_control, charp, 0444);
MODULE_PARM_DESC(ap_rate_control, "Rate control of the access points");

static u64 seed;
static u32 interference_burst_ns, interference_pause_ns;

/* Of half a hundred stations all may be hidden from each other. */
static struct hidden_pair {
	u8 station;
	u8 other;
} hidden[50 * 49 / 2];
static u32 hidden_pairs;

/* The channels' generators start apart from each other; the first one in use starts at the seed itself. */
u64 dcf_channel_seed(const struct dcf_channel *channel)
{
	return seed + 0x632be59bd9b4e019ULL * (channel - dcf_channels);
}

static int set_seed(const char *value, const struct kernel_param *kp)
{
	u64 new_seed;
	int i, err = kstrtou64(value, 0, &new_seed);

	if (err)
		return err;
	spin_lock_bh(&dcf_lock);
	seed = new_seed;
	for (i = 0; i < DCF_CHANNELS_MAX; i++)
		dcf_channels[i].model.rng_state = dcf_channel_seed(&dcf_channels[i]);
	spin_unlock_bh(&dcf_lock);
	return 0;
}

static const struct kernel_param_ops seed_ops = { .set = set_seed };
module_param_cb(dcf_seed, &seed_ops, NULL, 0200);
MODULE_PARM_DESC(dcf_seed, "Seed of the back-off counters and link losses; takes effect when written");

/* "SENDER RECEIVER QUARTER_DB": radios by number. Both directions have their own. */
static int set_snr(const char *value, const struct kernel_param *kp)
{
	unsigned int sender, receiver;
	int quarter_db, err = 0;

	if (sscanf(value, "%u %u %d", &sender, &receiver, &quarter_db) != 3 || sender >= DCF_STATIONS_MAX ||
	    receiver >= DCF_STATIONS_MAX || quarter_db <= -DCF_NO_NOISE || quarter_db > DCF_NO_NOISE)
		return -EINVAL;
	spin_lock_bh(&dcf_lock);
	if (dcf_radios[sender]) {
		dcf_radios[sender]->snr_quarter_db[receiver] = quarter_db;
		dcf_any_noise = true;
	} else {
		err = -ENODEV;
	}
	spin_unlock_bh(&dcf_lock);
	return err;
}

static const struct kernel_param_ops snr_ops = { .set = set_snr };
module_param_cb(dcf_snr, &snr_ops, NULL, 0200);
MODULE_PARM_DESC(dcf_snr, "Of one stream in 20 MHz: SENDER RECEIVER QUARTER_DB; at first nothing is lost to noise");

static int get_stats(char *buffer, const struct kernel_param *kp)
{
	struct dcf_counters sum = {};
	int i;

	spin_lock_bh(&dcf_lock);
	for (i = 0; i < DCF_CHANNELS_MAX; i++) {
		const struct dcf_counters *c = &dcf_channels[i].model.counters;

		/* a survey asked for it, but nobody has sent there */
		if (!dcf_channels[i].model.queues_used)
			continue;
		sum.busy_ns += c->busy_ns;
		sum.attempts += c->attempts;
		sum.collided_attempts += c->collided_attempts;
		sum.lost_attempts += c->lost_attempts;
		sum.lost_mpdus += c->lost_mpdus;
		sum.delivered += c->delivered - dcf_channels[i].unreceived;
		sum.failed += c->failed + dcf_channels[i].unreceived;
		sum.internal_collisions += c->internal_collisions;
		sum.mpdus += c->mpdus;
		sum.interference_ns += c->interference_ns;
	}
	spin_unlock_bh(&dcf_lock);
	return sysfs_emit(buffer, "busy_ns %llu\nattempts %llu\ncollided_attempts %llu\nlost_attempts %llu\n"
			  "delivered %llu\nfailed %llu\ninternal_collisions %llu\nmpdus %llu\nlost_mpdus %llu\n"
			  "interference_ns %llu\n",
			  sum.busy_ns, sum.attempts, sum.collided_attempts, sum.lost_attempts, sum.delivered,
			  sum.failed, sum.internal_collisions, sum.mpdus, sum.lost_mpdus,
			  sum.interference_ns);
}

static const struct kernel_param_ops stats_ops = { .get = get_stats };
module_param_cb(dcf_stats, &stats_ops, NULL, 0444);

void dcf_start_interference(struct dcf_channel *channel)
{
	if (!interference_burst_ns && !channel->model.interference.burst_ns)
		return;
	dcf_set_interference(&channel->model, interference_burst_ns, interference_pause_ns, ~dcf_channel_seed(channel),
			     ktime_get_ns());
	dcf_arm_timer(channel);
}

/* "BURST_US PAUSE_US": on every channel that is in use, and on those to come. */
static int set_interference(const char *value, const struct kernel_param *kp)
{
	unsigned int burst_us, pause_us;
	int i;

	if (sscanf(value, "%u %u", &burst_us, &pause_us) != 2 || burst_us > USEC_PER_SEC || pause_us < 1 ||
	    pause_us > USEC_PER_SEC)
		return -EINVAL;
	spin_lock_bh(&dcf_lock);
	interference_burst_ns = burst_us * NSEC_PER_USEC;
	interference_pause_ns = pause_us * NSEC_PER_USEC;
	for (i = 0; i < DCF_CHANNELS_MAX; i++)
		if (dcf_channels[i].center_freq_mhz)
			dcf_start_interference(&dcf_channels[i]);
	spin_unlock_bh(&dcf_lock);
	return 0;
}

static const struct kernel_param_ops interference_ops = { .set = set_interference };
module_param_cb(dcf_interference, &interference_ops, NULL, 0200);
MODULE_PARM_DESC(dcf_interference, "From outside of 802.11, mean times: BURST_US PAUSE_US; at first there is none");

void dcf_hide_pairs(struct dcf_channel *channel)
{
	u32 i;

	for (i = 0; i < hidden_pairs; i++)
		dcf_set_hidden(&channel->model, hidden[i].station, hidden[i].other);
}

/* "STATION OTHER": radios by number; both directions. */
static int set_hidden(const char *value, const struct kernel_param *kp)
{
	unsigned int station, other;
	int i, err = 0;

	if (sscanf(value, "%u %u", &station, &other) != 2 || station >= DCF_STATIONS_MAX || other >= DCF_STATIONS_MAX ||
	    station == other || dcf_is_access_point(station) || dcf_is_access_point(other))
		return -EINVAL;
	spin_lock_bh(&dcf_lock);
	if (hidden_pairs < ARRAY_SIZE(hidden)) {
		hidden[hidden_pairs++] = (struct hidden_pair){ station, other };
		for (i = 0; i < DCF_CHANNELS_MAX; i++) {
			if (!dcf_channels[i].center_freq_mhz)
				continue;
			dcf_set_hidden(&dcf_channels[i].model, station, other);
			dcf_arm_timer(&dcf_channels[i]);
		}
	} else {
		err = -ENOSPC;
	}
	spin_unlock_bh(&dcf_lock);
	return err;
}

static const struct kernel_param_ops hidden_ops = { .set = set_hidden };
module_param_cb(dcf_hidden, &hidden_ops, NULL, 0200);
MODULE_PARM_DESC(dcf_hidden, "STATION OTHER: do not hear each other, both of them no access points; at first all hear all");

bool hwsim_dcf_enabled(void)
{
	return dcf_parameters.enabled;
}

bool hwsim_dcf_limits_air_time(void)
{
	return dcf_parameters.aql;
}

const struct ieee80211_regdomain *hwsim_dcf_regulatory_domain(void)
{
	static const struct ieee80211_regdomain lab = {
		.n_reg_rules = 4,
		.alpha2 = "99",
		.reg_rules = {
			REG_RULE(2412 - 10, 2462 + 10, 40, 0, 20, 0),
			REG_RULE(5180 - 10, 5240 + 10, 80, 0, 23, 0),
			REG_RULE(5500 - 10, 5560 + 10, 80, 0, 23, 0),
			REG_RULE(5745 - 10, 5825 + 10, 80, 0, 23, 0),
		},
	};

	return dcf_parameters.allow_5_ghz ? &lab : NULL;
}

bool dcf_is_access_point(int idx)
{
	return idx < dcf_parameters.access_points;
}

const char *hwsim_dcf_rate_control(int idx)
{
	const char *name = dcf_is_access_point(idx) ? ap_rate_control : rate_control;

	return strcmp(name, "minstrel") ? name : "minstrel_ht";
}

void hwsim_dcf_limit_capabilities(struct ieee80211_supported_band *band)
{
	const u16 short_gi_ht = IEEE80211_HT_CAP_SGI_20 | IEEE80211_HT_CAP_SGI_40;
	u16 vht_map = 0xffff;	/* of each number of streams: not supported */
	int i;

	if (!dcf_parameters.streams)
		return;
	/* the medium needs no time between MPDUs */
	band->ht_cap.ampdu_density = IEEE80211_HT_MPDU_DENSITY_NONE;
	for (i = 0; i < IEEE80211_HT_MCS_MASK_LEN; i++)
		band->ht_cap.mcs.rx_mask[i] = i < dcf_parameters.streams ? 0xff : 0;
	for (i = 0; i < dcf_parameters.streams; i++)
		vht_map &= ~(3 << 2 * i) | IEEE80211_VHT_MCS_SUPPORT_0_9 << 2 * i;
	band->vht_cap.vht_mcs.rx_mcs_map = cpu_to_le16(vht_map);
	band->vht_cap.vht_mcs.tx_mcs_map = cpu_to_le16(vht_map);
	if (!dcf_parameters.short_gi) {
		band->ht_cap.cap &= ~short_gi_ht;
		band->vht_cap.cap &= ~(IEEE80211_VHT_CAP_SHORT_GI_80 | IEEE80211_VHT_CAP_SHORT_GI_160);
	}
}

u32 dcf_queue_limit(const struct hwsim_dcf_radio *radio)
{
	return max(1U, dcf_is_access_point(radio->index) ? dcf_parameters.ap_queue_frames :
							   dcf_parameters.sta_queue_frames);
}

