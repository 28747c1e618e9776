// SPDX-License-Identifier: GPL-2.0-only
/*
 * The medium model in user space.
 *
 *	dcf_model_test check			rules of the model, one line each; exit 1 if one is violated
 *	dcf_model_test saturate SECONDS SEED CLASS...
 *		stations that always have a 1470-byte UDP payload for the access point at 54 Mb/s; a class is
 *		N:CWMIN:CWMAX:AIFSN:TXOP_US. Prints payload Mb/s and collision probability of each class as JSON
 *	dcf_model_test aggregate SECONDS SEED BAND_GHZ RATE CLASS...
 *		the same with QoS frames, and A-MPDUs as long as the limits of HT or VHT allow; BAND_GHZ is 2 or 5, RATE is
 *		FORMAT:MCS:STREAMS:WIDTH_MHZ:SHORT_GI:RTS:LOSS_PPM with the format legacy, ht or vht (legacy: 100 kb/s in
 *		place of the MCS, no aggregation), two flags of 0 or 1, and the chance that an MPDU is lost
 *	dcf_model_test fuzz STEPS SEED
 *		random offers, replacements, withdrawals, parameters and rates; exit 1 if an invariant is violated. The
 *		digest is of all results and their times
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcf_model.h"
#include "dcf_model_fuzz.h"

#define BE			DCF_BEST_EFFORT
#define UDP_PAYLOAD_BYTES	1470U
#define QOS_FRAME_BYTES		(UDP_FRAME_BYTES + 2)
#define HT_PSDU_MAX_BYTES	65535U	/* Maximum A-MPDU Length Exponent 3, 9.4.2.56.3 */
#define VHT_PSDU_MAX_BYTES	1048575U	/* exponent 7, 9.4.2.158.2 */
/* UDP 8, IPv4 20, LLC/SNAP 8, MAC header 24, FCS 4 */
#define UDP_FRAME_BYTES		(UDP_PAYLOAD_BYTES + 8 + 20 + 8 + 24 + DCF_FCS_BYTES)

static int failures;
static int checks;
static bool quiet;			/* only what fails is printed */

static void expect(bool ok, const char *what)
{
	checks++;
	if (!ok || !quiet)
		printf("%s %d - %s\n", ok ? "ok" : "not ok", checks, what);
	if (!ok)
		failures++;
}

static u32 legacy_ns(u32 bytes, u16 rate_100kbps)
{
	const struct dcf_rate rate = { .rate_100kbps = rate_100kbps };

	return dcf_ppdu_ns(&dcf_phy_2_ghz, bytes, &rate);
}

static u16 control_100kbps(u16 rate_100kbps)
{
	const struct dcf_rate rate = { .rate_100kbps = rate_100kbps };

	return dcf_control_rate_100kbps(&rate);
}

static struct dcf_frame data_frame(u32 bytes, u16 rate_100kbps, u8 tries)
{
	struct dcf_frame f = { .bytes = bytes, .ack_expected = true, .snr_quarter_db = DCF_NO_NOISE,
			       .chain_length = 1 };

	f.chain[0].rate_100kbps = rate_100kbps;
	f.chain[0].tries = tries;
	return f;
}

/* Runs the model up to its next results. */
static u32 run_to_results(struct dcf_model *m, u64 *now_ns, struct dcf_result *results)
{
	u32 n = 0;

	while (!n) {
		u64 next = dcf_next_event_ns(m);

		if (next == DCF_NEVER_NS)
			return 0;
		*now_ns = next;
		n = dcf_advance(m, next, results);
	}
	return n;
}

static void check_airtime(void)
{
	expect(legacy_ns(1534, 540) == 254000, "1534 bytes at 54 Mb/s: 57 symbols, 254 us");
	expect(legacy_ns(14, 240) == 34000, "ACK at 24 Mb/s: 34 us");
	expect(legacy_ns(14, 60) == 50000, "ACK at 6 Mb/s: 50 us");
	expect(legacy_ns(100, 10) == 992000, "100 bytes at 1 Mb/s DSSS: 192 + 800 us");
	expect(control_100kbps(540) == 240 && control_100kbps(180) == 120 && control_100kbps(90) == 60,
	       "ACK at the highest mandatory rate not above the frame's");
}

static void check_idle_channel(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(1534, 540, 7);
	u64 now_ns = 1000000;

	dcf_init(&m, 1);
	expect(dcf_next_event_ns(&m) == DCF_NEVER_NS, "nothing to do while no station has a frame");
	dcf_offer(&m, 0, BE, &f, now_ns);
	expect(dcf_next_event_ns(&m) - now_ns < DCF_SLOT_NS, "an idle station sends at the next slot of an idle channel");
	expect(run_to_results(&m, &now_ns, r) == 1 && r[0].outcome == DCF_DELIVERED && r[0].heard, "and is received");
	expect(r[0].airtime_ns == 254000 + DCF_SIFS_NS + 34000, "the exchange takes frame, SIFS and ACK");
	expect(dcf_busy_ns(&m, now_ns) == r[0].airtime_ns, "and the channel was busy for just that long");
	dcf_offer(&m, 0, BE, &f, now_ns);
	expect(dcf_next_event_ns(&m) >= now_ns + DCF_DIFS_NS, "the next frame waits at least DIFS");
	expect(dcf_next_event_ns(&m) <= now_ns + DCF_DIFS_NS + DCF_CW_MIN * DCF_SLOT_NS, "and at most DIFS and CWmin slots");
}

static void check_collision(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame slow = data_frame(1534, 60, 7), fast = data_frame(1534, 540, 7);
	u64 now_ns = 1000000;

	dcf_init(&m, 1);
	dcf_offer(&m, 0, BE, &slow, now_ns);
	dcf_offer(&m, 1, BE, &fast, now_ns);
	expect(run_to_results(&m, &now_ns, r) == 2, "two stations that find the channel idle at once collide");
	expect(r[0].collided && r[1].collided && r[0].outcome == DCF_RETRY && r[1].outcome == DCF_RETRY, "both must retry");
	expect(!r[0].heard && !r[1].heard, "and neither frame is received");
	expect(m.counters.busy_ns == legacy_ns(1534, 60), "a collision lasts as long as its longest frame");
	expect(m.queue[0][BE].cw == 31 && m.queue[1][BE].cw == 31, "the contention window doubles");
	expect(dcf_next_event_ns(&m) >= now_ns + DCF_SIFS_NS + 50000 + DCF_DIFS_NS, "EIFS follows");
}

