// SPDX-License-Identifier: Apache-2.0

package monitor_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/phone-agent/monitor"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const secondUS = 1_000_000

// connection is an idle established connection; change alters it.
func connection(local, remote string, change func(*monitor.Connection)) monitor.Connection {
	c := monitor.Connection{
		State:        "established",
		CAState:      "open",
		Local:        netip.MustParseAddrPort(local),
		Remote:       netip.MustParseAddrPort(remote),
		CwndSegs:     10,
		SsthreshSegs: monitor.SsthreshUnset,
		SRTTUS:       8000,
		MinRTTUS:     4000,
		MSSBytes:     1448,
	}
	if change != nil {
		change(&c)
	}
	return c
}

func acked(bytes uint64) func(*monitor.Connection) {
	return func(c *monitor.Connection) { c.AckedBytes = bytes }
}

func snapshot(connections ...monitor.Connection) monitor.Snapshot {
	return monitor.Snapshot{Connections: connections}
}

// begun is an aggregator after a first snapshot without connections.
func begun() *monitor.Aggregator {
	var aggregator monitor.Aggregator
	aggregator.Observe(monitor.Snapshot{}, 0)
	return &aggregator
}

func addressOf(destination *airboundv1.Destination) string {
	address, _ := netip.AddrFromSlice(destination.GetAddress())
	return address.String()
}

func only(t *testing.T, aggregator *monitor.Aggregator) *airboundv1.Destination {
	t.Helper()
	all := aggregator.Report()
	if len(all) != 1 {
		t.Fatalf("%d destinations: %v", len(all), all)
	}
	return all[0]
}

// The order in which connections are summed up is another one each time.
func TestDestinationSumsItsConnectionsInAnyOrder(t *testing.T) {
	t.Parallel()
	for range 50 {
		destinationSumsItsConnections(t)
	}
}

