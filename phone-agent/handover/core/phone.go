// SPDX-License-Identifier: Apache-2.0

package core

import (
	"fmt"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// Effect is what the caller of a machine is to do. It is one of Dial, Hangup, SendDatagram and RenewSocket.
type Effect any

// Dial opens a connection, sends Hello on it and waits for Welcome. Opened or Lost follows.
type Dial struct {
	Number uint64
	Role   wire.Role
}

// Hangup closes a connection, or ends the attempt to open it. No Lost follows.
type Hangup struct{ Number uint64 }

// SendDatagram sends a datagram by UDP.
type SendDatagram struct{ Octets []byte }

// RenewSocket replaces the socket for datagrams: the phone may have another address.
type RenewSocket struct{}

// lane is a connection of the phone's.
type lane struct {
	role wire.Role
	// since is when the attempt began; ready whether it succeeded.
	since time.Duration
	ready bool
	// heard is Phone.heard when the attempt began.
	heard uint64
	// switchDue is the count of the Switch that the connection must begin with, 0 if it is written.
	switchDue uint64
	// draining is set on a connection that is not used any more; it is closed at drainEnd, or when all records up to
	// drainLast have arrived.
	draining  bool
	drainEnd  time.Duration
	drainLast uint64
}

// Reason is why the phone switched.
type Reason int

// Reasons to switch.
const (
	ByNotice  Reason = iota + 1 // the paper's method
	AtOnce                      // an arrival, and silence
	BySilence                   // the paper's method the other way round, or without a side channel
	Failover                    // the current connection was lost
)

// Phone is the phone's end of a session: it opens connections and decides when to switch.
type Phone struct {
	link
	session wire.Session
	key     wire.Key
	started int64

	lanes    map[uint64]*lane
	numbered uint64 // the last number of a connection
	switches uint64 // the count of Switch frames
	spare    uint64
	notices  uint64
	failures int
	redialAt time.Duration

	// epoch is that of the server, heard counts what came from it.
	epoch   wire.Epoch
	known   bool // whether a server has answered yet
	heard   uint64
	welcome wire.Welcome
	keys    wire.DatagramKeys

	// The last arrival, T_handover; acted is whether it has caused a switch already.
	arrivalAt time.Duration
	arrival   bool
	acted     bool
	// wanted is the reason of a switch that waits for a spare connection.
	wanted Reason

	counter, counterSeen uint64
	// hereAt is when the last datagram was sent, unanswered how many since the last answer.
	hereAt     time.Duration
	hereSent   uint64 // records at that time
	unanswered int
	noUDP      bool // fallen back to a third connection
	noticeDue  bool
	// behindSince is since when the server has sent more than has arrived; 0 is not.
	behindSince time.Duration

	switched []Switched
	effects  []Effect
}

// Switched is a switch that took place.
type Switched struct {
	Reason   Reason
	From, To uint64
	At       time.Duration
	// SinceArrival is negative without an arrival.
	SinceArrival time.Duration
}

// NewPhone returns a phone that begins to connect. startedUnixUs is the time of day, for the server's log.
func NewPhone(settings Settings, session wire.Session, key wire.Key, startedUnixUs int64) *Phone {
	p := &Phone{
		link: newLink(settings, false, 1), session: session, key: key, started: startedUnixUs,
		lanes: map[uint64]*lane{}, noUDP: settings.NoUDP,
	}
	p.reconcile(0)
	return p
}

// Hello returns the first frame of a connection.
func (p *Phone) Hello(number uint64) wire.Hello {
	hello := wire.Hello{
		Session: p.session, Key: p.key, Periodic: p.settings.Periodic, NewestFirst: p.settings.NewestFirst,
		Connection: number, StartedUnixUs: p.started, First: p.out.first,
	}
	if l := p.lanes[number]; l != nil {
		hello.Role = l.role
	}
	return hello
}

// Opened takes in that a connection was opened and what the server answered.
func (p *Phone) Opened(now time.Duration, number uint64, welcome wire.Welcome) {
	l := p.lanes[number]
	if l == nil || l.ready {
		return
	}
	if !p.known || welcome.Epoch != p.epoch {
		if p.known && l.heard != p.heard {
			// The known server was alive after this connection began, so either may be the one that has ended. A
			// connection that begins now decides.
			p.hangUp(number)
			p.reconcile(now)
			return
		}
		p.meetServer(number, welcome)
	}
	p.heard++
	l.ready, l.since = true, now
	p.failures, p.redialAt = 0, now
	switch {
	case l.role == wire.RoleNotices:
		p.notices = number
		p.here(now)
	case p.current == 0:
		p.useLane(now, number)
		p.here(now)
	case p.spare == 0:
		p.spare = number
		if p.wanted != 0 {
			reason := p.wanted
			p.wanted = 0
			if now-p.arrivalAt < p.settings.Switch && (p.silentFor(now) > 0 || reason == BySilence) {
				p.switchNow(now, reason)
			}
		}
	}
	p.reconcile(now)
}

// meetServer is for the first answer, and for one of a server that has forgotten the session.
func (p *Phone) meetServer(number uint64, welcome wire.Welcome) {
	if p.known {
		p.stats.ServerRestarts++
		p.in.restart(welcome.First)
	} else {
		p.in = newInbox(welcome.NewestFirst, welcome.First, p.settings.InboxBytes, p.settings.SpanMax)
	}
	p.in.newestFirst = welcome.NewestFirst
	p.out.forget(welcome.Next)
	p.epoch, p.known, p.welcome = welcome.Epoch, true, welcome
	p.keys = wire.NewDatagramKeys(p.key, welcome.Epoch)
	p.counter, p.counterSeen, p.unanswered, p.behindSince = 0, 0, 0, 0
	p.switches = 0
	for other := range p.lanes {
		if other != number && p.lanes[other].ready {
			p.hangUp(other)
		}
	}
	p.current, p.spare, p.notices = 0, 0, 0
	if p.welcome.UDPPort == 0 {
		p.noUDP = true
	}
}

// Refused takes in that the server refused a connection. It returns an error if no later attempt can succeed.
func (p *Phone) Refused(now time.Duration, number uint64, refused wire.Refused) error {
	p.Lost(now, number)
	if refused.Refusal == wire.RefusedLimit || refused.Refusal == wire.RefusedClosing ||
		refused.Refusal == wire.RefusedOld {
		return nil
	}
	p.over = true
	return fmt.Errorf("the server refuses the session: %q", refused.Text)
}

// Lost takes in that a connection ended, or could not be opened.
func (p *Phone) Lost(now time.Duration, number uint64) {
	l := p.lanes[number]
	if l == nil {
		return
	}
	// A server that accepts and closes is not to be asked without pause either. Connections that fail together are one
	// failure.
	if (!l.ready || now-l.since < p.settings.RedialMin) && now >= p.redialAt {
		p.failures++
		p.redialAt = now + p.backOff()
	}
	p.remove(number)
	if p.over {
		return
	}
	if p.current == 0 && p.spare != 0 {
		spare := p.spare
		p.spare = 0
		p.stats.Failovers++
		p.acted = true
		p.note(now, Failover, number, spare)
		p.useLane(now, spare)
	}
	p.reconcile(now)
}

func (p *Phone) remove(number uint64) {
	delete(p.lanes, number)
	switch number {
	case p.current:
		p.current = 0
	case p.spare:
		p.spare = 0
	case p.notices:
		p.notices = 0
	}
}

func (p *Phone) hangUp(number uint64) {
	p.remove(number)
	p.effects = append(p.effects, Hangup{number})
}

func (p *Phone) useLane(now time.Duration, number uint64) {
	p.switches++
	p.lanes[number].switchDue = p.switches
	p.use(now, number)
}

// backOff doubles from RedialMin to RedialMax; between half and all of it, by the session's identifier, so that phones
// do not come back to a server all at once.
func (p *Phone) backOff() time.Duration {
	doublings := min(max(p.failures-1, 0), 16)
	wait := min(p.settings.RedialMin<<doublings, p.settings.RedialMax)
	const octetValues = 256
	return wait/2 + wait/2*time.Duration(p.session[p.failures%wire.SessionBytes])/octetValues
}

// reconcile opens the connections that are missing, if it is time to.
func (p *Phone) reconcile(now time.Duration) {
	if p.over || p.byeSent || now < p.redialAt {
		return
	}
	records, want := 0, 2
	notices := false
	for _, l := range p.lanes {
		switch {
		case l.role == wire.RoleNotices:
			notices = true
		case !l.draining:
			records++
		}
	}
	if p.settings.NoSpare {
		want = 1
	}
	for ; records < want; records++ {
		p.dial(now, wire.RoleRecords)
	}
	if p.noUDP && !p.settings.NoNotices && !notices && p.known {
		p.dial(now, wire.RoleNotices)
	}
}

func (p *Phone) dial(now time.Duration, role wire.Role) {
	p.numbered++
	p.lanes[p.numbered] = &lane{role: role, since: now, heard: p.heard}
	p.effects = append(p.effects, Dial{p.numbered, role})
}

// Frame takes in a frame of a connection. An error means that the connection must be closed; Lost follows.
func (p *Phone) Frame(now time.Duration, number uint64, frame wire.Frame) error {
	l := p.lanes[number]
	if l == nil || !l.ready {
		return nil // What was still on its way when the connection was given up.
	}
	p.heard++
	if ack, isAck := frame.(wire.Ack); isAck && l.draining {
		// The server wrote this before it knew of the switch: what has arrived has, but Full may be over.
		ack.Full = p.out.peerFull
		frame = ack
	}
	if err := p.take(now, frame); err != nil {
		return err
	}
	if _, isData := frame.(wire.Data); isData {
		p.behindSince = 0 // The next datagram says whether it still is.
	}
	if _, isBye := frame.(wire.Bye); isBye {
		for other := range p.lanes {
			p.hangUp(other)
		}
		return nil
	}
	p.drain(now)
	return nil
}

// drain closes the old connections that have nothing left on their way.
func (p *Phone) drain(now time.Duration) {
	for number, l := range p.lanes {
		if l.draining && (now >= l.drainEnd || p.out.received > l.drainLast) {
			p.hangUp(number)
		}
	}
}

// NextFrame returns what a connection is to be given next.
func (p *Phone) NextFrame(number uint64) (wire.Frame, bool) {
	l := p.lanes[number]
	if l == nil || !l.ready || number != p.current {
		return nil, false
	}
	if l.switchDue > 0 {
		count := l.switchDue
		l.switchDue = 0
		return wire.Switch{Count: count, First: p.out.first}, true
	}
	return p.nextFrame()
}

// Arrived takes in that the phone has arrived at another base station or access point, the paper's T_handover.
func (p *Phone) Arrived(now, at time.Duration) {
	at = min(at, now)
	p.stats.Arrivals++
	switch {
	case now-at > p.settings.Switch:
		p.stats.ArrivalsOld++
		return
	case p.arrival && at-p.arrivalAt < p.settings.EventMerge:
		// The same arrival by another source, or in another order.
		p.stats.ArrivalsMerged++
	default:
		p.arrival, p.arrivalAt, p.acted = true, at, false
	}
	p.failures, p.redialAt = 0, now
	for number, l := range p.lanes {
		// An attempt whose first packets were lost waits for TCP's timer, which has doubled.
		if !l.ready && now-l.since >= p.settings.SilenceMin {
			p.hangUp(number)
		}
	}
	p.reconcile(now)
	p.consider(now)
	if !p.noUDP {
		p.effects = append(p.effects, RenewSocket{})
	}
	p.here(now)
}

// consider switches if there was an arrival, and what was sent since is not acknowledged.
func (p *Phone) consider(now time.Duration) {
	if !p.arrival || p.acted || now-p.arrivalAt >= p.settings.Switch {
		return
	}
	if p.settings.AtOnce && now-p.arrivalAt <= p.settings.AtOnceWindow &&
		(p.silentFor(now) >= p.silence() || p.silentDown(now) >= p.silence()) {
		p.switchNow(now, AtOnce)
		return
	}
	// The paper's rule without a notice: this clock alone, and the last sign of life instead of the last sending.
	if !p.sideChannel() && p.silentFor(now) >= p.settings.RecvInterval &&
		p.progressAt < p.arrivalAt {
		p.switchNow(now, BySilence)
		return
	}
	// The paper's rule the other way round, for what the server sends.
	if p.silentDown(now) >= p.settings.RecvInterval && p.arrivedAt < p.arrivalAt {
		p.switchNow(now, BySilence)
	}
}

// silentDown is how long the server's records have been missing.
func (p *Phone) silentDown(now time.Duration) time.Duration {
	switch {
	case !p.arrived || p.in.full() || p.in.complete():
		return 0
	case p.welcome.Periodic:
		const gaps = 3 // Twice the time between two records is nothing special.
		silent := now - p.arrivedAt
		if silent < gaps*p.gap {
			return 0
		}
		return silent
	case p.behindSince > 0:
		return now - max(p.behindSince, p.arrivedAt)
	}
	return 0
}

// sideChannel is whether notices can arrive.
func (p *Phone) sideChannel() bool {
	if p.settings.NoNotices {
		return !p.noUDP
	}
	return !p.noUDP || p.notices != 0
}

func (p *Phone) switchNow(now time.Duration, reason Reason) {
	if p.spare == 0 {
		p.wanted = reason
		return
	}
	old, spare := p.current, p.spare
	p.acted, p.spare, p.wanted = true, 0, 0
	switch reason {
	case ByNotice:
		p.stats.SwitchesByNotice++
	case AtOnce:
		p.stats.SwitchesAtOnce++
	case BySilence:
		p.stats.SwitchesBySilence++
	case Failover:
	}
	p.note(now, reason, old, spare)
	p.useLane(now, spare)
	if l := p.lanes[old]; l != nil {
		l.draining, l.drainEnd, l.drainLast = true, now+p.settings.Drain, p.out.next()-1
	}
	p.limitDraining()
	p.drain(now)
	p.reconcile(now)
}

// limitDraining closes the oldest connections: the server allows few.
func (p *Phone) limitDraining() {
	draining, oldest := 0, uint64(0)
	for number, l := range p.lanes {
		if l.draining {
			draining++
			if oldest == 0 || number < oldest {
				oldest = number
			}
		}
	}
	if draining > DrainingMax {
		p.hangUp(oldest)
	}
}

// DrainingMax is the number of old connections that are kept.
const DrainingMax = 2

// switchedMax is the number of switches that are kept for Switched.
const switchedMax = 64

func (p *Phone) note(now time.Duration, reason Reason, from, to uint64) {
	since := time.Duration(-1)
	if p.arrival {
		since = now - p.arrivalAt
	}
	if len(p.switched) < switchedMax {
		p.switched = append(p.switched, Switched{reason, from, to, now, since})
	}
}

// Switched returns the switches since the last call.
func (p *Phone) Switched() []Switched {
	switched := p.switched
	p.switched = nil
	return switched
}

// here shows the server where the phone is, and asks what has arrived.
func (p *Phone) here(now time.Duration) {
	if !p.known || p.over || p.settings.NoNotices && p.noUDP {
		return
	}
	p.hereAt, p.hereSent = now, p.stats.Sent
	p.unanswered++
	if p.noUDP {
		p.noticeDue = p.notices != 0
		return
	}
	p.effects = append(p.effects, SendDatagram{p.datagram()})
}

func (p *Phone) datagram() []byte {
	p.counter++
	return wire.AppendDatagram(nil, wire.Datagram{
		Type: wire.Here, Session: p.session, Counter: p.counter,
		Received: p.in.received.next - 1, Sent: p.out.next() - 1, SentAtUs: wire.NothingSent,
	}, p.keys.FromPhone)
}

// NextNotice returns what a connection of RoleNotices is to be given next.
func (p *Phone) NextNotice(number uint64) ([]byte, bool) {
	if number != p.notices || !p.noticeDue {
		return nil, false
	}
	p.noticeDue = false
	return p.datagram(), true
}

// Datagram takes in a datagram, by UDP or a connection of RoleNotices.
func (p *Phone) Datagram(now time.Duration, octets []byte) {
	d, err := wire.ParseDatagram(octets, p.keys.FromServer)
	switch {
	case !p.known || err != nil || d.Session != p.session || d.Type == wire.Here:
		p.stats.RefusedDatagrams++
		return
	case d.Counter <= p.counterSeen:
		p.stats.ReplayedDatagrams++
		return
	}
	p.counterSeen, p.unanswered = d.Counter, 0
	if d.Sent >= p.in.received.next {
		if p.behindSince == 0 {
			p.behindSince = now
		}
	} else {
		p.behindSince = 0
	}
	lost := d.Type == wire.LossStart
	if lost {
		p.stats.Notices++
	} else if !p.settings.Periodic && d.Received < p.out.next()-1 {
		// An answer to the question of a sender that is not periodic.
		lost = p.silentFor(now) >= p.settings.RecvInterval
	}
	lastSent := time.Duration(d.SentAtUs) * time.Microsecond
	// The paper, section 4: T_lossstart is the arrival of the notice, now.
	if lost && p.arrival && !p.acted && 0 < now-p.arrivalAt && now-p.arrivalAt < p.settings.Switch &&
		(d.SentAtUs == wire.NothingSent || lastSent < p.arrivalAt) {
		p.switchNow(now, ByNotice)
	}
	p.consider(now)
}

// triesMax is the number of datagrams without an answer after which UDP does not work, if TCP does.
const triesMax = 3

// Tick takes in that time has passed.
func (p *Phone) Tick(now time.Duration) {
	p.drain(now)
	p.reconcile(now)
	p.consider(now)
	if at, due := p.hereDue(now); due && at <= now {
		if !p.noUDP && p.unanswered >= triesMax && p.progressAt > p.hereAt {
			p.noUDP = true // TCP works, so it is not an outage.
			p.reconcile(now)
		}
		p.here(now)
	}
}

// hereDue is when the next datagram is due.
func (p *Phone) hereDue(now time.Duration) (time.Duration, bool) {
	switch {
	case !p.known || p.current == 0 || p.settings.NoNotices && p.noUDP, p.noUDP && p.notices == 0:
		return 0, false
	case !p.settings.Periodic && p.silentFor(now) > 0:
		return max(p.hereAt+p.settings.NoticeInterval, p.progressSince()+p.settings.RecvInterval), true
	case p.unanswered > 0 && !p.noUDP && (p.unanswered < triesMax || p.stats.Sent > p.hereSent):
		return p.hereAt + time.Second, true
	case p.stats.Sent > p.hereSent && !p.noUDP:
		return p.hereAt + p.settings.Refresh, true
	}
	return 0, false
}

func (p *Phone) progressSince() time.Duration {
	oldest, _ := p.out.oldest()
	return max(p.progressAt, oldest)
}

// Deadline is when Tick has to be called, Never if nothing waits for time.
func (p *Phone) Deadline(now time.Duration) time.Duration {
	deadline := Never
	at := func(t time.Duration) {
		if t > now {
			deadline = min(deadline, t)
		}
	}
	if p.over {
		return Never
	}
	for _, l := range p.lanes {
		if l.draining {
			at(l.drainEnd)
		}
	}
	at(p.redialAt)
	if due, found := p.hereDue(now); found {
		at(max(due, now+1))
	}
	if p.arrival && !p.acted && now-p.arrivalAt < p.settings.Switch {
		at(p.progressSince() + p.silence())
		at(p.progressSince() + p.settings.RecvInterval)
		at(p.arrivedAt + max(p.silence(), 3*p.gap))
		at(p.arrivedAt + p.settings.RecvInterval)
		if p.behindSince > 0 {
			at(max(p.behindSince, p.arrivedAt) + p.silence())
		}
	}
	return deadline
}

// Effects returns what the caller is to do since the last call.
func (p *Phone) Effects() []Effect {
	effects := p.effects
	p.effects = nil
	return effects
}

// Stats returns the counters.
func (p *Phone) Stats() Stats {
	stats := p.link.Stats()
	stats.Connections = len(p.lanes)
	if p.spare != 0 {
		stats.ReadyToSwitch = 1
	}
	return stats
}
