// SPDX-License-Identifier: GPL-2.0-only
/*
 * 802.11 DCF and EDCA in one collision domain. The rules of this file are in dcf_model.h.
 *
 * The channel alternates between idle and busy, for each station as it hears it (struct dcf_view). An idle period begins
 * a SIFS after the exchange (later by EIFS - DIFS after a collision or a lost frame), and is counted in slots from there.
 * A queue whose counter is b transmits at slot AIFSN + b; one whose frame arrives later transmits at the next boundary if
 * its counter has reached 0 by then. So with
 *
 *	slot(i) = max(aifsn(i) + backoff_slots(i), ceil((head_since(i) - idle_ref) / slot time))
 *
 * the next transmission is at the smallest slot(i), and all stations that share it collide. Of two queues of one station
 * that share it the one with the higher priority transmits; for the other it is an internal collision. Counters continue
 * while the queue is empty (post-back-off), so a station that has not sent for a while sends at once on an idle channel.
 *
 * A queue with a TXOP limit that was successful, and has its next frame at once, goes on after a SIFS without back-off
 * as long as the whole exchange ends within the limit. The first frame of an access is sent whatever it takes.
 *
 * A result comes at the end of the sender's busy period. Of stations that are hidden from each other one may begin while
 * the other sends; then both are lost, however little of their frames overlaps. What the access point answers (CTS, ACK,
 * block ack) the hidden station hears, and waits until the exchange has ended.
 *
 * Interference begins at its own times, in idle periods and in busy ones, which it makes longer. An A-MPDU loses those
 * of its MPDUs that a burst overlaps with; any other attempt is lost as a whole.
 *
 * Differs from the standard in
 *  - a frame that arrives on an idle channel waits for the next slot boundary (at most 9 us);
 *  - EIFS is applied to every station after a failed exchange, to the colliding senders too (their ACK timeout differs
 *    from it by a few us);
 *  - DCF's slot boundaries are used for EDCA as well, whose back-off counts one slot differently (10.22.2.4);
 *  - an internal collision is no attempt in the frame's rate chain, since nothing was sent;
 *  - a failed frame ends the access, TXOP or not;
 *  - of an A-MPDU that overlaps with a hidden station's frame nothing is received, not even the MPDUs before that;
 *  - a hidden station that begins in the SIFS before an answer loses its own frame only, though after a CTS it would
 *    disturb what follows;
 *  - control frames are not lost: what answers a frame that was received is received;
 *  - an A-MPDU of which nothing is received has no block ack, and is tried again as a whole; there is no BlockAckReq;
 *  - MPDUs of an A-MPDU need no spacing, and hold one MSDU each;
 *  - an attempt whose answer meets interference was not received at all, where a receiver would have its MPDUs;
 *  - no fragments, no NAV beyond the exchange itself (a CTS sets that of hidden stations, a frame that they do not hear
 *    none), propagation takes no time.
 */
#include "dcf_error.h"
#include "dcf_model.h"

#ifdef __KERNEL__
#include <linux/bitops.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#else
#include <string.h>
#define hweight64(a)		((u32)__builtin_popcountll(a))
#define div_u64(a, b)		((a) / (b))
#define div64_u64(a, b)		((a) / (b))
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#endif

#define OFDM_PREAMBLE_NS	20000U	/* 17.3.3: preamble and SIGNAL; the same at the begin of an HT or VHT PPDU */
#define OFDM_SYMBOL_NS		4000U
#define OFDM_SHORT_SYMBOL_NS	3600U
#define OFDM_SERVICE_BITS	16U
#define OFDM_TAIL_BITS		6U	/* of each encoder */
#define HT_SIG_STF_NS		12000U	/* 19.3.2: HT-SIG 8 us, HT-STF 4 us; as VHT-SIG-A and VHT-STF, 21.3.2 */
#define HT_LTF_NS		4000U	/* each */
#define VHT_SIG_B_NS		4000U
#define ERP_EXTENSION_NS	6000U	/* 18.3.2.4 */
#define DSSS_PREAMBLE_NS	192000U	/* 16.2.2: long preamble and header */

const struct dcf_phy dcf_phy_2_ghz = { DCF_SLOT_NS, DCF_SIFS_NS, ERP_EXTENSION_NS };
const struct dcf_phy dcf_phy_5_ghz = { DCF_SLOT_NS, DCF_SIFS_5_GHZ_NS, 0 };

static bool rate_is_dsss(const struct dcf_rate *rate)
{
	return rate->format == DCF_LEGACY && (rate->rate_100kbps == 10 || rate->rate_100kbps == 20 ||
					      rate->rate_100kbps == 55 || rate->rate_100kbps == 110);
}

