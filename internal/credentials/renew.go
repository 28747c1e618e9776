// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"context"
	"errors"
	"time"

	"github.com/airbound/airbound/internal/backoff"
)

// The wait between two attempts to renew is a part of the certificate's life, within these limits: for one of 30 days
// from a minute to an hour.
const (
	renewWaitMinPart = 1000
	renewWaitMaxPart = 100
	renewWaitLowest  = 100 * time.Millisecond
	renewWaitMin     = time.Minute
	renewWaitMax     = time.Hour
)

func renewWaits(life time.Duration) backoff.Backoff {
	lowest := min(max(life/renewWaitMinPart, renewWaitLowest), renewWaitMin)
	return backoff.Backoff{Min: lowest, Max: min(max(life/renewWaitMaxPart, lowest), renewWaitMax)}
}

// renewals renews the certificate whenever that is due, until ctx ends. After the certificate's end it still tries: the
// clock may be ahead, or an operator may have put a new token into the file.
func (d *Device) renewals(ctx context.Context) {
	wait := renewWaits(d.current().life())
	for ctx.Err() == nil {
		if due := d.due(); due > 0 {
			d.record(renewing, nil) // The clock may have been corrected.
			backoff.Sleep(ctx, min(due, d.cfg.pollInterval))
			continue
		}
		err := d.install()
		if err == nil && d.due() <= 0 {
			err = d.replace(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			wait = renewWaits(d.current().life())
			continue
		}
		delay := wait.Next()
		d.postpone(delay)
		d.retryIn(ctx, renewing, err, delay)
	}
}

// due is how long it takes until there is something to do.
func (d *Device) due() time.Duration {
	now := d.clock.now()
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.unsaved {
		return 0
	}
	return max(d.renewAt.Sub(now), time.Until(d.notBefore))
}

// postpone shows when the next attempt is.
func (d *Device) postpone(delay time.Duration) {
	next := d.clock.now().Add(delay)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.status.NextRenewal = next
	d.save()
}

func (d *Device) setUnsaved(unsaved bool) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.unsaved = unsaved
}

// install writes the certificate to the disk if that is still to be done.
func (d *Device) install() error {
	d.mutex.Lock()
	current, unsaved := d.set, d.unsaved
	d.mutex.Unlock()
	if !unsaved {
		return nil
	}
	unlock, err := d.directory.lock()
	if err != nil {
		return err
	}
	if err := errors.Join(d.directory.install(current), unlock()); err != nil {
		return err
	}
	d.setUnsaved(false)
	d.record(renewing, nil)
	return nil
}
