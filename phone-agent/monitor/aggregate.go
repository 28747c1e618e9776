// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
)

const (
	// destinationKeptUS is how long a destination stays in the report after its last connection is gone.
	destinationKeptUS = 60_000_000
	// destinationsTracked bounds memory: beyond it, those without a connection go first, the longest gone first.
	destinationsTracked = 1024
	// snapshotsMissed is how many snapshots in a row a connection may be missing from before it counts as closed. A line
	// may have been refused, and a proc file that takes more than one read may skip a connection.
	snapshotsMissed = 4
)

// Changes says what a snapshot brought that the controller should hear of at once.
type Changes struct {
	StartedSending bool
	StoppedSending bool
	RTTRatioBand   bool
}

// Aggregator follows the connections of a terminal from snapshot to snapshot and sums them up by destination address.
// The zero value is ready. It is not safe for use by several goroutines.
type Aggregator struct {
	destinations map[netip.Addr]*destination
	excluded     map[netip.AddrPort]bool
	// The agent's life began with the first snapshot: what connections had carried before does not count.
	begun bool
}

// destination is everything known of one address.
type destination struct {
	address     netip.Addr
	connections map[flow]*tracked
	// Sums over the connections that are closed.
	closed totals
	// As of the last snapshot.
	view     view
	sending  bool
	band     int
	lastSeen int64
}

// flow identifies a connection.
type flow struct{ local, remote netip.AddrPort }

// tracked is one connection with what it carried before the agent began.
type tracked struct {
	last    Connection
	base    totals
	present bool
	grew    bool
	missed  int
}

type totals struct {
	bytes  uint64
	events Events
}

func (t totals) plus(other totals) totals {
	return totals{bytes: saturatingAdd(t.bytes, other.bytes), events: t.events.plus(other.events)}
}

// Exclude names remote end points that are no destinations: the controller that the agent itself talks to. What is
// already known of connections to them is forgotten.
func (a *Aggregator) Exclude(remotes []netip.AddrPort) {
	a.excluded = make(map[netip.AddrPort]bool, len(remotes))
	for _, remote := range remotes {
		// The kernel's monitor names no zone.
		remote = netip.AddrPortFrom(remote.Addr().Unmap().WithZone(""), remote.Port())
		a.excluded[remote] = true
		if known := a.destinations[remote.Addr()]; known != nil {
			maps.DeleteFunc(known.connections, func(key flow, _ *tracked) bool { return key.remote == remote })
			if len(known.connections) == 0 {
				delete(a.destinations, remote.Addr())
			}
		}
	}
}

// Observe takes in a snapshot. nowUS is any clock that does not go back.
func (a *Aggregator) Observe(snapshot Snapshot, nowUS int64) Changes {
	if a.destinations == nil {
		a.destinations = make(map[netip.Addr]*destination)
	}
	for _, known := range a.destinations {
		for _, connection := range known.connections {
			connection.present, connection.grew = false, false
		}
	}
	for i := range snapshot.Connections {
		a.take(&snapshot.Connections[i], nowUS)
	}
	a.begun = true
	var changes Changes
	for address, known := range a.destinations {
		known.foldClosed()
		known.refresh(&changes)
		if nowUS-known.lastSeen >= destinationKeptUS {
			delete(a.destinations, address)
		}
	}
	a.shrink()
	return changes
}

// Sending tells whether any destination is being sent to.
func (a *Aggregator) Sending() bool {
	for _, known := range a.destinations {
		if known.sending {
			return true
		}
	}
	return false
}

// take files one connection. Loopback never crosses the air and is left out.
func (a *Aggregator) take(connection *Connection, nowUS int64) {
	remote := connection.Remote
	if a.excluded[remote] || remote.Addr().IsLoopback() || remote.Addr().IsUnspecified() {
		return
	}
	known := a.destinations[remote.Addr()]
	if known == nil {
		known = &destination{address: remote.Addr(), connections: make(map[flow]*tracked)}
		a.destinations[remote.Addr()] = known
	}
	known.lastSeen = nowUS
	known.take(connection, !a.begun)
}

func (d *destination) take(connection *Connection, before bool) {
	key := flow{connection.Local, connection.Remote}
	same := d.connections[key]
	if same != nil && (connection.AckedBytes < same.last.AckedBytes || !connection.Events.atLeast(same.last.Events)) {
		// The four-tuple was used again: counters of one connection never go back.
		d.closed = d.closed.plus(same.carried())
		same = nil
	}
	if same == nil {
		same = &tracked{}
		if before {
			same.base = totals{connection.AckedBytes, connection.Events}
			same.last.AckedBytes = connection.AckedBytes
		}
		d.connections[key] = same
	}
	// The kernel counts the SYN as one acknowledged byte; a handshake is not yet sending.
	same.grew = connection.AckedBytes > max(same.last.AckedBytes, 1)
	same.last, same.present, same.missed = *connection, true, 0
}

// carried is what the connection delivered in the agent's life.
func (t *tracked) carried() totals {
	return totals{t.last.AckedBytes - t.base.bytes, t.last.Events.minus(t.base.events)}
}

func (d *destination) foldClosed() {
	for key, connection := range d.connections {
		if connection.present {
			continue
		}
		connection.missed++
		if connection.missed >= snapshotsMissed {
			d.closed = d.closed.plus(connection.carried())
			delete(d.connections, key)
		}
	}
}

// refresh computes the view after a snapshot and notes what changed.
func (d *destination) refresh(changes *Changes) {
	d.view = d.summarise()
	sending := d.view.connectionsSending > 0 || d.view.grew
	if sending && !d.sending {
		changes.StartedSending = true
	}
	if !sending && d.sending {
		changes.StoppedSending = true
	}
	d.sending = sending
	if !sending {
		// The ratio of an idle connection is old; it says nothing about the air now.
		return
	}
	if band := bandOf(d.view.srttUS, d.view.minRTTUS, d.band); band != d.band {
		d.band = band
		changes.RTTRatioBand = true
	}
}

// shrink drops the longest gone of the destinations that have no connection.
func (a *Aggregator) shrink() {
	surplus := len(a.destinations) - destinationsTracked
	if surplus <= 0 {
		return
	}
	var idle []*destination
	for _, known := range a.destinations {
		if len(known.connections) == 0 {
			idle = append(idle, known)
		}
	}
	slices.SortFunc(idle, func(x, y *destination) int {
		return cmp.Or(cmp.Compare(x.lastSeen, y.lastSeen), x.address.Compare(y.address))
	})
	for _, known := range idle[:min(surplus, len(idle))] {
		delete(a.destinations, known.address)
	}
}
