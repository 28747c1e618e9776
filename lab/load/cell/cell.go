// SPDX-License-Identifier: Apache-2.0

package cell

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	// capacityBytesPerUS of every cell: 100 Mb/s of TCP payload, of which senders use busyRatio.
	capacityBytesPerUS = 100.0 / 8
	busyRatio          = 0.9
	packetBytes        = 1500
	// linkOverheadBytes are in rx_bytes with each packet: QoS header and LLC/SNAP.
	linkOverheadBytes = 34
	bitrateKbps       = 400_000
	reportEveryUS     = secondUS
	// secondReportUS after the first report of a stream comes the second.
	secondReportUS = 400_000
)

// What a station must send to count as an active sender, and over which time at least: the controller's own defaults.
// The model counts by the same rule, so that it knows from which report on the controller can know of a change.
const (
	startBytesPerS = 10_000
	stopBytesPerS  = 2_000
	baselineMinUS  = 250_000
)

// station is what an access point counts of one station.
type station struct {
	associatedUS    int64
	payload         float64
	packets         float64
	airtimeUS       float64
	active          bool
	baselineUS      int64
	baselinePayload float64
	message         *airboundv1.Station
}

// Cell is a BSS: its access point and the stations in it.
type Cell struct {
	// Source is the address that the access point's stream comes from.
	Source netip.Addr
	// Reconnects are planned from StartChanges on.
	Reconnects Times

	p       Parameters
	number  int
	bssid   []byte
	ssid    []byte
	random  *rand.Rand
	members []*Terminal
	senders int

	connected    bool
	connectedUS  int64
	reports      int // of this stream
	sequence     uint64
	phaseUS      int64
	nextReportUS int64
	nextChangeUS int64
	advancedUS   int64
	activeUS     float64
	busyUS       float64
	baselineUS   int64
	active       int // senders by the last report
	message      *airboundv1.AccessPointReport
}

// New makes all cells of p, with as many terminals sending as may. Terminal i is in cell i / TerminalsPerCell.
func New(p Parameters, nowUS int64) ([]*Cell, []*Terminal) {
	cells := make([]*Cell, p.Cells)
	terminals := make([]*Terminal, 0, p.Cells*p.TerminalsPerCell)
	for i := range cells {
		number := p.FirstCell + i
		c := &Cell{
			Source:     p.source(accessPointSources, number),
			Reconnects: never,
			p:          p, number: number,
			bssid: mac(kindAccessPoint, number), ssid: fmt.Appendf(nil, "load-%d", number),
			random:     p.random(kindAccessPoint, number, sequenceChanges),
			advancedUS: nowUS, nextReportUS: math.MaxInt64, nextChangeUS: math.MaxInt64,
		}
		c.phaseUS = c.random.Int64N(reportEveryUS)
		c.message = &airboundv1.AccessPointReport{
			Bssid: c.bssid, Ssid: c.ssid, Interface: "wlan0", AgentVersion: agentVersion,
			Channel: &airboundv1.Channel{CenterFrequencyMhz: 5180, WidthMhz: 80}, Survey: &airboundv1.ChannelSurvey{},
		}
		for j := range p.TerminalsPerCell {
			t := newTerminal(p, number, number*p.TerminalsPerCell+j, nowUS)
			c.join(nowUS, t)
			terminals = append(terminals, t)
		}
		c.chooseSenders(nowUS, c.sendersMax())
		cells[i] = c
	}
	return cells, terminals
}

// StartChanges begins with reconnecting and with changes of the set of senders; cells are spread over one period.
func (c *Cell) StartChanges(nowUS int64) {
	c.Reconnects = newTimes(c.p.random(kindAccessPoint, c.number, sequenceReconnects), c.p.ReconnectEveryUS, nowUS)
	if c.p.ChangeEveryUS > 0 {
		c.nextChangeUS = nowUS + c.random.Int64N(c.p.ChangeEveryUS)
	}
}

// Cell is the one that the terminal is associated with.
func (t *Terminal) Cell() *Cell { return t.cell }

// Number is the cell's, counted from 0 over all generators.
func (c *Cell) Number() int { return c.number }

// Members are the terminals that are associated now. The slice must not be changed or kept.
func (c *Cell) Members() []*Terminal { return c.members }