static void check_chain(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = { .bytes = 500, .ack_expected = true, .loss_ppm = 1000000, .snr_quarter_db = DCF_NO_NOISE,
			       .chain_length = 2,
			       .chain = { { .rate_100kbps = 540, .tries = 2 }, { .rate_100kbps = 60, .tries = 1 } } };
	u64 now_ns = 0;
	u32 i;

	dcf_init(&m, 7);
	dcf_offer(&m, 0, BE, &f, now_ns);
	for (i = 0; i < 3; i++) {
		expect(dcf_current_rate(&m.queue[0][BE])->rate_100kbps == (i < 2 ? 540 : 60), "the rate follows the chain");
		run_to_results(&m, &now_ns, r);
		expect(r[0].outcome == (i < 2 ? DCF_RETRY : DCF_FAILED), "until the end of the chain");
	}
	expect(m.queue[0][BE].cw == DCF_CW_MIN, "a dropped frame resets the contention window");
	expect(m.counters.lost_attempts == 3 && m.counters.collided_attempts == 0, "link loss is not counted as collision");
	expect(dcf_next_event_ns(&m) == DCF_NEVER_NS, "then the station has nothing to send");
}

static void check_cw_limit(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(500, 540, 20);
	u64 now_ns = 0;
	u32 i;

	f.loss_ppm = 1000000;
	dcf_init(&m, 3);
	dcf_offer(&m, 0, BE, &f, now_ns);
	for (i = 0; i < 15; i++)
		run_to_results(&m, &now_ns, r);
	expect(m.queue[0][BE].cw == DCF_CW_MAX, "the contention window stops at CWmax");
}

static void check_broadcast_and_withdraw(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame beacon = data_frame(120, 60, 1), f = data_frame(1534, 540, 7);
	u64 now_ns = 0;

	beacon.ack_expected = false;
	beacon.loss_ppm = 1000000;
	dcf_init(&m, 1);
	dcf_offer(&m, 0, BE, &beacon, now_ns);
	expect(run_to_results(&m, &now_ns, r) == 1 && r[0].outcome == DCF_DELIVERED && !r[0].heard,
	       "a lost broadcast is over for its sender");
	expect(r[0].airtime_ns == legacy_ns(120, 60), "and is not acknowledged");

	dcf_offer(&m, 1, BE, &f, now_ns);
	now_ns = dcf_next_event_ns(&m);
	dcf_advance(&m, now_ns, r);
	dcf_withdraw(&m, 1);
	now_ns = dcf_next_event_ns(&m);
	expect(dcf_advance(&m, now_ns, r) == 0, "a radio that stops while on air has no result");
	expect(dcf_next_event_ns(&m) == DCF_NEVER_NS, "and nothing more to send");
}

static void check_backoff_freezes(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(1534, 540, 7);
	u64 now_ns = 0;
	u32 before;

	dcf_init(&m, 5);
	m.queue[0][BE].backoff_slots = 4;
	m.queue[1][BE].backoff_slots = 11;
	dcf_offer(&m, 0, BE, &f, 0);
	dcf_offer(&m, 1, BE, &f, 0);
	before = m.queue[1][BE].backoff_slots;
	run_to_results(&m, &now_ns, r);
	expect(r[0].station == 0 && !r[0].collided, "the smaller counter transmits first");
	expect(m.queue[1][BE].backoff_slots == before - 4, "the other keeps the rest of its counter");
}

static void check_aifsn(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(1534, 540, 7);
	struct dcf_edca later = { .aifsn = 4, .cw_min = 15, .cw_max = 1023 };
	u64 now_ns = 0, end_ns;

	dcf_init(&m, 5);
	dcf_set_edca(&m, 0, BE, &later);
	m.queue[0][BE].backoff_slots = 3;
	m.queue[1][BE].backoff_slots = 5;
	dcf_offer(&m, 0, BE, &f, 0);
	dcf_offer(&m, 1, BE, &f, 0);
	run_to_results(&m, &now_ns, r);
	expect(r[0].station == 0 && r[1].station == 1 && r[0].collided, "AIFSN 4 and 3 slots collide with 2 and 5");

	dcf_init(&m, 5);
	dcf_set_edca(&m, 0, BE, &later);
	m.queue[0][BE].backoff_slots = 4;
	m.queue[1][BE].backoff_slots = 5;
	dcf_offer(&m, 0, BE, &f, 0);
	dcf_offer(&m, 1, BE, &f, 0);
	run_to_results(&m, &now_ns, r);
	end_ns = now_ns;
	expect(r[0].station == 1 && !r[0].collided, "one slot more, and it comes after");
	expect(m.queue[0][BE].backoff_slots == 4 - (2 + 5 - 4), "its counter ran for the slots after its AIFS only");
	run_to_results(&m, &now_ns, r);
	expect(r[0].station == 0 && now_ns - end_ns == DCF_SIFS_NS + (4 + 1) * DCF_SLOT_NS + r[0].airtime_ns,
	       "then it waits SIFS, AIFSN and the rest of its back-off");

	dcf_init(&m, 5);
	dcf_set_edca(&m, 0, BE, &later);
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	end_ns = now_ns;
	m.queue[0][BE].backoff_slots = 0;
	dcf_offer(&m, 0, BE, &f, now_ns);
	expect(dcf_next_event_ns(&m) == end_ns + DCF_SIFS_NS + 4 * DCF_SLOT_NS, "no queue sends before its AIFS has passed");
	later.aifsn = 0;
	dcf_set_edca(&m, 0, BE, &later);
	expect(m.queue[0][BE].edca.aifsn == 1, "AIFSN is at least 1");
}

