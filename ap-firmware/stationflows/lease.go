// SPDX-License-Identifier: Apache-2.0

package stationflows

import (
	"fmt"

	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Lease is the set of flows in force, sorted by station and address, and when it ends. Without one every packet goes as
// it comes.
type Lease struct{ lease.Lease[Flow] }

// Set applies a SetStationFlows. An error is why the command was refused.
func (l *Lease) Set(nowUS int64, command *airboundv1.SetStationFlows) (lease.Outcome, error) {
	flows, err := flowsOf(command.GetFlows())
	if err != nil {
		return 0, fmt.Errorf("set_station_flows: %w", err)
	}
	outcome, err := l.Lease.Set(nowUS, command.GetGeneration(), command.GetLeaseMs(), flows)
	if err != nil {
		return 0, fmt.Errorf("set_station_flows: %w", err)
	}
	return outcome, nil
}
