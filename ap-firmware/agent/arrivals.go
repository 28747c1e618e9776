// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"math"
	"slices"
	"time"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The kernel reports that a station was added to its table, and not that it was authorized then; that takes a handshake
// of milliseconds, or of seconds with a server behind it. Meanwhile the table is read more often: soon, and then after
// twice the time each, up to arrivalLooksApart. A station is reported that much after it was authorized, or sooner.
const (
	arrivalFirstLook  = 10 * time.Millisecond
	arrivalLooksApart = 80 * time.Millisecond
	arrivalLooksEnd   = 10 * time.Second
)

// arrivals are the kernel's events of stations, the second source beside hostapd's.
type arrivals struct {
	// interfaces are the BSS's by the last snapshot.
	interfaces []uint32
	// reported are the stations of the last report.
	reported map[mac.Address]struct{}
	// until is how long the table is read more often because of a station.
	until      map[mac.Address]int64
	nextLookUS int64
	looksApart time.Duration
}

// StationEvent takes over an event of the kernel. The next Wake reports if a station has left that was in the last
// report; a station that was added is reported as soon as it is authorized.
func (a *Agent) StationEvent(nowUS int64, event nl80211.StationEvent) {
	if !a.connected || !slices.Contains(a.arrivals.interfaces, event.InterfaceIndex) {
		return
	}
	_, reported := a.arrivals.reported[event.MAC]
	switch {
	case event.Gone:
		delete(a.arrivals.until, event.MAC)
		delete(a.arrivals.reported, event.MAC)
		if reported && a.pending == triggerNone {
			a.pending = triggerLeft
		}
	case !reported:
		if _, expected := a.arrivals.until[event.MAC]; !expected {
			a.arrivals.lookSoon(nowUS)
		}
		a.arrivals.until[event.MAC] = nowUS + arrivalLooksEnd.Microseconds()
	}
}

// lookForArrivals reads the table if a station was added a moment ago, and makes a report due if it is authorized now.
func (a *Agent) lookForArrivals(nowUS int64) {
	arriving := a.arrivals.until
	maps.DeleteFunc(arriving, func(_ mac.Address, untilUS int64) bool { return nowUS >= untilUS })
	if !a.connected || len(arriving) == 0 || nowUS < a.arrivals.nextLookUS || a.pending != triggerNone {
		return
	}
	a.arrivals.scheduleLook(nowUS)
	snapshot, err := a.cfg.Sampler.Snapshot()
	if err != nil {
		return // The next report finds the same, and says so.
	}
	for i := range snapshot.Stations {
		station := &snapshot.Stations[i]
		if _, is := arriving[station.MAC]; !is || !station.Associated || !station.Authorized {
			continue
		}
		delete(arriving, station.MAC)
		if a.isAuthorized(station) {
			a.pending = triggerJoined
		} else {
			a.cfg.RefreshAssociations() // An event of hostapd was lost.
		}
	}
}

// lookSoon makes the table be read soon because of one more station. A look that is due sooner, because of others,
// stays: stations that arrive one after the other must not keep each other waiting.
func (a *arrivals) lookSoon(nowUS int64) {
	otherUS := int64(math.MaxInt64)
	if len(a.until) > 0 {
		otherUS = a.nextLookUS
	}
	a.looksApart = arrivalFirstLook
	a.scheduleLook(nowUS)
	a.nextLookUS = min(a.nextLookUS, otherUS)
}

// scheduleLook makes the table be read next, and the read after that be later.
func (a *arrivals) scheduleLook(nowUS int64) {
	a.nextLookUS = nowUS + a.looksApart.Microseconds()
	a.looksApart = min(2*a.looksApart, arrivalLooksApart)
}

// nextArrivalsLookUS is when the table is to be read for arrivals, no later than otherwise.
func (a *Agent) nextArrivalsLookUS(otherwiseUS int64) int64 {
	if len(a.arrivals.until) == 0 {
		return otherwiseUS
	}
	return min(otherwiseUS, a.arrivals.nextLookUS)
}

// observe takes over what is reported.
func (a *arrivals) observe(snapshot nl80211.Snapshot, stations []*airboundv1.Station) {
	a.interfaces = snapshot.Indexes()
	a.reported = make(map[mac.Address]struct{}, len(stations))
	for _, station := range stations {
		address := mac.Address(station.GetMac())
		a.reported[address] = struct{}{}
		delete(a.until, address)
	}
}
