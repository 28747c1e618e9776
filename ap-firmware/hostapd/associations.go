// SPDX-License-Identifier: Apache-2.0

package hostapd

import "maps"

// Associations is the set of authorized stations as hostapd tells it, or nothing while hostapd is away.
type Associations struct {
	known bool
	macs  map[string]struct{}
}

// Change is what an update did to the set.
type Change struct{ Joined, Left bool }

// Known tells whether hostapd's word is to be had.
func (a *Associations) Known() bool { return a.known }

// Has tells whether hostapd has authorized the station.
func (a *Associations) Has(mac string) bool {
	_, has := a.macs[mac]
	return has
}

// Len is the number of authorized stations.
func (a *Associations) Len() int { return len(a.macs) }

// Apply takes one event into the set. A station that joins again without having left is a new association.
func (a *Associations) Apply(event Event) Change {
	if a.macs == nil {
		a.macs = map[string]struct{}{}
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

// Replace makes the set that of a station list.
func (a *Associations) Replace(stations []Station) Change {
	before := a.macs
	a.known, a.macs = true, make(map[string]struct{}, len(stations))
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
	for mac := range before {
		change.Left = change.Left || !a.Has(mac)
	}
	return change
}

// Clone returns a set that does not change with this one.
func (a *Associations) Clone() Associations {
	return Associations{known: a.known, macs: maps.Clone(a.macs)}
}

// Forget says that hostapd is away. The stations are kept, so that the next list shows what changed meanwhile.
func (a *Associations) Forget() { a.known = false }
