// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of the medium as it is in the kernel: random calls of the model, whose digests are compared with those of
 * the same calls in user space (lab/tests/test_medium_kunit_uml.py); and what the driver makes of mac80211's frames and
 * rates, which needs the kernel. They use the hardware of hwsim's first radio, with a radio of the medium and a channel
 * of their own.
 */
#include <kunit/test.h>
#include <linux/slab.h>

#include "dcf_model_fuzz.h"
#include "hwsim_dcf_internal.h"

#define FUZZ_STEPS	20000
#define FUZZ_SEEDS	8
#define FRAME_BYTES	1500	/* MAC header to the last byte before the FCS */
#define AIRTIME_NS	100000

/*
 * The model
 */

static void expect_of_fuzz(void *context, bool ok, const char *what)
{
	struct kunit *test = context;

	if (!ok)
		KUNIT_FAIL(test, "%s", what);
}

static void random_calls(struct kunit *test)
{
	struct dcf_fuzz *z = kunit_kzalloc(test, sizeof(*z), GFP_KERNEL);
	u64 seed;

	KUNIT_ASSERT_NOT_NULL(test, z);
	z->expect = expect_of_fuzz;
	z->context = test;
	for (seed = 1; seed <= FUZZ_SEEDS; seed++) {
		dcf_fuzz(z, FUZZ_STEPS, seed);
		kunit_info(test, "fuzz %d %llu: %llu frames, %llu ns, digest %016llx", FUZZ_STEPS, seed, z->offered,
			   z->now_ns, z->digest);
	}
}

static void times_of_ppdus(struct kunit *test)
{
	const struct dcf_rate ofdm = { .rate_100kbps = 540 };
	const struct dcf_rate vht = { .format = DCF_VHT, .mcs = 9, .streams = 2, .width_mhz = 80, .short_gi = true };
	u32 bytes;

	KUNIT_EXPECT_EQ(test, dcf_ppdu_ns(&dcf_phy_2_ghz, 1534, &ofdm), 254000);
	KUNIT_EXPECT_EQ(test, dcf_rate_100kbps(&vht), 8666);
	bytes = dcf_psdu_limit_bytes(&vht, DCF_PPDU_MAX_NS);
	KUNIT_EXPECT_LE(test, dcf_ppdu_ns(&dcf_phy_5_ghz, bytes, &vht), DCF_PPDU_MAX_NS);
	KUNIT_EXPECT_GT(test, dcf_ppdu_ns(&dcf_phy_5_ghz, bytes + 1, &vht), DCF_PPDU_MAX_NS);
}

static struct kunit_case model_cases[] = {
	KUNIT_CASE(random_calls),
	KUNIT_CASE(times_of_ppdus),
	{}
};

static struct kunit_suite model_suite = {
	.name = "hwsim_dcf_model",
	.test_cases = model_cases,
};

/*
 * The driver
 */

struct driver {
	struct kunit *test;
	struct hwsim_dcf_radio radio;
	struct ieee80211_channel channel;
	struct dcf_parameters parameters_before;
	struct dcf_ppdu ppdu;
	u16 sequence_number;
};

static const u8 receivers[][ETH_ALEN] = { { 2, 0, 0, 0, 9, 1 }, { 2, 0, 0, 0, 9, 2 } };

static int begin_test(struct kunit *test)
{
	struct driver *d;

	if (!dcf_radios[0] || dcf_radios[DCF_STATIONS_MAX - 1] || dcf_channels[0].center_freq_mhz) {
		kunit_err(test, "needs mac80211_hwsim.radios, fewer than %d, before one is used", DCF_STATIONS_MAX);
		return -ENODEV;
	}
	d = kunit_kzalloc(test, sizeof(*d), GFP_KERNEL);
	if (!d)
		return -ENOMEM;
	d->test = test;
	d->channel = (struct ieee80211_channel){ .band = NL80211_BAND_5GHZ, .center_freq = 5180 };
	d->radio.hw = dcf_radios[0]->hw;
	d->radio.index = DCF_STATIONS_MAX - 1;
	dcf_init_queues(&d->radio);
	d->parameters_before = dcf_parameters;
	spin_lock_bh(&dcf_lock);
	dcf_radios[d->radio.index] = &d->radio;
	spin_unlock_bh(&dcf_lock);
	test->priv = d;
	return 0;
}

