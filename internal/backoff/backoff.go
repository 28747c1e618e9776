// SPDX-License-Identifier: Apache-2.0

// Package backoff computes the waits between attempts to reach something.
package backoff

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff doubles from Min to Max, both above 0. Each wait is a random value of the upper half of its step, so that
// agents that lost the controller together do not reconnect together.
type Backoff struct {
	Min, Max time.Duration

	step time.Duration
}

// Next returns the wait before the next attempt.
func (b *Backoff) Next() time.Duration {
	b.step = min(max(b.step*2, b.Min), b.Max)
	half := b.step / 2
	return b.step - half + rand.N(half+1) //nolint:gosec // jitter needs no secrecy
}

// Reset makes the next wait the shortest again.
func (b *Backoff) Reset() { b.step = 0 }

// Sleep waits for d or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
