// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/nl80211"
)

func TestArrivalsAndDeparturesWithoutHostapd(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Minute)
	c.withStations()
	c.agent.Connected(c.nowUS)
	c.pass(time.Second)
	arrived := nl80211.StationEvent{InterfaceIndex: 3, MAC: phone1}
	c.withStations(nl80211.Station{MAC: phone1, Associated: true})
	c.agent.StationEvent(c.nowUS, arrived)
	if reports, _ := c.pass(time.Second); len(reports) > 0 {
		t.Errorf("without keys: %v", reports)
	}
	c.withStations(nl80211.Station{MAC: phone1, Associated: true, Authorized: true})
	reports, at := c.pass(time.Second)
	if len(reports) != 1 || reports[0].GetTrigger() != joined || len(macsOf(reports[0])) != 1 ||
		at[0] > 80*time.Millisecond {
		t.Fatalf("authorized: %v at %v", reports, at)
	}
	c.agent.StationEvent(c.nowUS, arrived) // It is known by now.
	for _, other := range []nl80211.StationEvent{
		{InterfaceIndex: 4, MAC: phone1, Gone: true}, {InterfaceIndex: 3, MAC: phone2, Gone: true},
	} {
		c.agent.StationEvent(c.nowUS, other)
	}
	if reports, _ := c.pass(time.Second); len(reports) > 0 {
		t.Errorf("of others: %v", reports)
	}
	c.withStations()
	gone := nl80211.StationEvent{InterfaceIndex: 3, MAC: phone1, Gone: true}
	c.agent.StationEvent(c.nowUS, gone)
	c.only("gone", left)
	c.agent.StationEvent(c.nowUS, gone)
	if reports, _ := c.pass(time.Second); len(reports) > 0 {
		t.Errorf("gone twice: %v", reports)
	}
}

// The handshake mostly takes some milliseconds.
func TestAStationThatIsAuthorizedSoonIsReportedSoon(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Minute)
	c.withStations()
	c.agent.Connected(c.nowUS)
	c.pass(time.Second)
	for range 3 {
		c.withStations(nl80211.Station{MAC: phone1, Associated: true, Authorized: true})
		c.agent.StationEvent(c.nowUS, nl80211.StationEvent{InterfaceIndex: 3, MAC: phone1})
		reports, at := c.pass(time.Second)
		if len(reports) != 1 || reports[0].GetTrigger() != joined || at[0] != 10*time.Millisecond {
			t.Fatalf("%v at %v", reports, at)
		}
		c.withStations()
		c.agent.StationEvent(c.nowUS, nl80211.StationEvent{InterfaceIndex: 3, MAC: phone1, Gone: true})
		c.pass(time.Second)
	}
}

// A station that never gets its keys does not keep the agent reading for ever.
func TestAnArrivalThatComesToNothing(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Hour)
	c.withStations(nl80211.Station{MAC: phone1, Associated: true})
	c.agent.Connected(c.nowUS)
	c.pass(time.Second)
	c.agent.StationEvent(c.nowUS, nl80211.StationEvent{InterfaceIndex: 3, MAC: phone1})
	c.pass(20 * time.Second)
	c.withStations(nl80211.Station{MAC: phone1, Associated: true, Authorized: true})
	if next := c.agent.NextWakeUS() - c.nowUS; next < time.Minute.Microseconds() {
		t.Errorf("wakes after %d us", next)
	}
}

// hostapd's events report first: the kernel's of the same station make no second report. If hostapd's event is lost,
// its list is requested.
func TestArrivalsBesideHostapd(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Minute)
	c.hostapd()
	c.agent.Connected(c.nowUS)
	c.pass(time.Second)
	c.agent.StationEvent(c.nowUS, nl80211.StationEvent{InterfaceIndex: 3, MAC: phone1})
	c.stations(phone1)
	c.hostapd(phone1)
	c.only("joined", joined, phone1)
	if reports, _ := c.pass(time.Second); len(reports) > 0 {
		t.Errorf("joined twice: %v", reports)
	}
	c.hostapd()
	c.only("left", left)
	c.stations()
	c.agent.StationEvent(c.nowUS, nl80211.StationEvent{InterfaceIndex: 3, MAC: phone1, Gone: true})
	if reports, _ := c.pass(time.Second); len(reports) > 0 || c.refreshed > 0 {
		t.Errorf("left twice: %v, %d lists", reports, c.refreshed)
	}
	c.stations(phone2)
	c.agent.StationEvent(c.nowUS, nl80211.StationEvent{InterfaceIndex: 3, MAC: phone2})
	if reports, _ := c.pass(time.Second); len(reports) > 0 || c.refreshed != 1 {
		t.Errorf("lost: %v, %d lists", reports, c.refreshed)
	}
}

// As at `wifi reload`: the interface is removed, and another one of its name is made.
func TestAnInterfaceThatVanishesAndReturns(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Second)
	station := nl80211.Station{MAC: phone1, Associated: true, Authorized: true}
	c.withStations(station)
	c.agent.Connected(c.nowUS)
	c.pass(5 * time.Second)
	c.wireless.Set()
	reports, _ := c.pass(5 * time.Second)
	if len(reports) > 0 || strings.Count(c.log.String(), "cannot read the BSS") != 1 {
		t.Errorf("without the interface: %v\n%s", reports, c.log.String())
	}
	c.routing.SetLink(9, 0)
	c.withInterface(9)
	reports, _ = c.pass(2 * time.Second)
	if len(reports) != 2 || len(macsOf(reports[0])) > 0 || reports[0].GetSequence() != 7 {
		t.Fatalf("returned: %v", reports)
	}
	c.withInterface(9, station)
	c.agent.StationEvent(c.nowUS, nl80211.StationEvent{InterfaceIndex: 3, MAC: phone2}) // Of the one that is gone.
	c.agent.StationEvent(c.nowUS, nl80211.StationEvent{InterfaceIndex: 9, MAC: phone1})
	if reports, _ = c.pass(300 * time.Millisecond); len(reports) == 0 || reports[0].GetTrigger() != joined {
		t.Errorf("joined: %v", reports)
	}
}

// After an access point's restart all stations return within a second: each that arrives makes the table be read
// sooner, and none makes the others wait.
func TestManyThatArriveDoNotKeepEachOtherWaiting(t *testing.T) {
	t.Parallel()
	c := newCell(t, time.Minute)
	c.withStations()
	c.agent.Connected(c.nowUS)
	c.pass(time.Second)
	c.withStations(nl80211.Station{MAC: phone1, Associated: true, Authorized: true})
	const apart = 5 * time.Millisecond
	for number := range 40 {
		station := phone1
		if number > 0 {
			station[4], station[5] = 99, byte(number)
		}
		c.agent.StationEvent(c.nowUS, nl80211.StationEvent{InterfaceIndex: 3, MAC: station})
		if reports, _ := c.pass(apart); len(reports) > 0 {
			if after := time.Duration(number+1) * apart; after > 80*time.Millisecond {
				t.Errorf("reported after %v", after)
			}
			return
		}
	}
	t.Error("not reported while others arrive")
}