static void check_contention_window(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(500, 540, 20);
	struct dcf_edca edca = { .aifsn = 2, .cw_min = 7, .cw_max = 31 };
	u64 now_ns = 0;
	u32 i, largest = 0;

	f.loss_ppm = 1000000;
	dcf_init(&m, 3);
	dcf_set_edca(&m, 0, BE, &edca);
	expect(m.queue[0][BE].cw == 7, "CWmin is in force at once");
	dcf_offer(&m, 0, BE, &f, now_ns);
	for (i = 0; i < 5; i++)
		run_to_results(&m, &now_ns, r);
	expect(m.queue[0][BE].cw == 31, "the window doubles up to the queue's own CWmax");
	edca.cw_max = 15;
	dcf_set_edca(&m, 0, BE, &edca);
	expect(m.queue[0][BE].cw == 15, "a frame that is being retried comes under a smaller CWmax");
	while (run_to_results(&m, &now_ns, r) && r[0].outcome == DCF_RETRY)
		;
	expect(m.queue[0][BE].cw == 7, "and ends at CWmin");

	f.loss_ppm = 0;
	for (i = 0; i < 1000; i++) {
		dcf_offer(&m, 0, BE, &f, now_ns);
		largest = m.queue[0][BE].backoff_slots > largest ? m.queue[0][BE].backoff_slots : largest;
		run_to_results(&m, &now_ns, r);
	}
	expect(largest == 7, "back-offs are 0 to CWmin");
}

static void check_categories(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(1534, 540, 7);
	u64 now_ns = 1000000;

	dcf_init(&m, 9);
	dcf_offer(&m, 3, BE, &f, now_ns);
	dcf_offer(&m, 3, 0, &f, now_ns);
	expect(run_to_results(&m, &now_ns, r) == 1 && r[0].category == 0 && r[0].outcome == DCF_DELIVERED,
	       "of two queues of a station the one with priority sends, and without a collision on the air");
	expect(m.counters.internal_collisions == 1 && m.counters.collided_attempts == 0, "which is counted apart");
	expect(m.queue[3][BE].cw == 31 && m.queue[3][BE].attempts == 0, "the other doubles its window, but made no attempt");
	expect(run_to_results(&m, &now_ns, r) == 1 && r[0].category == BE && r[0].outcome == DCF_DELIVERED, "and sends next");

	now_ns += 1000000;
	dcf_offer(&m, 3, 0, &f, now_ns);
	dcf_offer(&m, 4, BE, &f, now_ns);
	expect(run_to_results(&m, &now_ns, r) == 2 && r[0].collided && r[1].collided,
	       "queues of two stations collide whatever their category");
	dcf_withdraw(&m, 3);
	dcf_withdraw(&m, 4);
	expect(dcf_next_event_ns(&m) == DCF_NEVER_NS, "a radio that stops has nothing to send in any category");
}

static void check_txop(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(1534, 540, 7);
	const u64 exchange_ns = 254000 + DCF_SIFS_NS + 34000;
	struct dcf_edca bursts = { .aifsn = 2, .cw_min = 15, .cw_max = 1023 };
	u64 now_ns = 1000000, end_ns;

	bursts.txop_limit_ns = 2 * exchange_ns + DCF_SIFS_NS;
	dcf_init(&m, 2);
	dcf_set_edca(&m, 0, BE, &bursts);
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	end_ns = now_ns;
	dcf_offer(&m, 0, BE, &f, now_ns);
	dcf_offer(&m, 1, BE, &f, now_ns);
	expect(m.queue[1][BE].backoff_slots > 0, "to the others a TXOP that goes on is a busy channel");
	expect(run_to_results(&m, &now_ns, r) == 1 && r[0].station == 0 && now_ns == end_ns + DCF_SIFS_NS + exchange_ns,
	       "within its TXOP a queue goes on after a SIFS, before all others");
	end_ns = now_ns;
	dcf_offer(&m, 0, BE, &f, now_ns);
	expect(dcf_next_event_ns(&m) >= end_ns + DCF_DIFS_NS, "a third frame would not end within the limit");

	dcf_init(&m, 2);
	bursts.txop_limit_ns--;
	dcf_set_edca(&m, 0, BE, &bursts);
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	dcf_offer(&m, 0, BE, &f, now_ns);
	expect(dcf_next_event_ns(&m) >= now_ns + DCF_DIFS_NS, "nor would a second by a nanosecond less");

	dcf_init(&m, 2);
	bursts.txop_limit_ns = 1;
	dcf_set_edca(&m, 0, BE, &bursts);
	dcf_offer(&m, 0, BE, &f, now_ns);
	expect(run_to_results(&m, &now_ns, r) == 1, "the first frame of an access is sent whatever the limit");

	dcf_init(&m, 2);
	bursts.txop_limit_ns = 10000000;
	dcf_set_edca(&m, 0, BE, &bursts);
	f.loss_ppm = 1000000;
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	expect(r[0].outcome == DCF_RETRY && dcf_next_event_ns(&m) >= now_ns + DCF_DIFS_NS, "a lost frame ends the access");
	f.loss_ppm = 0;
	dcf_init(&m, 2);
	dcf_set_edca(&m, 0, BE, &bursts);
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	dcf_offer(&m, 0, BE, &f, now_ns + 1);
	expect(dcf_next_event_ns(&m) >= now_ns + DCF_DIFS_NS, "a frame that comes a moment later must contend");
	dcf_init(&m, 2);
	dcf_set_edca(&m, 0, BE, &bursts);
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	dcf_offer(&m, 0, BE, &f, now_ns);
	dcf_withdraw(&m, 0);
	expect(dcf_next_event_ns(&m) == DCF_NEVER_NS, "a radio that stops gives its TXOP up");
}

static struct dcf_rate ht(u8 mcs, u8 streams, u8 width_mhz, bool short_gi)
{
	return (struct dcf_rate){ .tries = 7, .format = DCF_HT, .mcs = mcs, .streams = streams,
				  .width_mhz = width_mhz, .short_gi = short_gi };
}

static struct dcf_rate vht(u8 mcs, u8 streams, u8 width_mhz, bool short_gi)
{
	struct dcf_rate rate = ht(mcs, streams, width_mhz, short_gi);

	rate.format = DCF_VHT;
	return rate;
}

static u16 rate_of(struct dcf_rate rate)
{
	return dcf_rate_100kbps(&rate);
}

static u32 ppdu_5_ghz_ns(u32 bytes, struct dcf_rate rate)
{
	return dcf_ppdu_ns(&dcf_phy_5_ghz, bytes, &rate);
}