/* Nothing of the test's is left to the guest: no frame, no radio, no channel in use. */
static void end_test(struct kunit *test)
{
	struct driver *d = test->priv;

	if (!d)
		return;
	dcf_parameters = d->parameters_before;
	hwsim_dcf_purge(&d->radio);
	spin_lock_bh(&dcf_lock);
	dcf_radios[d->radio.index] = NULL;
	spin_unlock_bh(&dcf_lock);
	if (dcf_channels[0].center_freq_mhz)
		hrtimer_cancel(&dcf_channels[0].timer);
	memset(&dcf_channels[0], 0, sizeof(dcf_channels[0]));
}

static struct ieee80211_tx_rate vht_rate(u8 mcs, u8 count)
{
	struct ieee80211_tx_rate rate = {
		.flags = IEEE80211_TX_RC_VHT_MCS | IEEE80211_TX_RC_80_MHZ_WIDTH | IEEE80211_TX_RC_SHORT_GI,
		.count = count,
	};

	ieee80211_rate_set_vht(&rate, mcs, 2);
	return rate;
}

/* A frame as hwsim_dcf_enqueue() has it, in no queue. */
static struct dcf_queued *new_frame(struct driver *d, const u8 *receiver, bool in_session)
{
	struct dcf_queued *q = kzalloc(sizeof(*q), GFP_KERNEL);
	struct sk_buff *skb = alloc_skb(FRAME_BYTES, GFP_KERNEL);
	struct ieee80211_hdr *hdr;

	KUNIT_ASSERT_NOT_NULL(d->test, q);
	KUNIT_ASSERT_NOT_NULL(d->test, skb);
	hdr = skb_put_zero(skb, FRAME_BYTES);
	hdr->frame_control = cpu_to_le16(IEEE80211_FTYPE_DATA | IEEE80211_STYPE_QOS_DATA);
	ether_addr_copy(hdr->addr1, receiver);
	ether_addr_copy(hdr->addr2, d->radio.hw->wiphy->addresses[0].addr);
	q->skb = skb;
	q->channel = &d->channel;
	q->category = DCF_BEST_EFFORT;
	q->ack_expected = !is_multicast_ether_addr(receiver);
	q->mpdu.bytes = FRAME_BYTES + DCF_FCS_BYTES;
	q->mpdu.in_session = in_session;
	q->mpdu.sequence_number = d->sequence_number++;
	ether_addr_copy(q->mpdu.receiver, receiver);
	ether_addr_copy(q->mpdu.transmitter, hdr->addr2);
	q->chain_length = 2;
	q->chain[0] = vht_rate(9, 2);
	q->chain[1] = vht_rate(4, 3);
	return q;
}

static void free_frame(struct dcf_queued *q)
{
	kfree_skb(q->skb);
	kfree(q);
}

static struct hwsim_dcf_queue *queue_of(struct driver *d)
{
	return &d->radio.queue[DCF_BEST_EFFORT];
}

static struct dcf_queued *queued(struct driver *d, int receiver, bool in_session)
{
	struct dcf_queued *q = new_frame(d, receivers[receiver], in_session);

	list_add_tail(&q->mpdu.list, &queue_of(d)->frames);
	queue_of(d)->length++;
	return q;
}

static void offer(struct driver *d)
{
	spin_lock_bh(&dcf_lock);
	dcf_offer_head(&d->radio, DCF_BEST_EFFORT, ktime_get_ns());
	spin_unlock_bh(&dcf_lock);
}

static bool attempt_ends(struct driver *d, enum dcf_outcome outcome, u64 heard_mpdus)
{
	struct dcf_result r = {
		.station = d->radio.index,
		.category = DCF_BEST_EFFORT,
		.outcome = outcome,
		.heard = heard_mpdus,
		.heard_mpdus = heard_mpdus,
		.airtime_ns = AIRTIME_NS,
	};
	bool last;

	spin_lock_bh(&dcf_lock);
	last = dcf_end_of_attempt(&r);
	spin_unlock_bh(&dcf_lock);
	return last;
}

static u32 count(const struct list_head *mpdus)
{
	const struct list_head *at;
	u32 n = 0;

	list_for_each(at, mpdus)
		n++;
	return n;
}

/* Of those that have ended. */
static void free_ended(struct driver *d)
{
	struct dcf_mpdu *mpdu, *next;

	list_for_each_entry_safe(mpdu, next, &queue_of(d)->ended.aggregate.mpdus, list) {
		list_del(&mpdu->list);
		free_frame(dcf_queued_of(mpdu));
	}
}

