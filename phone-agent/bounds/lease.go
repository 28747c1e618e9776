// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"errors"
	"fmt"
	"slices"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The rules of this file:
//
// - A SetBounds replaces the whole set, or is refused as a whole; then the set in force stays, under its old lease. -
// Generations grow within a stream. A new stream may come from another controller process with other numbers, so its
//     first SetBounds is accepted whatever its generation.
// - A RenewLease extends only the set it names; one for another set is ignored, for that set is gone. - When the lease
// ends, or the set is empty, or the back end failed, the kernel's defaults are in force: generation 0.

// InForce is the set in force. With generation 0 it is empty, and the kernel's defaults are in force.
type InForce struct {
	Generation uint64
	Rules      []Rule
	LeaseMS    uint32
	// When the set ends, on the clock of `nowUS`.
	DeadlineUS int64
}

// Lease is the set in force and when it ends. It is not safe for use by several goroutines.
type Lease struct {
	capabilities Capabilities
	inForce      InForce
	// The last generation accepted on this stream; 0 before the first.
	streamGeneration uint64
}

// NewLease starts with the kernel's defaults.
func NewLease(capabilities Capabilities) *Lease { return &Lease{capabilities: capabilities} }

// InForce returns the set in force. Its rules must not be changed.
func (l *Lease) InForce() InForce { return l.inForce }

// NewStream begins a stream with generations of its own. The set in force stays under its lease.
func (l *Lease) NewStream() { l.streamGeneration = 0 }

// Set applies a SetBounds. An error is why the command was refused.
func (l *Lease) Set(nowUS int64, command *airboundv1.SetBounds) error {
	l.Expire(nowUS)
	generation := command.GetGeneration()
	switch {
	case generation == 0:
		return errors.New("set_bounds: generation is 0")
	case generation <= l.streamGeneration:
		return fmt.Errorf("set_bounds: generation %d does not exceed %d", generation, l.streamGeneration)
	}
	if err := checkLease(command.GetLeaseMs()); err != nil {
		return fmt.Errorf("set_bounds: %w", err)
	}
	rules, err := rulesOf(command.GetBounds(), l.capabilities)
	if err != nil {
		return fmt.Errorf("set_bounds: %w", err)
	}
	l.streamGeneration = generation
	if len(rules) == 0 {
		l.inForce = InForce{}
		return nil
	}
	l.inForce = InForce{
		Generation: generation, Rules: slices.Clip(rules), LeaseMS: command.GetLeaseMs(),
		DeadlineUS: deadline(nowUS, command.GetLeaseMs()),
	}
	return nil
}

// Renew applies a RenewLease and returns whether it was for the set in force. An error is why it was refused.
func (l *Lease) Renew(nowUS int64, command *airboundv1.RenewLease) (bool, error) {
	l.Expire(nowUS)
	if err := checkLease(command.GetLeaseMs()); err != nil {
		return false, fmt.Errorf("renew_lease: %w", err)
	}
	if command.GetGeneration() == 0 {
		return false, errors.New("renew_lease: generation is 0")
	}
	if command.GetGeneration() != l.inForce.Generation {
		return false, nil
	}
	l.inForce.LeaseMS = command.GetLeaseMs()
	l.inForce.DeadlineUS = deadline(nowUS, command.GetLeaseMs())
	return true, nil
}

// Expire drops the set if its lease has ended, and returns whether it did.
func (l *Lease) Expire(nowUS int64) bool {
	if l.inForce.Generation == 0 || nowUS < l.inForce.DeadlineUS {
		return false
	}
	l.inForce = InForce{}
	return true
}

// Drop ends the set before its lease does: the back end could not apply it, or the agent stops.
func (l *Lease) Drop() { l.inForce = InForce{} }

func deadline(nowUS int64, leaseMS uint32) int64 { return nowUS + int64(leaseMS)*1000 }
