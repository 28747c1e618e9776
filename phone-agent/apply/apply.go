// SPDX-License-Identifier: Apache-2.0

// Package apply carries a set of rules into a kernel. A back end is one way to do so.
package apply

import "github.com/airbound/airbound/phone-agent/bounds"

// BackEnd is one way to bound the kernel's cwnd. It is not safe for use by several goroutines.
type BackEnd interface {
	// Up finds out what the kernel can do. It fails if the kernel cannot do it at all.
	Up() (bounds.Capabilities, error)
	// Set makes the rules the only ones that hold; none restores the kernel's defaults. Rules that hold already are not
	// written again. After an error, what held before holds.
	Set(rules []bounds.Rule) (Outcome, error)
	// Close restores the kernel's defaults.
	Close() error
	// CleanUp restores the kernel's defaults after an agent that could not, whether or not Up was called. A kernel
	// without the interface has nothing to clean up.
	CleanUp() error
}

// Outcome is what a Set found and did.
type Outcome struct {
	// Whether anything was written.
	Wrote bool
	// Whether the kernel held other rules than this back end had left there: someone else changed them.
	ForeignChange bool
}
