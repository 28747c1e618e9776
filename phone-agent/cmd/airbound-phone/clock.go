// SPDX-License-Identifier: Apache-2.0

package main

import "golang.org/x/sys/unix"

// bootTimeUS is CLOCK_BOOTTIME, the clock of leases. It does not stop while the phone sleeps: a lease that ends in that
// time has ended at the first wake-up.
func bootTimeUS() int64 { return clockUS(unix.CLOCK_BOOTTIME) }

// monotonicUS is CLOCK_MONOTONIC, the clock of the kernel's monitor and of reports.
func monotonicUS() uint64 { return uint64(clockUS(unix.CLOCK_MONOTONIC)) } //nolint:gosec // never negative

func clockUS(clock int32) int64 {
	var now unix.Timespec
	// Fails only for a clock that does not exist or a pointer that is bad; both clocks are older than any kernel here.
	_ = unix.ClockGettime(clock, &now)
	return now.Nano() / 1000
}
