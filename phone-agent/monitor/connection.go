// SPDX-License-Identifier: Apache-2.0

// Package monitor sums up the kernel's TCP connections to the destinations of a TerminalReport. It is pure: snapshots
// and the time come in, values go out. A Source (package procfs) reads the kernel.
package monitor

import (
	"net/netip"

	"github.com/airbound/airbound/phone-agent/applications"
)

// Connection is one TCP connection of the network namespace; the fields are the columns of /proc/net/tcp_monitor.
type Connection struct {
	// When the kernel read the connection, CLOCK_MONOTONIC.
	TimeUS uint64
	// established, syn_sent, syn_recv, fin_wait1, fin_wait2, close_wait, last_ack or closing.
	State  string
	Local  netip.AddrPort
	Remote netip.AddrPort
	UID    uint32
	// What the application has its packets marked with; 0: not at all, or not known (Marker).
	DSCP uint8
	// open, disorder, cwr, recovery or loss.
	CAState  string
	CwndSegs uint32
	// SsthreshUnset while no loss has set it.
	SsthreshSegs uint32
	// 0: no bound is in force.
	BoundMinSegs uint32
	BoundMaxSegs uint32
	// 0: no sample yet.
	SRTTUS       uint32
	LastRTTUS    uint32
	MinRTTUS     uint32
	MSSBytes     uint32
	UnsentBytes  uint64
	UnackedBytes uint64
	RcvqBytes    uint64
	// Cumulative since the connection began.
	AckedBytes uint64
	Events     Events
}

// SsthreshUnset is what the kernel prints for a slow-start threshold that nothing has set (TCP_INFINITE_SSTHRESH).
const SsthreshUnset = 0x7fffffff

// Events counts a connection's TCP events since it began.
type Events struct {
	LocalCongestion uint64
	DupAck          uint64
	Sack            uint64
	FastRetransmit  uint64
	Timeout         uint64
	Undo            uint64
}

// QueuedBytes is what the application has written and the other end has not acknowledged. A SYN or FIN takes a sequence
// number (RFC 9293, 3.4), which the kernel counts as a byte.
func (c *Connection) QueuedBytes() uint64 {
	queued := saturatingAdd(c.UnsentBytes, c.UnackedBytes)
	switch c.State {
	case "syn_sent", "syn_recv", "fin_wait1", "last_ack", "closing":
		return max(queued, 1) - 1
	}
	return queued
}

func (c *Connection) flow() applications.Flow {
	return applications.Flow{UID: c.UID, DSCP: c.DSCP, RemotePort: c.Remote.Port()}
}

func (e Events) plus(other Events) Events {
	return Events{
		LocalCongestion: saturatingAdd(e.LocalCongestion, other.LocalCongestion),
		DupAck:          saturatingAdd(e.DupAck, other.DupAck),
		Sack:            saturatingAdd(e.Sack, other.Sack),
		FastRetransmit:  saturatingAdd(e.FastRetransmit, other.FastRetransmit),
		Timeout:         saturatingAdd(e.Timeout, other.Timeout),
		Undo:            saturatingAdd(e.Undo, other.Undo),
	}
}

// minus needs every count of other to be at most that of e; see atLeast.
func (e Events) minus(other Events) Events {
	return Events{
		LocalCongestion: e.LocalCongestion - other.LocalCongestion,
		DupAck:          e.DupAck - other.DupAck,
		Sack:            e.Sack - other.Sack,
		FastRetransmit:  e.FastRetransmit - other.FastRetransmit,
		Timeout:         e.Timeout - other.Timeout,
		Undo:            e.Undo - other.Undo,
	}
}

func (e Events) atLeast(other Events) bool {
	return e.LocalCongestion >= other.LocalCongestion && e.DupAck >= other.DupAck && e.Sack >= other.Sack &&
		e.FastRetransmit >= other.FastRetransmit && e.Timeout >= other.Timeout && e.Undo >= other.Undo
}

// saturatingAdd keeps a sum of wrong counters from wrapping to a small number.
func saturatingAdd(a, b uint64) uint64 {
	if sum := a + b; sum >= a {
		return sum
	}
	return ^uint64(0)
}
