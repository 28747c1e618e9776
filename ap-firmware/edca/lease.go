// SPDX-License-Identifier: Apache-2.0

package edca

import (
	"errors"
	"fmt"
	"slices"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The rules of this file:
//
//   - A SetEdca replaces the whole set, or is refused as a whole; then the set in force stays, under its old lease.
//   - Generations grow within a stream. The generation of the last set with the values of the last set prolongs its
//     lease; if the lease has ended, the set is in force again.
//   - A new stream may come from another controller process with other numbers, so its first SetEdca is accepted
//     whatever its generation.
//   - When the lease ends, or the set is empty, or the driver or hostapd refused it, the access point's own values are
//     in force: generation 0.

// InForce is the set in force. With generation 0 it is empty, and the access point's own values are in force.
type InForce struct {
	Generation uint64
	// Queues has at most one entry for each category, in the order of the categories.
	Queues []Queue
	// Stations is the same of what is announced to the stations.
	Stations []Queue
	LeaseMS  uint32
	// When the set ends, on the clock of `nowUS`.
	DeadlineUS int64
}

// Outcome is what a SetEdca did.
type Outcome int

// The outcomes of a SetEdca that was accepted.
const (
	// Replaced means that another set is in force than before.
	Replaced Outcome = iota
	// Prolonged means that the set in force is the same and ends later.
	Prolonged
	// Emptied means that the access point's own values are in force.
	Emptied
)

// Lease is the set in force and when it ends. Its zero value has the access point's own values in force. It is not safe
// for use by several goroutines.
type Lease struct {
	inForce InForce
	// The last set accepted on this stream; generation 0 before the first.
	last struct {
		generation       uint64
		queues, stations []Queue
	}
}

// InForce returns the set in force. Its queues must not be changed.
func (l *Lease) InForce() InForce { return l.inForce }

// NewStream begins a stream with generations of its own. The set in force stays under its lease.
func (l *Lease) NewStream() { l.last.generation, l.last.queues, l.last.stations = 0, nil, nil }

// Set applies a SetEdca. An error is why the command was refused.
func (l *Lease) Set(nowUS int64, command *airboundv1.SetEdca) (Outcome, error) {
	l.Expire(nowUS)
	generation := command.GetGeneration()
	if generation == 0 {
		return 0, errors.New("set_edca: generation is 0")
	}
	queues, err := queuesOf("queues", command.GetQueues(), ownLimits)
	if err != nil {
		return 0, fmt.Errorf("set_edca: %w", err)
	}
	stations, err := queuesOf("stations", command.GetStations(), stationsLimits)
	if err != nil {
		return 0, fmt.Errorf("set_edca: %w", err)
	}
	isEmpty := len(queues) == 0 && len(stations) == 0
	// An empty set has no lease. To refuse it for its lease_ms would keep parameters in force that must go.
	if !isEmpty {
		if err := checkLease(command.GetLeaseMs()); err != nil {
			return 0, fmt.Errorf("set_edca: %w", err)
		}
	}
	same := generation == l.last.generation && slices.Equal(queues, l.last.queues) &&
		slices.Equal(stations, l.last.stations)
	if generation <= l.last.generation && !same {
		return 0, fmt.Errorf("set_edca: generation %d with other values does not exceed %d",
			generation, l.last.generation)
	}
	l.last.generation, l.last.queues, l.last.stations = generation, queues, stations
	before := l.inForce
	if isEmpty {
		l.inForce = InForce{}
		return Emptied, nil
	}
	l.inForce = InForce{
		Generation: generation, Queues: slices.Clip(queues), Stations: slices.Clip(stations),
		LeaseMS: command.GetLeaseMs(), DeadlineUS: nowUS + int64(command.GetLeaseMs())*usPerMS,
	}
	if before.Generation == generation && slices.Equal(before.Queues, queues) &&
		slices.Equal(before.Stations, stations) {
		return Prolonged, nil
	}
	return Replaced, nil
}

const usPerMS = 1000

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
