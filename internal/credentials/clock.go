// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"sync"
	"time"

	"github.com/airbound/airbound/internal/identity"
)

// clock is the time of day, or what is known of the time if that is later.
//
// Devices without a battery for their clock boot in 1970, and stay there until NTP has corrected it. A certificate that
// an authority signed proves that its first moment is over. The controllers' are at most some days old, so that a
// device whose clock is never corrected still renews in time.
//
// That a clock is ahead cannot be found out: then certificates seem to have ended, and the device connects when the
// clock has been corrected.
type clock struct {
	wall func() time.Time

	mutex  sync.Mutex
	proven time.Time
	// When that was proven, on the monotonic clock.
	at time.Time
}

func (c *clock) now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.proven.IsZero() {
		return c.wall()
	}
	return identity.Later(c.wall(), c.proven.Add(time.Since(c.at)))
}

// prove takes over that a moment is over.
func (c *clock) prove(moment time.Time) {
	if !moment.After(c.now()) {
		return
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.proven, c.at = moment, time.Now()
}
