// SPDX-License-Identifier: Apache-2.0

// Package path is a mobile network's path around one handover; pure.
//
// Nishikawa and Shiroshima (2015, section 3) saw such handovers from trains: a queue of seconds before; then all that
// is sent for some seconds is lost; then what is sent is not lost but held until the handover completes; then the
// queue of the new base station. Both directions are back at the same moment, the completion, but the losses of one
// may begin earlier than those of the other.
//
//	delay up
//	   |        ______                      \
//	   |       /      |                      \___
//	   | _____/       |  lost   |   held   |      \_______
//	   +-------------------------------------------------- when a packet is sent
//	          |       |         |          |
//	       builds   LossAt    +Lost      +Held: complete
//
// A queue is a delay here, not a rate: other phones' packets fill it. So a path is the same for everything that is
// sent over it, whatever else is, and rivals can be compared packet by packet.
package path

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Direction of a packet.
type Direction int

// The directions.
const (
	Up Direction = iota
	Down
)

// Of the queues: how long before the loss the first one begins, how long it takes to grow, how long the second one
// stays, and how much of it is gone after each second from then on.
const (
	QueueBegins    = 18 * time.Second
	QueueGrows     = 5 * time.Second
	QueueStays     = 5 * time.Second
	DrainPerSecond = time.Second / 2
)

// JitterSlot is the time for which the jitter has one value.
const JitterSlot = 10 * time.Millisecond

// Description is one handover. All moments are since time zero, when the first record is sent.
type Description struct {
	// OneWay is the delay of each direction without a queue.
	OneWay time.Duration `json:"one_way_ns"`
	// Jitter is the largest part of the delay that changes, every JitterSlot.
	Jitter time.Duration `json:"jitter_ns"`
	// LossAt is when the losses up begin, Lost for how long they go on, Held for how long packets are held after.
	LossAt time.Duration `json:"loss_at_ns"`
	Lost   time.Duration `json:"lost_ns"`
	Held   time.Duration `json:"held_ns"`
	// Before and After are the queue's delays, up only.
	Before time.Duration `json:"before_ns"`
	After  time.Duration `json:"after_ns"`
	// DownShift is by how much the losses down begin later than those up.
	DownShift time.Duration `json:"down_shift_ns"`
	// Seed chooses the jitter.
	Seed uint64 `json:"seed"`
}

// Check returns an error that names what is wrong with a description.
func (d *Description) Check() error {
	for name, value := range map[string]time.Duration{
		"one_way_ns": d.OneWay, "jitter_ns": d.Jitter, "loss_at_ns": d.LossAt, "lost_ns": d.Lost, "held_ns": d.Held,
		"before_ns": d.Before, "after_ns": d.After,
	} {
		if value < 0 {
			return fmt.Errorf("%s is negative: %v", name, value)
		}
	}
	if d.Before > QueueGrows {
		return fmt.Errorf("before_ns: a queue of %v would grow by more than a second each second", d.Before)
	}
	if d.LossAt+d.DownShift < 0 {
		return errors.New("down_shift_ns: the losses down begin before time zero")
	}
	return nil
}

// Complete is when the handover completes.
func (d *Description) Complete() time.Duration { return d.LossAt + d.Lost + d.Held }

// Path is the state of one phone's path: what was sent last, so that nothing overtakes.
type Path struct {
	description Description
	last        [2]time.Duration
}

// New returns an unused path.
func New(description Description) *Path {
	// The connections are made before time zero.
	return &Path{description: description, last: [2]time.Duration{math.MinInt64, math.MinInt64}}
}

// Send returns when a packet that is sent now arrives at the other end, and false if it is lost. Moments may not go
// back from one call to the next.
func (p *Path) Send(now time.Duration, direction Direction) (time.Duration, bool) {
	d := &p.description
	lossAt, complete := d.LossAt, d.Complete()
	if direction == Down {
		lossAt += d.DownShift
	}
	// What is held begins up and down at the same moment.
	heldAt := d.LossAt + d.Lost
	if now >= lossAt && now < heldAt {
		return 0, false
	}
	leaves := now
	if now >= heldAt && now < complete {
		leaves = complete
	}
	arrives := leaves + d.OneWay + d.jitter(leaves, direction)
	if direction == Up {
		arrives += d.Queue(leaves)
	}
	arrives = max(arrives, p.last[direction])
	p.last[direction] = arrives
	return arrives, true
}

// Queue is the delay of the queue up for a packet that reaches it at a moment.
func (d *Description) Queue(at time.Duration) time.Duration {
	if complete := d.Complete(); at >= complete {
		drained := max(0, at-complete-QueueStays)
		return max(0, d.After-time.Duration(drained.Seconds()*float64(DrainPerSecond)))
	}
	grown := min(max(0, at-(d.LossAt-QueueBegins)), QueueGrows)
	return time.Duration(float64(d.Before) * grown.Seconds() / QueueGrows.Seconds())
}

func (d *Description) jitter(at time.Duration, direction Direction) time.Duration {
	if d.Jitter == 0 {
		return 0
	}
	slot := uint64(at/JitterSlot)<<1 | uint64(direction)           //nolint:gosec // the bits are wanted
	return time.Duration(mix(d.Seed^mix(slot)) % uint64(d.Jitter)) //nolint:gosec // less than Jitter
}

// mix is the finaliser of splitmix64 (Steele, Lea, Flood 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
