// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"cmp"
	"maps"
	"math"
	"net/netip"
	"slices"

	"github.com/airbound/airbound/phone-agent/applications"
)

const (
	// destinationKeptUS is how long a destination stays in the report after its last connection is gone.
	destinationKeptUS = 60_000_000
	// destinationsTracked limits memory: beyond it, those without a connection are dropped, the longest gone first.
	destinationsTracked = 1024
	// snapshotsMissed is in how many snapshots in a row a connection must be missing to count as closed. A line may
	// have been refused, and a proc file that takes more than one read may skip a connection.
	snapshotsMissed = 4
)

// Changes are the changes since the snapshot before that are reported at once.
type Changes struct {
	StartedSending bool
	StoppedSending bool
}

// Aggregator follows the connections of a terminal from snapshot to snapshot and sums them up by destination address.
// The zero value is ready. It is not safe for use by several goroutines.
type Aggregator struct {
	destinations map[netip.Addr]*destination
	excluded     map[netip.AddrPort]bool
	classes      applications.Classes
	// False before the first snapshot: what connections had delivered by then does not count.
	begun bool
	// Whether the last snapshot was one of ObserveStarts: growth counts from the last one of Observe.
	additional bool
}

// destination is everything known of one address.
type destination struct {
	address     netip.Addr
	connections map[flow]*tracked
	// Sums over what is no part of connections any more: those that are closed, by their class, and what open ones had
	// delivered while they were of another class.
	closed [applications.ClassCount]totals
	// As of the last snapshot.
	view     view
	sending  bool
	lastSeen int64
	// The RTTs in the last report; 0 if they were not in it.
	reported rtts
}

// flow identifies a connection.
type flow struct{ local, remote netip.AddrPort }

