// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestTheOwnersMemoryLimitIsNotReplaced(t *testing.T) {
	const ownersBytes = 24 << 20
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(ownersBytes)) // as the runtime does with GOMEMLIMIT=24MiB
	t.Setenv("GOMEMLIMIT", "24MiB")
	limitMemory()
	if got := debug.SetMemoryLimit(-1); got != ownersBytes {
		t.Errorf("%d bytes", got)
	}
	debug.SetMemoryLimit(math.MaxInt64)
	t.Setenv("GOMEMLIMIT", "")
	limitMemory()
	if got := debug.SetMemoryLimit(-1); got != memoryLimitBytes {
		t.Errorf("without a choice %d bytes", got)
	}
}
