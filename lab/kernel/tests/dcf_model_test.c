// SPDX-License-Identifier: GPL-2.0-only
/*
 * The medium model in user space.
 *
 *	dcf_model_test check			rules of the model, one line each; exit 1 if one is violated
 *	dcf_model_test saturate N SECONDS SEED	N stations that always have a 1470-byte UDP payload for the access point at
 *						54 Mb/s; prints payload Mb/s and collision probability as JSON
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcf_model.h"

#define UDP_PAYLOAD_BYTES	1470U
/* UDP 8, IPv4 20, LLC/SNAP 8, MAC header 24, FCS 4 */
#define UDP_FRAME_BYTES		(UDP_PAYLOAD_BYTES + 8 + 20 + 8 + 24 + DCF_FCS_BYTES)

static int failures;
static int checks;

static void expect(bool ok, const char *what)
{
	checks++;
	printf("%s %d - %s\n", ok ? "ok" : "not ok", checks, what);
	if (!ok)
		failures++;
}

static struct dcf_frame data_frame(u32 bytes, u16 rate_100kbps, u8 tries)
{
	struct dcf_frame f = { .bytes = bytes, .ack_expected = true, .chain_length = 1 };

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
	expect(dcf_frame_airtime_ns(1534, 540) == 254000, "1534 bytes at 54 Mb/s: 57 symbols, 254 us");
	expect(dcf_frame_airtime_ns(14, 240) == 34000, "ACK at 24 Mb/s: 34 us");
	expect(dcf_frame_airtime_ns(14, 60) == 50000, "ACK at 6 Mb/s: 50 us");
	expect(dcf_frame_airtime_ns(100, 10) == 992000, "100 bytes at 1 Mb/s DSSS: 192 + 800 us");
	expect(dcf_ack_rate_100kbps(540) == 240 && dcf_ack_rate_100kbps(180) == 120 && dcf_ack_rate_100kbps(90) == 60,
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
	dcf_offer(&m, 0, &f, now_ns);
	expect(dcf_next_event_ns(&m) - now_ns < DCF_SLOT_NS, "an idle station sends at the next slot of an idle channel");
	expect(run_to_results(&m, &now_ns, r) == 1 && r[0].outcome == DCF_DELIVERED && r[0].heard, "and is received");
	expect(r[0].airtime_ns == 254000 + DCF_SIFS_NS + 34000, "the exchange takes frame, SIFS and ACK");
	expect(dcf_busy_ns(&m, now_ns) == r[0].airtime_ns, "and the channel was busy for just that long");
	dcf_offer(&m, 0, &f, now_ns);
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
	dcf_offer(&m, 0, &slow, now_ns);
	dcf_offer(&m, 1, &fast, now_ns);
	expect(run_to_results(&m, &now_ns, r) == 2, "two stations that find the channel idle at once collide");
	expect(r[0].collided && r[1].collided && r[0].outcome == DCF_RETRY && r[1].outcome == DCF_RETRY, "both must retry");
	expect(!r[0].heard && !r[1].heard, "and neither frame is received");
	expect(m.counters.busy_ns == dcf_frame_airtime_ns(1534, 60), "a collision lasts as long as its longest frame");
	expect(m.station[0].cw == 31 && m.station[1].cw == 31, "the contention window doubles");
	expect(dcf_next_event_ns(&m) >= now_ns + DCF_SIFS_NS + 50000 + DCF_DIFS_NS, "EIFS follows");
}

static void check_chain(void)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = { .bytes = 500, .ack_expected = true, .loss_ppm = 1000000, .chain_length = 2,
			       .chain = { { 540, 2 }, { 60, 1 } } };
	u64 now_ns = 0;
	u32 i;

	dcf_init(&m, 7);
	dcf_offer(&m, 0, &f, now_ns);
	for (i = 0; i < 3; i++) {
		expect(dcf_current_rate_100kbps(&m.station[0]) == (i < 2 ? 540 : 60), "the rate follows the chain");
		run_to_results(&m, &now_ns, r);
		expect(r[0].outcome == (i < 2 ? DCF_RETRY : DCF_FAILED), "until the end of the chain");
	}
	expect(m.station[0].cw == DCF_CW_MIN, "a dropped frame resets the contention window");
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
	dcf_offer(&m, 0, &f, now_ns);
	for (i = 0; i < 15; i++)
		run_to_results(&m, &now_ns, r);
	expect(m.station[0].cw == DCF_CW_MAX, "the contention window stops at CWmax");
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
	dcf_offer(&m, 0, &beacon, now_ns);
	expect(run_to_results(&m, &now_ns, r) == 1 && r[0].outcome == DCF_DELIVERED && !r[0].heard,
	       "a lost broadcast is over for its sender");
	expect(r[0].airtime_ns == dcf_frame_airtime_ns(120, 60), "and is not acknowledged");

	dcf_offer(&m, 1, &f, now_ns);
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
	m.station[0].backoff_slots = 4;
	m.station[1].backoff_slots = 11;
	dcf_offer(&m, 0, &f, 0);
	dcf_offer(&m, 1, &f, 0);
	before = m.station[1].backoff_slots;
	run_to_results(&m, &now_ns, r);
	expect(r[0].station == 0 && !r[0].collided, "the smaller counter transmits first");
	expect(m.station[1].backoff_slots == before - 4, "the other keeps the rest of its counter");
}

static void saturate(u32 n, u64 seconds, u64 seed)
{
	static struct dcf_model m;
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(UDP_FRAME_BYTES, 540, 7);
	u64 now_ns = 0, end_ns = seconds * 1000000000ULL, delivered = 0;
	u32 i, count;

	dcf_init(&m, seed);
	for (i = 0; i < n; i++)
		dcf_offer(&m, i, &f, 0);
	while (now_ns < end_ns) {
		count = run_to_results(&m, &now_ns, r);
		for (i = 0; i < count; i++) {
			if (r[i].outcome == DCF_RETRY)
				continue;
			delivered += r[i].outcome == DCF_DELIVERED;
			dcf_offer(&m, r[i].station, &f, now_ns);
		}
	}
	printf("{\"stations\": %u, \"payload_mbps\": %.4f, \"collision_probability\": %.4f}\n", n,
	       delivered * UDP_PAYLOAD_BYTES * 8 * 1e3 / now_ns,
	       (double)m.counters.collided_attempts / m.counters.attempts);
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "saturate")) {
		saturate(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
		return 0;
	}
	if (argc != 2 || strcmp(argv[1], "check")) {
		fprintf(stderr, "usage: %s check | saturate N SECONDS SEED\n", argv[0]);
		return 2;
	}
	check_airtime();
	check_idle_channel();
	check_collision();
	check_chain();
	check_cw_limit();
	check_broadcast_and_withdraw();
	check_backoff_freezes();
	printf("1..%d\n", checks);
	return failures != 0;
}