func destinationSumsItsConnections(t *testing.T) {
	t.Helper()
	aggregator := begun()
	aggregator.Observe(snapshot(
		connection("10.0.0.2:1", "10.0.4.1:80", func(c *monitor.Connection) {
			c.UID, c.CwndSegs, c.SsthreshSegs, c.SRTTUS, c.MinRTTUS, c.MSSBytes = 10073, 20, 15, 30_000, 5_000, 1448
			c.UnsentBytes, c.UnackedBytes, c.AckedBytes = 100, 50, 1000
			c.Events = monitor.Events{LocalCongestion: 1, DupAck: 2, Sack: 3, FastRetransmit: 4, Timeout: 5, Undo: 6}
		}),
		connection("10.0.0.2:2", "10.0.4.1:443", func(c *monitor.Connection) {
			c.UID, c.CwndSegs, c.SsthreshSegs, c.SRTTUS, c.MinRTTUS, c.MSSBytes = 10001, 5, 7, 10_000, 4_000, 1400
			c.UnackedBytes, c.AckedBytes = 25, 500
			c.Events = monitor.Events{
				LocalCongestion: 10,
				DupAck:          20,
				Sack:            30,
				FastRetransmit:  40,
				Timeout:         50,
				Undo:            60,
			}
		}),
		connection("10.0.0.2:3", "10.0.4.1:443", func(c *monitor.Connection) {
			c.UID, c.SsthreshSegs, c.SRTTUS, c.MinRTTUS, c.MSSBytes = 10073, 3, 900_000, 0, 0
		}),
	), secondUS)
	want := &airboundv1.Destination{
		Address: []byte{
			10,
			0,
			4,
			1,
		},
		Connections:        3,
		ConnectionsSending: 2,
		SrttUs:             20_000,
		MinRttUs:           4_000,
		CwndSegs:           35,
		SsthreshSegs:       25,
		MssBytes:           1400,
		DeliveredBytes:     1500,
		QueuedBytes:        175,
		Events: &airboundv1.EventCounts{
			LocalCongestion: 11, DuplicateAck: 22, Sack: 33, FastRetransmit: 44, Timeout: 55, Undo: 66,
		},
		Uids: []uint32{10001, 10073},
	}
	if got := only(t, aggregator); !proto.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestSummariesOfIdleAndUnmeasuredConnections(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Observe(snapshot(
		connection("10.0.0.2:1", "10.0.4.1:80", func(c *monitor.Connection) { c.SRTTUS = 10_000 }),
		connection("10.0.0.2:2", "10.0.4.1:80", func(c *monitor.Connection) { c.SRTTUS = 20_000 }),
		connection("10.0.0.2:3", "10.0.4.1:80", func(c *monitor.Connection) { c.SRTTUS, c.MinRTTUS = 0, 0 }),
	), secondUS)
	got := only(t, aggregator)
	if got.GetSrttUs() != 15_000 || got.GetSsthreshSegs() != monitor.SsthreshUnset || got.GetConnectionsSending() != 0 {
		t.Errorf("%v", got)
	}
}

func TestDeliveredOutlivesConnections(t *testing.T) {
	t.Parallel()
	const here, there = "10.0.0.2:1", "10.0.4.1:80"
	withEvents := func(bytes, timeouts uint64) func(*monitor.Connection) {
		return func(c *monitor.Connection) { c.AckedBytes, c.Events.Timeout = bytes, timeouts }
	}
	aggregator := begun()
	now := int64(0)
	observe := func(connections ...monitor.Connection) {
		now += secondUS
		aggregator.Observe(snapshot(connections...), now)
	}
	check := func(step string, bytes, timeouts uint64, connections uint32) {
		t.Helper()
		got := only(t, aggregator)
		if got.GetDeliveredBytes() != bytes || got.GetEvents().GetTimeout() != timeouts ||
			got.GetConnections() != connections {
			t.Errorf("%s: %v", step, got)
		}
	}
	observe(connection(here, there, withEvents(1000, 1)))
	check("first", 1000, 1, 1)
	observe(connection(here, there, withEvents(3000, 2)), connection("10.0.0.2:2", there, withEvents(10, 0)))
	check("grown, and another", 3010, 2, 2)
	observe(connection("10.0.0.2:2", there, withEvents(20, 0)))
	check("the first is gone", 3020, 2, 1)
	for range 10 {
		observe(connection("10.0.0.2:2", there, withEvents(20, 0)))
	}
	check("and long gone", 3020, 2, 1)
	observe(connection(here, there, withEvents(5, 0)), connection("10.0.0.2:2", there, withEvents(20, 0)))
	check("its four-tuple reused", 3025, 2, 2)
	observe(connection(here, there, withEvents(4, 0)), connection("10.0.0.2:2", there, withEvents(20, 0)))
	check("reused at once: bytes went back", 3029, 2, 2)
	observe(connection(here, there, withEvents(4, 3)), connection("10.0.0.2:2", there, withEvents(20, 0)))
	observe(connection(here, there, withEvents(9, 1)), connection("10.0.0.2:2", there, withEvents(20, 0)))
	check("reused at once: events went back", 3038, 6, 2)
}

func TestAConnectionMissedInSnapshotsIsNotCountedTwice(t *testing.T) {
	t.Parallel()
	const closedAfter = 4
	for missed := range closedAfter + 2 {
		aggregator := begun()
		now := int64(0)
		observe := func(connections ...monitor.Connection) {
			now += secondUS
			aggregator.Observe(snapshot(connections...), now)
			if got := only(t, aggregator).GetConnections(); got != uint32(len(connections)) {
				t.Errorf("second %d: %d connections", now/secondUS, got)
			}
		}
		observe(connection("10.0.0.2:1", "10.0.4.1:80", acked(1000)))
		for range missed {
			observe()
		}
		observe(connection("10.0.0.2:1", "10.0.4.1:80", acked(2500)))
		// After four snapshots without it, the connection has ended, and one with the same ports is another.
		want := uint64(2500)
		if missed >= closedAfter {
			want = 1000 + 2500
		}
		if got := only(t, aggregator).GetDeliveredBytes(); got != want {
			t.Errorf("missed %d times: delivered %d, want %d", missed, got, want)
		}
	}
}

func TestWhatWasDeliveredBeforeTheAgentStartedDoesNotCount(t *testing.T) {
	t.Parallel()
	var aggregator monitor.Aggregator
	old := func(bytes uint64, events monitor.Events) monitor.Connection {
		return connection(
			"10.0.0.2:1",
			"10.0.4.1:80",
			func(c *monitor.Connection) { c.AckedBytes, c.Events = bytes, events },
		)
	}
	before := monitor.Events{LocalCongestion: 10, DupAck: 20, Sack: 30, FastRetransmit: 40, Timeout: 50, Undo: 60}
	if changes := aggregator.Observe(snapshot(old(1e9, before)), 0); changes.StartedSending {
		t.Errorf("started by earlier bytes: %+v", changes)
	}
	after := monitor.Events{LocalCongestion: 11, DupAck: 22, Sack: 33, FastRetransmit: 44, Timeout: 55, Undo: 66}
	aggregator.Observe(snapshot(old(1e9+5, after)), secondUS)
	want := &airboundv1.EventCounts{
		LocalCongestion: 1, DuplicateAck: 2, Sack: 3, FastRetransmit: 4, Timeout: 5, Undo: 6,
	}
	if got := only(t, &aggregator); got.GetDeliveredBytes() != 5 || !proto.Equal(got.GetEvents(), want) {
		t.Errorf("%v", got)
	}
}

// Counters of one connection never decrease: any that did belongs to another connection with the same ports.
func TestEachCounterThatWentBackShowsAnotherConnection(t *testing.T) {
	t.Parallel()
	events := monitor.Events{LocalCongestion: 9, DupAck: 9, Sack: 9, FastRetransmit: 9, Timeout: 9, Undo: 9}
	for name, field := range map[string]func(*monitor.Connection) *uint64{
		"acked_bytes":      func(c *monitor.Connection) *uint64 { return &c.AckedBytes },
		"local_congestion": func(c *monitor.Connection) *uint64 { return &c.Events.LocalCongestion },
		"dup_ack":          func(c *monitor.Connection) *uint64 { return &c.Events.DupAck },
		"sack":             func(c *monitor.Connection) *uint64 { return &c.Events.Sack },
		"fast_retransmit":  func(c *monitor.Connection) *uint64 { return &c.Events.FastRetransmit },
		"timeout":          func(c *monitor.Connection) *uint64 { return &c.Events.Timeout },
		"undo":             func(c *monitor.Connection) *uint64 { return &c.Events.Undo },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := connection("10.0.0.2:1", "10.0.4.1:80", func(c *monitor.Connection) {
				c.AckedBytes, c.Events = 1000, events
			})
			aggregator := begun()
			aggregator.Observe(snapshot(one), secondUS)
			aggregator.Observe(snapshot(one), 2*secondUS)
			if got := only(t, aggregator); got.GetDeliveredBytes() != 1000 || got.GetEvents().GetUndo() != 9 {
				t.Errorf("nothing changed: %v", got)
			}
			another := one
			*field(&another)--
			aggregator.Observe(snapshot(another), 3*secondUS)
			of := another.Events
			want := &airboundv1.EventCounts{
				LocalCongestion: 9 + of.LocalCongestion, DuplicateAck: 9 + of.DupAck, Sack: 9 + of.Sack,
				FastRetransmit: 9 + of.FastRetransmit, Timeout: 9 + of.Timeout, Undo: 9 + of.Undo,
			}
			got := only(t, aggregator)
			if got.GetDeliveredBytes() != 1000+another.AckedBytes || !proto.Equal(got.GetEvents(), want) {
				t.Errorf("%v", got)
			}
		})
	}
}

