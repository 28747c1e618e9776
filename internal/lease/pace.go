// SPDX-License-Identifier: Apache-2.0

package lease

import "math"

// How many sets an agent puts in force: SetsAtOnce after a second without any, and then one each SetIntervalUS. A
// controller sends a set when something changes in its cell; each costs a phone some 0.4 ms of CPU and a line of its
// log, so that one that sends without end would wear out what it controls.
const (
	SetsAtOnce    = 10
	SetIntervalUS = 100_000
)

// Pace says when sets may be put in force (the generic cell rate algorithm of ITU-T I.371). Its zero value is ready.
type Pace struct {
	// freeUS is when there will have been no set for SetIntervalUS, if no other comes.
	freeUS int64
}

// Take counts a set now, and returns nowUS; or it counts none, and returns the time to try again.
func (p *Pace) Take(nowUS int64) int64 {
	if dueUS := p.freeUS - (SetsAtOnce-1)*SetIntervalUS; nowUS < dueUS {
		return dueUS
	}
	p.freeUS = max(p.freeUS, nowUS) + SetIntervalUS
	return nowUS
}

// Held is the pace of one kind of set, and the last of those that came too fast. Its zero value is ready.
type Held[Command any] struct {
	pace    Pace
	waiting *Command
	dueUS   int64
}

// Admit returns whether a command is to be executed now. If not it waits, in the place of one that waited before. What
// removes a set that is in force never waits.
func (h *Held[Command]) Admit(nowUS int64, command *Command, removes bool) bool {
	if !removes {
		if h.dueUS = h.pace.Take(nowUS); h.dueUS != nowUS {
			h.waiting = command
			return false
		}
	}
	h.waiting = nil
	return true
}

// Due returns the command that has waited for long enough; nil if none has. It waits no more then.
func (h *Held[Command]) Due(nowUS int64) *Command {
	if h.waiting == nil || nowUS < h.dueUS {
		return nil
	}
	if h.dueUS = h.pace.Take(nowUS); h.dueUS != nowUS {
		return nil
	}
	command := h.waiting
	h.waiting = nil
	return command
}

// NextUS is when Due must be called at the latest.
func (h *Held[Command]) NextUS() int64 {
	if h.waiting == nil {
		return math.MaxInt64
	}
	return h.dueUS
}

// Drop forgets what waits: another controller may be at the other end now.
func (h *Held[Command]) Drop() { h.waiting = nil }
