// SPDX-License-Identifier: Apache-2.0

package core_test

import (
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/core"
	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// bench is a phone whose two connections are open, and what a server would answer, by hand.
type bench struct {
	t       *testing.T
	phone   *core.Phone
	counter uint64
}

const second = time.Second

func newBench(t *testing.T, change func(*core.Settings)) *bench {
	t.Helper()
	settings := core.DefaultSettings()
	change(&settings)
	b := &bench{t: t, phone: core.NewPhone(settings, wire.Session{1}, wire.Key{2}, 0)}
	for _, number := range []uint64{1, 2} {
		b.phone.Opened(0, number, wire.Welcome{Epoch: wire.Epoch{3}, UDPPort: 7, First: 1, Next: 1, Periodic: false})
	}
	b.phone.Effects()
	return b
}

// records sends one each 100 ms from a moment on, and has all before another acknowledged at once.
func (b *bench) records(from, to, acknowledgedTo time.Duration) {
	b.t.Helper()
	for now := from; now < to; now += second / 10 {
		b.phone.Tick(now)
		sequence, err := b.phone.Send(now, []byte("x"))
		if err != nil {
			b.t.Fatal(err)
		}
		if now < acknowledgedTo {
			ack := wire.Ack{Received: sequence + 1, ReceivedCount: sequence, Confirmed: sequence + 1}
			if err := b.phone.Frame(now+second/20, 1, ack); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// notice is the paper's, with T_lastsent.
func (b *bench) notice(now, lastSent time.Duration) {
	b.counter++
	b.phone.Datagram(now, wire.AppendDatagram(nil, wire.Datagram{
		Type: wire.LossStart, Session: wire.Session{1}, Counter: b.counter, SentAtUs: lastSent.Microseconds(),
	}, wire.NewDatagramKeys(wire.Key{2}, wire.Epoch{3}).FromServer))
}

// The paper's condition, section 4: 0 < T_lossstart - T_handover < T_switch and T_lastsent < T_handover.
func TestANoticeSwitchesByThePapersRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                        string
		handover, lossStart, sentAt time.Duration
		want                        uint64
	}{
		{"a notice after the handover", 12 * second, 13 * second, 10 * second, 1},
		{"at the same moment", 13 * second, 13 * second, 10 * second, 0},
		{"9.999 s after", 12 * second, 22*second - time.Millisecond, 10 * second, 1},
		{"T_switch after", 12 * second, 22 * second, 10 * second, 0},
		{"a record sent after the handover has arrived", 12 * second, 13 * second, 12*second + 1000, 0},
		{"one sent in the same moment has", 12 * second, 13 * second, 12 * second, 0},
		{"one sent just before has", 12 * second, 13 * second, 12*second - 1000, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(s *core.Settings) { s.AtOnce = false })
			b.records(0, 12*second, 10*second)
			b.phone.Arrived(c.handover, c.handover)
			b.notice(c.lossStart, c.sentAt)
			if got := b.phone.Stats().SwitchesByNotice; got != c.want {
				t.Errorf("%d switches, want %d", got, c.want)
			}
			b.notice(c.lossStart+second/5, c.sentAt)
			if got := b.phone.Stats().SwitchesByNotice; got != c.want && c.name != "at the same moment" {
				t.Errorf("%d switches after another notice, want %d: one for each handover", got, c.want)
			}
		})
	}
}

func TestWithoutAHandoverANoticeSwitchesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(*core.Settings) {})
	b.records(0, 20*second, 5*second)
	b.notice(20*second, 5*second)
	if switched := b.phone.Switched(); len(switched) > 0 {
		t.Errorf("%+v", switched)
	}
}

func TestAnArrivalSwitchesAtOnceOnlyInASilence(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		silentFrom    time.Duration
		arrival, want time.Duration // of the switch; 0 is none
	}{
		{"a silence of 2 s", 10 * second, 12 * second, 12 * second},
		{"none: a handover without loss", 20 * second, 12 * second, 0},
		// 10.05 s is the last acknowledgement; twice the delay of 50 ms is less than SilenceMin, 200 ms.
		{"one that has just begun", 12 * second, 12*second + 20*time.Millisecond, 12*second + 200*time.Millisecond},
		{"one that begins 1 s after the arrival", 13 * second, 12 * second, 13*second + 200*time.Millisecond},
		{"one that begins 3 s after it", 15 * second, 12 * second, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, func(*core.Settings) {})
			b.records(0, c.arrival, c.silentFrom)
			b.phone.Arrived(c.arrival, c.arrival)
			b.records(c.arrival, 18*second, c.silentFrom)
			switched := b.phone.Switched()
			if c.want == 0 {
				if len(switched) > 0 {
					t.Errorf("%+v", switched)
				}
				return
			}
			if len(switched) != 1 || switched[0].Reason != core.AtOnce || switched[0].At < c.want ||
				switched[0].At > c.want+second/10 {
				t.Errorf("%+v, want one at %v", switched, c.want)
			}
		})
	}
}

