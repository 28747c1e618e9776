/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Trace event of the lab's medium: each attempt, when its sender knows how it ended. Times are the model's, nanoseconds
 * of the monotonic clock; the time stamp of the record is that of the timer.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM hwsim_dcf

#if !defined(_TRACE_HWSIM_DCF_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_HWSIM_DCF_H

#include <linux/tracepoint.h>

struct dcf_queue;

/* @contenders: how many queues have a frame to send when the attempt begins, this one included. */
TRACE_EVENT(dcf_attempt,
	    TP_PROTO(const struct dcf_queue *queue, u16 contenders),

	    TP_ARGS(queue, contenders),

	    TP_STRUCT__entry(__field(u64, head_since_ns)	/* since when the frame is the head of its queue */
			     __field(u64, start_ns)
			     __field(u32, airtime_ns)		/* the frame, and SIFS + ACK if that comes */
			     __field(u32, bytes)		/* of the PSDU, with FCS */
			     __field(u16, station)		/* number of the radio; 0: the access point */
			     __field(u16, contenders)
			     __field(u16, rate_100kbps)
			     __field(u8, category)
			     __field(u8, attempt)		/* of this frame, from 1 */
			     __field(u8, failed)		/* by a collision, interference, or a loss on the link */
			     __field(u8, mpdus)			/* of an A-MPDU; 0: it is none */
			     __field(u8, mpdus_received)
	    ),

	    TP_fast_assign(__entry->head_since_ns = queue->head_since_ns;
			   __entry->start_ns = queue->start_ns;
			   __entry->airtime_ns = queue->airtime_ns;
			   __entry->bytes = queue->frame.bytes;
			   __entry->station = queue->station;
			   __entry->contenders = contenders;
			   __entry->rate_100kbps = dcf_rate_100kbps(dcf_current_rate(queue));
			   __entry->category = queue->category;
			   __entry->attempt = queue->attempts + 1;
			   __entry->failed = queue->collided;
			   __entry->mpdus = queue->frame.mpdus;
			   __entry->mpdus_received = hweight64(queue->heard_mpdus);
	    ),

	    TP_printk("station=%u category=%u start_ns=%llu airtime_ns=%u bytes=%u rate_100kbps=%u attempt=%u failed=%u contenders=%u head_since_ns=%llu mpdus=%u mpdus_received=%u",
		      __entry->station, __entry->category, __entry->start_ns, __entry->airtime_ns, __entry->bytes,
		      __entry->rate_100kbps, __entry->attempt, __entry->failed, __entry->contenders,
		      __entry->head_since_ns, __entry->mpdus, __entry->mpdus_received)
);

#endif /* _TRACE_HWSIM_DCF_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