/* An A-MPDU of @mpdus frames of @bytes each. */
static struct dcf_frame a_mpdu(struct dcf_rate rate, u32 mpdus, u16 bytes)
{
	struct dcf_frame f = { .ack_expected = true, .snr_quarter_db = DCF_NO_NOISE, .chain_length = 1,
			       .chain = { rate } };

	while (mpdus--)
		dcf_add_mpdu(&f, bytes, ~0U);
	return f;
}

static void check_ht_and_vht_rates(void)
{
	struct dcf_rate rate = ht(7, 2, 40, true);
	u32 limit = dcf_psdu_limit_bytes(&rate, DCF_PPDU_MAX_NS);

	expect(rate_of(ht(7, 1, 20, false)) == 650 && rate_of(ht(7, 1, 20, true)) == 722, "HT20 MCS 7: 65 and 72.2 Mb/s");
	expect(rate_of(ht(7, 1, 40, true)) == 1500 && rate_of(ht(7, 2, 40, true)) == 3000, "HT40: 150 and 300 Mb/s");
	expect(rate_of(vht(9, 1, 80, true)) == 4333 && rate_of(vht(9, 2, 80, true)) == 8666, "VHT80: 433 and 867 Mb/s");
	expect(rate_of(ht(0, 1, 20, false)) == 65 && rate_of(vht(8, 1, 20, false)) == 780, "HT20 MCS 0: 6.5, VHT20 MCS 8: 78");
	/* (16 + 8 * 1536 + 6) / 260 bits: 48 symbols */
	expect(ppdu_5_ghz_ns(1536, ht(7, 1, 20, false)) == 36000 + 48 * 4000, "1536 bytes at 65 Mb/s: 36 + 48 * 4 us");
	expect(ppdu_5_ghz_ns(1536, ht(7, 1, 20, true)) == 36000 + 44 * 4000, "at 72.2 Mb/s 172.8 us of symbols, ended at 176");
	expect(ppdu_5_ghz_ns(1536, ht(7, 2, 20, false)) == 40000 + 24 * 4000, "a second stream has a training field more");
	expect(ppdu_5_ghz_ns(1536, vht(7, 1, 20, false)) == 40000 + 48 * 4000, "and VHT a SIG-B");
	expect(dcf_ppdu_ns(&dcf_phy_2_ghz, 1536, &rate) == ppdu_5_ghz_ns(1536, rate) + 6000, "2.4 GHz: signal extension");
	expect(ppdu_5_ghz_ns(limit, rate) <= DCF_PPDU_MAX_NS && ppdu_5_ghz_ns(limit + 1, rate) > DCF_PPDU_MAX_NS,
	       "the limit in bytes is the longest PSDU that ends in time");
	expect(dcf_psdu_limit_bytes(&rate, 40000) == 0, "of a time without a symbol it is nothing");
	rate = ht(0, 1, 20, false);
	expect(dcf_control_rate_100kbps(&rate) == 60, "MCS 0 is answered at 6 Mb/s");
	rate.mcs = 2;
	expect(dcf_control_rate_100kbps(&rate) == 120, "MCS 2 (QPSK 3/4) at 12");
	rate.mcs = 3;
	expect(dcf_control_rate_100kbps(&rate) == 240, "MCS 3 and above at 24");
}

static void check_aggregate_length(void)
{
	struct dcf_frame f = a_mpdu(ht(7, 1, 20, false), 2, 1537);

	expect(f.mpdus == 2 && f.bytes == 4 + 1540 + 4 + 1537, "delimiters, and padding before the second MPDU");
	expect(!dcf_add_mpdu(&f, 1537, 4 + 1540 + 4 + 1540 + 4 + 1536) && f.mpdus == 2 &&
	       f.bytes == 4 + 1540 + 4 + 1537,
	       "an MPDU that a byte is missing for is not added");
	expect(dcf_add_mpdu(&f, 1537, 4 + 1540 + 4 + 1540 + 4 + 1537) && f.mpdus == 3, "one that fits is");
	f = a_mpdu(vht(7, 1, 20, false), 2, 1537);
	expect(f.bytes == 2 * (4 + 1540), "VHT pads the last one, too");
	f = a_mpdu(ht(7, 1, 20, false), 70, 100);
	expect(f.mpdus == 64, "64 MPDUs at most");
}

static void check_aggregate_exchange(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = a_mpdu(ht(7, 2, 40, true), 40, 1536);
	u64 now_ns = 1000000;
	u32 ns, i, received = 0;

	/* block ack: (16 + 256 + 6) / 96 bits, 3 symbols */
	ns = ppdu_5_ghz_ns(f.bytes, f.chain[0]) + DCF_SIFS_5_GHZ_NS + 32000;
	dcf_init(&m, 1);
	dcf_set_phy(&m, &dcf_phy_5_ghz);
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	expect(r[0].outcome == DCF_DELIVERED && r[0].heard_mpdus == (1ULL << 40) - 1, "a block ack for each of 40 MPDUs");
	expect(r[0].airtime_ns == ns, "at 5 GHz after 16 us, at 24 Mb/s");
	dcf_offer(&m, 0, BE, &f, now_ns);
	expect(dcf_next_event_ns(&m) >= now_ns + DCF_SIFS_5_GHZ_NS + 2 * DCF_SLOT_NS, "and AIFS is longer there, too");
	run_to_results(&m, &now_ns, r);

	f.loss_ppm = 100000;
	for (i = 0; i < 1000; i++) {
		dcf_offer(&m, 0, BE, &f, now_ns);
		run_to_results(&m, &now_ns, r);
		received += __builtin_popcountll(r[0].heard_mpdus);
		if (r[0].outcome != DCF_DELIVERED || m.queue[0][BE].cw != DCF_CW_MIN)
			break;
	}
	expect(i == 1000, "with some MPDUs missing the block ack still comes, and the window stays");
	expect(received > 36000 - 190 && received < 36000 + 190, "each is lost by itself: one of ten, to 3 standard deviations");
	expect(m.counters.lost_mpdus == 40000 - received, "and counted");

	f.loss_ppm = 1000000;
	f.chain[0].tries = 2;
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	expect(r[0].outcome == DCF_RETRY && !r[0].heard && !r[0].heard_mpdus, "if none is received no block ack comes");
	expect(r[0].airtime_ns == ppdu_5_ghz_ns(f.bytes, f.chain[0]), "and the attempt ends with its PPDU");
	run_to_results(&m, &now_ns, r);
	expect(r[0].outcome == DCF_FAILED, "the end of the chain is the end of the A-MPDU");
}

