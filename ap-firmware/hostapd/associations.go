// SPDX-License-Identifier: Apache-2.0

package hostapd

import (
	"maps"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// Associations is the set of stations that hostapd has authorized; unknown while hostapd is not connected.
type Associations struct {
	known bool
	macs  map[mac.Address]struct{}
}

// Change is what an update did to the set.
type Change struct{ Joined, Left bool }

// Known reports whether the set is that of a connected hostapd.
func (a *Associations) Known() bool { return a.known }

// Has reports whether hostapd has authorized the station.
func (a *Associations) Has(station mac.Address) bool {
	_, has := a.macs[station]
	return has
}

// Len is the number of authorized stations.
func (a *Associations) Len() int { return len(a.macs) }

// Apply updates the set with one event. A station that joins again without having left is a new association.
func (a *Associations) Apply(event Event) Change {
	if a.macs == nil {
		a.macs = map[mac.Address]struct{}{}
	}
	switch event.Kind {
	case EventStationJoined:
		a.macs[event.MAC] = struct{}{}
		return Change{Joined: true}
	case EventStationLeft:
		left := a.Has(event.MAC)
		delete(a.macs, event.MAC)
		return Change{Left: left}
	default:
		return Change{}
	}
}

// Replace sets it to a station list and returns what changed.
func (a *Associations) Replace(stations []Station) Change {
	before := a.macs
	a.known, a.macs = true, make(map[mac.Address]struct{}, len(stations))
	var change Change
	for _, station := range stations {
		if !station.Authorized {
			continue
		}
		a.macs[station.MAC] = struct{}{}
		if _, had := before[station.MAC]; !had {
			change.Joined = true
		}
	}
	for station := range before {
		change.Left = change.Left || !a.Has(station)
	}
	return change
}

// Clone returns a set that does not change with this one.
func (a *Associations) Clone() Associations {
	return Associations{known: a.known, macs: maps.Clone(a.macs)}
}

// Forget makes the set unknown: hostapd is gone. The stations are kept, to compare them with the next list.
func (a *Associations) Forget() { a.known = false }
