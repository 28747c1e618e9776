// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/core"
	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// session is a phone and a server with connections between them whose every step is drawn: what arrives when, what
// breaks, who starts again. Its two clocks differ by minutes, and only the machines' own are given to them.
type session struct {
	t      *testing.T
	random *rand.Rand
	now    time.Duration
	// What the server's clock shows when the phone's shows 0.
	offset time.Duration

	settings core.Settings // the phone's
	phone    *core.Phone
	server   *core.Server
	serving  core.Settings
	lives    int
	lanes    map[uint64]*simulatedLane
	// datagrams are on their way, to the server or to the phone.
	datagrams []datagram

	up, down side
	// faults has connections break, restarts has the server start again, forgetful has its application save nothing.
	faults, restarts, forgetful, noUDP bool
}

// side is an application that receives: what it has taken, and what it is done with, which it has saved.
type side struct {
	newestFirst bool
	done        map[uint64]string
	order       []uint64
	taken       []core.Record
	sent        int
}

type simulatedLane struct {
	role       wire.Role
	hello      wire.Hello
	dialed     bool // Hello is on its way
	up, down   [][]byte
	open       bool // at the server
	opened     bool // at the phone
	brokenUp   bool // the server will see an end after what is on its way
	brokenDown bool
}

type datagram struct {
	octets []byte
	up     bool
}

func newSession(t *testing.T, seed uint64, change func(*session)) *session {
	t.Helper()
	s := &session{
		t: t, random: rand.New(rand.NewPCG(seed, 1)), settings: core.DefaultSettings(), serving: core.DefaultSettings(),
		lanes: map[uint64]*simulatedLane{},
		up:    side{done: map[uint64]string{}}, down: side{done: map[uint64]string{}},
	}
	s.offset = time.Duration(s.random.IntN(20)) * time.Minute
	change(s)
	s.up.newestFirst, s.down.newestFirst = s.settings.NewestFirst, s.serving.NewestFirst
	s.phone = core.NewPhone(s.settings, wire.Session{1}, wire.Key{2}, 0)
	s.effects()
	return s
}

func (s *session) serverNow() time.Duration { return s.now + s.offset }

func (s *session) effects() {
	for _, effect := range s.phone.Effects() {
		switch effect := effect.(type) {
		case core.Dial:
			hello := s.phone.Hello(effect.Number)
			s.lanes[effect.Number] = &simulatedLane{role: effect.Role, dialed: true, hello: hello}
		case core.Hangup:
			if lane := s.lanes[effect.Number]; lane != nil {
				lane.brokenDown, lane.down = true, nil
				lane.brokenUp = true
			}
		case core.SendDatagram:
			s.datagrams = append(s.datagrams, datagram{effect.Octets, true})
		}
	}
	if s.server == nil {
		return
	}
	for _, effect := range s.server.Effects() {
		switch effect := effect.(type) {
		case core.SendDatagram:
			s.datagrams = append(s.datagrams, datagram{effect.Octets, false})
		case core.Hangup:
			if lane := s.lanes[effect.Number]; lane != nil {
				lane.brokenDown = true
			}
		}
	}
}

// write has both ends write what they have to write, up to a limit that stands for a full buffer.
func (s *session) write(number uint64, lane *simulatedLane) {
	const bufferFrames = 12
	for lane.opened && !lane.brokenUp && len(lane.up) < bufferFrames {
		if lane.role == wire.RoleNotices {
			octets, found := s.phone.NextNotice(number)
			if !found {
				break
			}
			lane.up = append(lane.up, octets)
			continue
		}
		frame, found := s.phone.NextFrame(number)
		if !found {
			break
		}
		lane.up = append(lane.up, wire.Append(nil, frame))
	}
	for lane.open && !lane.brokenDown && len(lane.down) < bufferFrames {
		if lane.role == wire.RoleNotices {
			octets, found := s.server.NextNotice(number)
			if !found {
				break
			}
			lane.down = append(lane.down, octets)
			continue
		}
		frame, found := s.server.NextFrame(number)
		if !found {
			break
		}
		lane.down = append(lane.down, wire.Append(nil, frame))
	}
}

func parse(t *testing.T, octets []byte) wire.Frame {
	t.Helper()
	frame, err := wire.Read(bytes.NewReader(octets))
	if err != nil {
		t.Fatal(err)
	}
	return frame
}

