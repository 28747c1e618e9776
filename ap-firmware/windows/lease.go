// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"

	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Lease is the set of limits in force, sorted by station and address, and when it ends. Without one no window is
// limited.
type Lease struct{ lease.Lease[Limit] }

// Set applies a SetWindows. An error is why the command was refused.
func (l *Lease) Set(nowUS int64, command *airboundv1.SetWindows) (lease.Outcome, error) {
	limits, err := limitsOf(command.GetLimits())
	if err != nil {
		return 0, fmt.Errorf("set_windows: %w", err)
	}
	outcome, err := l.Lease.Set(nowUS, command.GetGeneration(), command.GetLeaseMs(), limits)
	if err != nil {
		return 0, fmt.Errorf("set_windows: %w", err)
	}
	return outcome, nil
}