static u32 bits_per_symbol(const struct dcf_rate *rate)
{
	/* Tables 19-27 and 21-30, of one subcarrier of one stream */
	static const u8 twelfths_of_bits[] = { 6, 12, 18, 24, 36, 48, 54, 60, 72, 80 };
	u32 subcarriers = rate->width_mhz == 80 ? 234 : rate->width_mhz == 40 ? 108 : 52;

	if (rate->format == DCF_LEGACY)
		return rate->rate_100kbps * 4 / 10;
	return subcarriers * twelfths_of_bits[rate->mcs] * rate->streams / 12;
}

/* Of VHT's tables 21-30 to 21-53 those of up to 80 MHz and 2 streams; HT has a second one above 300 Mb/s only. */
static u32 encoders(const struct dcf_rate *rate)
{
	return rate->format == DCF_VHT && bits_per_symbol(rate) > 2160 ? 2 : 1;
}

static u32 preamble_ns(const struct dcf_rate *rate)
{
	u32 ltfs = rate->streams > 2 ? 4 : rate->streams;

	if (rate->format == DCF_LEGACY)
		return OFDM_PREAMBLE_NS;
	return OFDM_PREAMBLE_NS + HT_SIG_STF_NS + ltfs * HT_LTF_NS + (rate->format == DCF_VHT ? VHT_SIG_B_NS : 0);
}

u32 dcf_ppdu_ns(const struct dcf_phy *phy, u32 bytes, const struct dcf_rate *rate)
{
	u32 bits, symbols;

	if (rate_is_dsss(rate))
		return DSSS_PREAMBLE_NS +
		       (u32)div_u64((u64)bytes * 8 * 10000 + rate->rate_100kbps - 1, rate->rate_100kbps);
	bits = OFDM_SERVICE_BITS + bytes * 8 + OFDM_TAIL_BITS * encoders(rate);
	symbols = (bits + bits_per_symbol(rate) - 1) / bits_per_symbol(rate);
	if (rate->short_gi)	/* the PPDU ends at a boundary of long symbols */
		symbols = (symbols * OFDM_SHORT_SYMBOL_NS + OFDM_SYMBOL_NS - 1) / OFDM_SYMBOL_NS;
	return preamble_ns(rate) + symbols * OFDM_SYMBOL_NS + phy->extension_ns;
}

u32 dcf_psdu_limit_bytes(const struct dcf_rate *rate, u32 limit_ns)
{
	u32 fixed_ns = preamble_ns(rate);	/* the legacy SIGNAL field, which sets the limit, does not count the extension */
	u32 fixed_bits = OFDM_SERVICE_BITS + OFDM_TAIL_BITS * encoders(rate);
	u32 symbols;

	if (limit_ns <= fixed_ns)
		return 0;
	symbols = (limit_ns - fixed_ns) / OFDM_SYMBOL_NS;
	if (rate->short_gi)
		symbols = symbols * OFDM_SYMBOL_NS / OFDM_SHORT_SYMBOL_NS;
	if (symbols * bits_per_symbol(rate) <= fixed_bits)
		return 0;
	return (symbols * bits_per_symbol(rate) - fixed_bits) / 8;
}

static enum dcf_modulation modulation_of(const struct dcf_rate *rate)
{
	if (rate->format != DCF_LEGACY)
		return (enum dcf_modulation)rate->mcs;
	switch (rate->rate_100kbps) {
	case 90:
		return DCF_BPSK_3_4;
	case 120:
		return DCF_QPSK_1_2;
	case 180:
		return DCF_QPSK_3_4;
	case 240:
		return DCF_16QAM_1_2;
	case 360:
		return DCF_16QAM_3_4;
	case 480:
		return DCF_64QAM_2_3;
	case 540:
		return DCF_64QAM_3_4;
	default:
		return DCF_BPSK_1_2;	/* DSSS and CCK as well: the model has none of its own for them */
	}
}

u32 dcf_noise_loss_ppm(const struct dcf_rate *rate, s16 snr_quarter_db, u32 bytes)
{
	s32 quarter_db = snr_quarter_db;
	u32 parts;

	if (snr_quarter_db == DCF_NO_NOISE)
		return 0;
	if (rate->format != DCF_LEGACY)
		for (parts = rate->streams * rate->width_mhz / 20; parts > 1; parts /= 2)
			quarter_db -= 12;
	return dcf_error_ppm(modulation_of(rate), quarter_db, bytes);
}

u16 dcf_rate_100kbps(const struct dcf_rate *rate)
{
	if (rate->format == DCF_LEGACY)
		return rate->rate_100kbps;
	return bits_per_symbol(rate) * 10000 / (rate->short_gi ? OFDM_SHORT_SYMBOL_NS : OFDM_SYMBOL_NS);
}