// TestAdditionalSnapshots has an application that writes small pieces: at some moments nothing is queued, and in a few
// milliseconds nothing is acknowledged.
func TestAdditionalSnapshots(t *testing.T) {
	t.Parallel()
	steps := []struct {
		what          string
		additional    bool
		unsent, acked uint64
		start, stop   bool
		sending       bool
	}{
		{what: "connected", acked: 1},
		{what: "nothing written yet", additional: true, acked: 1},
		{what: "written", additional: true, unsent: 10, acked: 1, start: true, sending: true},
		{what: "delivered", additional: true, acked: 11, sending: true},
		{what: "regular, delivered since the last regular one", acked: 11, sending: true},
		{what: "nothing since", additional: true, acked: 11, sending: true},
		{what: "regular, nothing since", acked: 11, stop: true},
		{what: "delivered between", additional: true, acked: 21, start: true, sending: true},
		{what: "nothing since that", additional: true, acked: 21, sending: true},
		{what: "regular, delivered since the last regular one", acked: 21, sending: true},
		{what: "regular, nothing since", acked: 21, stop: true},
	}
	aggregator := begun()
	for step, now := range steps {
		observe := aggregator.Observe
		if now.additional {
			observe = aggregator.ObserveStarts
		}
		changes := observe(snapshot(connection("10.0.0.2:1", "10.0.4.1:80", func(c *monitor.Connection) {
			c.UnsentBytes, c.AckedBytes = now.unsent, now.acked
		})), int64(step)*secondUS/100)
		if changes.StartedSending != now.start || changes.StoppedSending != now.stop ||
			aggregator.Sending() != now.sending {
			t.Errorf("%d, %s: %+v, sending %v", step, now.what, changes, aggregator.Sending())
		}
	}
}

