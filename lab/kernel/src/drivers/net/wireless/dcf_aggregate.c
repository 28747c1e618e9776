// SPDX-License-Identifier: GPL-2.0-only
/* A-MPDUs of one queue of a radio. The rules of this file are in dcf_aggregate.h. */
#include "dcf_aggregate.h"

#ifdef __KERNEL__
#include <linux/minmax.h>
#include <linux/string.h>
#else
#include <string.h>
#define min_t(t, a, b)		((t)(a) < (t)(b) ? (t)(a) : (t)(b))
#endif

#define SEQUENCE_NUMBERS	4096

bool dcf_same_stream(const struct dcf_mpdu *a, const struct dcf_mpdu *b)
{
	return a->in_session && b->in_session && a->tid == b->tid &&
	       !memcmp(a->receiver, b->receiver, sizeof(a->receiver)) &&
	       !memcmp(a->transmitter, b->transmitter, sizeof(a->transmitter));
}

static struct dcf_mpdu *first_of(const struct dcf_aggregate *a)
{
	return list_first_entry(&a->mpdus, struct dcf_mpdu, list);
}

/* Adds an MPDU to the frame if it fits; the frame is as before if not. */
static bool fits(struct dcf_aggregate *a, const struct dcf_mpdu *mpdu)
{
	const struct dcf_mpdu *first = first_of(a);
	u32 behind = (mpdu->sequence_number - first->sequence_number) & (SEQUENCE_NUMBERS - 1);

	if (!dcf_same_stream(first, mpdu) || mpdu->alone || behind >= DCF_MPDUS_MAX)
		return false;
	return dcf_add_mpdu(&a->frame, mpdu->bytes, a->psdu_bytes_max);
}

void dcf_aggregate_single(struct dcf_aggregate *a)
{
	a->frame.bytes = first_of(a)->bytes;
	if (a->frame.chain[0].format == DCF_VHT)
		a->frame.bytes = DCF_DELIMITER_BYTES + ((a->frame.bytes + 3) & ~3U);
}

void dcf_aggregate_fill(struct dcf_aggregate *a, struct list_head *waiting)
{
	struct dcf_mpdu *mpdu, *next;

	dcf_add_mpdu(&a->frame, first_of(a)->bytes, ~0U);
	list_for_each_entry_safe(mpdu, next, waiting, list) {
		if (fits(a, mpdu))
			list_move_tail(&mpdu->list, &a->mpdus);
		else if (dcf_same_stream(mpdu, first_of(a)))
			break;	/* what comes after it must not overtake it */
	}
}

bool dcf_aggregate_extend(struct dcf_aggregate *a, const struct list_head *waiting, const struct dcf_mpdu *mpdu)
{
	const struct dcf_mpdu *other;

	if (!a->frame.mpdus)
		return false;
	list_for_each_entry(other, waiting, list)
		if (dcf_same_stream(other, mpdu))
			return false;
	return fits(a, mpdu);
}

struct dcf_frame dcf_aggregate_on_air(const struct dcf_aggregate *a, u32 rts_bytes)
{
	struct dcf_frame frame = a->frame;
	u32 i;

	if (frame.mpdus == 1) {
		frame.mpdus = 0;
		if (frame.chain[0].format != DCF_VHT)
			frame.bytes = frame.mpdu_bytes[0];
	}
	for (i = 0; i < frame.chain_length; i++)
		if (frame.ack_expected && frame.bytes > rts_bytes)
			frame.chain[i].rts = true;
	return frame;
}

/* Back to its place: before the first of its stream that waits. */
static void requeue(struct dcf_mpdu *mpdu, struct list_head *waiting)
{
	struct dcf_mpdu *other;

	list_for_each_entry(other, waiting, list) {
		if (dcf_same_stream(other, mpdu)) {
			list_move_tail(&mpdu->list, &other->list);
			return;
		}
	}
	list_move_tail(&mpdu->list, waiting);
}

u32 dcf_aggregate_end(struct dcf_aggregate *a, u64 heard_mpdus, u32 attempts, u32 tries_max, struct list_head *waiting)
{
	struct dcf_mpdu *mpdu, *next;
	u32 sent = 0, ended = 0;
	LIST_HEAD(again);

	list_for_each_entry_safe(mpdu, next, &a->mpdus, list) {
		mpdu->heard = heard_mpdus & 1ULL << sent++;
		mpdu->tries = min_t(u32, mpdu->tries + attempts, 255);
		if (mpdu->in_session && !mpdu->heard && mpdu->tries < tries_max) {
			mpdu->alone = false;
			list_move_tail(&mpdu->list, &again);
			continue;
		}
		ended++;
		a->acked += mpdu->heard;
	}
	a->sent = sent;
	list_for_each_entry_safe_reverse(mpdu, next, &again, list)
		requeue(mpdu, waiting);
	return ended;
}