u16 dcf_control_rate_100kbps(const struct dcf_rate *rate)
{
	/* 10.7.6.5.4: 802.11a's rate with the modulation and code of the MCS */
	static const u16 non_ht_reference_100kbps[] = { 60, 120, 180, 240, 360, 480, 540, 540, 540, 540 };
	u16 rate_100kbps = rate->rate_100kbps;

	if (rate_is_dsss(rate))
		return rate_100kbps >= 20 ? 20 : 10;
	if (rate->format != DCF_LEGACY)
		rate_100kbps = non_ht_reference_100kbps[rate->mcs];
	if (rate_100kbps >= 240)
		return 240;
	return rate_100kbps >= 120 ? 120 : 60;
}

bool dcf_add_mpdu(struct dcf_frame *frame, u16 bytes, u32 psdu_bytes_max)
{
	u32 begin = (frame->bytes + 3) & ~3U, end = begin + DCF_DELIMITER_BYTES + bytes;

	if (frame->chain[0].format == DCF_VHT)
		end = (end + 3) & ~3U;
	if (frame->mpdus == DCF_MPDUS_MAX || end > psdu_bytes_max)
		return false;
	frame->bytes = end;
	frame->mpdu_bytes[frame->mpdus++] = bytes;
	return true;
}

static u32 control_ns(const struct dcf_model *m, u32 bytes, u16 rate_100kbps)
{
	const struct dcf_rate rate = { .rate_100kbps = rate_100kbps };

	return dcf_ppdu_ns(&m->phy, bytes, &rate);
}

/* 10.3.2.3.7: EIFS is a SIFS, an ACK at the lowest rate, and a DIFS */
static u32 eifs_less_difs_ns(const struct dcf_model *m)
{
	return m->phy.sifs_ns + control_ns(m, DCF_ACK_BYTES, 60);
}

/* splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014) */
static u64 random_u64(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Uniform in [0, bound). Multiplying the high half keeps the bias below 2^-21 for every bound used here. */
static u32 random_below(struct dcf_model *m, u32 bound)
{
	return (u32)(((random_u64(&m->rng_state) >> 32) * bound) >> 32);
}

static void draw_backoff(struct dcf_model *m, struct dcf_queue *q)
{
	q->backoff_slots = random_below(m, q->cw + 1);
}

void dcf_init(struct dcf_model *m, u64 seed)
{
	u32 i, c;

	memset(m, 0, sizeof(*m));
	m->phy = dcf_phy_2_ghz;
	m->rng_state = seed;
	m->views_used = 1;
	for (i = 0; i < DCF_STATIONS_MAX; i++) {
		for (c = 0; c < DCF_CATEGORIES; c++) {
			struct dcf_queue *q = &m->queue[i][c];

			q->station = i;
			q->category = c;
			q->edca = (struct dcf_edca){ .aifsn = DCF_AIFSN, .cw_min = DCF_CW_MIN, .cw_max = DCF_CW_MAX };
			q->cw = DCF_CW_MIN;
		}
	}
}

void dcf_set_phy(struct dcf_model *m, const struct dcf_phy *phy)
{
	m->phy = *phy;
}

static u64 around(struct dcf_interference *i, u32 mean_ns)
{
	return mean_ns / 2 + (((random_u64(&i->rng_state) >> 32) * mean_ns) >> 32);
}

static void next_burst(struct dcf_interference *i, u64 after_ns)
{
	i->start_ns = after_ns + around(i, i->pause_ns);
	i->end_ns = i->start_ns + around(i, i->burst_ns);
}

void dcf_set_interference(struct dcf_model *m, u32 burst_ns, u32 pause_ns, u64 seed, u64 now_ns)
{
	struct dcf_interference *i = &m->interference;

	*i = (struct dcf_interference){ .burst_ns = burst_ns, .pause_ns = pause_ns, .rng_state = seed };
	if (burst_ns)
		next_burst(i, max_t(u64, now_ns, m->view[0].busy ? m->view[0].busy_until_ns : 0));
}

static struct dcf_view *view_of(struct dcf_model *m, const struct dcf_queue *q)
{
	return &m->view[m->view_of[q->station]];
}

static const struct dcf_view *const_view_of(const struct dcf_model *m, const struct dcf_queue *q)
{
	return &m->view[m->view_of[q->station]];
}

/* Whether the transmission that is on air, or its answer, is heard. */
static bool hears(const struct dcf_model *m, const struct dcf_view *v, const struct dcf_queue *q)
{
	return v == m->view || q->answered || !m->hidden[v->station][q->station];
}

static void end_txop(struct dcf_view *v)
{
	v->txop_holder = NULL;
	v->txop_goes_on = false;
}

static void give_own_view(struct dcf_model *m, u32 station)
{
	struct dcf_view *shared = &m->view[0], *own = &m->view[m->views_used];
	u32 i;

	if (m->view_of[station])
		return;
	/* what is on air when the first pair is set has been heard from its begin */
	for (i = 0; m->views_used == 1 && i < m->queues_used; i++) {
		m->used[i]->answered = true;
		m->used[i]->answer_ns = DCF_NEVER_NS;
	}
	*own = *shared;
	own->station = station;
	if (shared->txop_holder && shared->txop_holder->station == station)
		end_txop(shared);
	else
		end_txop(own);
	m->view_of[station] = m->views_used++;
}

void dcf_set_hidden(struct dcf_model *m, u32 station, u32 other)
{
	if (station == other)
		return;
	give_own_view(m, station);
	give_own_view(m, other);
	m->hidden[station][other] = true;
	m->hidden[other][station] = true;
}

void dcf_set_edca(struct dcf_model *m, u32 station, u32 category, const struct dcf_edca *edca)
{
	struct dcf_queue *q = &m->queue[station][category];

	q->edca = *edca;
	q->edca.aifsn = max_t(u8, edca->aifsn, 1);
	q->edca.cw_max = max_t(u16, edca->cw_max, edca->cw_min);
	if (q->attempts)
		q->cw = min_t(u32, max_t(u32, q->cw, edca->cw_min), q->edca.cw_max);
	else
		q->cw = edca->cw_min;
}

/* Keeps the list in the order of stations, so that random numbers are drawn in an order that depends on nothing else. */
static void add_to_used(struct dcf_model *m, struct dcf_queue *q)
{
	u32 i = m->queues_used;

	while (i && m->used[i - 1] >= q) {
		if (m->used[i - 1] == q)
			return;
		i--;
	}
	memmove(&m->used[i + 1], &m->used[i], (m->queues_used - i) * sizeof(m->used[0]));
	m->used[i] = q;
	m->queues_used++;
}

/* RTS and CTS with the SIFS after each, if the attempt begins with them. */
static u32 protection_ns(const struct dcf_model *m, const struct dcf_rate *rate)
{
	u16 control_100kbps = dcf_control_rate_100kbps(rate);

	if (!rate->rts)
		return 0;
	return control_ns(m, DCF_RTS_BYTES, control_100kbps) + control_ns(m, DCF_CTS_BYTES, control_100kbps) +
	       2 * m->phy.sifs_ns;
}

/* What is on air if nobody answers: of a collision (@rts_answered false), or of a frame that is lost on its link. */
static u32 unanswered_ns(const struct dcf_model *m, const struct dcf_queue *q, bool rts_answered)
{
	const struct dcf_rate *rate = dcf_current_rate(q);

	if (rate->rts && !rts_answered)
		return control_ns(m, DCF_RTS_BYTES, dcf_control_rate_100kbps(rate));
	return protection_ns(m, rate) + dcf_ppdu_ns(&m->phy, q->frame.bytes, rate);
}

static u32 exchange_ns(const struct dcf_model *m, const struct dcf_queue *q)
{
	u16 control_100kbps = dcf_control_rate_100kbps(dcf_current_rate(q));
	u32 ns = unanswered_ns(m, q, true);

	if (q->frame.ack_expected)
		ns += m->phy.sifs_ns +
		      control_ns(m, q->frame.mpdus ? DCF_BLOCK_ACK_BYTES : DCF_ACK_BYTES, control_100kbps);
	return ns;
}

static u64 end_ns(const struct dcf_queue *q)
{
	return q->start_ns + q->airtime_ns;
}

/* Whether a frame that the last sender has at once may follow without contention. */
static bool fits_txop(const struct dcf_model *m, const struct dcf_view *v, const struct dcf_queue *q, u64 now_ns)
{
	return v->txop_holder == q && now_ns == v->busy_until_ns &&
	       now_ns + m->phy.sifs_ns + exchange_ns(m, q) - v->access_since_ns <= q->edca.txop_limit_ns;
}

void dcf_offer(struct dcf_model *m, u32 station, u32 category, const struct dcf_frame *frame, u64 now_ns)
{
	struct dcf_queue *q = &m->queue[station][category];
	struct dcf_view *v = view_of(m, q);

	q->frame = *frame;
	q->contending = true;
	q->head_since_ns = now_ns;
	q->attempts = 0;
	q->chain_index = 0;
	q->chain_tries = 0;
	add_to_used(m, q);
	if (!v->busy && fits_txop(m, v, q, now_ns))
		v->txop_goes_on = true;
	/* 10.3.4.2: a station that finds the channel busy backs off, even if its last back-off has ended */
	else if ((v->busy || v->txop_goes_on) && !q->on_air && !q->backoff_slots)
		draw_backoff(m, q);
}

void dcf_withdraw(struct dcf_model *m, u32 station)
{
	u32 c;

	for (c = 0; c < DCF_CATEGORIES; c++) {
		struct dcf_queue *q = &m->queue[station][c];
		struct dcf_view *v = view_of(m, q);

		q->contending = false;
		q->on_air = false;
		if (v->txop_holder == q)
			end_txop(v);
	}
}

const struct dcf_rate *dcf_current_rate(const struct dcf_queue *q)
{
	return &q->frame.chain[q->chain_index];
}

/* Slots of an idle period up to a moment. */
static u64 slots_since(const struct dcf_model *m, const struct dcf_view *v, u64 at_ns)
{
	return at_ns > v->idle_ref_ns ? div_u64(at_ns - v->idle_ref_ns, m->phy.slot_ns) : 0;
}

static u64 transmit_slot(const struct dcf_model *m, const struct dcf_view *v, const struct dcf_queue *q)
{
	return max_t(u64, q->edca.aifsn + q->backoff_slots, slots_since(m, v, q->head_since_ns + m->phy.slot_ns - 1));
}

/* When the queue sends if nobody else does before. */
static u64 start_ns(const struct dcf_model *m, const struct dcf_view *v, const struct dcf_queue *q)
{
	if (v->txop_goes_on)
		return q == v->txop_holder ? v->busy_until_ns + m->phy.sifs_ns : DCF_NEVER_NS;
	return q->contending ? v->idle_ref_ns + transmit_slot(m, v, q) * m->phy.slot_ns : DCF_NEVER_NS;
}

static u64 next_begin_ns(const struct dcf_model *m)
{
	u64 next_ns = DCF_NEVER_NS;
	u32 i;

	for (i = 0; i < m->queues_used; i++) {
		const struct dcf_view *v = const_view_of(m, m->used[i]);

		if (!v->busy)
			next_ns = min_t(u64, next_ns, start_ns(m, v, m->used[i]));
	}
	return next_ns;
}

static u64 next_end_ns(const struct dcf_model *m)
{
	u64 next_ns = DCF_NEVER_NS;
	u32 i;

	for (i = 0; i < m->views_used; i++)
		if (m->view[i].busy)
			next_ns = min_t(u64, next_ns, m->view[i].busy_until_ns);
	return next_ns;
}

static u64 next_answer_ns(const struct dcf_model *m)
{
	u64 next_ns = DCF_NEVER_NS;
	u32 i;

	for (i = 0; m->views_used > 1 && i < m->queues_used; i++)
		if (m->used[i]->on_air)
			next_ns = min_t(u64, next_ns, m->used[i]->answer_ns);
	return next_ns;
}

static u64 next_burst_ns(const struct dcf_model *m)
{
	return m->interference.burst_ns ? m->interference.start_ns : DCF_NEVER_NS;
}

u64 dcf_next_event_ns(const struct dcf_model *m)
{
	u64 next_ns = min_t(u64, next_begin_ns(m), next_end_ns(m));

	return min_t(u64, min_t(u64, next_ns, next_answer_ns(m)), next_burst_ns(m));
}

bool dcf_replace(struct dcf_model *m, u32 station, u32 category, const struct dcf_frame *frame, u64 now_ns)
{
	struct dcf_queue *q = &m->queue[station][category];
	const struct dcf_view *v = view_of(m, q);

	if (!q->contending || q->on_air || q->attempts || (v->txop_goes_on && v->txop_holder == q))
		return false;
	if (!v->busy && dcf_next_event_ns(m) <= now_ns)
		return false;
	q->frame = *frame;
	return true;
}

static u64 mpdus_received(struct dcf_model *m, const struct dcf_queue *q)
{
	u32 i, mpdus = max_t(u32, q->frame.mpdus, 1);
	u64 received = 0;

	for (i = 0; i < mpdus; i++) {
		u32 bytes = q->frame.mpdus ? q->frame.mpdu_bytes[i] : q->frame.bytes;
		u32 noise_ppm = dcf_noise_loss_ppm(dcf_current_rate(q), q->frame.snr_quarter_db, bytes);
		u32 loss_ppm = q->frame.loss_ppm;

		loss_ppm += (u32)div_u64((u64)(1000000 - loss_ppm) * noise_ppm, 1000000);
		if (loss_ppm && random_below(m, 1000000) < loss_ppm)
			m->counters.lost_mpdus++;
		else
			received |= 1ULL << i;
	}
	return received;
}

static void widen_window(struct dcf_queue *q)
{
	q->cw = min_t(u32, 2 * q->cw + 1, q->edca.cw_max);
}

/* The back-off of an idle period that ends now. */
static void freeze(const struct dcf_model *m, const struct dcf_view *v, struct dcf_queue *q, u64 now_ns)
{
	u64 slots = slots_since(m, v, now_ns);

	if (slots > q->edca.aifsn)
		q->backoff_slots -= min_t(u64, q->backoff_slots, slots - q->edca.aifsn);
}

/* What is heard has changed: until when it lasts. Interference is heard by all. */
static void settle(struct dcf_model *m, u64 now_ns)
{
	u32 i, k;

	for (i = 0; i < m->views_used; i++) {
		struct dcf_view *v = &m->view[i];

		if (!v->busy)
			continue;
		v->busy_until_ns = max_t(u64, now_ns, m->interference.until_ns);
		for (k = 0; k < m->queues_used; k++)
			if (m->used[k]->on_air && hears(m, v, m->used[k]))
				v->busy_until_ns = max_t(u64, v->busy_until_ns, end_ns(m->used[k]));
	}
}

static void set_busy(struct dcf_view *v, u64 now_ns)
{
	v->busy = true;
	v->busy_since_ns = now_ns;
}

/* Which queues and which busy periods begin now. */
static void find_beginnings(struct dcf_model *m, u64 now_ns)
{
	u32 i, k;

	for (k = 0; k < m->views_used; k++)
		m->view[k].begins = false;
	for (i = 0; i < m->queues_used; i++) {
		struct dcf_queue *q = m->used[i];
		struct dcf_view *v = view_of(m, q);

		q->begins = !v->busy && start_ns(m, v, q) == now_ns;
		if (!q->begins)
			continue;
		q->answered = false;
		for (k = 0; k < m->views_used; k++)
			if (!m->view[k].busy && hears(m, &m->view[k], q))
				m->view[k].begins = true;
	}
}

/* Puts every queue whose slot has come on air; the counters of those that hear it keep their value. Returns how many. */
static u32 put_on_air(struct dcf_model *m, u64 now_ns)
{
	u32 i, transmitters = 0;
	int last_station = -1;

	for (i = 0; i < m->queues_used; i++) {
		struct dcf_queue *q = m->used[i];
		struct dcf_view *v = view_of(m, q);

		if (!v->begins)
			continue;
		if (!q->begins) {
			freeze(m, v, q, now_ns);
		} else if (q->station == last_station) {
			q->begins = false;
			m->counters.internal_collisions++;
			widen_window(q);
			draw_backoff(m, q);
		} else {
			last_station = q->station;
			q->on_air = true;
			q->backoff_slots = 0;
			q->start_ns = now_ns;
			q->answer_ns = DCF_NEVER_NS;
			q->airtime_ns = unanswered_ns(m, q, false);
			transmitters++;
		}
	}
	return transmitters;
}

/* Nothing of the attempt is received. */
static void lose(struct dcf_model *m, struct dcf_queue *q, bool rts_answered)
{
	struct dcf_view *v = view_of(m, q);

	q->collided = true;
	q->heard_mpdus = 0;
	q->answer_ns = DCF_NEVER_NS;
	q->airtime_ns = unanswered_ns(m, q, rts_answered);
	if (v->txop_holder == q)
		v->txop_holder = NULL;
}

/*
 * What hidden stations have on air while others begin: lost, but where the access point has it and is about to answer.
 * Returns whether there is any.
 */
static bool overlap(struct dcf_model *m, u64 now_ns)
{
	bool any = false;
	u32 i;

	for (i = 0; m->views_used > 1 && i < m->queues_used; i++) {
		struct dcf_queue *q = m->used[i];

		if (!q->on_air || q->begins || end_ns(q) <= now_ns)
			continue;
		any = true;
		if (q->collided || now_ns >= q->start_ns + unanswered_ns(m, q, false))
			continue;
		lose(m, q, false);
		m->counters.collided_attempts++;
	}
	return any;
}

static void begin_attempt(struct dcf_model *m, struct dcf_queue *q, bool collided)
{
	const struct dcf_rate *rate = dcf_current_rate(q);

	m->counters.attempts++;
	m->counters.mpdus += max_t(u32, q->frame.mpdus, 1);
	q->collided = collided;
	q->heard_mpdus = 0;
	if (collided) {
		m->counters.collided_attempts++;
		return;
	}
	q->heard_mpdus = mpdus_received(m, q);
	if (q->heard_mpdus) {
		q->airtime_ns = exchange_ns(m, q);
		if (q->edca.txop_limit_ns)
			view_of(m, q)->txop_holder = q;
		if (q->frame.ack_expected)
			q->answer_ns = q->start_ns + unanswered_ns(m, q, true) + m->phy.sifs_ns;
	} else {
		/* no ACK: for the sender the same as a collision */
		m->counters.lost_attempts++;
		lose(m, q, true);
	}
	if (rate->rts)
		q->answer_ns = q->start_ns + unanswered_ns(m, q, false) + m->phy.sifs_ns;
}

static void begin_busy(struct dcf_model *m, u64 now_ns)
{
	bool collided;
	u32 i;

	find_beginnings(m, now_ns);
	collided = put_on_air(m, now_ns) > 1;
	for (i = 0; i < m->views_used; i++) {
		struct dcf_view *v = &m->view[i];

		if (!v->begins)
			continue;
		set_busy(v, now_ns);
		if (!v->txop_goes_on)
			v->access_since_ns = now_ns;
		end_txop(v);
	}
	collided |= overlap(m, now_ns);
	for (i = 0; i < m->queues_used; i++)
		if (m->used[i]->begins)
			begin_attempt(m, m->used[i], collided);
	settle(m, now_ns);
}

/* The answers that begin now are heard by those from whom the sender is hidden. */
static void begin_answers(struct dcf_model *m, u64 now_ns)
{
	u32 i, k;

	for (i = 0; i < m->queues_used; i++) {
		struct dcf_queue *q = m->used[i];

		if (!q->on_air || q->answer_ns != now_ns)
			continue;
		q->answer_ns = DCF_NEVER_NS;
		q->answered = true;
	}
	for (k = 0; k < m->views_used; k++)
		m->view[k].begins = false;
	for (i = 0; i < m->queues_used; i++)
		for (k = 0; m->used[i]->on_air && m->used[i]->answered && k < m->views_used; k++)
			m->view[k].begins |= !m->view[k].busy;
	for (i = 0; i < m->queues_used; i++)
		if (view_of(m, m->used[i])->begins)
			freeze(m, view_of(m, m->used[i]), m->used[i], now_ns);
	for (k = 0; k < m->views_used; k++) {
		if (!m->view[k].begins)
			continue;
		set_busy(&m->view[k], now_ns);
		end_txop(&m->view[k]);
	}
	settle(m, now_ns);
}

/*
 * Which MPDUs of an attempt a burst leaves, from the times at which they are sent. What overlaps with RTS, CTS or
 * preamble costs them all, and so does what overlaps with the answer, without which the sender knows of none.
 */
static u64 mpdus_left(const struct dcf_model *m, const struct dcf_queue *q, u64 from_ns, u64 to_ns)
{
	const struct dcf_rate *rate = dcf_current_rate(q);
	u32 before_ns = protection_ns(m, rate) + (rate_is_dsss(rate) ? DSSS_PREAMBLE_NS : preamble_ns(rate));
	u32 data_ns = unanswered_ns(m, q, true) - before_ns, i;
	u64 begin_ns = q->start_ns + before_ns, sent = 0, left = q->heard_mpdus;

	if (from_ns < begin_ns || to_ns > begin_ns + data_ns)
		return 0;
	for (i = 0; i < q->frame.mpdus; i++) {
		u64 mpdu_ns = begin_ns + div_u64(sent * data_ns, q->frame.bytes);

		sent += DCF_DELIMITER_BYTES + ((q->frame.mpdu_bytes[i] + 3) & ~3U);
		if (from_ns < begin_ns + div_u64(sent * data_ns, q->frame.bytes) && to_ns > mpdu_ns)
			left &= ~(1ULL << i);
	}
	return q->frame.mpdus ? left : 0;
}

/* Takes from an attempt on air what a burst overlaps with. */
static void lose_to_burst(struct dcf_model *m, struct dcf_queue *q, u64 from_ns, u64 to_ns)
{
	u64 data_ns = q->start_ns + protection_ns(m, dcf_current_rate(q)), received = q->heard_mpdus;

	q->heard_mpdus = mpdus_left(m, q, from_ns, min_t(u64, to_ns, end_ns(q)));
	m->counters.lost_mpdus += hweight64(received) - hweight64(q->heard_mpdus);
	if (q->heard_mpdus)
		return;
	m->counters.lost_attempts++;
	lose(m, q, from_ns >= data_ns);
}

/* Counters stop, who was about to send draws one, and what is on air loses what the burst overlaps with. */
static void begin_burst(struct dcf_model *m)
{
	struct dcf_interference *source = &m->interference;
	u64 now_ns = source->start_ns;
	u32 i;

	source->until_ns = source->end_ns;
	m->counters.interference_ns += source->end_ns - now_ns;
	for (i = 0; i < m->queues_used; i++) {
		struct dcf_queue *q = m->used[i];
		const struct dcf_view *v = view_of(m, q);

		if (!v->busy) {
			freeze(m, v, q, now_ns);
			if (q->contending && !q->backoff_slots)
				draw_backoff(m, q);
		} else if (q->on_air && !q->collided && now_ns < end_ns(q)) {
			lose_to_burst(m, q, now_ns, source->end_ns);
		}
	}
	for (i = 0; i < m->views_used; i++) {
		if (m->view[i].busy)
			continue;
		set_busy(&m->view[i], now_ns);
		end_txop(&m->view[i]);
	}
	next_burst(source, source->end_ns);
	settle(m, now_ns);
}

static bool chain_used_up(struct dcf_queue *q)
{
	q->attempts++;
	q->chain_tries++;
	if (q->chain_tries >= q->frame.chain[q->chain_index].tries) {
		q->chain_index++;
		q->chain_tries = 0;
	}
	return q->chain_index >= q->frame.chain_length;
}

static void end_attempt(struct dcf_model *m, struct dcf_queue *q, struct dcf_result *r)
{
	bool used_up = chain_used_up(q);

	q->on_air = false;
	r->station = q->station;
	r->category = q->category;
	r->collided = q->collided;
	r->heard = !q->collided;
	r->heard_mpdus = q->heard_mpdus;
	r->airtime_ns = q->airtime_ns;
	if (r->heard || !q->frame.ack_expected)
		r->outcome = DCF_DELIVERED;
	else if (used_up)
		r->outcome = DCF_FAILED;
	else
		r->outcome = DCF_RETRY;

	if (r->outcome == DCF_RETRY) {
		widen_window(q);
	} else {
		q->cw = q->edca.cw_min;
		q->contending = false;
		q->attempts = 0;
		if (r->outcome == DCF_DELIVERED)
			m->counters.delivered++;
		else
			m->counters.failed++;
	}
	draw_backoff(m, q);
}

bool dcf_ends(const struct dcf_model *m, const struct dcf_queue *q, u64 now_ns)
{
	const struct dcf_view *v = const_view_of(m, q);

	return q->on_air && v->busy && v->busy_until_ns <= now_ns;
}

static void end_view(struct dcf_model *m, struct dcf_view *v)
{
	v->busy = false;
	/* after EIFS a queue waits EIFS - DIFS + AIFS, 10.22.2.4 */
	v->idle_ref_ns = v->busy_until_ns + m->phy.sifs_ns + (v->decoded ? 0 : eifs_less_difs_ns(m));
	if (v == m->view)
		m->counters.busy_ns += v->busy_until_ns - v->busy_since_ns;
}

static u32 end_busy(struct dcf_model *m, u64 now_ns, struct dcf_result *results)
{
	u32 i, k, n = 0;

	for (k = 0; k < m->views_used; k++) {
		struct dcf_view *v = &m->view[k];

		v->ends = v->busy && v->busy_until_ns <= now_ns;
		v->decoded = true;
		for (i = 0; v->ends && i < m->queues_used; i++)
			if (m->used[i]->on_air && m->used[i]->collided && hears(m, v, m->used[i]))
				v->decoded = false;
	}
	for (i = 0; i < m->queues_used; i++)
		if (m->used[i]->on_air && view_of(m, m->used[i])->ends)
			end_attempt(m, m->used[i], &results[n++]);
	for (k = 0; k < m->views_used; k++)
		if (m->view[k].ends)
			end_view(m, &m->view[k]);
	return n;
}

/* Of events at one moment ends come first, and what begins together with a burst is hit by it. */
u32 dcf_advance(struct dcf_model *m, u64 now_ns, struct dcf_result *results)
{
	u64 event_ns = dcf_next_event_ns(m);

	if (event_ns == DCF_NEVER_NS || event_ns > now_ns)
		return 0;
	if (next_end_ns(m) == event_ns)
		return end_busy(m, event_ns, results);
	if (next_answer_ns(m) == event_ns)
		begin_answers(m, event_ns);
	else if (next_begin_ns(m) == event_ns)
		begin_busy(m, event_ns);
	else
		begin_burst(m);
	return 0;
}

u64 dcf_busy_ns(const struct dcf_model *m, u64 now_ns)
{
	const struct dcf_view *v = &m->view[0];
	u64 busy_ns = m->counters.busy_ns;

	if (v->busy && now_ns > v->busy_since_ns)
		busy_ns += min_t(u64, now_ns, v->busy_until_ns) - v->busy_since_ns;
	return busy_ns;
}
