// SPDX-License-Identifier: Apache-2.0

// Package upload sends as much as it can over one stream of QUIC, and counts what arrives. Its ends write the lines of
// the lab's traffic generator (lab/traffic), one each second of the run's time line.
package upload

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

const (
	protocol = "upload"
	second   = time.Second
	// idleTimeout is longer than any run: a connection whose phone is away for a while is not to end.
	idleTimeout = time.Hour
	chunkBytes  = 1 << 16
)

// Clock is the time since the time zero of a run.
type Clock struct {
	began time.Time
	at    time.Duration
}

// NewClock returns a clock by a time zero on the system's monotonic clock.
func NewClock(zero time.Duration) (Clock, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return Clock{}, fmt.Errorf("read the clock: %w", err)
	}
	return Clock{time.Now(), time.Duration(now.Nano()) - zero}, nil
}

// SleepUntil waits for a moment.
func (c Clock) SleepUntil(at time.Duration) { time.Sleep(at - c.now()) }

func (c Clock) now() time.Duration { return c.at + time.Since(c.began) }

// everySecond calls back at each whole second after the present one, up to and including the last.
func (c Clock) everySecond(last time.Duration, do func(at time.Duration) error) error {
	for at := c.now().Truncate(second) + second; at <= last; at += second {
		c.SleepUntil(at)
		if err := do(at); err != nil {
			return err
		}
	}
	return nil
}
