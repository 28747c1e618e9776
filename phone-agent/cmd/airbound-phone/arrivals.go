// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// againAfter is when Retransmit runs for a second time: the network behind the access point may not have known the
// phone's new place when the first segments came.
const againAfter = time.Second

// arrivals makes TCP retransmit when the phone has arrived at an access point. A nil one does nothing.
type arrivals struct {
	open   func() (arrivalKernel, error)
	done   func(arrival.Outcome)
	logger *slog.Logger

	// One arrival at a time.
	mutex     sync.Mutex
	kernel    arrivalKernel
	isRefused bool
}

type arrivalKernel interface {
	arrival.Kernel
	Close() error
}

// newArrivals makes one whose outcomes go to done.
func newArrivals(done func(arrival.Outcome), logger *slog.Logger) *arrivals {
	open := func() (arrivalKernel, error) { return arrival.OpenStock() }
	return &arrivals{open: open, done: done, logger: logger}
}

// prepare opens the kernel's interfaces, which takes longer than to use them. A phone that stays where it is never
// needs them, so it is called when its link changes for the first time.
func (a *arrivals) prepare() {
	if a == nil {
		return
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.kernel != nil || a.isRefused {
		return
	}
	kernel, err := a.open()
	if err != nil {
		a.isRefused = true
		a.logger.Info("after an arrival TCP waits for its own timers", "error", err)
		return
	}
	a.kernel = kernel
}

// arrived is called when the phone can send again, and returns when all is done.
func (a *arrivals) arrived(ctx context.Context) {
	if a == nil {
		return
	}
	a.prepare()
	a.retransmit()
	select {
	case <-ctx.Done():
	case <-time.After(againAfter):
		a.retransmit()
	}
}

func (a *arrivals) retransmit() {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if a.kernel == nil {
		return
	}
	outcome, err := arrival.Retransmit(a.kernel)
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
	if a.kernel == nil {
		return
	}
	if err := a.kernel.Close(); err != nil {
		a.logger.Warn("cannot close what an arrival needs", "error", err)
	}
}