// toServer delivers the next thing of a lane to the server.
func (s *session) toServer(number uint64, lane *simulatedLane) {
	switch {
	case lane.dialed:
		lane.dialed = false
		if s.server == nil {
			s.server = core.NewServer(s.serving, &lane.hello, wire.Epoch{byte(s.lives)}, 0, 7000, s.origin())
		}
		answer := s.server.Attach(s.serverNow(), &lane.hello)
		if refused, is := answer.(wire.Refused); is && refused.Refusal != wire.RefusedLimit {
			s.t.Fatalf("refused: %+v", refused)
		}
		_, lane.open = answer.(wire.Welcome)
		lane.down = append(lane.down, wire.Append(nil, answer))
	case lane.open && len(lane.up) > 0:
		if s.server.Full() {
			return
		}
		next := lane.up[0]
		lane.up = lane.up[1:]
		if lane.role == wire.RoleNotices {
			s.server.Datagram(next, false)
		} else if err := s.server.Frame(s.serverNow(), number, parse(s.t, next)); err != nil {
			s.t.Fatalf("server: %v", err)
		}
	case lane.open && lane.brokenUp:
		lane.open = false
		s.server.Lost(s.serverNow(), number)
	}
}

func (s *session) toPhone(number uint64, lane *simulatedLane) {
	switch {
	case len(lane.down) > 0:
		if s.phone.Full() {
			return
		}
		next := lane.down[0]
		lane.down = lane.down[1:]
		switch {
		case !lane.opened:
			switch answer := parse(s.t, next).(type) {
			case wire.Welcome:
				lane.opened = true
				s.phone.Opened(s.now, number, answer)
			case wire.Refused:
				if err := s.phone.Refused(s.now, number, answer); err != nil {
					s.t.Fatal(err)
				}
				delete(s.lanes, number)
			}
		case lane.role == wire.RoleNotices:
			s.phone.Datagram(s.now, next)
		default:
			if err := s.phone.Frame(s.now, number, parse(s.t, next)); err != nil {
				s.t.Fatalf("phone: %v: %+v, %+v", err, parse(s.t, next), s.phone.Stats())
			}
		}
	case lane.brokenDown:
		if !lane.open {
			delete(s.lanes, number)
		}
		lane.brokenUp = true
		s.phone.Lost(s.now, number)
	}
}

// origin is what the server's application has saved.
func (s *session) origin() core.Origin {
	if s.forgetful {
		return core.Origin{}
	}
	origin := core.Origin{Next: 1}
	for s.up.done[origin.Next] != "" {
		origin.Next++
	}
	for number := range s.up.done {
		if number > origin.Next {
			origin.Above = append(origin.Above, wire.Range{First: number, Last: number})
		}
	}
	return origin
}

// restart ends the server's process: what it had in memory is gone, what its application saved is not.
func (s *session) restart() {
	s.lives++
	s.server = nil
	s.up.taken = nil
	if s.forgetful {
		s.up.order = nil
	}
	for _, lane := range s.lanes {
		lane.up, lane.open, lane.brokenDown = nil, false, true
		if !lane.opened {
			lane.dialed = false
		}
	}
	s.datagrams = slices.DeleteFunc(s.datagrams, func(d datagram) bool { return d.up })
	s.down.sent = 0
}

// application takes, or is done with what it has taken.
func (s *session) application(a *side, receive func(time.Duration) (core.Record, bool), now time.Duration,
	confirm func(uint64, uint64) bool,
) {
	if s.random.IntN(2) == 0 {
		if record, found := receive(now); found {
			a.taken = append(a.taken, record)
		}
		return
	}
	if len(a.taken) == 0 {
		return
	}
	record := a.taken[0]
	a.taken = a.taken[1:]
	if a.done[record.Sequence] != "" && !s.forgetful {
		s.t.Fatalf("record %d was delivered twice: %q", record.Sequence, record.Data)
	}
	a.done[record.Sequence] = string(record.Data)
	a.order = append(a.order, record.Sequence)
	confirm(record.Sequence, record.Generation)
}

func (s *session) applications() {
	s.application(&s.down, s.phone.Receive, s.now, s.phone.Confirm)
	if s.server != nil {
		s.application(&s.up, s.server.Receive, s.serverNow(), s.server.Confirm)
	}
}

func (s *session) sendUp() {
	if _, err := s.phone.Send(s.now, fmt.Appendf(nil, "up %d", s.up.sent+1)); err == nil {
		s.up.sent++
	}
}