func TestAConnectionIsNotClosedForMissingInAdditionalSnapshots(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	one := connection("10.0.0.2:1", "10.0.4.1:80", acked(1000))
	aggregator.Observe(snapshot(one), secondUS)
	for range 10 {
		aggregator.ObserveStarts(snapshot(), secondUS)
	}
	one.AckedBytes = 1500
	aggregator.Observe(snapshot(one), 2*secondUS)
	if got := only(t, aggregator).GetDeliveredBytes(); got != 1500 {
		t.Errorf("delivered %d", got)
	}
}

// A SYN and a FIN each take one sequence number, which the kernel's counts of bytes contain.
func TestHandshakeAndCloseAreNotSending(t *testing.T) {
	t.Parallel()
	for state, takesOne := range map[string]bool{
		"established": false, "close_wait": false, "fin_wait2": false,
		"syn_sent": true, "syn_recv": true, "fin_wait1": true, "last_ack": true, "closing": true,
	} {
		for unacked := range uint64(3) {
			aggregator := begun()
			changes := aggregator.Observe(snapshot(connection("10.0.0.2:1", "10.0.4.1:80", func(c *monitor.Connection) {
				c.State, c.UnackedBytes, c.AckedBytes = state, unacked, 0
			})), secondUS)
			want := unacked
			if takesOne && unacked > 0 {
				want--
			}
			if got := only(t, aggregator).GetQueuedBytes(); got != want || changes.StartedSending != (want > 0) {
				t.Errorf("%s with %d: %d queued, %+v", state, unacked, got, changes)
			}
		}
	}
}

func TestSumsOfWrongCountersDoNotWrap(t *testing.T) {
	t.Parallel()
	const most = math.MaxUint64
	wrong := func(c *monitor.Connection) {
		c.AckedBytes, c.UnsentBytes, c.UnackedBytes = most, most, 2
		c.Events = monitor.Events{
			LocalCongestion: most, DupAck: most, Sack: most, FastRetransmit: most, Timeout: most, Undo: most,
		}
	}
	aggregator := begun()
	aggregator.Observe(snapshot(
		connection("10.0.0.2:1", "10.0.4.1:80", wrong), connection("10.0.0.2:2", "10.0.4.1:80", wrong),
	), secondUS)
	got := only(t, aggregator)
	if got.GetDeliveredBytes() != most || got.GetQueuedBytes() != most || !proto.Equal(got.GetEvents(),
		&airboundv1.EventCounts{
			LocalCongestion: most, DuplicateAck: most, Sack: most, FastRetransmit: most, Timeout: most, Undo: most,
		}) {
		t.Errorf("%v", got)
	}
}

