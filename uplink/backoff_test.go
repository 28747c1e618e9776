// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"testing"
	"time"
)

func TestBackoffDoublesBetweenItsLimits(t *testing.T) {
	b := backoff{min: 100 * time.Millisecond, max: 5 * time.Second}
	steps := []time.Duration{100, 200, 400, 800, 1600, 3200, 5000, 5000}
	for round := range 2 {
		for i, milliseconds := range steps {
			step := milliseconds * time.Millisecond
			if got := b.next(); got < step/2 || got > step {
				t.Fatalf("round %d, wait %d is %v, want %v to %v", round, i, got, step/2, step)
			}
		}
		b.reset()
	}
}

func TestBackoffOfOneNanosecond(t *testing.T) {
	b := backoff{min: 1, max: 1}
	if got := b.next(); got > 1 {
		t.Fatalf("wait is %v, want at most 1ns", got)
	}
}
