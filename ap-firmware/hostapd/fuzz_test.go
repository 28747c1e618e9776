// SPDX-License-Identifier: Apache-2.0

package hostapd_test

import (
	"errors"
	"testing"

	"github.com/airbound/airbound/ap-firmware/hostapd"
)

func FuzzParseEvent(f *testing.F) {
	for _, seed := range []string{
		"<3>AP-STA-CONNECTED 02:00:00:00:01:00", "<3>AP-STA-DISCONNECTED AA:BB:CC:DD:EE:FF",
		"<3>CTRL-EVENT-TERMINATING ",
		"<3>AP-STA-CONNECTED", "<3>", "<", "", "OK\n", "<3>AP-STA-CONNECTED 02:00:00:00:01:0\xff",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, datagram []byte) {
		event, err := hostapd.ParseEvent(datagram)
		if err != nil {
			if !errors.Is(err, hostapd.ErrMalformed) || event != (hostapd.Event{}) {
				t.Fatalf("got %+v, %v", event, err)
			}
			return
		}
		isAssociation := event.Kind == hostapd.EventStationJoined || event.Kind == hostapd.EventStationLeft
		if !isAssociation && !event.MAC.IsZero() {
			t.Fatalf("event %+v has an address", event)
		}
		if !hostapd.IsEvent(datagram) || event.Name == "" {
			t.Fatalf("event %+v from %q", event, datagram)
		}
	})
}

func FuzzParseStation(f *testing.F) {
	f.Add([]byte(golden(f, "sta-authorized.txt")))
	for _, seed := range []string{
		"", "FAIL\n", "02:00:00:00:01:00\nflags=[AUTH]\n", "\nflags=\n", "UNKNOWN COMMAND\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		station, ok, err := hostapd.ParseStation(reply)
		if err != nil && (!errors.Is(err, hostapd.ErrMalformed) || ok) {
			t.Fatalf("got %+v, %v, %v", station, ok, err)
		}
		if !ok && station != (hostapd.Station{}) {
			t.Fatalf("station %+v, ok is %v", station, ok)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	f.Add([]byte(golden(f, "status.txt")))
	for _, seed := range []string{"", "state=\n", "state=ENABLED\nbss[0]=\nbss[1]=wlan0", "bss[0]=wlan0\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, reply []byte) {
		status, err := hostapd.ParseStatus(reply)
		if err != nil && (!errors.Is(err, hostapd.ErrMalformed) || len(status.Interfaces) > 0) {
			t.Fatalf("got %+v, %v", status, err)
		}
		if len(status.Interfaces) > len(reply) {
			t.Fatalf("%d interfaces from %d bytes", len(status.Interfaces), len(reply))
		}
	})
}