func TestStartAndStopOfSending(t *testing.T) {
	t.Parallel()
	const here, there = "10.0.0.2:1", "10.0.4.1:80"
	steps := []struct {
		what          string
		unsent, acked uint64
		gone          bool
		start, stop   bool
		sending       bool
	}{
		{what: "the handshake acknowledges the SYN only", acked: 1},
		{what: "idle", acked: 1},
		{what: "queued", unsent: 10, acked: 1, start: true, sending: true},
		{what: "still queued", unsent: 10, acked: 1, sending: true},
		{what: "delivered meanwhile", acked: 11, sending: true},
		{what: "quiet", acked: 11, stop: true},
		{what: "sent and delivered between two samples", acked: 99, start: true, sending: true},
		{what: "gone", gone: true, stop: true},
	}
	aggregator := begun()
	for second, step := range steps {
		var connections []monitor.Connection
		if !step.gone {
			connections = append(connections, connection(here, there, func(c *monitor.Connection) {
				c.UnsentBytes, c.AckedBytes = step.unsent, step.acked
			}))
		}
		changes := aggregator.Observe(snapshot(connections...), int64(second)*secondUS)
		if changes.StartedSending != step.start || changes.StoppedSending != step.stop ||
			aggregator.Sending() != step.sending {
			t.Errorf("%s: %+v, sending %v", step.what, changes, aggregator.Sending())
		}
	}
}

func TestRTTRatioMoved(t *testing.T) {
	t.Parallel()
	steps := []struct {
		what             string
		srttUS, minRTTUS uint32
		queued           uint64
		report           bool
		want             bool
	}{
		{what: "no sample yet", queued: 10, report: true},
		{what: "the report had no ratio", srttUS: 8_000, minRTTUS: 4_000, queued: 10, report: true},
		{what: "as in the report", srttUS: 8_000, minRTTUS: 4_000, queued: 10},
		{what: "up by a quarter exactly", srttUS: 10_000, minRTTUS: 4_000, queued: 10},
		{what: "up by more", srttUS: 10_008, minRTTUS: 4_000, queued: 10, want: true},
		{what: "still", srttUS: 10_008, minRTTUS: 4_000, queued: 10, want: true},
		{what: "back", srttUS: 8_000, minRTTUS: 4_000, queued: 10},
		{what: "down by a quarter exactly", srttUS: 6_000, minRTTUS: 4_000, queued: 10},
		{what: "down by more", srttUS: 5_992, minRTTUS: 4_000, queued: 10, want: true},
		{what: "idle: the ratio is old", srttUS: 80_000, minRTTUS: 4_000},
		{what: "both moved alike", srttUS: 16_000, minRTTUS: 8_000, queued: 10},
		{what: "the minimum fell", srttUS: 8_000, minRTTUS: 3_000, queued: 10, report: true, want: true},
		{what: "it is in the report now", srttUS: 8_000, minRTTUS: 3_000, queued: 10},
		{what: "no overflow", srttUS: 4_294_967_295, minRTTUS: 1, queued: 10, want: true},
		{what: "no minimum", srttUS: 8_000, queued: 10},
	}
	aggregator := begun()
	for i, step := range steps {
		aggregator.Observe(snapshot(connection("10.0.0.2:1", "10.0.4.1:80", func(c *monitor.Connection) {
			c.SRTTUS, c.MinRTTUS, c.UnackedBytes = step.srttUS, step.minRTTUS, step.queued
		})), int64(i)*secondUS)
		if got := aggregator.RTTRatioMoved(250); got != step.want {
			t.Errorf("%s: %v", step.what, got)
		}
		if step.report {
			aggregator.Report()
		}
	}
}

