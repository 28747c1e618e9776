// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"time"

	"golang.org/x/sys/unix"
)

// wallClock is this machine's time as of the start of a survey. It goes on evenly if somebody sets the clock, and while
// the machine sleeps: the difference of two such clocks only drifts.
type wallClock struct{ startedUS, startedBootUS int64 }

func startWallClock() wallClock { return wallClock{time.Now().UnixMicro(), bootTimeUS()} }

// nowUS is in us since 1970.
func (c wallClock) nowUS() int64 { return c.startedUS + bootTimeUS() - c.startedBootUS }

// bootTimeUS is CLOCK_BOOTTIME, which has the time that the machine has slept, as time.Since has not.
func bootTimeUS() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) // It fails only for a clock that does not exist.
	return now.Nano() / 1000
}