// tracked is one connection, with what it had delivered before the first snapshot, or while it was of another class.
type tracked struct {
	last    Connection
	class   applications.Class
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

// Exclude names remote end points that are no destinations: the controller, to which the agent itself is connected.
// What is known of connections to them is dropped.
func (a *Aggregator) Exclude(remotes []netip.AddrPort) {
	a.excluded = make(map[netip.AddrPort]bool, len(remotes))
	for _, remote := range remotes {
		// Addresses of the kernel's monitor have no zone.
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

// Classify takes other classes over, and returns whether they change that of an open connection. What these have
// delivered until now stays with the class that they were of.
func (a *Aggregator) Classify(classes applications.Classes) (changed bool) {
	a.classes = classes
	for _, known := range a.destinations {
		for _, connection := range known.connections {
			if class := classes.Find(connection.last.flow()); class != connection.class {
				known.reclassify(connection, class)
				changed = changed || connection.present
			}
		}
	}
	return changed
}

// Observe updates the destinations with a snapshot. nowUS is any clock that does not go back.
func (a *Aggregator) Observe(snapshot Snapshot, nowUS int64) Changes {
	return a.observe(snapshot, nowUS, false)
}

// ObserveStarts updates the destinations with a snapshot between two of Observe, which may follow shortly after another
// one: it finds what began to be sent to, but nothing that stopped. In a few milliseconds an application that sends in
// small pieces may have nothing queued and nothing acknowledged.
func (a *Aggregator) ObserveStarts(snapshot Snapshot, nowUS int64) Changes {
	return a.observe(snapshot, nowUS, true)
}

func (a *Aggregator) observe(snapshot Snapshot, nowUS int64, additional bool) Changes {
	if a.destinations == nil {
		a.destinations = make(map[netip.Addr]*destination)
	}
	for _, known := range a.destinations {
		for _, connection := range known.connections {
			connection.present, connection.grew = false, connection.grew && a.additional
		}
	}
	a.additional = additional
	for i := range snapshot.Connections {
		a.take(&snapshot.Connections[i], nowUS)
	}
	a.begun = true
	var changes Changes
	for address, known := range a.destinations {
		if !additional {
			known.foldClosed()
		}
		known.refresh(&changes, additional)
		if nowUS-known.lastSeen >= destinationKeptUS {
			delete(a.destinations, address)
		}
	}
	a.shrink()
	return changes
}

// Sending reports whether any destination is being sent to.
func (a *Aggregator) Sending() bool {
	for _, known := range a.destinations {
		if known.sending {
			return true
		}
	}
	return false
}

// take adds one connection. Loopback is left out: it does not use the air.
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
	known.take(connection, a.classes.Find(connection.flow()), !a.begun)
}

func (d *destination) take(connection *Connection, class applications.Class, before bool) {
	key := flow{connection.Local, connection.Remote}
	same := d.connections[key]
	if same != nil && (connection.AckedBytes < same.last.AckedBytes || !connection.Events.atLeast(same.last.Events)) {
		// The four-tuple was reused: counters of one connection never decrease.
		d.close(same)
		same = nil
	}
	// An application may mark a connection some time after it has begun.
	if same != nil && same.last.DSCP != connection.DSCP && same.class != class {
		d.reclassify(same, class)
	}
	if same == nil {
		same = &tracked{class: class}
		if before {
			same.base = totals{connection.AckedBytes, connection.Events}
			same.last.AckedBytes = connection.AckedBytes
		}
		d.connections[key] = same
	}
	// The kernel counts the SYN as one acknowledged byte; a handshake is not sending yet.
	same.grew = same.grew || connection.AckedBytes > max(same.last.AckedBytes, 1)
	same.last, same.present, same.missed = *connection, true, 0
}

// carried is what the connection has delivered since the first snapshot.
func (t *tracked) carried() totals {
	return totals{t.last.AckedBytes - t.base.bytes, t.last.Events.minus(t.base.events)}
}

// close adds what a connection has delivered to what is of its class for good.
func (d *destination) close(connection *tracked) {
	d.closed[connection.class] = d.closed[connection.class].plus(connection.carried())
}

// reclassify has what the connection delivers from its last snapshot on count for another class.
func (d *destination) reclassify(connection *tracked, class applications.Class) {
	d.close(connection)
	connection.base = totals{connection.last.AckedBytes, connection.last.Events}
	connection.class = class
}

func (d *destination) foldClosed() {
	for key, connection := range d.connections {
		if connection.present {
			continue
		}
		connection.missed++
		if connection.missed >= snapshotsMissed {
			d.close(connection)
			delete(d.connections, key)
		}
	}
}

// refresh computes the view after a snapshot and records what changed.
func (d *destination) refresh(changes *Changes, additional bool) {
	d.view = d.summarise()
	sending := d.view.connectionsSending > 0 || d.view.grew || (additional && d.sending)
	if sending && !d.sending {
		changes.StartedSending = true
	}
	if !sending && d.sending {
		changes.StoppedSending = true
	}
	d.sending = sending
}

// rtts are the two RTTs of a destination.
type rtts struct{ srttUS, minRTTUS uint32 }

// ratio returns smoothed RTT over minimum RTT, and whether there are samples of both.
func (r rtts) ratio() (float64, bool) {
	return float64(r.srttUS) / float64(r.minRTTUS), r.srttUS > 0 && r.minRTTUS > 0
}

// RTTRatioMoved reports whether the ratio of smoothed to minimum RTT of a destination that is being sent to differs
// from that in the last report by more than so many thousandths of it. A destination that had no ratio there does not
// count.
func (a *Aggregator) RTTRatioMoved(permille uint32) bool {
	for _, known := range a.destinations {
		// The ratio of an idle connection is old; it is no measure of the air now.
		if known.sending && known.ratioMoved(permille) {
			return true
		}
	}
	return false
}

func (d *destination) ratioMoved(permille uint32) bool {
	const whole = 1000
	now, known := rtts{d.view.srttUS, d.view.minRTTUS}.ratio()
	before, wasKnown := d.reported.ratio()
	return known && wasKnown && math.Abs(now-before)*whole > float64(permille)*before
}

// shrink drops those of the destinations without a connection that are gone longest.
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
