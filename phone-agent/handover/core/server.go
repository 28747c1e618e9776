// SPDX-License-Identifier: Apache-2.0

package core

import (
	"crypto/subtle"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// ConnectionsMax is how many connections of a session a server has at one time: current, spare, one for notices,
// draining ones, and as many again whose end has not arrived yet.
const ConnectionsMax = 2 * (3 + DrainingMax)

// Server is the server's end of a session.
type Server struct {
	link
	session wire.Session
	key     wire.Key
	epoch   wire.Epoch
	keys    wire.DatagramKeys
	started int64
	udpPort uint16

	lanes map[uint64]wire.Role
	// numbers are those of all connections so far, but for numbersKept counted as used altogether.
	numbers  set
	highest  uint64
	switches uint64 // the highest count of a Switch

	periodic  bool // whether the phone's records are
	lastHeard time.Duration
	noticeAt  time.Duration // when the last was sent
	noticing  bool
	datagram  wire.DatagramType // due on the connection of RoleNotices, 0 is none
	notices   uint64
	udp       bool // whether the phone is known by a datagram
	counter   uint64
	seen      uint64
	emptyAt   time.Duration // when the last connection ended
	effects   []Effect
}

// Origin is where an application's records stand when a server meets a session.
type Origin struct {
	// Next is the lowest sequence number that the application is not done with, Above are those above that it is done
	// with. Zero is the phone's first record that was not confirmed.
	Next  uint64
	Above []wire.Range
}

// NewServer returns the server's end of a session that begins with hello.
func NewServer(
	settings Settings, hello *wire.Hello, epoch wire.Epoch, startedUnixUs int64, udpPort uint16, origin Origin,
) *Server {
	next := max(hello.First, origin.Next)
	s := &Server{
		link: newLink(settings, hello.NewestFirst, next), session: hello.Session, key: hello.Key, epoch: epoch,
		keys: wire.NewDatagramKeys(hello.Key, epoch), started: startedUnixUs, udpPort: udpPort,
		lanes: map[uint64]wire.Role{}, numbers: newSet(1), periodic: hello.Periodic,
	}
	for _, r := range origin.Above {
		for number := max(r.First, next); number <= r.Last && number-next < settings.SpanMax; number++ {
			s.in.received.add(number)
			s.in.confirmed.add(number)
		}
	}
	if origin.Next != 0 {
		s.stats.RecordsMissed = next - origin.Next
	}
	return s
}

// Attach takes in a connection's Hello. It returns the answer.
func (s *Server) Attach(now time.Duration, hello *wire.Hello) wire.Frame {
	switch {
	case subtle.ConstantTimeCompare(hello.Key[:], s.key[:]) == 0 || hello.Session != s.session:
		return wire.Refused{Refusal: wire.RefusedKey, Text: "another key than the session's"}
	case s.numbers.has(hello.Connection):
		return wire.Refused{Refusal: wire.RefusedOld, Text: "the number of an earlier connection"}
	case len(s.lanes) >= ConnectionsMax:
		return wire.Refused{Refusal: wire.RefusedLimit, Text: "too many connections of one session"}
	}
	// Connections that are opened at the same time arrive in any order.
	const numbersKept = 64
	s.numbers.add(hello.Connection)
	s.highest = max(s.highest, hello.Connection)
	if s.highest > numbersKept {
		s.numbers.raise(s.highest - numbersKept)
	}
	s.lanes[hello.Connection] = hello.Role
	s.lastHeard = now
	if hello.Role == wire.RoleNotices {
		s.notices = hello.Connection
	}
	return wire.Welcome{
		Epoch: s.epoch, Periodic: s.settings.Periodic, NewestFirst: s.settings.NewestFirst, UDPPort: s.udpPort,
		StartedUnixUs: s.started, First: s.out.first, Next: s.in.confirmed.next,
	}
}

// Lost takes in that a connection ended.
func (s *Server) Lost(now time.Duration, number uint64) {
	if _, found := s.lanes[number]; !found {
		return
	}
	delete(s.lanes, number)
	if s.current == number {
		s.current = 0
	}
	if s.notices == number {
		s.notices = 0
	}
	if len(s.lanes) == 0 {
		s.emptyAt = now
	}
}

// EmptySince is when the last connection ended; false if there is one.
func (s *Server) EmptySince() (time.Duration, bool) { return s.emptyAt, len(s.lanes) == 0 }

// Frame takes in a frame of a connection. An error means that the connection must be closed; Lost follows.
func (s *Server) Frame(now time.Duration, number uint64, frame wire.Frame) error {
	if role, found := s.lanes[number]; !found || role != wire.RoleRecords {
		return s.violation()
	}
	if change, isSwitch := frame.(wire.Switch); isSwitch {
		if change.Count <= s.switches {
			return nil // Overtaken by a later one.
		}
		s.switches = change.Count
		s.stats.RecordsMissed += s.in.skip(change.First)
		s.heard(now)
		s.use(now, number)
		return nil
	}
	if _, isData := frame.(wire.Data); isData {
		s.heard(now)
	}
	if err := s.take(now, frame); err != nil {
		return err
	}
	if _, isBye := frame.(wire.Bye); isBye {
		for other := range s.lanes {
			s.effects = append(s.effects, Hangup{other})
		}
	}
	return nil
}

func (s *Server) heard(now time.Duration) {
	s.lastHeard = now
	if s.noticing {
		s.noticing, s.datagram = false, 0
	}
}

// NextFrame returns what a connection is to be given next.
func (s *Server) NextFrame(number uint64) (wire.Frame, bool) {
	if number != s.current || number == 0 {
		return nil, false
	}
	return s.nextFrame()
}

// NextNotice returns what a connection of RoleNotices is to be given next.
func (s *Server) NextNotice(number uint64) ([]byte, bool) {
	if number != s.notices || s.datagram == 0 {
		return nil, false
	}
	octets := s.make(s.datagram)
	s.datagram = 0
	return octets, true
}

func (s *Server) make(what wire.DatagramType) []byte {
	s.counter++
	d := wire.Datagram{
		Type: what, Session: s.session, Counter: s.counter,
		Received: s.in.newest.Sequence, Sent: s.out.next() - 1, SentAtUs: wire.NothingSent,
	}
	if s.arrived {
		d.SentAtUs = s.in.newest.SentAt.Microseconds()
	}
	return wire.AppendDatagram(nil, d, s.keys.FromServer)
}

// Datagram takes in a datagram, by UDP or a connection of RoleNotices. It returns whether it is the phone's: then the
// answers go where it came from.
func (s *Server) Datagram(octets []byte, byUDP bool) bool {
	d, err := wire.ParseDatagram(octets, s.keys.FromPhone)
	switch {
	case err != nil || d.Session != s.session || d.Type != wire.Here:
		s.stats.RefusedDatagrams++
		return false
	case d.Counter <= s.seen:
		s.stats.ReplayedDatagrams++
		return false
	}
	s.seen = d.Counter
	s.udp = byUDP
	s.send(wire.Position)
	return true
}

func (s *Server) send(what wire.DatagramType) {
	if s.udp {
		s.effects = append(s.effects, SendDatagram{s.make(what)})
		return
	}
	if s.notices != 0 && s.datagram != wire.LossStart {
		s.datagram = what
	}
}

// noticeDue is when the next notice is due.
func (s *Server) noticeDue() (time.Duration, bool) {
	if !s.periodic || !s.arrived || s.over || s.in.full() || s.in.complete() || len(s.lanes) == 0 ||
		!s.udp && s.notices == 0 {
		return 0, false
	}
	silent := max(s.lastHeard, s.arrivedAt)
	if !s.noticing {
		return silent + s.settings.RecvInterval, true
	}
	interval := s.settings.NoticeInterval
	const longSilence, slower = time.Minute, 25
	if s.noticeAt-silent > longSilence {
		interval *= slower // Somebody has switched the phone off.
	}
	return s.noticeAt + interval, true
}

// Tick takes in that time has passed.
func (s *Server) Tick(now time.Duration) {
	if at, due := s.noticeDue(); due && at <= now {
		s.noticing, s.noticeAt = true, now
		s.stats.Notices++
		s.send(wire.LossStart)
	}
}

// Deadline is when Tick has to be called, Never if nothing waits for time.
func (s *Server) Deadline(now time.Duration) time.Duration {
	if at, due := s.noticeDue(); due {
		return max(at, now+1)
	}
	return Never
}

// Effects returns what the caller is to do since the last call.
func (s *Server) Effects() []Effect {
	effects := s.effects
	s.effects = nil
	return effects
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	stats := s.link.Stats()
	stats.Connections = len(s.lanes)
	return stats
}
