// SPDX-License-Identifier: Apache-2.0

package survey_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/survey"
)

// patience ends what hangs.
const patience = time.Minute

// serve has a server on loopback until the test ends.
func serve(t *testing.T, network, address string, server *survey.Server) string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp"+network, net.JoinHostPort(address, "0"))
	if err != nil {
		t.Fatal(err)
	}
	datagrams, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp"+network, listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(ctx, listener, datagrams) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return listener.Addr().String()
}

// atLeast ends a survey once so many packets of each series have come, however long that takes.
func atLeast(packets int, cancel context.CancelFunc) func(*survey.Log) {
	return func(log *survey.Log) {
		for _, each := range log.Summary().Series {
			if each.Received < packets {
				return
			}
		}
		cancel()
	}
}

func TestASurveyOnLoopback(t *testing.T) {
	t.Parallel()
	for network, address := range map[string]string{"4": "127.0.0.1", "6": "::1"} {
		t.Run("IPv"+network, func(t *testing.T) {
			t.Parallel()
			ended := make(chan string, 1)
			at := serve(t, network, address, &survey.Server{
				Interval: 5 * time.Millisecond, Ended: func(name string) { ended <- name },
			})
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			events := make(chan string, 1)
			events <- "association wlan0"
			result, err := survey.Run(ctx, at, survey.Config{
				Interval: 5 * time.Millisecond, Events: events, Drain: patience,
				Saved: atLeast(20, cancel), SaveInterval: 20 * time.Millisecond,
			})
			if err != nil {
				t.Fatal(err)
			}
			summary := result.Log.Summary()
			if summary.Events != 1 || result.RefusedDatagrams != 0 || summary.Duplicates+summary.Refused != 0 {
				t.Errorf("%+v", result)
			}
			if records := summary.Series[0]; records.Received != records.Sent || records.Received < 20 {
				t.Errorf("%d of %d records", records.Received, records.Sent)
			}
			// Both clocks are this machine's.
			offsetUS, uncertaintyUS := *summary.ClockOffsetUS, *summary.ClockUncertaintyUS
			if max(offsetUS, -offsetUS) > uncertaintyUS+1000 {
				t.Errorf("the clocks differ by %d us, +- %d us", offsetUS, uncertaintyUS)
			}
			if name := <-ended; len(name) != 32 {
				t.Errorf("%q", name)
			}
		})
	}
}

func TestGarbageIsRefusedAndCounted(t *testing.T) {
	t.Parallel()
	server := &survey.Server{Interval: 5 * time.Millisecond}
	at := serve(t, "4", "127.0.0.1", server)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "%080d", 0); err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
	datagrams, err := (&net.Dialer{}).DialContext(ctx, "udp", at)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = datagrams.Close() }()
	for server.Stats().Datagrams < 3 || server.Stats().Connections == 0 {
		if ctx.Err() != nil {
			t.Fatalf("%+v", server.Stats())
		}
		strangers := survey.Up{Session: name, Sequence: 1}.Append(nil, keys)
		for _, octets := range [][]byte{{}, make([]byte, 1000), strangers} {
			if _, err := datagrams.Write(octets); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Millisecond)
	}
	// A survey goes on beside it.
	result, err := survey.Run(ctx, at, survey.Config{
		Interval: 5 * time.Millisecond, Drain: patience, Saved: atLeast(3, cancel), SaveInterval: 10 * time.Millisecond,
	})
	if err != nil || result.Log.Summary().Series[1].Received < 3 {
		t.Errorf("%+v, %v", result, err)
	}
}

func TestSurveysThatAreTooManyAreRefused(t *testing.T) {
	t.Parallel()
	server := &survey.Server{SessionsMax: 1, Interval: 5 * time.Millisecond}
	at := serve(t, "4", "127.0.0.1", server)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	runs, first := make(chan struct{}), make(chan error, 1)
	begun := false
	go func() {
		_, err := survey.Run(ctx, at, survey.Config{
			Interval: 5 * time.Millisecond, Drain: patience, SaveInterval: 5 * time.Millisecond,
			Saved: func(log *survey.Log) {
				if !begun && log.Summary().Series[2].Received > 0 {
					begun = true
					close(runs)
				}
			},
		})
		first <- err
	}()
	select {
	case <-runs:
	case err := <-first:
		t.Fatal(err)
	}
	if result, err := survey.Run(ctx, at, survey.Config{}); err == nil {
		t.Errorf("%+v", result)
	}
	if got := server.Stats().Connections; got != 1 {
		t.Errorf("%d connections refused", got)
	}
	cancel()
	if err := <-first; err != nil {
		t.Error(err)
	}
}

func TestAServerThatEndsTheSurveyIsAnError(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	datagrams, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	server := &survey.Server{Interval: 5 * time.Millisecond}
	go func() { done <- server.Serve(ctx, listener, datagrams) }()
	result, err := survey.Run(t.Context(), listener.Addr().String(), survey.Config{
		Interval: 5 * time.Millisecond, Drain: time.Second,
		Saved: atLeast(3, stop), SaveInterval: 10 * time.Millisecond,
	})
	if err == nil || result == nil || result.Log.Summary().Series[1].Received < 3 {
		t.Errorf("%+v, %v", result, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
