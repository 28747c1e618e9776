// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"context"
	"math/rand/v2"
	"time"
)

// backoff doubles from min to max. Each wait is drawn from the upper half of its step, so that agents that lost the
// controller together do not return together.
type backoff struct {
	min, max, step time.Duration
}

func (b *backoff) next() time.Duration {
	b.step = min(max(b.step*2, b.min), b.max)
	half := b.step / 2
	return b.step - half + rand.N(half+1) //nolint:gosec // Jitter needs no secrecy.
}

func (b *backoff) reset() { b.step = 0 }

func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