static void check_rts(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = a_mpdu(ht(7, 1, 20, false), 10, 1536), g = f;
	u64 now_ns = 1000000;
	/* RTS at 24 Mb/s: (16 + 160 + 6) / 96 bits, 2 symbols, 28 us; CTS (134 bits) 28 us */
	const u32 rts_ns = 28000, cts_ns = 28000;
	u32 ppdu_ns = ppdu_5_ghz_ns(f.bytes, f.chain[0]);

	dcf_init(&m, 1);
	dcf_set_phy(&m, &dcf_phy_5_ghz);
	f.chain[0].rts = true;
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	expect(r[0].airtime_ns == rts_ns + cts_ns + ppdu_ns + 32000 + 3 * DCF_SIFS_5_GHZ_NS, "RTS, CTS, PPDU, block ack");

	dcf_init(&m, 1);
	dcf_set_phy(&m, &dcf_phy_5_ghz);
	dcf_offer(&m, 0, BE, &f, now_ns);
	dcf_offer(&m, 1, BE, &f, now_ns);
	expect(run_to_results(&m, &now_ns, r) == 2 && r[0].collided && m.counters.busy_ns == rts_ns,
	       "a collision costs the time of an RTS");
	dcf_init(&m, 1);
	dcf_set_phy(&m, &dcf_phy_5_ghz);
	dcf_offer(&m, 0, BE, &f, now_ns);
	dcf_offer(&m, 1, BE, &g, now_ns);
	expect(run_to_results(&m, &now_ns, r) == 2 && m.counters.busy_ns == ppdu_ns && r[0].airtime_ns == rts_ns,
	       "with one that sends none, the whole of that one's PPDU");
	dcf_init(&m, 1);
	dcf_set_phy(&m, &dcf_phy_5_ghz);
	f.loss_ppm = 1000000;
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	expect(r[0].airtime_ns == rts_ns + cts_ns + 2 * DCF_SIFS_5_GHZ_NS + ppdu_ns, "a loss on the link is after the CTS");
}

static void check_replace(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = a_mpdu(ht(7, 1, 20, false), 2, 1536), longer = a_mpdu(ht(7, 1, 20, false), 5, 1536);
	struct dcf_edca bursts = { .aifsn = 2, .cw_min = 15, .cw_max = 1023, .txop_limit_ns = 2000000 };
	u64 now_ns = 1000000, begin_ns;

	dcf_init(&m, 1);
	expect(!dcf_replace(&m, 0, BE, &longer, now_ns), "nothing is offered that could be replaced");
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	dcf_offer(&m, 0, BE, &f, now_ns);
	begin_ns = dcf_next_event_ns(&m);
	expect(dcf_replace(&m, 0, BE, &longer, begin_ns - 1), "an A-MPDU may grow until it is sent");
	expect(dcf_next_event_ns(&m) == begin_ns, "without losing its place");
	expect(!dcf_replace(&m, 0, BE, &f, begin_ns), "but not from the moment at which it is");
	dcf_advance(&m, begin_ns, r);
	expect(!dcf_replace(&m, 0, BE, &f, begin_ns), "nor on air");
	run_to_results(&m, &now_ns, r);
	expect(r[0].heard_mpdus == 0x1f, "and is sent as it is then");
	longer.loss_ppm = 1000000;
	dcf_offer(&m, 0, BE, &longer, now_ns);
	run_to_results(&m, &now_ns, r);
	expect(r[0].outcome == DCF_RETRY && !dcf_replace(&m, 0, BE, &f, now_ns), "nor between its attempts");

	dcf_init(&m, 1);
	dcf_set_edca(&m, 0, BE, &bursts);
	dcf_offer(&m, 0, BE, &f, now_ns);
	run_to_results(&m, &now_ns, r);
	dcf_offer(&m, 0, BE, &f, now_ns);
	expect(!dcf_replace(&m, 0, BE, &longer, now_ns), "nor where it goes on in a TXOP that it was measured for");
}

static void check_noise(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = a_mpdu(ht(7, 1, 20, false), 64, 1536);
	struct dcf_rate one = ht(7, 1, 20, false), wide = ht(7, 1, 40, false), two = ht(7, 2, 20, false);
	u64 now_ns = 0, expected;
	u32 i, received = 0;

	for (f.snr_quarter_db = 200; dcf_noise_loss_ppm(&one, f.snr_quarter_db, 1536) < 100000; f.snr_quarter_db--)
		;
	expected = 64 * (u64)(1000000 - dcf_noise_loss_ppm(&one, f.snr_quarter_db, 1536)) / 1000;
	dcf_init(&m, 4);
	for (i = 0; i < 1000; i++) {
		dcf_offer(&m, 0, BE, &f, now_ns);
		run_to_results(&m, &now_ns, r);
		received += __builtin_popcountll(r[0].heard_mpdus);
	}
	expect(received > expected - 400 && received < expected + 400, "as many are lost to noise as the error model says");
	expect(dcf_noise_loss_ppm(&wide, f.snr_quarter_db + 12, 1536) ==
	       dcf_noise_loss_ppm(&one, f.snr_quarter_db, 1536) &&
	       dcf_noise_loss_ppm(&two, f.snr_quarter_db + 12, 1536) ==
	       dcf_noise_loss_ppm(&one, f.snr_quarter_db, 1536),
	       "twice the width or the streams need 3 dB more");
	expect(dcf_noise_loss_ppm(&one, DCF_NO_NOISE, 1536) == 0, "without noise nothing is lost");
	one.mcs = 0;
	expect(dcf_noise_loss_ppm(&one, f.snr_quarter_db, 1536) == 0, "nor is it with the slowest rate");
}

/* A burst at a moment of the test's choice; the next one is far away. */
static void burst_at(struct dcf_model *m, u64 start_ns, u64 end_ns)
{
	dcf_set_interference(m, 1, 2000000000, 1, 0);
	m->interference.start_ns = start_ns;
	m->interference.end_ns = end_ns;
}