func TestARatioThatWasNotReportedHasNotMoved(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	observe := func(srttUS uint32, others int) {
		connections := []monitor.Connection{connection("10.0.0.2:1", "10.0.4.1:80", func(c *monitor.Connection) {
			c.SRTTUS, c.UnackedBytes = srttUS, 1
		})}
		for i := range others {
			remote := fmt.Sprintf("10.1.%d.%d:80", i/250, i%250)
			connections = append(
				connections,
				connection("10.0.0.2:1", remote, func(c *monitor.Connection) { c.UnackedBytes = 10 }),
			)
		}
		aggregator.Observe(snapshot(connections...), secondUS)
	}
	observe(8_000, 0)
	aggregator.Report()
	observe(80_000, 300)
	if !aggregator.RTTRatioMoved(1000) {
		t.Error("the ratio moved by a factor of 10")
	}
	aggregator.Report() // The first destination is not among the 256 most active ones.
	observe(40_000, 300)
	if aggregator.RTTRatioMoved(1000) {
		t.Error("the last report had no ratio of the destination")
	}
}

func TestTheIdleDoNotCountInTheRTT(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Observe(snapshot(
		connection("10.0.0.2:1", "10.0.4.1:80", func(c *monitor.Connection) { c.SRTTUS, c.UnackedBytes = 10_000, 1 }),
		connection("10.0.0.2:2", "10.0.4.1:80", func(c *monitor.Connection) { c.SRTTUS = 90_000 }),
		connection("10.0.0.2:3", "10.0.4.1:80", func(c *monitor.Connection) { c.SRTTUS = 50_000 }),
	), secondUS)
	if got := only(t, aggregator).GetSrttUs(); got != 10_000 {
		t.Errorf("smoothed RTT is %d, want that of the only connection that sends", got)
	}
}

func TestNoDestinations(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Exclude([]netip.AddrPort{
		netip.MustParseAddrPort("[::ffff:10.0.9.9]:50051"), netip.MustParseAddrPort("[fe80::1%wlan0]:50051"),
	})
	changes := aggregator.Observe(snapshot(
		connection("10.0.0.2:1", "10.0.9.9:50051", acked(1000)),
		connection("[fe80::2]:1", "[fe80::1]:50051", acked(1000)),
		connection("127.0.0.1:1", "127.0.0.1:5037", acked(1000)),
		connection("[::1]:1", "[::1]:5037", acked(1000)),
	), secondUS)
	if got := aggregator.Report(); len(got) != 0 || changes != (monitor.Changes{}) {
		t.Errorf("%v %+v", got, changes)
	}
	aggregator.Observe(snapshot(connection("10.0.0.2:1", "10.0.9.9:443", acked(1000))), 2*secondUS)
	if got := addressOf(only(t, aggregator)); got != "10.0.9.9" {
		t.Errorf("another port of the controller's host: %s", got)
	}
}

func TestWhatIsExcludedLaterIsDropped(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Observe(snapshot(
		connection("10.0.0.2:1", "10.0.9.9:50051", acked(1000)),
		connection("10.0.0.2:2", "10.0.8.8:50051", acked(1000)),
		connection("10.0.0.2:3", "10.0.8.8:443", acked(20)),
	), secondUS)
	aggregator.Exclude(
		[]netip.AddrPort{netip.MustParseAddrPort("10.0.9.9:50051"), netip.MustParseAddrPort("10.0.8.8:50051")},
	)
	aggregator.Observe(snapshot(connection("10.0.0.2:3", "10.0.8.8:443", acked(30))), 2*secondUS)
	if got := only(t, aggregator); addressOf(got) != "10.0.8.8" || got.GetDeliveredBytes() != 30 {
		t.Errorf("%v", got)
	}
}

