// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// lossy is a kernel with one connection, whose first attempt after an arrival is lost.
type lossy struct {
	attempts int
	closed   bool
}

func (k *lossy) Unanswered() ([]arrival.Connection, error) {
	if k.attempts > 1 {
		return nil, nil
	}
	return []arrival.Connection{{
		Local: netip.MustParseAddrPort("10.0.0.11:40000"), Remote: netip.MustParseAddrPort("10.0.4.1:443"),
		Retransmits: uint8(k.attempts), Backoff: 3,
	}}, nil
}

func (k *lossy) Revert(arrival.Connection) error {
	k.attempts++
	return nil
}

func (k *lossy) Close() error {
	k.closed = true
	return nil
}

func TestConnectionsRetransmitTwiceAfterAnArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var kernel lossy
		var outcomes []arrival.Outcome
		made := newArrivals(func(outcome arrival.Outcome) { outcomes = append(outcomes, outcome) },
			slog.New(slog.DiscardHandler))
		made.open = func() (arrivalKernel, error) { return &kernel, nil }
		start := time.Now()
		made.arrived(t.Context())
		if len(outcomes) != 2 || outcomes[0].AtOnce != 1 || outcomes[1].AtOnce != 1 || time.Since(start) != againAfter {
			t.Errorf("%+v after %s", outcomes, time.Since(start))
		}
		made.arrived(t.Context())
		if len(outcomes) != 2 {
			t.Errorf("nothing waited: %+v", outcomes)
		}
		made.close()
		if !kernel.closed {
			t.Error("the kernel's interfaces stay open")
		}
	})
}

func TestAnAgentThatEndsDoesNotWaitForTheSecondTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var kernel lossy
		made := newArrivals(func(arrival.Outcome) {}, slog.New(slog.DiscardHandler))
		made.open = func() (arrivalKernel, error) { return &kernel, nil }
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		made.arrived(ctx)
		if kernel.attempts != 1 || time.Since(start) != 0 {
			t.Errorf("%d attempts after %s", kernel.attempts, time.Since(start))
		}
	})
}

func TestAKernelThatCannotIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		asked := 0
		made := newArrivals(func(arrival.Outcome) { t.Error("nothing was done") },
			slog.New(slog.NewTextHandler(&log, nil)))
		made.open = func() (arrivalKernel, error) {
			asked++
			return nil, errors.New("no raw sockets")
		}
		made.prepare()
		made.arrived(t.Context())
		made.close()
		if asked != 1 || strings.Count(log.String(), "no raw sockets") != 1 {
			t.Errorf("asked %d times: %s", asked, log.String())
		}
	})
}

func TestWithoutArrivals(t *testing.T) {
	t.Parallel()
	var none *arrivals
	none.prepare()
	none.arrived(t.Context())
	none.close()
}
