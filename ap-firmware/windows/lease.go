// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"slices"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The rules of this file are those of EDCA parameters, package edca:
//
//   - A SetWindows replaces the whole set, or is refused as a whole; then the set in force stays, under its old lease.
//   - Generations grow within a stream. The generation of the last set with the limits of the last set prolongs its
//     lease; if the lease has ended, the set is in force again.
//   - A new stream may come from another controller process with other numbers, so its first SetWindows is accepted
//     whatever its generation.
//   - When the lease ends, or the set is empty, or the kernel refused it, no window is limited: generation 0.

// InForce is the set in force. With generation 0 it is empty.
type InForce struct {
	Generation uint64
	// Limits are sorted by station and address, each once.
	Limits  []Limit
	LeaseMS uint32
	// DeadlineUS is when the set ends, on the clock of `nowUS`.
	DeadlineUS int64
}

// Outcome is what a SetWindows did.
type Outcome int

// The outcomes of a SetWindows that was accepted.
const (
	// Replaced means that another set is in force than before.
	Replaced Outcome = iota
	// Prolonged means that the set in force is the same and ends later.
	Prolonged
	// Emptied means that no window is limited.
	Emptied
)

// Lease is the set in force and when it ends. Its zero value has none in force. It is not safe for use by several
// goroutines.
type Lease struct {
	inForce InForce
	// The last set accepted on this stream; generation 0 before the first.
	last struct {
		generation uint64
		limits     []Limit
	}
}

const usPerMS = 1000

// InForce returns the set in force. Its limits must not be changed.
func (l *Lease) InForce() InForce { return l.inForce }

// NewStream begins a stream with generations of its own. The set in force stays under its lease.
func (l *Lease) NewStream() { l.last.generation, l.last.limits = 0, nil }

// Set applies a SetWindows. An error is why the command was refused.
func (l *Lease) Set(nowUS int64, command *airboundv1.SetWindows) (Outcome, error) {
	l.Expire(nowUS)
	generation := command.GetGeneration()
	if generation == 0 {
		return 0, errors.New("set_windows: generation is 0")
	}
	limits, err := limitsOf(command.GetLimits())
	if err != nil {
		return 0, fmt.Errorf("set_windows: %w", err)
	}
	// An empty set has no lease. To refuse it for its lease_ms would keep limits in force that must go.
	if len(limits) > 0 {
		if err := checkLease(command.GetLeaseMs()); err != nil {
			return 0, fmt.Errorf("set_windows: %w", err)
		}
	}
	same := generation == l.last.generation && slices.Equal(limits, l.last.limits)
	if generation <= l.last.generation && !same {
		return 0, fmt.Errorf("set_windows: generation %d with other limits does not exceed %d",
			generation, l.last.generation)
	}
	l.last.generation, l.last.limits = generation, limits
	before := l.inForce
	if len(limits) == 0 {
		l.inForce = InForce{}
		return Emptied, nil
	}
	l.inForce = InForce{
		Generation: generation, Limits: limits, LeaseMS: command.GetLeaseMs(),
		DeadlineUS: nowUS + int64(command.GetLeaseMs())*usPerMS,
	}
	if before.Generation == generation && slices.Equal(before.Limits, limits) {
		return Prolonged, nil
	}
	return Replaced, nil
}

// Expire drops the set if its lease has ended, and returns whether it did.
func (l *Lease) Expire(nowUS int64) bool {
	if l.inForce.Generation == 0 || nowUS < l.inForce.DeadlineUS {
		return false
	}
	l.inForce = InForce{}
	return true
}

// Drop ends the set before its lease does: it could not be applied, or the agent stops.
func (l *Lease) Drop() { l.inForce = InForce{} }