static void check_interference(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = a_mpdu(ht(7, 1, 20, false), 20, 1536), single = data_frame(1534, 540, 7);
	const u32 ppdu_ns = dcf_ppdu_ns(&dcf_phy_2_ghz, f.bytes, &f.chain[0]), preamble_ns = 36000;
	/* A subframe of 1540 bytes has 12,320 bits: 47.4 symbols of 260 */
	const u32 mpdu_ns = 189540;
	u64 now_ns = 1000000, begin_ns, idle_ns;
	u32 i;

	dcf_init(&m, 1);
	burst_at(&m, now_ns, now_ns + 500000);
	expect(dcf_next_event_ns(&m) == now_ns, "a burst is an event, though nobody has anything to send");
	dcf_advance(&m, now_ns, r);
	dcf_offer(&m, 0, BE, &single, now_ns + 100000);
	expect(dcf_next_event_ns(&m) == now_ns + 500000, "who comes meanwhile waits for its end");
	expect(m.queue[0][BE].backoff_slots > 0, "and backs off");
	dcf_advance(&m, now_ns + 500000, r);
	expect(dcf_next_event_ns(&m) ==
	       now_ns + 500000 + DCF_SIFS_NS + (DCF_AIFSN + m.queue[0][BE].backoff_slots) * DCF_SLOT_NS,
	       "with a DIFS, since there was nothing to decode");
	expect(dcf_busy_ns(&m, now_ns + 500000) == 500000 && m.counters.interference_ns == 500000, "the channel was busy");

	for (i = 0; i < 20; i++) {
		dcf_init(&m, 1);
		dcf_offer(&m, 0, BE, &f, 0);
		begin_ns = dcf_next_event_ns(&m);
		/* from the middle of MPDU i, for a microsecond */
		burst_at(&m, begin_ns + preamble_ns + i * mpdu_ns + mpdu_ns / 2,
			 begin_ns + preamble_ns + i * mpdu_ns + mpdu_ns / 2 + 1000);
		run_to_results(&m, &now_ns, r);
		if (r[0].outcome != DCF_DELIVERED || r[0].heard_mpdus != (((1ULL << 20) - 1) & ~(1ULL << i)))
			break;
	}
	expect(i == 20, "a short burst costs an A-MPDU the MPDU that it meets");

	dcf_init(&m, 1);
	dcf_offer(&m, 0, BE, &f, 0);
	begin_ns = dcf_next_event_ns(&m);
	burst_at(&m, begin_ns + 1000, begin_ns + 2000);
	run_to_results(&m, &now_ns, r);
	expect(r[0].outcome == DCF_RETRY && m.counters.lost_attempts == 1 && m.counters.lost_mpdus == 20,
	       "in its preamble, all");
	expect(now_ns == begin_ns + ppdu_ns && r[0].airtime_ns == ppdu_ns, "and there is no block ack");
	f.chain[0].rts = true;
	dcf_init(&m, 1);
	dcf_offer(&m, 0, BE, &f, 0);
	begin_ns = dcf_next_event_ns(&m);
	burst_at(&m, begin_ns + 1000, begin_ns + 2000);
	run_to_results(&m, &now_ns, r);
	expect(r[0].outcome == DCF_RETRY && r[0].airtime_ns < 40000, "in its RTS, no more than that");
	f.chain[0].rts = false;
	dcf_init(&m, 1);
	dcf_offer(&m, 0, BE, &f, 0);
	begin_ns = dcf_next_event_ns(&m);
	burst_at(&m, begin_ns + ppdu_ns + 5000, begin_ns + ppdu_ns + 900000);
	run_to_results(&m, &now_ns, r);
	expect(r[0].outcome == DCF_RETRY && now_ns == begin_ns + ppdu_ns + 900000, "over the block ack as well, and lasts on");

	dcf_init(&m, 1);
	m.queue[0][BE].backoff_slots = 10;
	dcf_offer(&m, 0, BE, &single, 0);
	idle_ns = (DCF_AIFSN + 4) * DCF_SLOT_NS + 1;
	burst_at(&m, idle_ns, idle_ns + 100000);
	dcf_advance(&m, idle_ns, r);
	expect(m.queue[0][BE].backoff_slots == 6, "a back-off freezes where the burst begins");

	dcf_init(&m, 1);
	dcf_set_interference(&m, 1000000, 1000000, 5, 0);
	for (now_ns = 0; now_ns < 10000000000ULL; now_ns = dcf_next_event_ns(&m))
		dcf_advance(&m, now_ns, r);
	expect(m.counters.interference_ns > 4800000000ULL && m.counters.interference_ns < 5200000000ULL,
	       "bursts as long as their pauses take half of the time");
	dcf_set_interference(&m, 0, 0, 0, now_ns);
	while (m.view[0].busy)
		dcf_advance(&m, dcf_next_event_ns(&m), r);
	expect(dcf_next_event_ns(&m) == DCF_NEVER_NS, "and end when they are switched off");
}

