// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/phone-agent/handover"
)

const address = "192.0.2.1:7000"

// site is a server in a network.
type site struct {
	*network
	listener *handover.Listener
}

func newSite(t *testing.T, delay time.Duration, cfg handover.Config) *site {
	t.Helper()
	s := &site{network: newNetwork(t, delay)}
	s.serve(cfg)
	t.Cleanup(func() { _ = s.listener.Close() })
	return s
}

func (s *site) serve(cfg handover.Config) {
	s.listener = handover.Serve(s.listen(address), s.listenPacket(address), cfg)
}

func (s *site) dial(t *testing.T, cfg handover.Config) (phone, server *handover.Conn) {
	t.Helper()
	cfg.DialContext = s.network.dial
	phone, err := handover.Dial(t.Context(), address, cfg)
	if err != nil {
		t.Fatal(err)
	}
	server, err = s.listener.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = phone.Close(); _ = server.Close() })
	return phone, server
}

// arrival is when a record arrived.
type arrival struct {
	record handover.Record
	after  time.Duration // since it was sent
}

// receive takes records until the end.
func receive(t *testing.T, conn *handover.Conn) []arrival {
	t.Helper()
	var arrivals []arrival
	for {
		record, err := conn.Receive(context.Background())
		if errors.Is(err, io.EOF) {
			return arrivals
		}
		if err != nil {
			t.Errorf("after %d records: %v", len(arrivals), err)
			return arrivals
		}
		arrivals = append(arrivals, arrival{record, time.Since(record.SentAt)})
	}
}

func content(i int) string { return fmt.Sprintf("record %d", i) }

// send sends records at an interval, and nothing if it is an end.
func send(t *testing.T, conn *handover.Conn, number int, interval time.Duration) {
	t.Helper()
	for i := 1; i <= number; i++ {
		if _, err := conn.Send(context.Background(), []byte(content(i))); err != nil {
			t.Errorf("record %d: %v", i, err)
			return
		}
		time.Sleep(interval)
	}
}

// checkInOrder checks that all records arrived once and in order.
func checkInOrder(t *testing.T, arrivals []arrival, number int) {
	t.Helper()
	for i, a := range arrivals {
		if string(a.record.Data) != content(i+1) || a.record.Sequence != uint64(i+1) {
			t.Fatalf("arrival %d is record %d, %q", i+1, a.record.Sequence, a.record.Data)
		}
	}
	if len(arrivals) != number {
		t.Fatalf("%d records arrived, want %d", len(arrivals), number)
	}
}

// run sends records in both directions through what happens to the path.
func run(t *testing.T, phone, server *handover.Conn, number int, happens func()) (up []arrival) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		up = receive(t, server)
	}()
	var path sync.WaitGroup
	path.Go(happens)
	send(t, phone, number, 100*time.Millisecond)
	if err := phone.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	<-done
	path.Wait()
	return up
}

func TestRecordsArriveInOrderOnAQuietPath(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 25*time.Millisecond, handover.Config{})
		phone, server := s.dial(t, handover.Config{})
		up := run(t, phone, server, 100, func() {})
		checkInOrder(t, up, 100)
		for _, a := range up {
			if a.after < 25*time.Millisecond || a.after > 30*time.Millisecond {
				t.Errorf("record %d took %v", a.record.Sequence, a.after)
			}
		}
		if stats := phone.Stats(); stats.Resent != 0 || stats.Failovers != 0 {
			t.Errorf("%+v", stats)
		}
	})
}

// firstAfter is the time from the end of an outage to the first arrival after it.
func firstAfter(arrivals []arrival, end time.Time) time.Duration {
	for _, a := range arrivals {
		if at := a.record.SentAt.Add(a.after); !at.Before(end) {
			return at.Sub(end)
		}
	}
	return -1
}

func TestAnArrivalEndsTheSilence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name             string
		config           handover.Config
		noUDP            bool
		longest, atleast time.Duration
	}{
		{name: "TCP alone", longest: 10 * time.Second, atleast: time.Second},
		{name: "at once", config: handover.Config{}, longest: 60 * time.Millisecond},
		{name: "notice", config: handover.Config{WaitForNotice: true}, longest: 300 * time.Millisecond},
		{name: "third connection", config: handover.Config{WaitForNotice: true}, noUDP: true, longest: 4 * time.Second},
		{
			name: "no side channel", longest: 60 * time.Millisecond,
			config: handover.Config{WaitForNotice: true, SideChannel: handover.NoSideChannel},
		},
		{
			name: "irregular", longest: 300 * time.Millisecond,
			config: handover.Config{WaitForNotice: true, Irregular: true},
		},
		{name: "newest first", config: handover.Config{NewestFirst: true}, longest: 60 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := newSite(t, 25*time.Millisecond, handover.Config{})
				s.noUDP = c.noUDP
				events := make(chan handover.Event)
				c.config.Events = events
				phone, server := s.dial(t, c.config)
				var end time.Time
				up := run(t, phone, server, 400, func() {
					time.Sleep(10*time.Second + 30*time.Millisecond)
					s.outage(5 * time.Second)
					end = time.Now()
					if c.atleast == 0 {
						events <- handover.Event{Kind: "association"}
					}
				})
				if !c.config.NewestFirst {
					checkInOrder(t, up, 400)
				}
				first := firstAfter(up, end)
				t.Logf("first record %v after the outage; %+v", first, phone.Stats())
				if first < c.atleast || first > c.longest {
					t.Errorf("first record %v after the outage, want %v to %v", first, c.atleast, c.longest)
				}
			})
		})
	}
}
