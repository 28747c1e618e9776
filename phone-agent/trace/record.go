// SPDX-License-Identifier: Apache-2.0

// Package trace turns the kernel's tcp_monitor trace events into records and records into text, JSON lines or CSV. It
// is pure: the text of trace_pipe comes in, records go out. It uses no file, socket or clock.
package trace

import "net/netip"

// Events of a record, beside those that the kernel counts (local_congestion, dup_ack, sack, fast_retransmit, timeout,
// undo).
const (
	// Window: the congestion window, ssthresh or the bounds changed.
	Window = "window"
	// Lost: a gap. The kernel overwrote Times records before they were read, 1 if the number is not known.
	Lost = "lost"
	// Refused: a gap. A line of the kernel could not be read.
	Refused = "refused"
)

// Record is one moment of one connection's history. A window has the values after the change; an event has those before
// its effects, which follow as windows. Gaps have Event and Times only. The order of the fields is that of CSV and
// JSON.
type Record struct {
	// CLOCK_MONOTONIC, as time_us of /proc/net/tcp_monitor.
	TimeUS uint64 `json:"time_us"`
	Event  string `json:"event"`
	// How often the event happened at this moment; 1 for a window.
	Times uint64 `json:"times"`
	// The socket's cookie: unique per connection.
	Cookie uint64         `json:"cookie"`
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	UID    uint32         `json:"uid"`
	// open, disorder, cwr, recovery or loss.
	CAState  string `json:"ca_state"`
	CwndSegs uint32 `json:"cwnd_segs"`
	// monitor.SsthreshUnset while no loss has set it.
	SsthreshSegs uint32 `json:"ssthresh_segs"`
	// 0: no bound is in force.
	BoundMinSegs uint32 `json:"bound_min_segs"`
	BoundMaxSegs uint32 `json:"bound_max_segs"`
	InFlightSegs uint32 `json:"in_flight_segs"`
	// 0: no sample yet.
	SRTTUS      uint32 `json:"srtt_us"`
	LastRTTUS   uint32 `json:"last_rtt_us"`
	MinRTTUS    uint32 `json:"min_rtt_us"`
	UnsentBytes uint64 `json:"unsent_bytes"`
	// Sent and not acknowledged.
	UnackedBytes uint64 `json:"unacked_bytes"`
}

// IsGap reports whether the record stands for records that are missing.
func (r *Record) IsGap() bool { return r.Event == Lost || r.Event == Refused }
