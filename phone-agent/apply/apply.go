// SPDX-License-Identifier: Apache-2.0

// Package apply is the interface between the agent and a kernel that can bound the congestion window. A back end is one
// way to do so; each has a package of its own.
package apply

import (
	"errors"

	"github.com/airbound/airbound/phone-agent/bounds"
)

// ErrNotSupported is wrapped by errors of a back end about a kernel that does not have what the back end needs.
var ErrNotSupported = errors.New("the kernel does not support it")

// BackEnd is one way to bound the kernel's cwnd. It is not safe for use by several goroutines.
type BackEnd interface {
	// Up finds out what the kernel can do. It fails if the kernel cannot bound at all.
	Up() (bounds.Capabilities, error)
	// Set makes the rules the only ones in force; none restores the kernel's defaults. Rules that are in force already
	// are not written again. After an error, the rules from before are in force.
	Set(rules []bounds.Rule) (Outcome, error)
	// Live returns the rules in force now, those of other processes as well. It needs no Up and changes nothing.
	Live() (Live, error)
	// Close restores the kernel's defaults.
	Close() error
	// CleanUp restores the kernel's defaults after an agent that could not, whether or not Up was called. On a kernel
	// without the interface it does nothing.
	CleanUp() error
}

// Leaser is a BackEnd whose rules have a lease in the kernel or in another process, so that they end even if the agent
// hangs or was killed.
type Leaser interface {
	// Lease says when the rules end, on CLOCK_BOOTTIME. It is called before rules are set, and at each renewal. After
	// an error, rules must not be set.
	Lease(deadlineUS int64) error
}

// Outcome is what a Set found and did.
type Outcome struct {
	// Whether anything was written.
	Wrote bool
	// Whether other rules were in force than this back end had set: something else changed them.
	ExternalChange bool
}

// Live is what is in force in the kernel.
type Live struct {
	Rules []LiveRule
	// Why no rule has an Effect; empty if they have.
	NoEffects string
}

// LiveRule is a rule in force.
type LiveRule struct {
	bounds.Rule

	// Nil if the kernel does not count.
	Effect *Effect `json:"effect,omitempty"`
}

// Effect is how often a rule changed a connection's window since it was set; renewed and repeated sets do not reset it.
type Effect struct {
	// Windows raised to the minimum.
	Raised uint64 `json:"raised_total"`
	// Windows lowered to the maximum.
	Lowered uint64 `json:"lowered_total"`
}

// RulesOf returns the rules alone.
func (l Live) RulesOf() []bounds.Rule {
	rules := make([]bounds.Rule, len(l.Rules))
	for i, live := range l.Rules {
		rules[i] = live.Rule
	}
	return rules
}
