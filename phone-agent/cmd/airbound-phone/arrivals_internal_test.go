// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/arrival/procfs"
)

// lossy is a back end with one connection, whose first attempt after an arrival is lost.
type lossy struct {
	outages []time.Duration
	closed  bool
}

func (b *lossy) Retransmit(outage time.Duration) (arrival.Outcome, error) {
	b.outages = append(b.outages, outage)
	if len(b.outages) > 2 {
		return arrival.Outcome{}, nil
	}
	return arrival.Outcome{Unanswered: 1, AtOnce: 1}, nil
}

func (b *lossy) Close() error {
	b.closed = true
	return nil
}

func TestConnectionsRetransmitTwiceAfterAnArrival(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var backEnd lossy
		var outcomes []arrival.Outcome
		made := newArrivals("", func(outcome arrival.Outcome) { outcomes = append(outcomes, outcome) },
			slog.New(slog.DiscardHandler))
		made.open = func() (arrival.BackEnd, error) { return &backEnd, nil }
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
		if !backEnd.closed {
			t.Error("the back end stays open")
		}
	})
}

func TestAnAgentThatEndsDoesNotWaitForTheSecondTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var backEnd lossy
		made := newArrivals("", func(arrival.Outcome) {}, slog.New(slog.DiscardHandler))
		made.open = func() (arrival.BackEnd, error) { return &backEnd, nil }
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		made.arrived(ctx)
		if len(backEnd.outages) != 1 || time.Since(start) != 0 {
			t.Errorf("%d attempts after %s", len(backEnd.outages), time.Since(start))
		}
	})
}

func TestAKernelThatCannotIsAskedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		asked := 0
		made := newArrivals("", func(arrival.Outcome) { t.Error("nothing was done") },
			slog.New(slog.NewTextHandler(&log, nil)))
		made.open = func() (arrival.BackEnd, error) {
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
	none.left()
	none.prepare()
	none.arrived(t.Context())
	none.close()
}

func TestTheOutageBeganBeforeItWasReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var backEnd lossy
		made := newArrivals("", func(arrival.Outcome) {}, slog.New(slog.DiscardHandler))
		made.open = func() (arrival.BackEnd, error) { return &backEnd, nil }
		made.left()
		time.Sleep(2 * time.Second)
		made.left() // An attempt to associate has failed.
		time.Sleep(3 * time.Second)
		made.arrived(t.Context())
		made.arrived(t.Context()) // It roams without a disconnection.
		want := []time.Duration{
			5*time.Second + unnoticed, 5*time.Second + unnoticed + againAfter, unnoticed, unnoticed + againAfter,
		}
		if !slices.Equal(backEnd.outages, want) {
			t.Errorf("%s, not %s", backEnd.outages, want)
		}
	})
}

func TestThePatchedKernelsInterfaceIsPreferred(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "net"), 0o700); err != nil {
		t.Fatal(err)
	}
	request := filepath.Join(root, "net", "tcp_retransmit")
	if err := os.WriteFile(request, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	made := newArrivals(root, func(arrival.Outcome) {}, slog.New(slog.DiscardHandler))
	backEnd, err := made.open()
	if _, isPatched := backEnd.(*procfs.BackEnd); err != nil || !isPatched {
		t.Errorf("%T, %v", backEnd, err)
	}
}
