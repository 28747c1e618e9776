// SPDX-License-Identifier: Apache-2.0

// Package none is the back end of a kernel that cannot bound the congestion window at all: the agent only reports.
package none

import (
	"fmt"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
)

// Name is what the controller and `status` show.
const Name = "none"

// BackEnd is the apply.BackEnd that can do nothing.
type BackEnd struct{ why error }

var _ apply.BackEnd = BackEnd{}

// New makes a back end that names why there is no other.
func New(why error) BackEnd { return BackEnd{why} }

// Up implements apply.BackEnd.
func (BackEnd) Up() (bounds.Capabilities, error) { return bounds.Capabilities{Name: Name}, nil }

// Set implements apply.BackEnd.
func (b BackEnd) Set(rules []bounds.Rule) (apply.Outcome, error) {
	if len(rules) == 0 {
		return apply.Outcome{}, nil
	}
	return apply.Outcome{}, b.refusal()
}

// Live implements apply.BackEnd.
func (b BackEnd) Live() (apply.Live, error) { return apply.Live{}, b.refusal() }

// Close implements apply.BackEnd.
func (BackEnd) Close() error { return nil }

// CleanUp implements apply.BackEnd.
func (BackEnd) CleanUp() error { return nil }

func (b BackEnd) refusal() error { return fmt.Errorf("%w: %w", apply.ErrNotSupported, b.why) }
