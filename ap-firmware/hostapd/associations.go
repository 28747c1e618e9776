// SPDX-License-Identifier: Apache-2.0

package hostapd

import (
	"maps"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// Associations is the set of stations that hostapd has authorized; unknown while hostapd is not connected, and with one
// that lists no stations.
type Associations struct {
	known, unlisted bool
	macs            map[mac.Address]struct{}
}

// Change is what an update did to the set.
type Change struct {
	Joined, Left bool
	// Station is the one whose event it was; zero if lists were compared.
	Station mac.Address
}

// Known reports whether the set is that of a connected hostapd.
func (a *Associations) Known() bool { return a.known }

// Attached reports whether hostapd is connected, be there a list or not.
func (a *Associations) Attached() bool { return a.known || a.unlisted }

// Has reports whether hostapd has authorized the station.
func (a *Associations) Has(station mac.Address) bool {
	_, has := a.macs[station]
	return has
}

// Len is the number of authorized stations.
func (a *Associations) Len() int { return len(a.macs) }

// Apply updates the set with one event. A station that joins again without having left is a new association. Without a
// list no set is kept, and every event is a change.
func (a *Associations) Apply(event Event) Change {
	if a.unlisted {
		switch event.Kind {
		case EventStationJoined:
			return Change{Joined: true, Station: event.MAC}
		case EventStationLeft:
			return Change{Left: true, Station: event.MAC}
		default:
			return Change{}
		}
	}
	if a.macs == nil {
		a.macs = map[mac.Address]struct{}{}
	}
	switch event.Kind {
	case EventStationJoined:
		a.macs[event.MAC] = struct{}{}
		return Change{Joined: true, Station: event.MAC}
	case EventStationLeft:
		if !a.Has(event.MAC) {
			return Change{}
		}
		delete(a.macs, event.MAC)
		return Change{Left: true, Station: event.MAC}
	default:
		return Change{}
	}
}

// Replace sets it to a station list and returns what changed.
func (a *Associations) Replace(stations []Station) Change {
	before := a.macs
	a.known, a.unlisted, a.macs = true, false, make(map[mac.Address]struct{}, len(stations))
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
	return Associations{known: a.known, unlisted: a.unlisted, macs: maps.Clone(a.macs)}
}

// Unlist makes the set unknown for as long as this hostapd lives: it lists no stations.
func (a *Associations) Unlist() { a.known, a.unlisted, a.macs = false, true, nil }

// Forget makes the set unknown: hostapd is gone. The stations are kept, to compare them with the next list.
func (a *Associations) Forget() { a.known, a.unlisted = false, false }