// bytesPerUS is what each sender of the cell sends.
func (c *Cell) bytesPerUS() float64 {
	return capacityBytesPerUS * busyRatio / float64(max(1, c.senders))
}

func (c *Cell) join(nowUS int64, t *Terminal) {
	t.cell = c
	t.station = station{associatedUS: nowUS, baselineUS: c.baselineUS, message: t.station.message}
	c.members = append(c.members, t)
	c.countSenders()
}

func (c *Cell) countSenders() {
	c.senders = 0
	for _, t := range c.members {
		if t.sending {
			c.senders++
		}
	}
}

// Roam moves a terminal to another cell. Both access points must report at once, with the returned triggers.
func (c *Cell) Roam(nowUS int64, t *Terminal, to *Cell) (left, joined airboundv1.AccessPointReportTrigger) {
	c.advance(nowUS)
	to.advance(nowUS)
	t.advance(nowUS)
	c.members = slices.DeleteFunc(c.members, func(member *Terminal) bool { return member == t })
	c.countSenders()
	to.join(nowUS, t)
	return airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT,
		airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED
}

// Rejoin has a terminal join its cell again as another station, with a new MAC address. It must have no stream: an
// agent's MAC does not change on one. The access point must report at once, with the returned trigger.
func (c *Cell) Rejoin(nowUS int64, t *Terminal) airboundv1.AccessPointReportTrigger {
	c.advance(nowUS)
	t.advance(nowUS)
	c.members = slices.DeleteFunc(c.members, func(member *Terminal) bool { return member == t })
	// Locally administered, and of another prefix than those that terminals begin with.
	const prefix, randomBits = 0x06, 40
	random := t.macs.Uint64N(1 << randomBits)
	t.mac = binary.BigEndian.AppendUint64(nil, prefix<<randomBits|random)[2:]
	t.station.message = nil
	c.join(nowUS, t)
	return airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED
}

// sendersMax and sendersMin are the numbers of senders between which changes go: all that may send, and half of them.
func (c *Cell) sendersMax() int {
	return min(len(c.members), int(math.Round(c.p.Sending*float64(len(c.members)))))
}

func (c *Cell) sendersMin() int { return c.sendersMax() / 2 }

// chooseSenders draws which terminals send from now on.
func (c *Cell) chooseSenders(nowUS int64, count int) {
	c.advance(nowUS)
	for _, t := range c.members {
		t.advance(nowUS)
	}
	chosen := make([]bool, len(c.members))
	for _, i := range c.random.Perm(len(c.members))[:count] {
		chosen[i] = true
	}
	for i, t := range c.members {
		t.setSending(nowUS, chosen[i])
	}
	c.countSenders()
}

// ChangeSenders changes the set of senders if that is due, and returns whose state changed. Call it right after a
// report of the interval: the next report is then the first that shows the change, and shows all of it.
func (c *Cell) ChangeSenders(nowUS int64) []*Terminal {
	// A controller needs two reports of a stream before it knows rates.
	const settledUS = 2 * secondUS
	if nowUS < c.nextChangeUS || !c.connected || nowUS-c.connectedUS < settledUS {
		return nil
	}
	c.nextChangeUS = max(c.nextChangeUS+c.p.ChangeEveryUS, nowUS+c.p.ChangeEveryUS-reportEveryUS)
	before := make([]bool, len(c.members))
	for i, t := range c.members {
		before[i] = t.sending
	}
	count := c.sendersMax()
	if 2*c.senders > count+c.sendersMin() {
		count = c.sendersMin()
	}
	c.chooseSenders(nowUS, count)
	var changed []*Terminal
	for i, t := range c.members {
		if t.sending != before[i] {
			changed = append(changed, t)
		}
	}
	return changed
}

// Connected starts a stream: a first report is due.
func (c *Cell) Connected(nowUS int64) {
	c.connected, c.connectedUS, c.reports, c.nextReportUS = true, nowUS, 0, nowUS
}

// Disconnected ends it.
func (c *Cell) Disconnected() { c.connected, c.nextReportUS = false, math.MaxInt64 }

// IsConnected reports whether the access point has a stream.
func (c *Cell) IsConnected() bool { return c.connected }

// NextUS is when a report of the interval is due.
func (c *Cell) NextUS() int64 { return c.nextReportUS }

// ActiveSenders is the number of senders by the last report.
func (c *Cell) ActiveSenders() int { return c.active }

