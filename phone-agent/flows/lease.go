// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"fmt"

	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Lease is the set of flows in force, sorted by selector, and when it ends. Without one packets leave as they are.
type Lease struct {
	lease.Lease[Flow]
	capabilities Capabilities
}

// NewLease starts without flows.
func NewLease(capabilities Capabilities) *Lease { return &Lease{capabilities: capabilities} }

// Set applies a SetFlows. An error is why the command was refused.
func (l *Lease) Set(nowUS int64, command *airboundv1.SetFlows) (lease.Outcome, error) {
	wanted, err := flowsOf(command.GetFlows(), l.capabilities)
	if err != nil {
		return 0, fmt.Errorf("set_flows: %w", err)
	}
	outcome, err := l.Lease.Set(nowUS, command.GetGeneration(), command.GetLeaseMs(), wanted)
	if err != nil {
		return 0, fmt.Errorf("set_flows: %w", err)
	}
	return outcome, nil
}
