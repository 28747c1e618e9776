// SPDX-License-Identifier: Apache-2.0

// Package exchange runs the rivals of a plan: gives each its records, and writes down when they arrive.
package exchange

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/lab/handover/lane"
	"github.com/airbound/airbound/lab/handover/record"
	"github.com/airbound/airbound/lab/handover/rival"
)

// Clock is the time since time zero.
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

// Now is the time since time zero.
func (c Clock) Now() time.Duration { return c.at + time.Since(c.began) }

// sleepUntil waits for a moment.
func (c Clock) sleepUntil(at time.Duration) { time.Sleep(at - c.Now()) }

// Run runs all lanes of a plan to its end.
func Run(ctx context.Context, plan *lane.Plan, clock Clock) ([]lane.Result, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	runners := make([]*runner, 0, len(plan.Lanes))
	for i := range plan.Lanes {
		runners = append(runners, newRunner(&plan.Lanes[i], clock, stop))
	}
	if err := startAll(ctx, runners); err != nil {
		return nil, err
	}
	if now := clock.Now(); now >= 0 {
		return nil, fmt.Errorf("the connections are made %v after time zero only", now)
	}
	for _, one := range runners {
		go one.sendAll()
		go one.notify()
	}
	select {
	case <-time.After(plan.End() + plan.Drain - clock.Now()):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	results := make([]lane.Result, 0, len(runners))
	for _, one := range runners {
		results = append(results, one.finish())
	}
	return results, nil
}

// startAll has all lanes make their connections at once: over long paths, one after the other would take minutes.
func startAll(ctx context.Context, runners []*runner) error {
	failures := make(chan error, len(runners))
	for _, one := range runners {
		go func() {
			err := one.start(ctx)
			if err != nil {
				err = fmt.Errorf("lane %q, at %v: %w", one.lane.Name, one.clock.Now(), err)
			}
			failures <- err
		}()
	}
	for range runners {
		if err := <-failures; err != nil {
			return err
		}
	}
	return nil
}

// runner runs a lane.
type runner struct {
	lane  *lane.Lane
	rival rival.Rival
	clock Clock
	stop  context.CancelCauseFunc

	lock    sync.Mutex
	result  lane.Result
	largest int
}

func newRunner(l *lane.Lane, clock Clock, stop context.CancelCauseFunc) *runner {
	one := &runner{lane: l, clock: clock, stop: stop, largest: -1, result: lane.Result{Name: l.Name}}
	one.result.Arrivals = make([]lane.Arrival, l.Records)
	one.result.Notes = []lane.Note{}
	for number := range one.result.Arrivals {
		one.result.Arrivals[number] = lane.Arrival{Due: one.due(number).Microseconds(), Written: -1}
	}
	return one
}

func (r *runner) due(number int) time.Duration { return time.Duration(number) * r.lane.Period }

func (r *runner) start(ctx context.Context) error {
	made, err := rival.New(r.lane.Rival)
	if err != nil {
		return err //nolint:wrapcheck // it has all that is known
	}
	r.rival = made
	return made.Start(ctx, &rival.Env{ //nolint:wrapcheck // it has all that is known
		Phone: host(r.lane.PhoneSpace), Server: host(r.lane.ServerSpace), Local: r.lane.Phone,
		Remote:  netip.AddrPortFrom(r.lane.Server, rival.Port),
		Deliver: r.deliver, Written: r.written, Note: r.note, Failed: r.failed, Now: r.clock.Now,
	})
}

func (r *runner) sendAll() {
	for number := range r.lane.Records {
		due := r.due(number)
		r.clock.sleepUntil(due)
		r.rival.Send(record.Record{Number: uint32(number), Due: due}.Encode())
	}
}

func (r *runner) notify() {
	r.clock.sleepUntil(r.lane.Path.Complete())
	r.rival.Returned()
}

func (r *runner) failed(err error) {
	r.stop(fmt.Errorf("lane %q, at %v: %w", r.lane.Name, r.clock.Now(), err))
}

func (r *runner) note(text string) {
	r.lock.Lock()
	defer r.lock.Unlock()
	r.result.Notes = append(r.result.Notes, lane.Note{At: r.clock.Now().Microseconds(), Text: text})
}

func (r *runner) written(data []byte) {
	now := r.clock.Now().Microseconds()
	r.lock.Lock()
	defer r.lock.Unlock()
	if number, err := r.number(data); err == nil && r.result.Arrivals[number].Written < 0 {
		r.result.Arrivals[number].Written = now
	}
}

func (r *runner) deliver(data []byte) {
	now := r.clock.Now().Microseconds()
	r.lock.Lock()
	defer r.lock.Unlock()
	number, err := r.number(data)
	switch {
	case err != nil:
		r.result.Garbage++
	case r.result.Arrivals[number].Arrived != nil:
		r.result.Again++
	default:
		if number < r.largest {
			r.result.Late++
		}
		r.largest = max(r.largest, number)
		r.result.Arrivals[number].Arrived = &now
	}
}

func (r *runner) number(data []byte) (int, error) {
	one, err := record.Decode(data)
	if err != nil {
		return 0, err //nolint:wrapcheck // it is only counted
	}
	number := int(one.Number)
	if number >= r.lane.Records || one.Due != r.due(number) {
		return 0, errors.New("a record that was never sent")
	}
	return number, nil
}

// finish returns what happened. What still arrives changes nothing any more.
func (r *runner) finish() lane.Result {
	r.lock.Lock()
	defer r.lock.Unlock()
	out := r.result
	out.Arrivals = append([]lane.Arrival(nil), r.result.Arrivals...)
	return out
}
