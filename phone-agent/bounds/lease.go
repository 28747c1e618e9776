// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"errors"
	"fmt"
	"slices"
)

// The rules of this file:
//
//   - A SetBounds replaces the whole set, or is refused as a whole; a refused one leaves what held under its old lease.
//   - Generations grow within a stream. A new stream may come from another controller process that counts anew, so its
//     first SetBounds is accepted whatever its generation.
//   - A RenewLease extends only the set it names; any other is passed over, for it is about a set that is gone.
//   - When the lease ends, or the set is empty, or the back end failed, the kernel's defaults hold: generation 0.

// Held is the set in force. With generation 0 the kernel's defaults hold and the rest is empty.
type Held struct {
	Generation uint64
	Rules      []Rule
	Reason     string
	LeaseMS    uint32
	// The set holds until then, on the clock of `nowUS`.
	DeadlineUS int64
}

// Lease is the set in force and how long it holds. It is not safe for use by several goroutines.
type Lease struct {
	capabilities Capabilities
	held         Held
	// The last generation accepted on this stream; 0 before the first.
	streamGeneration uint64
}

// NewLease starts with the kernel's defaults.
func NewLease(capabilities Capabilities) *Lease { return &Lease{capabilities: capabilities} }

// Held returns the set in force. Its rules must not be changed.
func (l *Lease) Held() Held { return l.held }

// NewStream forgets how far the last stream's generations had come. What holds, holds on under its lease.
func (l *Lease) NewStream() { l.streamGeneration = 0 }

// Set takes a SetBounds. An error says why the command was refused.
func (l *Lease) Set(nowUS int64, command Set) error {
	l.Expire(nowUS)
	switch {
	case command.Generation == 0:
		return errors.New("set_bounds: generation is 0")
	case command.Generation <= l.streamGeneration:
		return fmt.Errorf("set_bounds: generation %d does not follow %d", command.Generation, l.streamGeneration)
	}
	if err := checkLease(command.LeaseMS); err != nil {
		return fmt.Errorf("set_bounds: %w", err)
	}
	rules, err := command.rules(l.capabilities)
	if err != nil {
		return fmt.Errorf("set_bounds: %w", err)
	}
	l.streamGeneration = command.Generation
	if len(rules) == 0 {
		l.held = Held{}
		return nil
	}
	l.held = Held{
		Generation: command.Generation,
		Rules:      slices.Clip(rules),
		Reason:     oneLine(command.Reason),
		LeaseMS:    command.LeaseMS,
		DeadlineUS: deadline(nowUS, command.LeaseMS),
	}
	return nil
}

// Renew takes a RenewLease and tells whether it concerned the set in force. An error says why it was refused.
func (l *Lease) Renew(nowUS int64, generation uint64, leaseMS uint32) (bool, error) {
	l.Expire(nowUS)
	if err := checkLease(leaseMS); err != nil {
		return false, fmt.Errorf("renew_lease: %w", err)
	}
	if generation == 0 {
		return false, errors.New("renew_lease: generation is 0")
	}
	if generation != l.held.Generation {
		return false, nil
	}
	l.held.LeaseMS = leaseMS
	l.held.DeadlineUS = deadline(nowUS, leaseMS)
	return true, nil
}

// Expire drops the set if its lease has ended, and tells whether it did.
func (l *Lease) Expire(nowUS int64) bool {
	if l.held.Generation == 0 || nowUS < l.held.DeadlineUS {
		return false
	}
	l.held = Held{}
	return true
}

// Drop gives the set up before its lease ends: the back end could not apply it, or the agent stops.
func (l *Lease) Drop() { l.held = Held{} }

func deadline(nowUS int64, leaseMS uint32) int64 { return nowUS + int64(leaseMS)*1000 }
