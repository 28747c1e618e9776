// SPDX-License-Identifier: Apache-2.0

package credentials

import "time"

// Quick returns cfg with waits for a test.
func Quick(cfg Config) Config {
	cfg.enrolWaitMin, cfg.enrolWaitMax, cfg.pollInterval = time.Millisecond, 20*time.Millisecond, 10*time.Millisecond
	return cfg
}

// WithWall returns cfg with another clock.
func WithWall(cfg Config, wall func() time.Time) Config {
	cfg.wall = wall
	return cfg
}

// RenewAt returns when renewal is due.
func (d *Device) RenewAt() time.Time {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	return d.renewAt
}

// RenewWaits returns the shortest and the longest wait between two attempts to renew.
func RenewWaits(life time.Duration) (shortest, longest time.Duration) {
	wait := renewWaits(life)
	return wait.Min, wait.Max
}
