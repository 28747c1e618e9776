// SPDX-License-Identifier: Apache-2.0

// Package trace turns the kernel's tcp_monitor trace events into records and records into text, JSON lines or CSV. It is
// pure: the text of trace_pipe comes in, records go out. No file, socket or clock is touched here.
package trace

import "net/netip"

// What a record tells, beside the events that the kernel counts (local_congestion, dup_ack, sack, fast_retransmit,
// timeout, undo).
const (
	// Window: the congestion window, ssthresh or the bounds changed.
	Window = "window"
	// Lost: a hole. The kernel overwrote records before they were read; Times tells how many, 1 if it does not know.
	Lost = "lost"
	// Refused: a hole. A line of the kernel's was none that can be read.
	Refused = "refused"
)

// Record is one moment of one connection's history. A window's values are those after the change; those of an event are what
// it found, and what it does to them follows as windows. Holes have Event and Times only.
type Record struct {
	// CLOCK_MONOTONIC, as time_us of /proc/net/tcp_monitor.
	TimeUS uint64
	Event  string
	// How often the event happened at this moment; 1 for a window.
	Times uint64
	// The socket's cookie: unique per connection.
	Cookie uint64
	Local  netip.AddrPort
	Remote netip.AddrPort
	UID    uint32
	// open, disorder, cwr, recovery or loss.
	CAState  string
	CwndSegs uint32
	// monitor.SsthreshUnset while no loss has set it.
	SsthreshSegs uint32
	// 0: no bound holds.
	BoundMinSegs uint32
	BoundMaxSegs uint32
	InFlightSegs uint32
	// 0: no sample yet.
	SRTTUS      uint32
	LastRTTUS   uint32
	MinRTTUS    uint32
	UnsentBytes uint64
	// Sent and not acknowledged.
	UnackedBytes uint64
}

// IsHole tells whether the record stands for what is missing.
func (r *Record) IsHole() bool { return r.Event == Lost || r.Event == Refused }
