// SPDX-License-Identifier: GPL-2.0-only
/*
 * The medium model in user space.
 *
 *	dcf_model_test check			rules of the model, one line each; exit 1 if one is violated
 *	dcf_model_test saturate SECONDS SEED CLASS...
 *		stations that always have a 1470-byte UDP payload for the access point at 54 Mb/s; a class is
 *		N:CWMIN:CWMAX:AIFSN:TXOP_US. Prints payload Mb/s and collision probability of each class as JSON
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dcf_model.h"

#define BE			DCF_BEST_EFFORT
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
	expect(m.counters.busy_ns == dcf_frame_airtime_ns(1534, 60), "a collision lasts as long as its longest frame");
	expect(m.queue[0][BE].cw == 31 && m.queue[1][BE].cw == 31, "the contention window doubles");
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
	dcf_offer(&m, 0, BE, &f, now_ns);
	for (i = 0; i < 3; i++) {
		expect(dcf_current_rate_100kbps(&m.queue[0][BE]) == (i < 2 ? 540 : 60), "the rate follows the chain");
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
	expect(r[0].airtime_ns == dcf_frame_airtime_ns(120, 60), "and is not acknowledged");

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

static void saturate(u64 seconds, u64 seed, struct class *classes, u32 count)
{
	static struct dcf_model m;
	static struct class *class_of[DCF_STATIONS_MAX];
	struct dcf_result r[DCF_STATIONS_MAX];
	struct dcf_frame f = data_frame(UDP_FRAME_BYTES, 540, 7);
	u64 now_ns = 0, end_ns = seconds * 1000000000ULL;
	u32 i, k, n = 0, stations = 0;

	dcf_init(&m, seed);
	for (k = 0; k < count; k++) {
		for (i = 0; i < classes[k].stations && stations < DCF_STATIONS_MAX; i++) {
			class_of[stations] = &classes[k];
			dcf_set_edca(&m, stations, BE, &classes[k].edca);
			dcf_offer(&m, stations++, BE, &f, 0);
		}
	}
	while (now_ns < end_ns) {
		n = run_to_results(&m, &now_ns, r);
		for (i = 0; i < n; i++) {
			class_of[r[i].station]->attempts++;
			class_of[r[i].station]->collided += r[i].collided;
			if (r[i].outcome == DCF_RETRY)
				continue;
			class_of[r[i].station]->delivered += r[i].outcome == DCF_DELIVERED;
			dcf_offer(&m, r[i].station, BE, &f, now_ns);
		}
	}
	printf("[");
	for (k = 0; k < count; k++)
		printf("%s{\"stations\": %u, \"payload_mbps\": %.4f, \"collision_probability\": %.4f}", k ? ", " : "",
		       classes[k].stations, classes[k].delivered * UDP_PAYLOAD_BYTES * 8 * 1e3 / now_ns,
		       (double)classes[k].collided / classes[k].attempts);
	printf("]\n");
}

int main(int argc, char **argv)
{
	struct class classes[CLASSES_MAX] = {};
	int i;

	if (argc >= 5 && argc <= 4 + CLASSES_MAX && !strcmp(argv[1], "saturate")) {
		for (i = 4; i < argc; i++) {
			if (parse_class(argv[i], &classes[i - 4])) {
				fprintf(stderr, "%s: not N:CWMIN:CWMAX:AIFSN:TXOP_US\n", argv[i]);
				return 2;
			}
		}
		saturate(atoi(argv[2]), atoi(argv[3]), classes, argc - 4);
		return 0;
	}
	if (argc != 2 || strcmp(argv[1], "check")) {
		fprintf(stderr, "usage: %s check | saturate SECONDS SEED CLASS...\n", argv[0]);
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
	printf("1..%d\n", checks);
	return failures != 0;
}
