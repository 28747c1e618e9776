// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"fmt"

	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Lease is the set of bounds in force and when it ends. Without one the kernel's defaults are in force.
type Lease struct {
	lease.Lease[Rule]
	capabilities Capabilities
}

// NewLease starts with the kernel's defaults.
func NewLease(capabilities Capabilities) *Lease { return &Lease{capabilities: capabilities} }

// Set applies a SetBounds. An error is why the command was refused.
func (l *Lease) Set(nowUS int64, command *airboundv1.SetBounds) error {
	rules, err := rulesOf(command.GetBounds(), l.capabilities)
	if err == nil {
		_, err = l.Lease.Set(nowUS, command.GetGeneration(), command.GetLeaseMs(), rules)
	}
	if err != nil {
		return fmt.Errorf("set_bounds: %w", err)
	}
	return nil
}

// Renew applies a RenewLease and returns whether it was for the set in force. An error is why it was refused.
func (l *Lease) Renew(nowUS int64, command *airboundv1.RenewLease) (bool, error) {
	renewed, err := l.Lease.Renew(nowUS, command.GetGeneration(), command.GetLeaseMs())
	if err != nil {
		return false, fmt.Errorf("renew_lease: %w", err)
	}
	return renewed, nil
}