// Sources report the same arrival one after the other: one switch.
func TestSeveralEventsOfOneArrivalSwitchOnce(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(*core.Settings) {})
	b.records(0, 12*second, 10*second)
	for i := range 5 {
		now := 12*second + time.Duration(i)*second/5
		b.phone.Arrived(now, now)
		b.phone.Opened(now, uint64(3+i), wire.Welcome{Epoch: wire.Epoch{3}, UDPPort: 7, First: 1, Next: 1})
	}
	stats := b.phone.Stats()
	if stats.SwitchesAtOnce != 1 || stats.Arrivals != 5 || stats.ArrivalsMerged != 4 {
		t.Errorf("%+v", stats)
	}
	b.phone.Arrived(20*second, 5*second)
	if got := b.phone.Stats().ArrivalsOld; got != 1 {
		t.Errorf("%d old arrivals, want 1", got)
	}
}

func TestDatagramsThatAreForgedOrRepeatedChangeNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(s *core.Settings) { s.AtOnce = false })
	b.records(0, 12*second, 10*second)
	b.phone.Arrived(12*second, 12*second)
	forged := wire.Datagram{Type: wire.LossStart, Session: wire.Session{1}, Counter: 9, SentAtUs: 1}
	key := wire.NewDatagramKeys(wire.Key{9}, wire.Epoch{3}).FromServer
	b.phone.Datagram(13*second, wire.AppendDatagram(nil, forged, key))
	b.phone.Datagram(13*second, []byte("garbage"))
	right := wire.NewDatagramKeys(wire.Key{2}, wire.Epoch{3}).FromServer
	other := forged
	other.Session = wire.Session{8}
	b.phone.Datagram(13*second, wire.AppendDatagram(nil, other, right))
	position := forged
	position.Type = wire.Position
	b.phone.Datagram(13*second, wire.AppendDatagram(nil, position, right))
	b.phone.Datagram(13*second, wire.AppendDatagram(nil, forged, right)) // Its counter was used.
	stats := b.phone.Stats()
	if stats.RefusedDatagrams != 3 || stats.ReplayedDatagrams != 1 || stats.SwitchesByNotice != 0 {
		t.Errorf("%+v", stats)
	}
}

// A server that answers and closes at once, or that is not there, is asked ever more rarely.
func TestAttemptsBackOff(t *testing.T) {
	t.Parallel()
	settings := core.DefaultSettings()
	phone := core.NewPhone(settings, wire.Session{1}, wire.Key{2}, 0)
	attempts, now := 0, time.Duration(0)
	for now < time.Minute {
		for _, effect := range phone.Effects() {
			if dial, is := effect.(core.Dial); is {
				attempts++
				phone.Lost(now, dial.Number)
			}
		}
		deadline := phone.Deadline(now)
		if deadline == core.Never {
			t.Fatal("no further attempt")
		}
		now = deadline
		phone.Tick(now)
	}
	if attempts < 10 || attempts > 50 {
		t.Errorf("%d attempts in a minute", attempts)
	}
}

// An idle phone sends nothing and is not woken.
func TestAnIdlePhoneIsNotWoken(t *testing.T) {
	t.Parallel()
	b := newBench(t, func(*core.Settings) {})
	b.records(0, 5*second, 5*second)
	b.counter++
	b.phone.Datagram(5*second, wire.AppendDatagram(nil, wire.Datagram{
		Type: wire.Position, Session: wire.Session{1}, Counter: b.counter, Received: 50,
	}, wire.NewDatagramKeys(wire.Key{2}, wire.Epoch{3}).FromServer))
	wakes := 0
	for now := 5 * second; ; wakes++ {
		if now = b.phone.Deadline(now); now == core.Never || wakes > 10 {
			break
		}
		b.phone.Tick(now)
	}
	if wakes > 2 {
		t.Errorf("woken %d times", wakes)
	}
}
