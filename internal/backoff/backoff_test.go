// SPDX-License-Identifier: Apache-2.0

package backoff_test

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/backoff"
)

func TestDoublesBetweenItsLimits(t *testing.T) {
	b := backoff.Backoff{Min: 100 * time.Millisecond, Max: 5 * time.Second}
	stepsMS := []int{100, 200, 400, 800, 1600, 3200, 5000, 5000}
	for round := range 2 {
		for i, ms := range stepsMS {
			step := time.Duration(ms) * time.Millisecond
			if got := b.Next(); got < step/2 || got > step {
				t.Fatalf("round %d, wait %d is %v, want %v to %v", round, i, got, step/2, step)
			}
		}
		b.Reset()
	}
}

func TestOneNanosecond(t *testing.T) {
	b := backoff.Backoff{Min: 1, Max: 1}
	for range 100 {
		if got := b.Next(); got != 1 {
			t.Fatalf("wait is %v, want 1ns", got)
		}
	}
}

func TestWaitsAreOfTheWholeUpperHalf(t *testing.T) {
	b := backoff.Backoff{Min: 10, Max: 10}
	seen := map[time.Duration]bool{}
	for range 1000 {
		seen[b.Next()] = true
	}
	if got := slices.Sorted(maps.Keys(seen)); !slices.Equal(got, []time.Duration{5, 6, 7, 8, 9, 10}) {
		t.Fatalf("waits are %v", got)
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	started := time.Now()
	backoff.Sleep(ctx, time.Hour)
	if slept := time.Since(started); slept > time.Minute {
		t.Fatalf("slept %v after the context ended", slept)
	}
}
