/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A-MPDUs of one queue of a radio: which of the MPDUs that wait go into one, in which order, and which of those that
 * were sent are sent again. As ath9k does it (drivers/net/wireless/ath/ath9k/xmit.c); of the kernel nothing but its
 * lists. The same file is compiled into mac80211_hwsim and into a user-space test (lab/kernel/tests).
 *
 * Rules of this file
 *  - A stream is what has the same receiver, transmitter and traffic identifier in a block-ack session. MPDUs of a
 *    stream are in the order of their sequence numbers, in the queue and in an A-MPDU; those of others do not matter.
 *  - The receiver's window begins at the first MPDU that it has not acknowledged, which is always the first of an
 *    A-MPDU; none that is DCF_MPDUS_MAX or more behind it is sent.
 */
#ifndef AIRBOUND_DCF_AGGREGATE_H
#define AIRBOUND_DCF_AGGREGATE_H

#ifdef __KERNEL__
#include <linux/list.h>
#else
#include "list.h"
#endif

#include "dcf_model.h"

#define DCF_MPDU_TRIES_MAX	30	/* ath9k's ATH_MAX_SW_RETRIES */
#define DCF_ADDRESS_BYTES	6

/* An MPDU, from its arrival in the queue to its end. */
struct dcf_mpdu {
	struct list_head list;
	u8 receiver[DCF_ADDRESS_BYTES];
	u8 transmitter[DCF_ADDRESS_BYTES];
	u32 bytes;			/* MAC header to FCS */
	bool in_session;		/* of block acks: may share a PPDU */
	bool alone;			/* tries a rate out: not in an A-MPDU */
	u8 tid;				/* if in a session, as the next */
	u16 sequence_number;		/* of 12 bits */
	u8 tries;			/* as part of PPDUs that have ended */
	bool heard;			/* by the receiver, when it has ended */
};

/* What a queue sends at once: one MPDU, or several in an A-MPDU. */
struct dcf_aggregate {
	struct list_head mpdus;		/* as long as they are in none of the caller's lists */
	struct dcf_frame frame;		/* what they are on air, but for what dcf_aggregate_on_air() says */
	u32 psdu_bytes_max;		/* of an A-MPDU */
	u8 sent;			/* when it has ended: how many MPDUs it had */
	u8 acked;			/* and of how many the receiver said that it has them */
};

bool dcf_same_stream(const struct dcf_mpdu *a, const struct dcf_mpdu *b);

/* Of the MPDU that is in @a it makes a PPDU without an A-MPDU. @a->frame must have its rates. */
void dcf_aggregate_single(struct dcf_aggregate *a);

/*
 * Of the MPDU that is in @a, and of those of @waiting that fit, it makes an A-MPDU; these are moved. @a->frame must have
 * its rates and @a->psdu_bytes_max be set; the first MPDU is sent whatever that is.
 */
void dcf_aggregate_fill(struct dcf_aggregate *a, struct list_head *waiting);

/*
 * Adds an MPDU that has just come to @a->frame. False, and nothing changes, if it does not fit or one of its stream
 * waits before it. The caller adds it to @a->mpdus, or puts @a->frame back as it was.
 */
bool dcf_aggregate_extend(struct dcf_aggregate *a, const struct list_head *waiting, const struct dcf_mpdu *mpdu);

/*
 * What goes on air: an MPDU by itself is answered by an ACK, whether or not its format needs a delimiter; a PSDU longer
 * than @rts_bytes begins with RTS and CTS.
 */
struct dcf_frame dcf_aggregate_on_air(const struct dcf_aggregate *a, u32 rts_bytes);

/*
 * The end of a PPDU after @attempts, with the MPDUs that were heard in bits of @heard_mpdus. What is to be sent again
 * goes back to @waiting, before all of its stream that wait there; the others stay in @a: those that were heard, and
 * those that are given up, after @tries_max attempts or since they were in no session. Returns how many these are.
 */
u32 dcf_aggregate_end(struct dcf_aggregate *a, u64 heard_mpdus, u32 attempts, u32 tries_max, struct list_head *waiting);

#endif
