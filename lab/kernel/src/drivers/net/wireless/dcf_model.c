// SPDX-License-Identifier: GPL-2.0-only
/*
 * 802.11 DCF in one collision domain. The rules of this file are in dcf_model.h.
 *
 * The channel alternates between idle and busy. An idle period starts with DIFS (EIFS after a collision or a lost
 * frame); its first slot boundary is idle_ref_ns. A station whose counter is b transmits at slot b of the period; a
 * station whose frame arrives later transmits at the next boundary if its counter has reached 0 by then. So with
 *
 *	slot(i) = max(backoff_slots(i), ceil((head_since(i) - idle_ref) / slot time))
 *
 * the next transmission is at the smallest slot(i), and all stations that share it collide. Counters continue while
 * the queue is empty (post-back-off), so a station that has not sent for a while sends at once on an idle channel.
 *
 * Differs from the standard in
 *  - a frame that arrives on an idle channel waits for the next slot boundary (at most 9 us);
 *  - EIFS is applied to every station after a failed exchange, to the colliding senders too (their ACK timeout differs
 *    from it by a few us);
 *  - one access category; no RTS, no fragments, no NAV beyond the exchange itself, propagation takes no time.
 */
#include "dcf_model.h"

#ifdef __KERNEL__
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/string.h>
#else
#include <string.h>
#define div_u64(a, b)		((a) / (b))
#define div64_u64(a, b)		((a) / (b))
#define max_t(t, a, b)		((t)(a) > (t)(b) ? (t)(a) : (t)(b))
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#endif

#define OFDM_PREAMBLE_NS	20000U	/* 17.3.3: preamble and SIGNAL */
#define OFDM_SYMBOL_NS		4000U
#define OFDM_SERVICE_TAIL_BITS	22U	/* SERVICE 16, tail 6 */
#define ERP_EXTENSION_NS	6000U	/* 18.3.2.4: time for a receiver to finish decoding within a SIFS of 10 us */
#define DSSS_PREAMBLE_NS	192000U	/* 16.2.2: long preamble and header */

static bool rate_is_dsss(u16 rate_100kbps)
{
	return rate_100kbps == 10 || rate_100kbps == 20 || rate_100kbps == 55 || rate_100kbps == 110;
}

u32 dcf_frame_airtime_ns(u32 bytes, u16 rate_100kbps)
{
	u32 bits_per_symbol, symbols;

	if (rate_is_dsss(rate_100kbps))
		return DSSS_PREAMBLE_NS + (u32)div_u64((u64)bytes * 8 * 10000 + rate_100kbps - 1, rate_100kbps);
	bits_per_symbol = rate_100kbps * 4 / 10;
	symbols = (OFDM_SERVICE_TAIL_BITS + bytes * 8 + bits_per_symbol - 1) / bits_per_symbol;
	return OFDM_PREAMBLE_NS + symbols * OFDM_SYMBOL_NS + ERP_EXTENSION_NS;
}

u16 dcf_ack_rate_100kbps(u16 rate_100kbps)
{
	if (rate_is_dsss(rate_100kbps))
		return rate_100kbps >= 20 ? 20 : 10;
	if (rate_100kbps >= 240)
		return 240;
	return rate_100kbps >= 120 ? 120 : 60;
}

static u32 eifs_ns(void)
{
	return DCF_SIFS_NS + dcf_frame_airtime_ns(DCF_ACK_BYTES, 60) + DCF_DIFS_NS;
}

/* splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, OOPSLA 2014) */
static u64 random_u64(struct dcf_model *m)
{
	u64 z = (m->rng_state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* Uniform in [0, bound). Multiplying the high half keeps the bias below 2^-21 for every bound used here. */
static u32 random_below(struct dcf_model *m, u32 bound)
{
	return (u32)(((random_u64(m) >> 32) * bound) >> 32);
}

static void draw_backoff(struct dcf_model *m, struct dcf_station *s)
{
	s->backoff_slots = random_below(m, s->cw + 1);
}

void dcf_init(struct dcf_model *m, u64 seed)
{
	u32 i;

	memset(m, 0, sizeof(*m));
	m->rng_state = seed;
	for (i = 0; i < DCF_STATIONS_MAX; i++)
		m->station[i].cw = DCF_CW_MIN;
}

void dcf_offer(struct dcf_model *m, u32 station, const struct dcf_frame *frame, u64 now_ns)
{
	struct dcf_station *s = &m->station[station];

	s->frame = *frame;
	s->contending = true;
	s->head_since_ns = now_ns;
	s->attempts = 0;
	s->chain_index = 0;
	s->chain_tries = 0;
	/* 10.3.4.2: a station that finds the channel busy backs off, even if its last back-off has ended */
	if (m->busy && !s->on_air && !s->backoff_slots)
		draw_backoff(m, s);
	m->stations = max_t(u32, m->stations, station + 1);
}

void dcf_withdraw(struct dcf_model *m, u32 station)
{
	struct dcf_station *s = &m->station[station];

	s->contending = false;
	s->on_air = false;
}

u16 dcf_current_rate_100kbps(const struct dcf_station *s)
{
	return s->frame.chain[s->chain_index].rate_100kbps;
}

static u64 transmit_slot(const struct dcf_model *m, const struct dcf_station *s)
{
	u64 arrival_slot = 0;

	if (s->head_since_ns > m->idle_ref_ns)
		arrival_slot = div_u64(s->head_since_ns - m->idle_ref_ns + DCF_SLOT_NS - 1, DCF_SLOT_NS);
	return max_t(u64, s->backoff_slots, arrival_slot);
}

static u64 first_slot(const struct dcf_model *m)
{
	u64 first = DCF_NEVER_NS;
	u32 i;

	for (i = 0; i < m->stations; i++)
		if (m->station[i].contending)
			first = min_t(u64, first, transmit_slot(m, &m->station[i]));
	return first;
}

u64 dcf_next_event_ns(const struct dcf_model *m)
{
	u64 slot;

	if (m->busy)
		return m->busy_until_ns;
	slot = first_slot(m);
	return slot == DCF_NEVER_NS ? DCF_NEVER_NS : m->idle_ref_ns + slot * DCF_SLOT_NS;
}

static bool lost_on_link(struct dcf_model *m, const struct dcf_station *s)
{
	return s->frame.loss_ppm && random_below(m, 1000000) < s->frame.loss_ppm;
}

/* All stations with this slot transmit; the counters of the others keep their value. */
static void begin_busy(struct dcf_model *m, u64 slot)
{
	struct dcf_station *s;
	u32 i, transmitters = 0;

	m->busy = true;
	m->busy_since_ns = m->idle_ref_ns + slot * DCF_SLOT_NS;
	m->busy_until_ns = m->busy_since_ns;
	for (i = 0; i < m->stations; i++) {
		s = &m->station[i];
		if (s->contending && transmit_slot(m, s) == slot) {
			s->on_air = true;
			s->backoff_slots = 0;
			s->airtime_ns = dcf_frame_airtime_ns(s->frame.bytes, dcf_current_rate_100kbps(s));
			m->busy_until_ns = max_t(u64, m->busy_until_ns, m->busy_since_ns + s->airtime_ns);
			transmitters++;
		} else {
			s->backoff_slots -= min_t(u64, s->backoff_slots, slot);
		}
	}
	m->counters.attempts += transmitters;
	for (i = 0; i < m->stations; i++) {
		s = &m->station[i];
		if (!s->on_air)
			continue;
		s->collided = transmitters > 1;
		if (s->collided) {
			m->counters.collided_attempts++;
		} else if (lost_on_link(m, s)) {
			/* no ACK: for the sender the same as a collision */
			s->collided = true;
			m->counters.lost_attempts++;
		} else if (s->frame.ack_expected) {
			s->airtime_ns += DCF_SIFS_NS +
				dcf_frame_airtime_ns(DCF_ACK_BYTES, dcf_ack_rate_100kbps(dcf_current_rate_100kbps(s)));
			m->busy_until_ns = m->busy_since_ns + s->airtime_ns;
		}
	}
}

static bool chain_used_up(struct dcf_station *s)
{
	s->attempts++;
	s->chain_tries++;
	if (s->chain_tries >= s->frame.chain[s->chain_index].tries) {
		s->chain_index++;
		s->chain_tries = 0;
	}
	return s->chain_index >= s->frame.chain_length;
}

static void end_attempt(struct dcf_model *m, struct dcf_station *s, struct dcf_result *r)
{
	bool used_up = chain_used_up(s);

	s->on_air = false;
	r->collided = s->collided;
	r->heard = !s->collided;
	r->airtime_ns = s->airtime_ns;
	if (r->heard || !s->frame.ack_expected)
		r->outcome = DCF_DELIVERED;
	else if (used_up)
		r->outcome = DCF_FAILED;
	else
		r->outcome = DCF_RETRY;

	if (r->outcome == DCF_RETRY) {
		s->cw = min_t(u32, 2 * s->cw + 1, DCF_CW_MAX);
	} else {
		s->cw = DCF_CW_MIN;
		s->contending = false;
		if (r->outcome == DCF_DELIVERED)
			m->counters.delivered++;
		else
			m->counters.failed++;
	}
	draw_backoff(m, s);
}

static u32 end_busy(struct dcf_model *m, struct dcf_result *results)
{
	bool decoded = true;
	u32 i, n = 0;

	m->busy = false;
	m->counters.busy_ns += m->busy_until_ns - m->busy_since_ns;
	for (i = 0; i < m->stations; i++) {
		struct dcf_station *s = &m->station[i];

		if (!s->on_air)
			continue;
		decoded = decoded && !s->collided;
		results[n].station = i;
		end_attempt(m, s, &results[n]);
		n++;
	}
	m->idle_ref_ns = m->busy_until_ns + (decoded ? DCF_DIFS_NS : eifs_ns());
	return n;
}

u32 dcf_advance(struct dcf_model *m, u64 now_ns, struct dcf_result *results)
{
	u64 slot;

	if (m->busy)
		return now_ns >= m->busy_until_ns ? end_busy(m, results) : 0;
	slot = first_slot(m);
	if (slot != DCF_NEVER_NS && now_ns >= m->idle_ref_ns + slot * DCF_SLOT_NS)
		begin_busy(m, slot);
	return 0;
}

u64 dcf_busy_ns(const struct dcf_model *m, u64 now_ns)
{
	u64 busy_ns = m->counters.busy_ns;

	if (m->busy && now_ns > m->busy_since_ns)
		busy_ns += min_t(u64, now_ns, m->busy_until_ns) - m->busy_since_ns;
	return busy_ns;
}
