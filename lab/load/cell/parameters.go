// SPDX-License-Identifier: Apache-2.0

// Package cell models cells: what their access points and terminals report, and what terminals make of commands. Time
// comes in as microseconds of a monotonic clock; random numbers come from the seed, so that the same parameters give
// the same cells.
//
// A cell carries the same total whatever the number of its active senders, and its medium is nearly full: bounds follow
// from the number of senders alone.
package cell

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/netip"
)

const secondUS = 1_000_000

// Parameters of the model. Durations of 0 turn off what they are about.
type Parameters struct {
	Seed uint64
	// FirstCell is the number of the first cell, so that several generators can share a controller.
	FirstCell, Cells, TerminalsPerCell int
	// Sending is the largest share of a cell's terminals that send at the same time.
	Sending float64
	// IntervalUS is between two reports of a terminal that sends or has bounds.
	IntervalUS int64
	// Destinations is how many addresses all terminals send to; 0 gives each cell one of its own.
	Destinations int
	// Flows is how many of them each sends to at the same time, at most FlowsMax; 0 is as 1.
	Flows int
	// Classes has each flow be of an application with a class, and the terminals able to do what that calls for.
	Classes bool
	// ChangeEveryUS is between two changes of a cell's set of senders.
	ChangeEveryUS int64
	// RoamEveryUS and ReconnectEveryUS are means of one station and one agent.
	RoamEveryUS, ReconnectEveryUS int64
	// NewMACs has a terminal that reconnects come back with another MAC address, as phones do that randomise theirs.
	NewMACs bool
	// SharedAddress has every agent connect from 127.0.0.1; access points then report no addresses.
	SharedAddress bool
}

// Indices of the random sequences that one agent has.
const (
	sequenceReports = iota
	sequenceReconnects
	sequenceRoams
	sequenceChanges
	sequenceMACs
)

// kinds of agents, for random sequences and MAC addresses.
const (
	kindTerminal    = 1
	kindAccessPoint = 2
)

// random is the sequence of one agent for one purpose; what one draws has no influence on what others draw.
func (p Parameters) random(kind, number, sequence int) *rand.Rand {
	const bitsOfKind, bitsOfSequence = 8, 8
	n, k, s := uint64(number), uint64(kind), uint64(sequence) //nolint:gosec // not negative
	stream := n<<(bitsOfKind+bitsOfSequence) | k<<bitsOfSequence | s
	return rand.New(rand.NewPCG(p.Seed, stream)) //nolint:gosec // a model, no secret
}

// mac is a locally administered unicast address.
func mac(kind, number int) []byte {
	prefix := []byte{0x02, byte(kind)}                           //nolint:gosec // one of the kinds
	return binary.BigEndian.AppendUint32(prefix, uint32(number)) //nolint:gosec // bounded by the options
}

// Source addresses: terminals have 127.64.0.0/10 without its first address, access points 127.128.0.0/10.
const (
	terminalSources    = 127<<24 | 64<<16
	accessPointSources = 127<<24 | 128<<16
	// AgentsMax is how many agents of a kind there can be.
	AgentsMax = 1<<22 - 1
)

func (p Parameters) source(first uint32, number int) netip.Addr {
	if p.SharedAddress {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return ipv4(first + 1 + uint32(number)) //nolint:gosec // at most AgentsMax
}

// destination is an address of 198.18.0.0/15, which is for benchmarks (RFC 2544).
func (p Parameters) destination(cell, terminal, flow int) (netip.Addr, int64) {
	number := cell
	if p.Destinations > 0 {
		number = terminal % p.Destinations
	}
	const first, count = 198<<24 | 18<<16, 1 << 17
	number += flow * (count / FlowsMax)
	// Minimum RTTs of 20 to 60 ms: a share of the capacity is tens of segments, so the bounds of n and n / 2 differ by
	// more than a controller tolerates.
	const rttBaseUS, rttStepUS, rttSteps = 20_000, 4_000, 11
	address := ipv4(first + uint32(number%count)) //nolint:gosec // not negative
	return address, rttBaseUS + rttStepUS*int64(number%rttSteps)
}

func ipv4(number uint32) netip.Addr {
	var octets [4]byte
	binary.BigEndian.PutUint32(octets[:], number)
	return netip.AddrFrom4(octets)
}

// Times gives the moments of a recurring event: 0.5 to 1.5 of the mean apart, reckoned from the planned moment and not
// from when it was carried out.
type Times struct {
	random  *rand.Rand
	everyUS int64
	nextUS  int64
}

// never is planned at no time.
var never = Times{nextUS: math.MaxInt64}

func newTimes(random *rand.Rand, everyUS, startUS int64) Times {
	if everyUS == 0 {
		return never
	}
	// The first lies anywhere within one mean, so that agents do not start in step.
	return Times{random: random, everyUS: everyUS, nextUS: startUS + random.Int64N(everyUS)}
}

// NextUS is the planned moment; math.MaxInt64 if there is none.
func (t *Times) NextUS() int64 { return t.nextUS }

// Due reports whether the planned moment has come, and plans the next one then.
func (t *Times) Due(nowUS int64) bool {
	if nowUS < t.nextUS {
		return false
	}
	t.nextUS += t.everyUS/2 + t.random.Int64N(t.everyUS)
	return true
}
