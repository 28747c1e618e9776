// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random calls of the medium's model. Of random numbers that are drawn for one call each has a statement of its own: C
 * leaves the order of arguments and of initializers to the compiler, and the kernel's must draw the same as any other.
 */
#include "dcf_model_fuzz.h"

#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/string.h>
#else
#include <string.h>
#define div_u64(a, b)		((a) / (b))
#endif

#define FNV_OFFSET		0xcbf29ce484222325ULL
#define FNV_PRIME		0x100000001b3ULL
#define STATIONS		6U

static void expect(const struct dcf_fuzz *z, bool ok, const char *what)
{
	z->expect(z->context, ok, what);
}

static u32 below(struct dcf_fuzz *z, u32 bound)
{
	z->random = z->random * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u32)(z->random >> 33) % bound;
}

static struct dcf_rate random_rate(struct dcf_fuzz *z)
{
	static const u16 legacy_100kbps[] = { 10, 20, 55, 60, 90, 110, 120, 180, 240, 360, 480, 540 };
	static const u8 widths_mhz[] = { 20, 40, 80 };
	struct dcf_rate rate = {};

	rate.tries = 1 + below(z, 4);
	rate.format = below(z, 3);
	rate.rts = below(z, 4) == 0;
	if (rate.format == DCF_LEGACY) {
		rate.rate_100kbps = legacy_100kbps[below(z, 12)];
		return rate;
	}
	rate.mcs = below(z, rate.format == DCF_HT ? 8 : 10);
	rate.streams = 1 + below(z, 2);
	rate.width_mhz = widths_mhz[below(z, rate.format == DCF_HT ? 2 : 3)];
	rate.short_gi = below(z, 2);
	return rate;
}

static struct dcf_frame random_frame(struct dcf_fuzz *z)
{
	static const u32 losses_ppm[] = { 0, 0, 1000, 100000, 900000, 1000000 };
	struct dcf_frame f = {};
	u32 i, mpdus;

	f.ack_expected = below(z, 8) != 0;
	f.loss_ppm = losses_ppm[below(z, 6)];
	f.snr_quarter_db = below(z, 2) ? DCF_NO_NOISE : (s16)below(z, 200) - 20;
	f.chain_length = 1 + below(z, DCF_CHAIN_MAX);
	for (i = 0; i < f.chain_length; i++)
		f.chain[i] = random_rate(z);
	mpdus = f.ack_expected && f.chain[0].format != DCF_LEGACY ? below(z, 65) : 0;
	f.bytes = mpdus ? 0 : 14 + below(z, 2300);
	while (mpdus--)
		dcf_add_mpdu(&f, 14 + below(z, 2300), DCF_FUZZ_HT_PSDU_MAX_BYTES);
	return f;
}

static struct dcf_edca random_edca(struct dcf_fuzz *z)
{
	struct dcf_edca edca = {};

	edca.aifsn = below(z, 9);
	edca.cw_min = (1 << below(z, 8)) - 1;
	edca.cw_max = (1 << below(z, 11)) - 1;
	edca.txop_limit_ns = below(z, 3) * 1504000;
	return edca;
}

/* Attempts on air, and those of them that are going to be received. */
static u32 on_air(const struct dcf_fuzz *z, bool received)
{
	u32 i, count = 0;

	for (i = 0; i < z->model.queues_used; i++) {
		const struct dcf_queue *q = z->model.used[i];

		if (q->on_air && q->start_ns + q->airtime_ns > z->now_ns && (!received || !q->collided))
			count++;
	}
	return count;
}

static bool all_busy(const struct dcf_fuzz *z)
{
	u32 i;

	for (i = 0; i < z->model.views_used; i++)
		if (!z->model.view[i].busy)
			return false;
	return true;
}

/* Of stations that hear each other none begins while the other sends; of those that do not a frame that is hit is lost. */
static void expect_overlaps(const struct dcf_fuzz *z)
{
	u32 i, k;

	for (i = 0; i < z->model.queues_used; i++) {
		const struct dcf_queue *a = z->model.used[i];

		for (k = 0; a->on_air && k < z->model.queues_used; k++) {
			const struct dcf_queue *b = z->model.used[k];

			if (!b->on_air || b->start_ns <= a->start_ns || b->start_ns >= a->start_ns + a->airtime_ns)
				continue;
			expect(z, z->model.hidden[a->station][b->station], "only hidden stations begin while another sends");
			expect(z, b->collided, "what begins while another is on air is lost");
			expect(z, !a->answered || b->start_ns != z->now_ns, "and none begins while an answer is on air");
		}
	}
}

static void digest(struct dcf_fuzz *z, u64 value)
{
	int byte;

	for (byte = 0; byte < 8; byte++)
		z->digest = (z->digest ^ (value >> 8 * byte & 0xff)) * FNV_PRIME;
}

static void take_result(struct dcf_fuzz *z, const struct dcf_result *r, u32 results)
{
	bool *waits = &z->waits[r->station][r->category];

	digest(z, z->now_ns);
	digest(z, r->station << 16 | r->category << 8 | r->outcome << 2 | r->collided << 1 | r->heard);
	digest(z, r->heard_mpdus);
	digest(z, r->airtime_ns);
	expect(z, *waits, "a result is of a frame that was offered and has not ended");
	expect(z, r->heard == (r->heard_mpdus != 0), "heard are some MPDUs or none");
	expect(z, !r->heard || results == 1 || z->hidden, "of attempts that overlap nothing is received");
	expect(z, r->outcome != DCF_DELIVERED || r->heard ||
	       !z->model.queue[r->station][r->category].frame.ack_expected,
	       "delivered is what was received, or needs no ACK");
	if (r->outcome == DCF_RETRY)
		return;
	*waits = false;
	z->ended++;
}

