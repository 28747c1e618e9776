// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/arrival/procfs"
)

// againAfter is when Retransmit runs for a second time: the network behind the access point may not have known the
// phone's new place when the first segments came.
const againAfter = time.Second

// arrivals makes TCP retransmit when the phone has arrived at an access point. A nil one does nothing.
type arrivals struct {
	open   func() (arrival.BackEnd, error)
	done   func(arrival.Outcome)
	logger *slog.Logger

	// One arrival at a time.
	mutex     sync.Mutex
	backEnd   arrival.BackEnd
	isRefused bool
	// When the kernel reported that the phone has no access point; zero while it has one.
	leftAt time.Time
}

// unnoticed is how long a path may be lost before the kernel reports it: mac80211 misses seven beacons of 102 ms, then
// probes the access point twice for half a second each (net/mac80211/mlme.c), and the supplicant looks for another one.
const unnoticed = 3 * time.Second

// newArrivals makes one whose outcomes go to done. A patched kernel's interface is preferred, if there is one.
func newArrivals(procRoot string, done func(arrival.Outcome), logger *slog.Logger) *arrivals {
	open := func() (arrival.BackEnd, error) {
		patched, err := procfs.Open(procfs.NewFiles(procRoot))
		if err == nil {
			return patched, nil
		}
		if !errors.Is(err, arrival.ErrNotSupported) {
			logger.Warn("after an arrival the patched kernel's interface is not used", "error", err)
		}
		return arrival.OpenStock()
	}
	return &arrivals{open: open, done: done, logger: logger}
}

// left is called when the phone has no access point any more.
func (a *arrivals) left() {
	if a == nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.leftAt.IsZero() {
		a.leftAt = time.Now()
	}
}

// prepare opens the kernel's interfaces, which takes longer than to use them. A phone that stays where it is never
// needs them, so it is called when its link changes for the first time.
func (a *arrivals) prepare() {
	if a == nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.backEnd != nil || a.isRefused {
		return
	}
	backEnd, err := a.open()
	if err != nil {
		a.isRefused = true
		a.logger.Info("after an arrival TCP waits for its own timers", "error", err)
		return
	}
	a.backEnd = backEnd
}

// arrived is called when the phone can send again, and returns when all is done.
func (a *arrivals) arrived(ctx context.Context) {
	if a == nil {
		return
	}
	a.prepare()
	lostAt := a.pathLostAt()
	a.retransmit(lostAt)
	select {
	case <-ctx.Done():
	case <-time.After(againAfter):
		a.retransmit(lostAt)
	}
}

// pathLostAt is the earliest time at which the outage that ends now may have begun.
func (a *arrivals) pathLostAt() time.Time {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	at := a.leftAt
	if at.IsZero() { // It has roamed without a report of a disconnection.
		at = time.Now()
	}
	a.leftAt = time.Time{}
	return at.Add(-unnoticed)
}

func (a *arrivals) retransmit(lostAt time.Time) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.backEnd == nil {
		return
	}
	outcome, err := a.backEnd.Retransmit(time.Since(lostAt))
	if err != nil {
		a.logger.Warn("after an arrival some connections wait for TCP's own timers", "error", err)
	}
	if outcome.Unanswered > 0 {
		a.logger.Info("arrived, TCP retransmits",
			"unanswered", outcome.Unanswered, "at_once", outcome.AtOnce, "messages", outcome.Messages)
		a.done(outcome)
	}
}

func (a *arrivals) close() {
	if a == nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.backEnd == nil {
		return
	}
	if err := a.backEnd.Close(); err != nil {
		a.logger.Warn("cannot close what an arrival needs", "error", err)
	}
}
