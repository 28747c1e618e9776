// SPDX-License-Identifier: Apache-2.0

package edca

import (
	"fmt"

	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Entry is one queue of a set: of the access point itself, or as it is announced to the stations.
type Entry struct {
	IsAnnounced bool
	Queue
}

// Lease is the set of EDCA parameters in force and when it ends. Without one the access point's own values are in
// force.
type Lease struct{ lease.Lease[Entry] }

// Set applies a SetEdca; stations is what the access point announces of its own. An error is why the command was
// refused.
func (l *Lease) Set(nowUS int64, command *airboundv1.SetEdca, stations Values) (lease.Outcome, error) {
	entries, err := entriesOf(command, stations)
	if err != nil {
		return 0, fmt.Errorf("set_edca: %w", err)
	}
	outcome, err := l.Lease.Set(nowUS, command.GetGeneration(), command.GetLeaseMs(), entries)
	if err != nil {
		return 0, fmt.Errorf("set_edca: %w", err)
	}
	return outcome, nil
}

// Queues returns the access point's own queues of the set in force: at most one of each category, in their order.
func (l *Lease) Queues() []Queue { return l.queues(false) }

// Announced returns the same of what is announced to the stations.
func (l *Lease) Announced() []Queue { return l.queues(true) }

func (l *Lease) queues(isAnnounced bool) []Queue {
	var queues []Queue
	for _, entry := range l.InForce().Entries {
		if entry.IsAnnounced == isAnnounced {
			queues = append(queues, entry.Queue)
		}
	}
	return queues
}