static void advance(struct dcf_fuzz *z)
{
	u64 event_ns = dcf_next_event_ns(&z->model), busy_ns = dcf_busy_ns(&z->model, z->now_ns);
	const struct dcf_view *shared = &z->model.view[0];
	u32 i, n, longest_ns = 0;
	bool was_busy = shared->busy;

	if (event_ns == DCF_NEVER_NS)
		return;
	/* a queue that waits may be given parameters with which its slot has passed */
	expect(z, event_ns >= z->now_ns || !all_busy(z), "time does not go back");
	z->now_ns = event_ns > z->now_ns ? event_ns : z->now_ns;
	n = dcf_advance(&z->model, event_ns, z->results);
	expect(z, dcf_busy_ns(&z->model, z->now_ns) >= busy_ns, "nor does the busy time");
	expect(z, dcf_busy_ns(&z->model, z->now_ns) <= z->now_ns, "which is part of the time");
	expect_overlaps(z);
	expect(z, !n || was_busy, "results come at the end of a busy period");
	expect(z, !z->hidden || on_air(z, true) <= 1, "of several on air one at most is received");
	for (i = 0; i < n; i++) {
		longest_ns = z->results[i].airtime_ns > longest_ns ? z->results[i].airtime_ns : longest_ns;
		take_result(z, &z->results[i], n);
	}
	if (!was_busy || shared->busy)
		return;
	if (z->withdrawn)	/* nobody knows how long that was */
		longest_ns = shared->busy_until_ns - shared->busy_since_ns;
	z->withdrawn = false;
	z->airtime_ns += longest_ns;
	expect(z, z->hidden || (z->airtime_ns <= z->model.counters.busy_ns &&
				z->model.counters.busy_ns <= z->airtime_ns + z->model.counters.interference_ns),
	       "the busy time is that of the longest attempt each time, and of interference");
}

static void change(struct dcf_fuzz *z)
{
	u32 station = below(z, STATIONS), category = below(z, DCF_CATEGORIES), c, one, other;
	bool *waits = &z->waits[station][category];
	struct dcf_frame f = random_frame(z);
	struct dcf_edca edca = random_edca(z);

	if (z->hidden && !below(z, 5000)) {
		one = 1 + below(z, STATIONS - 1);
		other = 1 + below(z, STATIONS - 1);
		dcf_set_hidden(&z->model, one, other);
	}
	switch (below(z, 16)) {
	case 0:
		for (c = 0; c < DCF_CATEGORIES; c++) {
			z->ended += z->waits[station][c];
			z->withdrawn |= z->model.queue[station][c].on_air;
			z->waits[station][c] = false;
		}
		dcf_withdraw(&z->model, station);
		break;
	case 1:
		dcf_set_edca(&z->model, station, category, &edca);
		break;
	case 2:
	case 3:
		if (dcf_replace(&z->model, station, category, &f, z->now_ns))
			expect(z, *waits, "only what waits is replaced");
		break;
	default:
		if (*waits)
			break;
		dcf_offer(&z->model, station, category, &f, z->now_ns);
		*waits = true;
		z->offered++;
	}
}

/* Half of the time to the next event. */
static u64 pause_ns(const struct dcf_fuzz *z)
{
	u64 event_ns = dcf_next_event_ns(&z->model);

	return event_ns == DCF_NEVER_NS ? 1000 : div_u64(event_ns - z->now_ns, 2);
}

static void begin(struct dcf_fuzz *z, u64 seed)
{
	void (*expect_of_caller)(void *context, bool ok, const char *what) = z->expect;
	void *context = z->context;
	u32 burst_ns, mean_pause_ns;

	memset(z, 0, sizeof(*z));
	z->expect = expect_of_caller;
	z->context = context;
	z->digest = FNV_OFFSET;
	z->random = seed;
	dcf_init(&z->model, seed);
	dcf_set_phy(&z->model, below(z, 2) ? &dcf_phy_5_ghz : &dcf_phy_2_ghz);
	if (seed % 2) {
		burst_ns = 1 + below(z, 5000000);
		mean_pause_ns = below(z, 20000000);
		dcf_set_interference(&z->model, burst_ns, mean_pause_ns, seed, 0);
	}
	z->hidden = seed % 4 >= 2;
}

void dcf_fuzz(struct dcf_fuzz *z, u64 steps, u64 seed)
{
	u32 i, c, waiting = 0;

	begin(z, seed);
	while (steps--) {
		change(z);
		if (below(z, 3))
			advance(z);
		else if (dcf_next_event_ns(&z->model) > z->now_ns)	/* also when nothing waits */
			z->now_ns += below(z, 2) ? pause_ns(z) : 0;
		for (waiting = 0, i = 0; i < STATIONS; i++)
			for (c = 0; c < DCF_CATEGORIES; c++)
				waiting += z->waits[i][c];
		expect(z, z->offered == z->ended + waiting, "no frame is lost or ends twice");
	}
	for (i = 0; waiting && i < 1000000; i++) {
		advance(z);
		waiting = z->offered - z->ended;
	}
	expect(z, !waiting, "every frame ends");
	expect(z, dcf_next_event_ns(&z->model) == DCF_NEVER_NS || z->model.view[0].busy ||
	       z->model.interference.burst_ns, "then there is nothing more to do");
	expect(z, z->offered > 100 || z->now_ns < 1000000, "frames were offered");
}