struct rate_case {
	const char *name;
	enum nl80211_band band;
	s8 idx;
	u16 flags;
	struct dcf_rate expected;
};

static const struct rate_case rate_cases[] = {
	{ "1 Mb/s", NL80211_BAND_2GHZ, 0, 0, { .rate_100kbps = 10 } },
	{ "54 Mb/s at 2.4 GHz", NL80211_BAND_2GHZ, 11, 0, { .rate_100kbps = 540 } },
	{ "54 Mb/s at 5 GHz", NL80211_BAND_5GHZ, 7, 0, { .rate_100kbps = 540 } },
	{ "no such rate: the lowest OFDM", NL80211_BAND_5GHZ, 8, 0, { .rate_100kbps = 60 } },
	{ "HT, MCS 7", NL80211_BAND_2GHZ, 7, IEEE80211_TX_RC_MCS,
	  { .rate_100kbps = 650, .format = DCF_HT, .mcs = 7, .streams = 1, .width_mhz = 20 } },
	{ "HT, MCS 15, 40 MHz, short guard interval", NL80211_BAND_5GHZ, 15,
	  IEEE80211_TX_RC_MCS | IEEE80211_TX_RC_40_MHZ_WIDTH | IEEE80211_TX_RC_SHORT_GI,
	  { .rate_100kbps = 3000, .format = DCF_HT, .mcs = 7, .streams = 2, .width_mhz = 40, .short_gi = true } },
	{ "VHT, MCS 9, two streams, 80 MHz, RTS", NL80211_BAND_5GHZ, 0x19,
	  IEEE80211_TX_RC_VHT_MCS | IEEE80211_TX_RC_80_MHZ_WIDTH | IEEE80211_TX_RC_USE_RTS_CTS,
	  { .rate_100kbps = 7800, .format = DCF_VHT, .mcs = 9, .streams = 2, .width_mhz = 80, .rts = true } },
	{ "VHT, MCS 12 of 802.11ax: the highest", NL80211_BAND_5GHZ, 0x0c,
	  IEEE80211_TX_RC_VHT_MCS | IEEE80211_TX_RC_80_MHZ_WIDTH,
	  { .rate_100kbps = 3900, .format = DCF_VHT, .mcs = 9, .streams = 1, .width_mhz = 80 } },
};

