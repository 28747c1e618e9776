// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/internal/controllerclient"
)

// What the kernel has to send again waits for its retransmission timeout, longer the longer the machine was away.
func TestAMoveReplacesTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c := newController()
		n.serve(t, c, address)
		moved := make(chan struct{}, 1)
		a := startAgent(t, n.of(controllerclient.Config{Addresses: []string{address}, Moved: moved}))
		expect(t, "state", a.states, true)
		moved <- struct{}{}
		expect(t, "state", a.states, false)
		expect(t, "state", a.states, true)
		a.outgoing <- report(1)
		expect(t, "sequence", c.sequences, 1)
		time.Sleep(2 * backoffMax) // In which nothing happens.
		if len(a.states) > 0 || len(c.streams) != 2 {
			t.Errorf("%d streams", len(c.streams))
		}
	})
}

// hanging dials until its context ends, unless it is to connect.
type hanging struct {
	network  *network
	connects atomic.Bool
	attempts chan struct{}
}

func (h *hanging) dial(ctx context.Context, address string) (net.Conn, error) {
	h.attempts <- struct{}{}
	if h.connects.Load() {
		return h.network.dial(ctx, address)
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A SYN that was lost is sent again after 1, 3 and 7 seconds.
func TestAMoveEndsAnAttemptThatWasUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c := newController()
		n.serve(t, c, address)
		moved, network := make(chan struct{}, 1), hanging{network: n, attempts: make(chan struct{}, 100)}
		a := startAgent(t, controllerclient.WithDial(controllerclient.Config{
			Addresses: []string{address}, Moved: moved,
		}, network.dial))
		began := time.Now()
		for range 3 {
			next(t, "attempt", network.attempts)
			moved <- struct{}{}
		}
		network.connects.Store(true)
		moved <- struct{}{}
		expect(t, "state", a.states, true)
		if took := time.Since(began); took > backoffMax {
			t.Errorf("took %v", took)
		}
	})
}

func TestAMoveEndsAnAttemptToReplaceTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		c := newController()
		n.serve(t, c, address)
		moved, network := make(chan struct{}, 1), hanging{network: n, attempts: make(chan struct{}, 100)}
		network.connects.Store(true)
		a := startAgent(t, controllerclient.WithDial(controllerclient.Config{
			Addresses: []string{address}, Moved: moved,
		}, network.dial))
		expect(t, "state", a.states, true)
		next(t, "attempt", network.attempts)
		network.connects.Store(false)
		began := time.Now()
		for range 3 {
			moved <- struct{}{}
			next(t, "attempt", network.attempts)
		}
		a.outgoing <- report(1) // Until then the old one is in use.
		expect(t, "sequence", c.sequences, 1)
		network.connects.Store(true)
		moved <- struct{}{}
		expect(t, "state", a.states, false)
		expect(t, "state", a.states, true)
		if took := time.Since(began); took > backoffMax {
			t.Errorf("took %v", took)
		}
	})
}

func TestAMoveEndsTheWaitForTheNextAttempt(t *testing.T) {
	attempts, moved := make(chan struct{}), make(chan struct{})
	dial := func(context.Context, string) (net.Conn, error) {
		attempts <- struct{}{}
		return nil, errors.New("out of range")
	}
	cfg := controllerclient.WithDial(controllerclient.Config{
		Addresses: []string{"127.0.0.1:1"}, Logger: slog.New(slog.DiscardHandler), Moved: moved,
		BackoffMin: time.Hour, BackoffMax: time.Hour,
	}, dial)
	go func() {
		_ = controllerclient.Run(t.Context(), cfg, controllerclient.Stream[request, response]{Open: openStream})
	}()
	for range 3 {
		next(t, "attempt", attempts)
		select {
		case moved <- struct{}{}:
		case <-time.After(timeout):
			t.Fatal("the wait does not end")
		}
	}
	next(t, "attempt", attempts)
}

// It is a reason to try again at once, and not to wait longer before the attempt after that.
func TestMovesDoNotMakeTheWaitsLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newNetwork()
		moved, network := make(chan struct{}, 1), hanging{network: n, attempts: make(chan struct{}, 100)}
		log := make(lines, 1000)
		startAgent(t, controllerclient.WithDial(controllerclient.Config{
			Addresses: []string{address}, Moved: moved, Logger: slog.New(slog.NewTextHandler(log, nil)),
		}, network.dial))
		for range 20 {
			next(t, "attempt", network.attempts)
			moved <- struct{}{}
		}
		next(t, "attempt", network.attempts)
		if len(log) > 0 {
			t.Errorf("a move is no failure: %s", <-log)
		}
		network.connects.Store(true)
		moved <- struct{}{}
		if _, wait := attempt(t, log); wait > backoffMin {
			t.Errorf("waits %v", wait)
		}
	})
}
