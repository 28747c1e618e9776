// SPDX-License-Identifier: Apache-2.0

// Package lease decides which set of a controller is in force on an agent, and until when: a phone's bounds, an access
// point's EDCA parameters, its limits of windows. Its rules are the table in docs/leases.md, "In an agent", which its
// test reads. It is pure: sets that are valid, and the time, come in.
package lease

import (
	"errors"
	"fmt"
	"slices"
)

// Limits of a lease: one that is shorter would end with a lost packet, and after the longest a controller that is gone
// has no effect.
const (
	MinMS = 1_000
	MaxMS = 60_000
)

const usPerMS = 1_000

// InForce is the set in force. With generation 0 it is empty, and what the agent would do by itself is in force.
type InForce[Entry comparable] struct {
	Generation uint64
	// Entries must not be changed.
	Entries []Entry
	LeaseMS uint32
	// DeadlineUS is when the set ends, on the clock of `nowUS`.
	DeadlineUS int64
}

// Outcome is what a set did that was accepted.
type Outcome int

// The outcomes.
const (
	// Replaced means that another set is in force than before.
	Replaced Outcome = iota
	// Prolonged means that the set in force is the same and ends later.
	Prolonged
	// Emptied means that no set is in force.
	Emptied
)

// Lease is the set in force and when it ends. In its zero value no set is in force. It is not safe for use by several
// goroutines.
type Lease[Entry comparable] struct {
	inForce InForce[Entry]
	// The last set accepted on this stream; generation 0 before the first.
	last struct {
		generation uint64
		entries    []Entry
	}
}

// InForce returns the set in force.
func (l *Lease[Entry]) InForce() InForce[Entry] { return l.inForce }

// NewStream begins a stream with generations of its own: it may come from another controller. The set in force stays
// under its lease.
func (l *Lease[Entry]) NewStream() { l.last.generation, l.last.entries = 0, nil }

// Set replaces the set in force, or prolongs it. The entries are valid, and in an order that does not depend on the
// message's if that has no meaning. An error is why the set was refused.
func (l *Lease[Entry]) Set(nowUS int64, generation uint64, leaseMS uint32, entries []Entry) (Outcome, error) {
	l.Expire(nowUS)
	if generation == 0 {
		return 0, errors.New("generation is 0")
	}
	// An empty set has no lease. To refuse it for its lease_ms would keep in force what must go.
	if len(entries) > 0 {
		if err := check(leaseMS); err != nil {
			return 0, err
		}
	}
	switch {
	case generation < l.last.generation:
		return 0, fmt.Errorf("generation %d is below %d", generation, l.last.generation)
	case generation == l.last.generation && !slices.Equal(entries, l.last.entries):
		return 0, fmt.Errorf("generation %d came before with other entries", generation)
	}
	l.last.generation, l.last.entries = generation, entries
	if len(entries) == 0 {
		l.Drop()
		return Emptied, nil
	}
	before := l.inForce
	l.inForce = InForce[Entry]{
		Generation: generation, Entries: slices.Clip(entries), LeaseMS: leaseMS, DeadlineUS: deadlineUS(nowUS, leaseMS),
	}
	if before.Generation == generation && slices.Equal(before.Entries, entries) {
		return Prolonged, nil
	}
	return Replaced, nil
}

// Renew prolongs the set in force, and returns whether it has this generation. An error is why the renewal was refused.
func (l *Lease[Entry]) Renew(nowUS int64, generation uint64, leaseMS uint32) (bool, error) {
	l.Expire(nowUS)
	if generation == 0 {
		return false, errors.New("generation is 0")
	}
	if err := check(leaseMS); err != nil {
		return false, err
	}
	if generation != l.inForce.Generation {
		return false, nil
	}
	l.inForce.LeaseMS, l.inForce.DeadlineUS = leaseMS, deadlineUS(nowUS, leaseMS)
	return true, nil
}

// Expire drops the set if its lease has ended, and returns whether it did.
func (l *Lease[Entry]) Expire(nowUS int64) bool {
	if l.inForce.Generation == 0 || nowUS < l.inForce.DeadlineUS {
		return false
	}
	l.Drop()
	return true
}

// Drop ends the set before its lease does: it could not be applied, or the agent stops.
func (l *Lease[Entry]) Drop() { l.inForce = InForce[Entry]{} }

func check(leaseMS uint32) error {
	if leaseMS < MinMS || leaseMS > MaxMS {
		return fmt.Errorf("lease_ms %d is not within %d to %d", leaseMS, MinMS, MaxMS)
	}
	return nil
}

func deadlineUS(nowUS int64, leaseMS uint32) int64 { return nowUS + int64(leaseMS)*usPerMS }
