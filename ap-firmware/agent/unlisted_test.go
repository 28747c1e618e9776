// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/nl80211/nl80211test"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// withStations replaces the kernel's table; flags and all.
func (c *cell) withStations(stations ...nl80211.Station) { c.withInterface(3, stations...) }

func (c *cell) withInterface(index uint32, stations ...nl80211.Station) {
	c.wireless.Set(nl80211test.Device{
		Interface: nl80211.Interface{
			Index: index, Name: "wlan0", MAC: mac.Address{2}, Type: unix.NL80211_IFTYPE_AP, FrequencyMHz: 2437,
			CenterFrequencyMHz: 2437, WidthMHz: 20,
		},
		Stations: stations,
	})
}

func macsOf(report *airboundv1.AccessPointReport) (macs []mac.Address) {
	for _, station := range report.GetStations() {
		macs = append(macs, mac.Address(station.GetMac()))
	}
	return macs
}

// only takes the single report of a moment, with no station or the one that is named.
func (c *cell) only(what string, trigger airboundv1.AccessPointReportTrigger, want ...mac.Address) {
	c.t.Helper()
	reports, _ := c.pass(0)
	if len(reports) != 1 || reports[0].GetTrigger() != trigger || len(macsOf(reports[0])) != len(want) ||
		len(want) == 1 && macsOf(reports[0])[0] != want[0] {
		c.t.Errorf("%s: %v", what, reports)
	}
}

// A hostapd without a list reports before the kernel's flag is set: for a moment its events count, then the flags.
func TestEventsOfAHostapdWithoutAListPrecedeTheKernel(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Minute)
	event := func(change hostapd.Change) {
		change.Station = phone1
		c.agent.Update(c.nowUS, hostapd.Update{Change: change})
	}
	c.withStations(nl80211.Station{MAC: phone1, Associated: true})
	c.agent.Connected(c.nowUS)
	c.only("without keys", interval)
	c.pass(time.Second)
	event(hostapd.Change{Joined: true})
	c.only("joined, the kernel does not know", joined, phone1)
	event(hostapd.Change{Left: true})
	c.withStations(nl80211.Station{MAC: phone1, Associated: true, Authorized: true})
	c.only("left, the kernel does not know", left)
	// The event of its return is lost. The next report is a minute later, by the kernel.
	reports, _ := c.pass(time.Minute)
	if len(reports) != 1 || len(macsOf(reports[0])) != 1 {
		t.Errorf("the kernel alone: %v", reports)
	}
	if c.refreshed > 0 {
		t.Error("a list was requested")
	}
}