static void describe_rate(const struct rate_case *of, char *text)
{
	strscpy(text, of->name, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(rate, rate_cases, describe_rate);

static void rates_of_mac80211(struct kunit *test)
{
	const struct rate_case *of = test->param_value;
	struct driver *d = test->priv;
	const struct dcf_rate *rate = &d->ppdu.aggregate.frame.chain[0];
	struct dcf_queued *q = new_frame(d, receivers[0], false);

	d->channel.band = of->band;
	q->chain_length = 1;
	q->chain[0] = (struct ieee80211_tx_rate){ .idx = of->idx, .flags = of->flags, .count = 1 };
	dcf_set_chain(&d->radio, &d->ppdu, q);
	KUNIT_EXPECT_EQ(test, rate->rate_100kbps, of->expected.rate_100kbps);
	KUNIT_EXPECT_EQ(test, rate->format, of->expected.format);
	KUNIT_EXPECT_EQ(test, rate->mcs, of->expected.mcs);
	KUNIT_EXPECT_EQ(test, rate->streams, of->expected.streams);
	KUNIT_EXPECT_EQ(test, rate->width_mhz, of->expected.width_mhz);
	KUNIT_EXPECT_EQ(test, rate->short_gi, of->expected.short_gi);
	KUNIT_EXPECT_EQ(test, rate->rts, of->expected.rts);
	free_frame(q);
}

static void chains(struct kunit *test)
{
	struct driver *d = test->priv;
	struct dcf_frame *frame = &d->ppdu.aggregate.frame;
	const u8 broadcast[ETH_ALEN] = { 255, 255, 255, 255, 255, 255 };
	struct dcf_queued *q = new_frame(d, receivers[0], true);
	struct dcf_queued *to_all = new_frame(d, broadcast, false);

	dcf_set_chain(&d->radio, &d->ppdu, q);
	KUNIT_EXPECT_EQ(test, frame->chain_length, 2);
	KUNIT_EXPECT_EQ(test, frame->chain[0].tries, 2);
	KUNIT_EXPECT_EQ(test, frame->chain[1].tries, 3);
	KUNIT_EXPECT_TRUE(test, frame->ack_expected);

	dcf_parameters.retry_limit = 3;
	dcf_set_chain(&d->radio, &d->ppdu, q);
	KUNIT_EXPECT_EQ_MSG(test, frame->chain[0].tries + frame->chain[1].tries, 3, "no more attempts than the limit");
	dcf_parameters.retry_limit = 0;

	q->chain[1] = (struct ieee80211_tx_rate){ .idx = 0, .count = 3 };
	dcf_set_chain(&d->radio, &d->ppdu, q);
	KUNIT_EXPECT_EQ_MSG(test, frame->chain_length, 1, "an A-MPDU has no legacy rate to fall back to");

	dcf_set_chain(&d->radio, &d->ppdu, to_all);
	KUNIT_EXPECT_FALSE(test, frame->ack_expected);
	KUNIT_EXPECT_EQ_MSG(test, frame->chain[0].tries, 1, "nobody answers a broadcast");
	free_frame(q);
	free_frame(to_all);
}

static void aggregates_of_one_receiver(struct kunit *test)
{
	struct driver *d = test->priv;
	struct hwsim_dcf_queue *queue = queue_of(d);
	struct dcf_queued *other;

	queued(d, 0, true);
	other = queued(d, 1, true);
	queued(d, 0, true);
	queued(d, 0, true);
	offer(d);
	KUNIT_EXPECT_EQ(test, count(&queue->offered.aggregate.mpdus), 3);
	KUNIT_EXPECT_EQ(test, queue->offered.aggregate.frame.mpdus, 3);
	KUNIT_EXPECT_PTR_EQ(test, list_first_entry(&queue->frames, struct dcf_mpdu, list), &other->mpdu);
	KUNIT_EXPECT_TRUE(test, dcf_channels[0].model.queue[d->radio.index][DCF_BEST_EFFORT].contending);
}

static void single_frames(struct kunit *test)
{
	struct driver *d = test->priv;
	struct hwsim_dcf_queue *queue = queue_of(d);

	queued(d, 0, true)->mpdu.alone = true;
	queued(d, 0, true);
	offer(d);
	KUNIT_EXPECT_EQ_MSG(test, count(&queue->offered.aggregate.mpdus), 1, "what tries a rate out goes alone");
	KUNIT_EXPECT_EQ(test, queue->offered.aggregate.frame.mpdus, 0);
	KUNIT_EXPECT_TRUE(test, attempt_ends(d, DCF_DELIVERED, 1));
	free_ended(d);

	hwsim_dcf_purge(&d->radio);
	queued(d, 0, false);
	offer(d);
	KUNIT_EXPECT_EQ_MSG(test, queue->offered.aggregate.frame.mpdus, 0, "one MPDU is answered by an ACK");
}

static void missing_mpdus_are_sent_again(struct kunit *test)
{
	struct driver *d = test->priv;
	struct hwsim_dcf_queue *queue = queue_of(d);
	struct dcf_mpdu *mpdu;
	int i;

	for (i = 0; i < 4; i++)
		queued(d, 0, true);
	offer(d);
	queued(d, 0, true);

	KUNIT_EXPECT_FALSE(test, attempt_ends(d, DCF_RETRY, 0));
	KUNIT_EXPECT_FALSE(test, attempt_ends(d, DCF_RETRY, 0));
	KUNIT_EXPECT_TRUE(test, attempt_ends(d, DCF_DELIVERED, BIT(1) | BIT(3)));
	KUNIT_EXPECT_EQ(test, queue->ended.attempts[0], 2);
	KUNIT_EXPECT_EQ_MSG(test, queue->ended.attempts[1], 1, "the second rate, after the two attempts at the first");
	KUNIT_EXPECT_EQ(test, queue->ended.tx_airtime_ns, 3 * AIRTIME_NS);
	KUNIT_EXPECT_EQ(test, queue->ended.airtime_ns, AIRTIME_NS);
	KUNIT_EXPECT_EQ(test, d->radio.tx_ns, 3 * AIRTIME_NS);

	KUNIT_EXPECT_EQ(test, queue->ended.aggregate.sent, 4);
	KUNIT_EXPECT_EQ(test, queue->ended.aggregate.acked, 2);
	KUNIT_EXPECT_EQ(test, queue->length, 3);
	i = 0;
	list_for_each_entry(mpdu, &queue->frames, list)
		KUNIT_EXPECT_EQ(test, mpdu->sequence_number, ((const int[]){ 0, 2, 4 })[i++]);
	KUNIT_EXPECT_EQ(test, i, 3);
	free_ended(d);
}

static void what_was_in_no_session_ends(struct kunit *test)
{
	struct driver *d = test->priv;

	queued(d, 0, false);
	offer(d);
	KUNIT_EXPECT_TRUE(test, attempt_ends(d, DCF_FAILED, 0));
	KUNIT_EXPECT_EQ(test, queue_of(d)->length, 0);
	KUNIT_EXPECT_EQ(test, count(&queue_of(d)->ended.aggregate.mpdus), 1);
	free_ended(d);
}

/* Nothing of it is lost, neither parts of a microsecond nor what is more than a status takes. */
static void air_time_of_statuses(struct kunit *test)
{
	struct hwsim_dcf_queue queue = { .tx_unreported_ns = 1700 };

	KUNIT_EXPECT_EQ(test, dcf_take_tx_time_us(&queue), 1);
	KUNIT_EXPECT_EQ_MSG(test, dcf_take_tx_time_us(&queue), 0, "the other frames of the PPDU have none");
	queue.tx_unreported_ns += 1300;
	KUNIT_EXPECT_EQ(test, dcf_take_tx_time_us(&queue), 2);

	queue.tx_unreported_ns = 70000 * NSEC_PER_USEC;
	KUNIT_EXPECT_EQ(test, dcf_take_tx_time_us(&queue), U16_MAX);
	KUNIT_EXPECT_EQ(test, dcf_take_tx_time_us(&queue), 70000 - U16_MAX);
	KUNIT_EXPECT_EQ(test, queue.tx_unreported_ns, 0);
}

/* Without a station mac80211 knows no limit of the receiver, and the smallest holds: an exponent of 0. */
static void lengths_of_aggregates(struct kunit *test)
{
	struct driver *d = test->priv;
	struct dcf_queued *q = new_frame(d, receivers[0], true);
	struct dcf_channel *channel;
	u32 bytes, shorter_bytes;

	spin_lock_bh(&dcf_lock);
	channel = dcf_channel_of(&d->channel);
	spin_unlock_bh(&dcf_lock);
	dcf_set_chain(&d->radio, &d->ppdu, q);
	KUNIT_EXPECT_EQ(test, dcf_psdu_max_bytes(&d->radio, q, channel, &d->ppdu.aggregate.frame), 8191);

	q->chain[1] = (struct ieee80211_tx_rate){ .idx = 0, .flags = IEEE80211_TX_RC_MCS, .count = 1 };
	dcf_set_chain(&d->radio, &d->ppdu, q);
	bytes = dcf_psdu_max_bytes(&d->radio, q, channel, &d->ppdu.aggregate.frame);
	KUNIT_EXPECT_LT_MSG(test, bytes, 8191, "6.5 Mb/s for 5.484 ms");
	channel->model.queue[d->radio.index][DCF_BEST_EFFORT].edca.txop_limit_ns = 2080000;
	shorter_bytes = dcf_psdu_max_bytes(&d->radio, q, channel, &d->ppdu.aggregate.frame);
	KUNIT_EXPECT_LT_MSG(test, shorter_bytes, bytes / 2, "within the TXOP");
	free_frame(q);
}

static void queues_of_access_points(struct kunit *test)
{
	struct driver *d = test->priv;

	dcf_parameters.access_points = 2;
	dcf_parameters.ap_queue_frames = 256;
	dcf_parameters.sta_queue_frames = 0;
	KUNIT_EXPECT_TRUE(test, dcf_is_access_point(1));
	KUNIT_EXPECT_FALSE(test, dcf_is_access_point(2));
	KUNIT_EXPECT_EQ(test, dcf_queue_limit(dcf_radios[0]), 256);
	KUNIT_EXPECT_EQ_MSG(test, dcf_queue_limit(&d->radio), 1, "a queue of no frame would never send");
}

/* The station sends at VHT MCS 9, the access point answers with a block ack, and later sends at 6 Mb/s. */
static void rates_of_stations(struct kunit *test)
{
	const u64 both = BIT_ULL(NL80211_STA_INFO_TX_BITRATE) | BIT_ULL(NL80211_STA_INFO_RX_BITRATE);
	struct hwsim_dcf_radio *access_point = kunit_kzalloc(test, sizeof(*access_point), GFP_KERNEL);
	struct hwsim_dcf_radio *station = kunit_kzalloc(test, sizeof(*station), GFP_KERNEL);
	struct ieee80211_sta *sta = kunit_kzalloc(test, sizeof(*sta), GFP_KERNEL);
	struct station_info *sinfo = kunit_kzalloc(test, sizeof(*sinfo), GFP_KERNEL);
	struct driver *d = test->priv;
	struct dcf_rate *rate = &d->ppdu.aggregate.frame.chain[0];

	KUNIT_ASSERT_NOT_NULL(test, access_point);
	KUNIT_ASSERT_NOT_NULL(test, station);
	KUNIT_ASSERT_NOT_NULL(test, sta);
	KUNIT_ASSERT_NOT_NULL(test, sinfo);
	KUNIT_ASSERT_NOT_NULL(test, dcf_radios[1]);
	dcf_parameters.access_points = 1;
	station->index = 1;
	ether_addr_copy(sta->addr, dcf_radios[1]->hw->wiphy->addresses[0].addr);
	*rate = (struct dcf_rate){ .format = DCF_VHT, .mcs = 9, .streams = 2, .width_mhz = 80, .short_gi = true };
	dcf_see_rates(station, access_point, &d->ppdu, 0, true, true);

	hwsim_dcf_station_rates(access_point, sta, sinfo);
	KUNIT_EXPECT_EQ_MSG(test, sinfo->filled, 0, "mac80211's own");

	dcf_parameters.station_rates = DCF_RATES_OF_FRAMES;
	hwsim_dcf_station_rates(station, sta, sinfo);
	KUNIT_EXPECT_EQ_MSG(test, sinfo->filled, 0, "of access points alone");
	hwsim_dcf_station_rates(access_point, sta, sinfo);
	KUNIT_EXPECT_EQ(test, sinfo->filled, both);
	KUNIT_EXPECT_EQ(test, sinfo->rxrate.flags, RATE_INFO_FLAGS_VHT_MCS | RATE_INFO_FLAGS_SHORT_GI);
	KUNIT_EXPECT_EQ(test, sinfo->rxrate.mcs, 9);
	KUNIT_EXPECT_EQ(test, sinfo->rxrate.nss, 2);
	KUNIT_EXPECT_EQ(test, sinfo->rxrate.bw, RATE_INFO_BW_80);
	KUNIT_EXPECT_EQ_MSG(test, sinfo->txrate.legacy, 240, "the block ack");

	*rate = (struct dcf_rate){ .rate_100kbps = 60 };
	dcf_see_rates(access_point, station, &d->ppdu, 0, false, true);
	hwsim_dcf_station_rates(access_point, sta, sinfo);
	KUNIT_EXPECT_EQ(test, sinfo->txrate.legacy, 60);
	KUNIT_EXPECT_EQ_MSG(test, sinfo->rxrate.legacy, 60, "the ACK");

	dcf_parameters.station_rates = DCF_RATES_ONE;
	eth_zero_addr(sta->addr);
	hwsim_dcf_station_rates(access_point, sta, sinfo);
	KUNIT_EXPECT_EQ_MSG(test, sinfo->rxrate.mcs, 9, "of any station, the last one that was of data");
	KUNIT_EXPECT_EQ(test, sinfo->txrate.legacy, 0);

	dcf_parameters.station_rates = DCF_RATES_NONE;
	hwsim_dcf_station_rates(access_point, sta, sinfo);
	KUNIT_EXPECT_EQ(test, sinfo->rxrate.flags, 0);
	KUNIT_EXPECT_EQ(test, sinfo->rxrate.legacy, 0);
}

static struct kunit_case driver_cases[] = {
	KUNIT_CASE_PARAM(rates_of_mac80211, rate_gen_params),
	KUNIT_CASE(chains),
	KUNIT_CASE(aggregates_of_one_receiver),
	KUNIT_CASE(single_frames),
	KUNIT_CASE(missing_mpdus_are_sent_again),
	KUNIT_CASE(what_was_in_no_session_ends),
	KUNIT_CASE(air_time_of_statuses),
	KUNIT_CASE(lengths_of_aggregates),
	KUNIT_CASE(queues_of_access_points),
	KUNIT_CASE(rates_of_stations),
	{}
};

static struct kunit_suite driver_suite = {
	.name = "hwsim_dcf_driver",
	.init = begin_test,
	.exit = end_test,
	.test_cases = driver_cases,
};

kunit_test_suites(&model_suite, &driver_suite);

MODULE_LICENSE("GPL");
