// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime/debug"
)

// limitMemory keeps the Go heap small. GOMEMLIMIT, which the runtime has read by now, is the owner's choice instead.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimitBytes)
	}
	debug.SetGCPercent(gcPercent)
}
