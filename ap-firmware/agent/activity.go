// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
)

// When a station's upload begins or ends, the agent reports at once: the shares of all other stations follow from it.
// To find out, it looks at the stations' counters a few times between two reports (Config.LookInterval).
//
// An upload begins when a station has sent startBytes of data since it was silent last. It ends when the station is
// silent: after one look without data, if the station has not paused before. One that waits for ACKs pauses, for up to
// an RTT, which is a second where queues are long. So a station is given a quarter more than the longest of its latest
// pauses, and a look; but never more than silentMax. A pause of more than pauseMax is the time between two uploads,
// and the pauses before it are forgotten.
//
// Data are packets that are longer than TCP ACKs on average (stopPacketBytes), at more than stopBytesPerS. Less neither
// begins an upload nor prolongs one: a phone's agent sends a report a second, and one when its phone has stopped.
//
// Each report contains what came since the last look before it, and which stations are silent. By the average of the
// whole interval a station that has stopped would seem to send for one interval more.

// The controller decides by the same constants. docs/active-senders.md lists them with their reasons, and tests of both
// compare the code with the list. One in it is the controller's alone (start packet): of a station that begins, the
// controller requires longer packets. The agent does not, since a superfluous report costs less than a missing one.
const (
	intervalMin       = 150 * time.Millisecond
	silentMax         = 900 * time.Millisecond
	pauseMax          = 2 * time.Second
	pauseFades        = 4
	startBytesPerS    = 10_000
	stopBytesPerS     = 2_000
	recent            = 500 * time.Millisecond
	stopPacketBytes   = 80
	linkOverheadBytes = 34

	// startBytes are the octets of data with which an upload begins.
	startBytes = startBytesPerS * uint64(recent) / uint64(time.Second)
	// dataBytes is the size of the bucket that stopBytesPerS leak from: octets are data while it is full.
	dataBytes = stopBytesPerS * uint64(recent) / uint64(time.Second)
)

// uplink is what a station has sent since it associated.
type uplink struct{ bytes, packets uint64 }

// data are the octets of IP that came since an earlier moment; 0 if they are nothing but TCP ACKs, or the station
// associated anew.
func (u uplink) data(since uplink) uint64 {
	if u.bytes < since.bytes || u.packets < since.packets {
		return 0
	}
	octets, packets := u.bytes-since.bytes, u.packets-since.packets
	if octets <= packets*(linkOverheadBytes+stopPacketBytes) {
		return 0
	}
	return octets - packets*linkOverheadBytes
}

// pace is how a station sends.
type pace struct {
	dataUS  int64  // when data came last; 0: never
	pauseUS int64  // the longest of its latest pauses
	level   uint64 // of a bucket of dataBytes that leaks stopBytesPerS
	bytes   uint64 // since it was silent
	upload  bool   // whether that was enough to be one, when data came last
	silent  bool
}

// hasData takes over what came in a look, and returns whether the station sends, or sends on.
func (p *pace) hasData(elapsedUS int64, data uint64) bool {
	p.level -= min(p.level, uint64(max(elapsedUS, 0))*stopBytesPerS/1_000_000)
	p.level = min(p.level+data, dataBytes)
	return data > 0 && p.level == dataBytes
}

// look takes over what came since the look before, so long ago.
func (p *pace) look(nowUS, elapsedUS int64, data uint64) {
	if p.hasData(elapsedUS, data) {
		switch pauseUS := nowUS - elapsedUS - p.dataUS; {
		case !p.upload, pauseUS > pauseMax.Microseconds():
			p.pauseUS = 0
		case pauseUS > p.pauseUS:
			p.pauseUS = pauseUS
		default:
			p.pauseUS -= p.pauseUS / pauseFades
		}
		p.dataUS = nowUS
		p.bytes += data
		p.upload = p.sends()
	}
	allowedUS := min(p.pauseUS+p.pauseUS/4+elapsedUS, silentMax.Microseconds())
	if p.silent = p.dataUS == 0 || nowUS-p.dataUS >= allowedUS; p.silent {
		p.bytes = 0
	}
}

func (p *pace) sends() bool { return p.bytes >= startBytes }

// counters are those of all stations at one moment.
type counters struct {
	atUS    int64
	uplinks map[mac.Address]uplink
}

// activity is what the last looks at the table found.
type activity struct {
	older, newer counters
	nextLookUS   int64
	paces        map[mac.Address]*pace
}

func (a *activity) start(nowUS int64) {
	*a = activity{nextLookUS: nowUS, paces: map[mac.Address]*pace{}}
}

// lookAtActivity reads the table if that is due, and makes a report due if a station began to send or stopped.
func (a *Agent) lookAtActivity(nowUS int64) {
	every := a.cfg.LookInterval.Microseconds()
	if every == 0 || !a.connected || nowUS < a.activity.nextLookUS || nowUS >= a.nextReportUS ||
		a.pending != triggerNone {
		return // What is reported now is a look as well.
	}
	a.activity.nextLookUS = nowUS + every
	snapshot, err := a.cfg.Sampler.Snapshot()
	if err != nil {
		return // The next report finds the same, and says so.
	}
	if a.activity.look(nowUS, snapshot.Stations) {
		a.pending = triggerSenders
	}
}

// look takes over a sample, and returns whether a station began to send or stopped.
func (a *activity) look(nowUS int64, stations []nl80211.Station) (changed bool) {
	if nowUS-a.newer.atUS < intervalMin.Microseconds() {
		return false
	}
	now := counters{atUS: nowUS, uplinks: make(map[mac.Address]uplink, len(stations))}
	for i := range stations {
		address := stations[i].MAC
		counted := uplink{bytes: stations[i].RXBytes, packets: uint64(stations[i].RXPackets)}
		now.uplinks[address] = counted
		each, known := a.paces[address]
		if !known {
			each = &pace{silent: true}
			a.paces[address] = each
		}
		before, sent := a.newer.uplinks[address]
		if !sent {
			before = counted
		}
		sends := each.sends()
		each.look(nowUS, nowUS-a.newer.atUS, counted.data(before))
		changed = changed || each.sends() != sends
	}
	for address := range a.paces {
		if _, is := now.uplinks[address]; !is {
			delete(a.paces, address)
		}
	}
	a.older, a.newer = a.newer, now
	return changed
}

// reported takes over what is reported, and returns what came since the look before.
func (a *activity) reported(nowUS int64, stations []nl80211.Station) report.Recent {
	a.look(nowUS, stations)
	if a.older.uplinks == nil {
		return report.Recent{}
	}
	recent := report.Recent{
		US: uint64(max(a.newer.atUS-a.older.atUS, 0)), Uplink: make(map[mac.Address]report.Uplink, len(stations)),
	}
	for address, each := range a.paces {
		now, before := a.newer.uplinks[address], a.older.uplinks[address]
		if now.bytes < before.bytes || now.packets < before.packets {
			before = uplink{} // It associated anew.
		}
		recent.Uplink[address] = report.Uplink{
			Bytes: now.bytes - before.bytes, Packets: now.packets - before.packets, Silent: each.silent,
		}
	}
	return recent
}
