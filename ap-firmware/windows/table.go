// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"

	"github.com/airbound/airbound/ap-firmware/mac"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const nsPerSecond = 1_000_000_000

const (
	// sendingNS is how long a connection is one that sends after its station has sent data.
	sendingNS = 1 * nsPerSecond
	// aliveNS is how long a connection without packets is counted. A window that was offered holds until the next ACK:
	// an application that pauses between two files is to find its limit in force, and one that left its connection open
	// is to take no part of what its station may send.
	aliveNS = 60 * nsPerSecond
	// endedKeptNS is how long the kernel keeps a connection that has ended: what it sent is in a report by then.
	endedKeptNS = 5 * nsPerSecond
	// DestinationsMax is the most destinations of a station in a report: those that it sends to, then the latest. The
	// controller takes as many (STATION_DESTINATIONS_MAX in controller/airbound/core/reports.py).
	DestinationsMax = 64
)

// Table puts connections together by station and destination. It keeps no more than the kernel does: what is not in the
// kernel's table any more is dropped. It is not safe for use by several goroutines.
type Table struct {
	stations map[mac.Address]map[netip.Addr]*destination
	// flows has the bytes by the last observation, so that a connection that the kernel has forgotten leaves its bytes.
	flows map[FlowKey]bytesSeen
	round uint64

	observed         bool
	before           uint64
	deleted, evicted uint64
}

type bytesSeen struct {
	sent, received uint64
	round          uint64
}

type destination struct {
	round uint64
	// Since the pair is known.
	sentBytes, receivedBytes uint64
	seenNS                   uint64

	connections, sending, unscaled uint32
	srttUS                         uint64
	srttSamples                    uint32
	wiredMinUS, airMinUS           uint32
	mssBytes                       uint32
}

// NewTable makes an empty table.
func NewTable() *Table {
	return &Table{stations: map[mac.Address]map[netip.Addr]*destination{}, flows: map[FlowKey]bytesSeen{}}
}

// Observe takes over the kernel's table. createdTotal is how many connections the kernel's program has put into it so
// far, read before the table. The result are those that have ended a while ago and can be deleted; the caller does so
// and calls Deleted.
func (t *Table) Observe(nowNS, createdTotal uint64, flows []Flow) []FlowKey {
	t.round++
	var ended []FlowKey
	for i := range flows {
		flow := &flows[i]
		t.add(nowNS, flow)
		if flow.Ended && nowNS > flow.SeenNS+endedKeptNS {
			ended = append(ended, flow.Key)
		}
	}
	maps.DeleteFunc(t.flows, func(_ FlowKey, seen bytesSeen) bool { return seen.round != t.round })
	maps.DeleteFunc(t.stations, func(_ mac.Address, destinations map[netip.Addr]*destination) bool {
		maps.DeleteFunc(destinations, func(_ netip.Addr, d *destination) bool { return d.round != t.round })
		return len(destinations) == 0
	})
	t.countEvicted(createdTotal, uint64(len(flows)))
	return ended
}

// countEvicted compares what was put in with what is there: the kernel does not count what it evicts.
func (t *Table) countEvicted(created, present uint64) {
	if !t.observed {
		t.observed, t.before = true, present-min(created, present)
	}
	in, out := t.before+created, t.deleted+present
	if in > out {
		t.evicted = max(t.evicted, in-out)
	}
}

// Deleted counts a connection that was deleted from the kernel's table.
func (t *Table) Deleted() { t.deleted++ }

// EvictedTotal is how many connections the kernel removed from the full table.
func (t *Table) EvictedTotal() uint64 { return t.evicted }

// Connections is how many the kernel's table has.
func (t *Table) Connections() int { return len(t.flows) }

func (t *Table) add(nowNS uint64, flow *Flow) {
	d := t.destination(flow.Key)
	before, known := t.flows[flow.Key]
	if !known || flow.SentBytes < before.sent || flow.ReceivedBytes < before.received {
		before = bytesSeen{} // Another connection with the same ports.
	}
	d.sentBytes += flow.SentBytes - before.sent
	d.receivedBytes += flow.ReceivedBytes - before.received
	d.seenNS = max(d.seenNS, flow.SeenNS)
	t.flows[flow.Key] = bytesSeen{sent: flow.SentBytes, received: flow.ReceivedBytes, round: t.round}
	// A packet may have passed after `now` was read.
	if flow.Ended || flow.SeenNS+aliveNS <= nowNS {
		return
	}
	d.connections++
	if !flow.Scaled {
		d.unscaled++
	}
	if flow.MSSBytes != 0 {
		d.mssBytes = lesser(d.mssBytes, uint32(flow.MSSBytes))
	}
	d.wiredMinUS = lesser(d.wiredMinUS, flow.Wired.MinUS)
	d.airMinUS = lesser(d.airMinUS, flow.Air.MinUS)
	if flow.SentNS == 0 || flow.SentNS+sendingNS <= nowNS {
		return
	}
	d.sending++
	if flow.Wired.SRTTUS != 0 && flow.Air.SRTTUS != 0 {
		d.srttUS += uint64(flow.Wired.SRTTUS) + uint64(flow.Air.SRTTUS)
		d.srttSamples++
	}
}

// lesser is the smaller of two values of which 0 stands for none.
func lesser(a, b uint32) uint32 {
	if a == 0 || b == 0 {
		return a | b
	}
	return min(a, b)
}

// destination returns the one of a connection, with what is counted anew in each observation at zero.
func (t *Table) destination(key FlowKey) *destination {
	destinations := t.stations[key.Station]
	if destinations == nil {
		destinations = map[netip.Addr]*destination{}
		t.stations[key.Station] = destinations
	}
	address := key.Remote()
	d := destinations[address]
	if d == nil {
		d = &destination{}
		destinations[address] = d
	}
	if d.round != t.round {
		*d = destination{
			round: t.round, sentBytes: d.sentBytes, receivedBytes: d.receivedBytes, seenNS: d.seenNS,
		}
	}
	return d
}

// Destinations returns what a report says of a station, sorted by address.
func (t *Table) Destinations(station mac.Address, nowNS uint64) []*airboundv1.StationDestination {
	known := t.stations[station]
	addresses := make([]netip.Addr, 0, len(known))
	for address, d := range known {
		if d.seenNS+aliveNS > nowNS {
			addresses = append(addresses, address)
		}
	}
	if len(addresses) > DestinationsMax {
		slices.SortFunc(addresses, func(a, b netip.Addr) int {
			return cmp.Or(-cmp.Compare(known[a].sending, known[b].sending),
				-cmp.Compare(known[a].seenNS, known[b].seenNS), a.Compare(b))
		})
		addresses = addresses[:DestinationsMax]
	}
	slices.SortFunc(addresses, netip.Addr.Compare)
	messages := make([]*airboundv1.StationDestination, len(addresses))
	for i, address := range addresses {
		messages[i] = known[address].message(address)
	}
	return messages
}

func (d *destination) message(address netip.Addr) *airboundv1.StationDestination {
	message := &airboundv1.StationDestination{
		Address: address.AsSlice(), Connections: d.connections, ConnectionsSending: d.sending,
		MssBytes: d.mssBytes, SentBytes: d.sentBytes, ReceivedBytes: d.receivedBytes, ConnectionsUnscaled: d.unscaled,
	}
	if d.srttSamples > 0 {
		message.SrttUs = uint32(d.srttUS / uint64(d.srttSamples)) //nolint:gosec // each is some seconds
	}
	if d.wiredMinUS != 0 && d.airMinUS != 0 {
		message.MinRttUs = d.wiredMinUS + d.airMinUS
	}
	return message
}