static void check_hidden(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(1534, 540, 7), slow = data_frame(1534, 60, 7), rts = slow;
	const u64 ppdu_ns = 254000, ack_ns = 34000, slow_ns = 2078000, eifs_ns = DCF_SIFS_NS + 50000;
	u64 now_ns = 0, begin_ns;
	u32 n;

	rts.chain[0].rts = true;
	dcf_init(&m, 1);
	dcf_set_hidden(&m, 1, 2);
	m.queue[2][BE].backoff_slots = 5;
	dcf_offer(&m, 1, BE, &f, now_ns);
	dcf_offer(&m, 2, BE, &f, now_ns);
	dcf_offer(&m, 3, BE, &f, now_ns);
	m.queue[3][BE].backoff_slots = 1000;
	begin_ns = dcf_next_event_ns(&m);
	dcf_advance(&m, begin_ns, r);
	expect(m.queue[1][BE].on_air && !m.queue[1][BE].collided, "the first of a hidden pair begins alone");
	expect(dcf_next_event_ns(&m) == begin_ns + 5 * DCF_SLOT_NS, "the other one's counter goes on");
	begin_ns = dcf_next_event_ns(&m);
	dcf_advance(&m, begin_ns, r);
	expect(m.queue[1][BE].collided && m.queue[2][BE].collided && m.counters.collided_attempts == 2, "both are lost");
	expect(m.queue[3][BE].backoff_slots > 900, "who hears them waits");
	n = run_to_results(&m, &now_ns, r);
	expect(n == 1 && r[0].station == 1 && r[0].outcome == DCF_RETRY && r[0].airtime_ns == ppdu_ns,
	       "the first knows when its own transmission has ended");
	expect(m.view[0].busy && m.view[0].busy_until_ns == begin_ns + ppdu_ns, "others hear the second until its end");
	expect(!m.view[m.view_of[1]].busy && m.view[m.view_of[1]].idle_ref_ns == now_ns + DCF_SIFS_NS + eifs_ns,
	       "which the first does not");

	/* answers */
	dcf_init(&m, 1);
	dcf_set_hidden(&m, 1, 2);
	now_ns = 0;
	m.queue[2][BE].backoff_slots = 100;
	dcf_offer(&m, 1, BE, &f, now_ns);
	dcf_offer(&m, 2, BE, &f, now_ns);
	begin_ns = dcf_next_event_ns(&m);
	run_to_results(&m, &now_ns, r);
	expect(r[0].station == 1 && r[0].outcome == DCF_DELIVERED &&
	       now_ns == begin_ns + ppdu_ns + DCF_SIFS_NS + ack_ns, "a frame that no other overlaps with is delivered");
	expect(m.view[m.view_of[2]].idle_ref_ns == now_ns + DCF_SIFS_NS, "its ACK is heard by the hidden station");
	/* 254 + 10 us: 29 slots */
	expect(m.queue[2][BE].backoff_slots == 100 - 29,
	       "whose counter went on before it, and stood still meanwhile");

	dcf_init(&m, 1);
	dcf_set_hidden(&m, 1, 2);
	now_ns = 0;
	m.queue[2][BE].backoff_slots = 100;
	dcf_offer(&m, 1, BE, &rts, now_ns);
	dcf_offer(&m, 2, BE, &f, now_ns);
	begin_ns = dcf_next_event_ns(&m);
	run_to_results(&m, &now_ns, r);
	/* RTS at 6 Mb/s 58 us, SIFS: 7 slots */
	expect(r[0].station == 1 && r[0].outcome == DCF_DELIVERED && m.queue[2][BE].backoff_slots == 100 - 7,
	       "after a CTS it stands still for the whole exchange");
	expect(now_ns > begin_ns + slow_ns, "which is longer than its back-off");

	dcf_init(&m, 1);
	dcf_set_hidden(&m, 1, 2);
	now_ns = 0;
	dcf_offer(&m, 1, BE, &f, now_ns);
	dcf_offer(&m, 3, BE, &f, now_ns);
	begin_ns = dcf_next_event_ns(&m);
	n = run_to_results(&m, &now_ns, r);
	expect(n == 2 && r[0].collided && r[1].collided, "with others each of the pair collides as ever");
	dcf_withdraw(&m, 1);
	dcf_withdraw(&m, 3);
	expect(dcf_next_event_ns(&m) == DCF_NEVER_NS, "and there is nothing more to do");

	/* from 18 to 272 us, and from 279 us on, in the SIFS before the ACK at 282 */
	dcf_init(&m, 1);
	dcf_set_hidden(&m, 1, 2);
	now_ns = 0;
	m.queue[2][BE].backoff_slots = 29;
	dcf_offer(&m, 1, BE, &f, now_ns);
	dcf_offer(&m, 2, BE, &f, now_ns);
	n = run_to_results(&m, &now_ns, r);
	expect(n == 1 && r[0].station == 1 && r[0].outcome == DCF_DELIVERED && m.queue[2][BE].collided,
	       "who begins before an answer loses its own frame only");
	expect(now_ns == 316000 && m.view[m.view_of[1]].idle_ref_ns == now_ns + DCF_SIFS_NS,
	       "of whose failure the other one does not know");

	dcf_init(&m, 1);
	dcf_set_hidden(&m, 1, 2);
	now_ns = 0;
	f.chain[0].tries = 1;
	m.queue[1][BE].edca.txop_limit_ns = 5000000;
	m.queue[2][BE].backoff_slots = 5;
	dcf_offer(&m, 1, BE, &f, now_ns);
	dcf_offer(&m, 2, BE, &slow, now_ns);
	run_to_results(&m, &now_ns, r);
	dcf_offer(&m, 1, BE, &f, now_ns);
	expect(r[0].station == 1 && r[0].outcome == DCF_FAILED &&
	       dcf_next_event_ns(&m) >= now_ns + DCF_DIFS_NS + eifs_ns,
	       "an access that a hidden station has hit is over");
}

#define CLASSES_MAX 8

struct class {
	unsigned int stations;
	struct dcf_edca edca;
	u64 delivered;
	u64 attempts;
	u64 collided;
};

static int parse_class(const char *text, struct class *c)
{
	unsigned int cw_min, cw_max, aifsn, txop_us;

	if (sscanf(text, "%u:%u:%u:%u:%u", &c->stations, &cw_min, &cw_max, &aifsn, &txop_us) != 5)
		return -1;
	c->edca = (struct dcf_edca){ aifsn, cw_min, cw_max, txop_us * 1000 };
	return 0;
}

/* @f is what each station sends again and again. With @hidden no station hears those of other classes. */
static void saturate(u64 seconds, u64 seed, const struct dcf_phy *phy, const struct dcf_frame *f,
		     struct class *classes, u32 count, bool hidden)
{
	static struct dcf_model m;
	static struct class *class_of[DCF_STATIONS_MAX];
	struct dcf_result r[DCF_STATIONS_MAX];
	u64 now_ns = 0, end_ns = seconds * 1000000000ULL;
	u32 i, k, n = 0, stations = 0;