func (s *session) sendDown() {
	if s.server == nil || s.restarts { // Records of a server that ends are gone with it.
		return
	}
	if _, err := s.server.Send(s.serverNow(), fmt.Appendf(nil, "down %d", s.down.sent+1)); err == nil {
		s.down.sent++
	}
}

// step does one thing at random.
func (s *session) step() {
	numbers := make([]uint64, 0, len(s.lanes))
	for number := range s.lanes {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	switch what := s.random.IntN(100); {
	case what < 10:
		s.sendUp()
	case what < 15:
		s.sendDown()
	case what < 30:
		s.applications()
	case what < 42:
		s.pass(time.Duration(s.random.IntN(300)) * time.Millisecond)
	case what < 44 && s.faults:
		s.pass(time.Duration(s.random.IntN(15)) * time.Second)
	case what < 48 && s.faults:
		s.phone.Arrived(s.now, s.now-time.Duration(s.random.IntN(200))*time.Millisecond)
	case what < 50 && s.faults && len(numbers) > 0:
		// A connection breaks: at once for both ends, or behind what is on its way; or all do.
		lane := s.lanes[numbers[s.random.IntN(len(numbers))]]
		lane.brokenUp, lane.brokenDown = true, true
		if s.random.IntN(2) == 0 {
			lane.up, lane.down = nil, nil
			if lane.dialed || !lane.opened {
				lane.dialed = false
			}
		}
	case what < 51 && s.restarts && s.server != nil && s.random.IntN(4) == 0:
		s.restart()
	case what < 60 && len(s.datagrams) > 0:
		s.deliverDatagram()
	default:
		for range 6 {
			if len(numbers) == 0 {
				return
			}
			number := numbers[s.random.IntN(len(numbers))]
			if lane := s.lanes[number]; lane != nil {
				s.deliver(number, lane)
			}
		}
	}
}

func (s *session) deliver(number uint64, lane *simulatedLane) {
	s.write(number, lane)
	if s.random.IntN(2) == 0 {
		s.toServer(number, lane)
	} else {
		s.toPhone(number, lane)
	}
	s.effects()
}

func (s *session) deliverDatagram() {
	i := s.random.IntN(len(s.datagrams)) // In any order,
	d := s.datagrams[i]
	if s.random.IntN(8) > 0 { // and sometimes twice,
		s.datagrams = slices.Delete(s.datagrams, i, i+1)
	}
	if s.noUDP || s.faults && s.random.IntN(4) == 0 { // or never.
		return
	}
	switch {
	case !d.up:
		s.phone.Datagram(s.now, d.octets)
	case s.server != nil:
		s.server.Datagram(d.octets, true)
	}
}

func (s *session) pass(length time.Duration) {
	s.now += length
	s.phone.Tick(s.now)
	if s.server != nil {
		s.server.Tick(s.serverNow())
	}
	s.effects()
}

// finish lets everything arrive.
func (s *session) finish() {
	s.t.Helper()
	s.faults = false
	const roundsMax = 20_000
	for range roundsMax {
		s.pass(50 * time.Millisecond)
		for number, lane := range s.lanes {
			for range 4 {
				s.deliver(number, lane)
			}
		}
		for range 4 {
			s.applications()
		}
		if len(s.up.done) == s.up.sent && len(s.down.done) == s.down.sent &&
			s.phone.Settled() && s.server != nil && s.server.Settled() {
			return
		}
	}
	s.t.Fatalf("after all that: %d of %d records up, %d of %d down; phone %+v, server %+v", len(s.up.done), s.up.sent,
		len(s.down.done), s.down.sent, s.phone.Stats(), s.server.Stats())
}

// check checks that all records arrived, each once or, if the server forgets what it did, at least once; and in order.
func (s *session) check(a *side, prefix string) {
	s.t.Helper()
	for number := 1; number <= a.sent; number++ {
		if got, want := a.done[uint64(number)], fmt.Sprintf("%s %d", prefix, number); got != want {
			s.t.Fatalf("record %d is %q, want %q", number, got, want)
		}
	}
	if len(a.done) != a.sent {
		s.t.Fatalf("%d records %s arrived, want %d", len(a.done), prefix, a.sent)
	}
	if a.newestFirst {
		return
	}
	if !slices.IsSorted(a.order) {
		s.t.Fatalf("the order of records %s is %d", prefix, a.order)
	}
}
