// SPDX-License-Identifier: Apache-2.0

// Package windows is what an access point knows and decides about its stations' TCP connections: which limits of
// receive windows are in force, and what the connections' packets say about their destinations.
//
// It is pure: commands and the kernel's table come in, limits and messages go out; the time is a parameter. Package
// tcbpf is its edge.
package windows

import (
	"net/netip"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// Limit is how much each connection of a station to an address may have in flight.
type Limit struct {
	Station mac.Address
	// Address is the destination; the zero value stands for every one that has no limit of its own.
	Address  netip.Addr
	MaxBytes uint32
}

// Family is that of a connection's addresses.
type Family uint8

// The families. Of other packets nothing is known.
const (
	IPv4 Family = 4
	IPv6 Family = 6
)

// FlowKey is a connection of a station. It has no pointers: thousands are kept.
type FlowKey struct {
	Station mac.Address
	Family  Family
	// Addresses are in network byte order; those of IPv4 have 4 octets, and zeros follow.
	StationAddress, RemoteAddress [16]byte
	// Ports are as the kernel's map has them.
	StationPort, RemotePort uint16
}

// Remote returns the address of the other side.
func (k FlowKey) Remote() netip.Addr {
	if k.Family == IPv4 {
		return netip.AddrFrom4([4]byte(k.RemoteAddress[:4]))
	}
	return netip.AddrFrom16(k.RemoteAddress)
}

// Half is the round trip from the access point to one side; zeros without a sample.
type Half struct{ SRTTUS, MinUS uint32 }

// Observation is what the kernel has counted.
type Observation struct {
	Connections, ConnectionsMax int
	// EvictedTotal is how many connections were removed from the full table, LimitedTotal how many segments had their
	// window lowered.
	EvictedTotal, LimitedTotal uint64
}

// Flow is what the kernel's program knows of a connection. Times are CLOCK_MONOTONIC, 0 for never.
type Flow struct {
	Key FlowKey
	// SeenNS is when a packet passed, SentNS when the station sent data.
	SeenNS, SentNS uint64
	// Payload, also what was sent again.
	SentBytes, ReceivedBytes uint64
	// Wired is the half to the destination, Air that to the station.
	Wired, Air Half
	// MSSBytes is the smaller one of both SYNs; 0 if none was seen.
	MSSBytes uint16
	Ended    bool
	// Scaled is whether the windows' scale is known.
	Scaled bool
}
