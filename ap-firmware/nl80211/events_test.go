// SPDX-License-Identifier: Apache-2.0

package nl80211_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
	"github.com/airbound/airbound/internal/wireless"
)

func TestParseStationEvent(t *testing.T) {
	for _, want := range []nl80211.StationEvent{
		{InterfaceIndex: 3, MAC: phone1}, {InterfaceIndex: 4, MAC: phone1, Gone: true},
	} {
		attributes, err := nl80211test.EncodeStationEvent(want)
		if err != nil {
			t.Fatal(err)
		}
		command := map[bool]uint8{false: unix.NL80211_CMD_NEW_STATION, true: unix.NL80211_CMD_DEL_STATION}[want.Gone]
		if got, ok, err := nl80211.ParseStationEvent(command, attributes); got != want || !ok || err != nil {
			t.Errorf("got %+v, %v, %v, want %+v", got, ok, err, want)
		}
		got, ok, err := nl80211.ParseStationEvent(unix.NL80211_CMD_AUTHENTICATE, attributes)
		if got != (nl80211.StationEvent{}) || ok || err != nil {
			t.Errorf("of another command: %+v, %v, %v", got, ok, err)
		}
	}
	// A dump's message has the same form. This one is of a real kernel.
	got, ok, err := nl80211.ParseStationEvent(unix.NL80211_CMD_NEW_STATION, golden(t, "station-80211g.bin"))
	if got.MAC != phone1 || got.InterfaceIndex != 3 || !ok || err != nil {
		t.Errorf("got %+v, %v, %v", got, ok, err)
	}
	for name, attributes := range map[string][]byte{
		"empty": nil, "cut": {1, 2, 3}, "no interface": attribute(t, unix.NL80211_ATTR_MAC, phone1[:]),
		"no station": attribute(t, unix.NL80211_ATTR_IFINDEX, make([]byte, 4)),
		"short":      attribute(t, unix.NL80211_ATTR_MAC, phone1[:5]),
	} {
		_, ok, err := nl80211.ParseStationEvent(unix.NL80211_CMD_DEL_STATION, attributes)
		if ok || !errors.Is(err, nl80211.ErrMalformed) {
			t.Errorf("%s: %v, %v", name, ok, err)
		}
	}
}

func FuzzParseStationEvent(f *testing.F) {
	f.Add(uint8(unix.NL80211_CMD_NEW_STATION), golden(f, "station-80211g.bin"))
	f.Add(uint8(unix.NL80211_CMD_DEL_STATION), []byte(nil))
	f.Fuzz(func(t *testing.T, command uint8, attributes []byte) {
		event, ok, err := nl80211.ParseStationEvent(command, attributes)
		isZero := event == nl80211.StationEvent{}
		if ok == isZero || ok && err != nil || err != nil && !errors.Is(err, nl80211.ErrMalformed) {
			t.Fatalf("got %+v, %v, %v", event, ok, err)
		}
		if ok && (event.MAC.IsZero() || event.InterfaceIndex == 0) {
			t.Fatalf("got %+v", event)
		}
	})
}

// Events are followed over a socket that fails, and until the end.
func TestFollow(t *testing.T) {
	var (
		kernel    nl80211test.Events
		log       bytes.Buffer
		malformed atomic.Int32
	)
	refused := errors.New("not now")
	refuse := true
	dial := func() (wireless.EventSource, error) {
		if refuse {
			refuse = false
			return nil, refused
		}
		return kernel.Dial()
	}
	events := make(chan nl80211.StationEvent, 10)
	ctx, cancel := context.WithCancel(t.Context())
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		nl80211.Follow(ctx, dial, func(event nl80211.StationEvent) { events <- event },
			func(error) { malformed.Add(1) }, slog.New(slog.NewTextHandler(&log, nil)))
	}()
	await := func(sockets int) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); kernel.Dialled() < sockets; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d sockets, want %d", kernel.Dialled(), sockets)
			}
		}
	}
	await(1)
	kernel.Send(unix.NL80211_CMD_DEL_STATION, []byte{1})
	kernel.Send(unix.NL80211_CMD_FRAME, []byte{1})
	want := nl80211.StationEvent{InterfaceIndex: 3, MAC: phone1}
	for socket := range 2 {
		await(socket + 1)
		if err := kernel.Station(want); err != nil {
			t.Fatal(err)
		}
		if got := <-events; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
		if socket == 0 {
			kernel.Fail(unix.ENOBUFS)
		}
	}
	cancel()
	<-finished
	if malformed.Load() != 1 || kernel.Dialled() != 2 {
		t.Errorf("%d malformed, %d sockets", malformed.Load(), kernel.Dialled())
	}
	for _, cause := range []string{refused.Error(), unix.ENOBUFS.Error()} {
		if !strings.Contains(log.String(), cause) {
			t.Errorf("log has no %q: %s", cause, log.String())
		}
	}
}
