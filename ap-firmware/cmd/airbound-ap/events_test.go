// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/nl80211"
)

// Without hostapd the kernel's events make reports at once.
func TestTheKernelReportsArrivalsAndDepartures(t *testing.T) {
	c := newCell(t)
	c.setStations()
	c.startAgent()
	for range 2 { // The two at the beginning of a stream.
		<-c.reports
	}
	eventually(t, "a socket for events", func() bool { return c.events.Dialled() == 1 })
	await := func(event nl80211.StationEvent, stations int, trigger any) {
		t.Helper()
		if err := c.events.Station(event); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-c.reports:
			if got.GetTrigger() != trigger || len(got.GetStations()) != stations {
				t.Errorf("%+v: %v", event, got)
			}
		case <-time.After(timeout):
			t.Fatalf("%+v: no report", event)
		}
	}
	c.setStations(phone1)
	await(nl80211.StationEvent{InterfaceIndex: indexOfWLAN0, MAC: phone1}, 1, joined)
	c.setStations()
	await(nl80211.StationEvent{InterfaceIndex: indexOfWLAN0, MAC: phone1, Gone: true}, 0, left)
}
