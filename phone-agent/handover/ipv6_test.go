// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/phone-agent/handover"
)

const address6 = "[2001:db8::1]:7000"

func newSite6(t *testing.T, cfg handover.Config) *site {
	t.Helper()
	s := &site{network: newNetwork(t, 25*time.Millisecond)}
	s.movePhone("2001:db8:1::7")
	s.listener = handover.Serve(s.listen(address6), s.listenPacket(address6), cfg)
	t.Cleanup(func() { _ = s.listener.Close() })
	return s
}

// The paper's method alone, so that notices must arrive by UDP.
func TestNoticesArriveByIPv6(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite6(t, handover.Config{})
		events := make(chan handover.Event, 1)
		phone, err := handover.Dial(t.Context(), address6, handover.Config{
			DialContext: s.network.dial, Events: events, WaitForNotice: true,
		})
		if err != nil {
			t.Fatal(err)
		}
		server, err := s.listener.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = phone.Close(); _ = server.Close() })
		up := run(t, phone, server, 200, func() {
			time.Sleep(5 * time.Second)
			s.outage(5 * time.Second)
			events <- handover.Event{Kind: "test"}
		})
		checkInOrder(t, up, 200)
		if stats := phone.Stats(); stats.SwitchesByNotice != 1 || stats.Notices == 0 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestIPv6AddressesOfOneSubscriberAreOneClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newSite6(t, handover.Config{SessionsPerClientMax: 1})
		dial := func(phone string) error {
			s.movePhone(phone)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			conn, err := handover.Dial(ctx, address6, handover.Config{DialContext: s.network.dial})
			if err == nil {
				t.Cleanup(func() { _ = conn.Close() })
			}
			return err
		}
		if err := dial("2001:db8:1::7"); err != nil {
			t.Fatal(err)
		}
		if dial("2001:db8:1:0:ffff::9") == nil {
			t.Error("another address of the same /64 has a session of its own")
		}
		if err := dial("2001:db8:1:1::7"); err != nil {
			t.Errorf("another /64: %v", err)
		}
	})
}