func TestADestinationIsDroppedAMinuteAfterItsLastConnection(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Observe(snapshot(connection("10.0.0.2:1", "10.0.4.1:80", acked(1000))), secondUS)
	for second := int64(2); second <= 60; second++ {
		aggregator.Observe(snapshot(), second*secondUS)
		if got := only(t, aggregator); got.GetConnections() != 0 || got.GetDeliveredBytes() != 1000 {
			t.Fatalf("second %d: %v", second, got)
		}
	}
	aggregator.Observe(snapshot(), 61*secondUS)
	if got := aggregator.Report(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

func TestTheMostActiveDestinationsAreReported(t *testing.T) {
	t.Parallel()
	var connections []monitor.Connection
	for i := range 2000 {
		remote := fmt.Sprintf("10.1.%d.%d:80", i/250, i%250)
		connections = append(connections, connection("10.0.0.2:1", remote, func(c *monitor.Connection) {
			if i%20 == 0 {
				c.UnsentBytes = uint64(i + 1)
			}
		}))
	}
	aggregator := begun()
	aggregator.Observe(snapshot(connections...), secondUS)
	got := aggregator.Report()
	if len(got) != monitor.DestinationsReported {
		t.Fatalf("%d destinations", len(got))
	}
	if addressOf(got[0]) != "10.1.7.230" || addressOf(got[99]) != "10.1.0.0" || got[100].GetConnectionsSending() != 0 {
		t.Errorf("%v, %v, %v", got[0], got[99], got[100])
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(connections), func(i, j int) {
		connections[i], connections[j] = connections[j], connections[i]
	})
	other := begun()
	other.Observe(snapshot(connections...), secondUS)
	same := func(a, b *airboundv1.Destination) bool { return proto.Equal(a, b) }
	if !slices.EqualFunc(got, other.Report(), same) {
		t.Error("the order of lines changes the report")
	}
}

func TestMemoryIsBoundedWhenDestinationsComeAndGo(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	for round := range 40 {
		var connections []monitor.Connection
		for i := range 200 {
			remote := fmt.Sprintf("10.%d.0.%d:80", round, i)
			connections = append(connections, connection("10.0.0.2:1", remote, acked(1000)))
		}
		aggregator.Observe(snapshot(connections...), int64(round)*secondUS/10)
		if got := aggregator.Tracked(); got > 1024+4*200 {
			t.Fatalf("round %d: %d destinations tracked", round, got)
		}
	}
	if got := addressOf(aggregator.Report()[0]); got != "10.39.0.0" {
		t.Errorf("first is %s", got)
	}
}

// TestNothingDeliveredIsLostOrCountedTwice begins and ends random connections and counts by itself.
func TestNothingDeliveredIsLostOrCountedTwice(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(7, 11))
	for range 50 {
		aggregator := begun()
		alive, ports := map[int]uint64{}, 0
		var delivered uint64
		for step := range 300 {
			if random.IntN(5) == 0 {
				ports++
				alive[ports] = 0
			}
			var connections []monitor.Connection
			for _, port := range slices.Sorted(maps.Keys(alive)) {
				// What a connection delivers after its last snapshot is not visible: it does not grow when it ends.
				if random.IntN(20) == 0 && alive[port] > 0 {
					delete(alive, port)
					continue
				}
				grown := uint64(random.IntN(5000) + 1)
				alive[port] += grown
				delivered += grown
				local := fmt.Sprintf("10.0.0.2:%d", port)
				connections = append(connections, connection(local, "10.0.4.1:80", acked(alive[port])))
			}
			aggregator.Observe(snapshot(connections...), int64(step)*secondUS/4)
			if ports == 0 {
				continue
			}
			if got := only(t, aggregator).GetDeliveredBytes(); got != delivered {
				t.Fatalf("step %d: delivered %d, reported %d", step, delivered, got)
			}
		}
	}
}

func TestAnIPv6DestinationHas16Octets(t *testing.T) {
	t.Parallel()
	aggregator := begun()
	aggregator.Observe(snapshot(connection("[2001:db8::2]:1", "[2001:db8::1]:443", nil)), secondUS)
	if got := only(t, aggregator); len(got.GetAddress()) != 16 || addressOf(got) != "2001:db8::1" {
		t.Errorf("%v", got)
	}
}