	dcf_init(&m, seed);
	dcf_set_phy(&m, phy);
	for (k = 0; k < count; k++) {
		for (i = 0; i < classes[k].stations && stations < DCF_STATIONS_MAX; i++) {
			class_of[stations] = &classes[k];
			for (n = 0; hidden && n < stations; n++)
				if (class_of[n] != class_of[stations])
					dcf_set_hidden(&m, n, stations);
			dcf_set_edca(&m, stations, BE, &classes[k].edca);
			dcf_offer(&m, stations++, BE, f, 0);
		}
	}
	while (now_ns < end_ns) {
		n = run_to_results(&m, &now_ns, r);
		for (i = 0; i < n; i++) {
			class_of[r[i].station]->attempts++;
			class_of[r[i].station]->collided += r[i].collided;
			if (r[i].outcome == DCF_RETRY)
				continue;
			class_of[r[i].station]->delivered += __builtin_popcountll(r[i].heard_mpdus);
			dcf_offer(&m, r[i].station, BE, f, now_ns);
		}
	}
	printf("[");
	for (k = 0; k < count; k++)
		printf("%s{\"stations\": %u, \"payload_mbps\": %.4f, \"collision_probability\": %.4f}", k ? ", " : "",
		       classes[k].stations, classes[k].delivered * UDP_PAYLOAD_BYTES * 8 * 1e3 / now_ns,
		       (double)classes[k].collided / classes[k].attempts);
	printf("]\n");
}

static int parse_rate(const char *text, struct dcf_frame *f)
{
	unsigned int mcs, streams, width_mhz, short_gi, rts, loss_ppm;
	char format[8];
	struct dcf_rate *rate = &f->chain[0];

	if (sscanf(text, "%7[a-z]:%u:%u:%u:%u:%u:%u", format, &mcs, &streams, &width_mhz, &short_gi, &rts,
		   &loss_ppm) != 7)
		return -1;
	*f = (struct dcf_frame){ .ack_expected = true, .loss_ppm = loss_ppm, .snr_quarter_db = DCF_NO_NOISE,
				 .chain_length = 1 };
	rate->tries = 7;
	rate->rts = rts;
	if (!strcmp(format, "legacy")) {
		rate->rate_100kbps = mcs;
		return 0;
	}
	if (strcmp(format, "ht") && strcmp(format, "vht"))
		return -1;
	rate->format = strcmp(format, "ht") ? DCF_VHT : DCF_HT;
	if (mcs > (rate->format == DCF_HT ? 7 : 9) || !streams || streams > 4)
		return -1;
	rate->mcs = mcs;
	rate->streams = streams;
	rate->width_mhz = width_mhz;
	rate->short_gi = short_gi;
	return 0;
}

/* The longest A-MPDU that the limits allow. */
static void fill(struct dcf_frame *f)
{
	u32 limit_bytes = f->chain[0].format == DCF_VHT ? VHT_PSDU_MAX_BYTES : HT_PSDU_MAX_BYTES;
	u32 in_time_bytes = dcf_psdu_limit_bytes(&f->chain[0], DCF_PPDU_MAX_NS);

	if (f->chain[0].format == DCF_LEGACY) {
		f->bytes = QOS_FRAME_BYTES;
		return;
	}
	while (dcf_add_mpdu(f, QOS_FRAME_BYTES, in_time_bytes < limit_bytes ? in_time_bytes : limit_bytes))
		;
}

static int aggregate(int argc, char **argv)
{
	const struct dcf_phy *phy = !strcmp(argv[4], "5") ? &dcf_phy_5_ghz : &dcf_phy_2_ghz;
	struct class classes[CLASSES_MAX] = {};
	struct dcf_frame f;
	int i;

	if (parse_rate(argv[5], &f)) {
		fprintf(stderr, "%s: not FORMAT:MCS:STREAMS:WIDTH_MHZ:SHORT_GI:RTS:LOSS_PPM\n", argv[5]);
		return 2;
	}
	for (i = 6; i < argc; i++) {
		if (parse_class(argv[i], &classes[i - 6])) {
			fprintf(stderr, "%s: not N:CWMIN:CWMAX:AIFSN:TXOP_US\n", argv[i]);
			return 2;
		}
	}
	fill(&f);
	saturate(atoi(argv[2]), atoi(argv[3]), phy, &f, classes, argc - 6, !strcmp(argv[1], "hidden"));
	return 0;
}

static void expect_of_fuzz(void *context, bool ok, const char *what)
{
	(void)context;
	expect(ok, what);
}

static int fuzz(u64 steps, u64 seed)
{
	static struct dcf_fuzz z = { .expect = expect_of_fuzz };

	quiet = true;
	dcf_fuzz(&z, steps, seed);
	printf("%d checks, %llu frames, %llu ns, digest %016llx, %d failures\n", checks, (unsigned long long)z.offered,
	       (unsigned long long)z.now_ns, (unsigned long long)z.digest, failures);
	return failures != 0;
}

int main(int argc, char **argv)
{
	const struct dcf_frame udp = data_frame(UDP_FRAME_BYTES, 540, 7);
	struct class classes[CLASSES_MAX] = {};
	int i;

	if (argc >= 5 && argc <= 4 + CLASSES_MAX && !strcmp(argv[1], "saturate")) {
		for (i = 4; i < argc; i++) {
			if (parse_class(argv[i], &classes[i - 4])) {
				fprintf(stderr, "%s: not N:CWMIN:CWMAX:AIFSN:TXOP_US\n", argv[i]);
				return 2;
			}
		}
		saturate(atoi(argv[2]), atoi(argv[3]), &dcf_phy_2_ghz, &udp, classes, argc - 4, false);
		return 0;
	}
	if (argc >= 7 && argc <= 6 + CLASSES_MAX && (!strcmp(argv[1], "aggregate") || !strcmp(argv[1], "hidden")))
		return aggregate(argc, argv);
	if (argc == 4 && !strcmp(argv[1], "fuzz"))
		return fuzz(strtoull(argv[2], NULL, 0), strtoull(argv[3], NULL, 0));
	if (argc != 2 || strcmp(argv[1], "check")) {
		fprintf(stderr, "usage: %s check | saturate SECONDS SEED CLASS... |\n"
			"       aggregate|hidden SECONDS SEED BAND_GHZ RATE CLASS... | fuzz STEPS SEED\n", argv[0]);
		return 2;
	}
	check_airtime();
	check_idle_channel();
	check_collision();
	check_chain();
	check_cw_limit();
	check_broadcast_and_withdraw();
	check_backoff_freezes();
	check_aifsn();
	check_contention_window();
	check_categories();
	check_txop();
	check_ht_and_vht_rates();
	check_aggregate_length();
	check_aggregate_exchange();
	check_rts();
	check_noise();
	check_interference();
	check_hidden();
	check_replace();
	printf("1..%d\n", checks);
	return failures != 0;
}