// advance moves the counters on.
func (c *Cell) advance(nowUS int64) {
	elapsed := float64(nowUS - c.advancedUS)
	if elapsed <= 0 {
		return
	}
	c.advancedUS = nowUS
	c.activeUS += elapsed
	const beaconsRatio = 0.02
	if c.senders == 0 {
		c.busyUS += elapsed * beaconsRatio
	} else {
		c.busyUS += elapsed * busyRatio
	}
	rate := c.bytesPerUS()
	for _, t := range c.members {
		s := &t.station
		if t.sending {
			s.payload += rate * elapsed
			s.packets += rate * elapsed / packetBytes
			s.airtimeUS += elapsed * busyRatio / float64(c.senders)
		} else {
			const nullFramesPerUS = 1.0 / secondUS
			s.packets += nullFramesPerUS * elapsed
		}
	}
}

// Report is one report; it is valid until the next one. It also counts the senders that it shows.
func (c *Cell) Report(nowUS int64, trigger airboundv1.AccessPointReportTrigger) *airboundv1.AccessPointReport {
	c.advance(nowUS)
	c.count(nowUS)
	c.sequence++
	c.reports++
	m := c.message
	m.Sequence, m.MonotonicUs, m.Trigger = c.sequence, uint64(nowUS), trigger //nolint:gosec // not negative
	m.Survey.ActiveUs, m.Survey.BusyUs = uint64(c.activeUS), uint64(c.busyUS)
	m.Survey.RxUs = uint64(c.busyUS * 0.8)
	m.Survey.TxUs = uint64(c.busyUS * 0.1)
	m.Stations = m.GetStations()[:0]
	for _, t := range c.members {
		m.Stations = append(m.Stations, t.stationMessage(nowUS, !c.p.SharedAddress))
	}
	// A station that comes or goes does not move the grid.
	if c.reports == 1 {
		c.nextReportUS = nowUS + secondReportUS
	} else if nowUS >= c.nextReportUS {
		c.nextReportUS = nextOnGrid(nowUS, c.phaseUS, reportEveryUS)
	}
	return m
}

// count takes differences as the controller does.
func (c *Cell) count(nowUS int64) {
	if nowUS-c.baselineUS < baselineMinUS {
		return
	}
	c.active = 0
	for _, t := range c.members {
		s := &t.station
		elapsedS := float64(max(nowUS-s.baselineUS, baselineMinUS)) / secondUS
		perSecond := (s.payload - s.baselinePayload) / elapsedS
		s.active = perSecond >= startBytesPerS || s.active && perSecond >= stopBytesPerS
		s.baselineUS, s.baselinePayload = nowUS, s.payload
		if s.active {
			c.active++
		}
	}
	c.baselineUS = nowUS
}

// Active reports whether the last report of its access point showed the terminal as a sender.
func (t *Terminal) Active() bool { return t.station.active }

func (t *Terminal) stationMessage(nowUS int64, addresses bool) *airboundv1.Station {
	s := &t.station
	if s.message == nil {
		signalDBm := int32(-50 - t.random.IntN(20)) //nolint:gosec // small
		s.message = &airboundv1.Station{
			Mac: t.mac, SignalDbm: &signalDBm, RxBitrateKbps: bitrateKbps, TxBitrateKbps: bitrateKbps, Aggregates: true,
			AirtimeSource: airboundv1.AirtimeSource_AIRTIME_SOURCE_MEASURED,
		}
		if addresses {
			s.message.IpAddresses = [][]byte{t.Source.AsSlice()}
		}
	}
	m := s.message
	packets := math.Floor(s.packets)
	m.RxPackets = uint64(packets)
	m.RxBytes = uint64(s.payload + packets*linkOverheadBytes)
	// TCP acknowledges every second segment.
	const ackBytes = 52 + linkOverheadBytes
	m.TxPackets = uint64(packets / 2)
	m.TxBytes = uint64(packets/2) * ackBytes
	m.TxRetries = uint64(packets / 50)
	m.RxAirtimeUs = uint64(s.airtimeUS * 0.9)
	m.TxAirtimeUs = uint64(s.airtimeUS * 0.1)
	m.ConnectedTimeMs = uint64(nowUS-s.associatedUS) / 1000 //nolint:gosec // not negative
	return m
}
