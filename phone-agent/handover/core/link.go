// SPDX-License-Identifier: Apache-2.0

// Package core decides for package handover: Phone and Server are the two ends of a session as state machines. It opens
// nothing and asks no clock: `now` is the time since the session began at this machine, on a clock that never goes
// back. No decision compares the clocks of two machines.
//
// A machine takes in what has happened (a connection opened, a frame, a datagram, an arrival, time) and returns
// effects. Writers of connections ask it for the next frame. A machine is not safe for use by several goroutines.
package core

import (
	"errors"
	"math"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// Settings are the values of one end of a session. None may be zero but the booleans.
type Settings struct {
	// RecvInterval is the paper's T_recvinterval: so long without a record, and the loss has started.
	RecvInterval time.Duration
	// Switch is the paper's T_switch: a handover longer ago than this has nothing to do with the loss.
	Switch time.Duration
	// NoticeInterval is the time between two notices.
	NoticeInterval time.Duration
	// Drain is how long a connection that is not used any more is kept for what is still on its way.
	Drain time.Duration
	// SilenceMin and SilenceMax are the limits of the silence after which an arrival makes the phone switch at once; in
	// between it is twice the shortest time from a record to its acknowledgement.
	SilenceMin, SilenceMax time.Duration
	// AtOnceWindow is how long after an arrival such a silence counts. Arrivals within EventMerge of another are the
	// same.
	AtOnceWindow, EventMerge time.Duration
	// Refresh is the time between two datagrams that show the server where the phone is, while records are sent.
	Refresh time.Duration
	// RedialMin and RedialMax are the limits of the back-off of new connections.
	RedialMin, RedialMax time.Duration
	// OutboxBytes and InboxBytes limit the records in memory, SpanMax how many records the newest may be ahead of the
	// oldest that is not confirmed.
	OutboxBytes, InboxBytes int
	SpanMax                 uint64

	// NewestFirst is the order in which records are written, and in which the peer's application gets them.
	NewestFirst bool
	// Periodic promises a record at least once in RecvInterval.
	Periodic bool
	// AtOnce switches with an arrival, without waiting for a notice.
	AtOnce bool
	// NoSpare keeps no second connection: then a lost one is replaced, and no switch happens. For comparisons.
	NoSpare bool
	// NoUDP has no datagrams, NoNotices no third connection either.
	NoUDP, NoNotices bool
}

// DefaultSettings returns the paper's values (section 5.1), and for what it leaves open our own: five notices a second,
// so that the first after a handover is late by 0.2 s at most; 60 s until an old connection is given up, since the
// paper has seen TCP silent for as long (its section 3.2).
func DefaultSettings() Settings {
	return Settings{
		RecvInterval: 3 * time.Second, Switch: 10 * time.Second, NoticeInterval: 200 * time.Millisecond,
		Drain: time.Minute, SilenceMin: 200 * time.Millisecond, SilenceMax: time.Second,
		AtOnceWindow: 2 * time.Second, EventMerge: time.Second, Refresh: 25 * time.Second,
		RedialMin: 100 * time.Millisecond, RedialMax: 10 * time.Second,
		OutboxBytes: 4 << 20, InboxBytes: 1 << 20, SpanMax: 1 << 16,
		Periodic: true, AtOnce: true,
	}
}

// Never is the deadline of a machine that waits for no time.
const Never = time.Duration(math.MaxInt64)

// Errors of records and frames.
var (
	// ErrFull means that as many records wait as may.
	ErrFull = errors.New("too many records are not confirmed")
	// ErrEnded means that the end of the records was announced, or that the session is over.
	ErrEnded = errors.New("no record may follow the end")
	// ErrTooLong means a record of more than 64 KiB.
	ErrTooLong = errors.New("a record has at most 65536 bytes")
	// ErrProtocol means that a peer sent what no peer sends.
	ErrProtocol = errors.New("the peer violates the protocol")
)

// link is what both machines are made of.
type link struct {
	settings Settings
	out      outbox
	in       inbox
	// current is the number of the connection that records are written to; 0 is none.
	current uint64
	ackDue  bool
	endDue  bool
	byeDue  bool
	byeSent bool
	// over is whether the peer ended the session, or this end has.
	over bool
	// progressAt is when the peer last reported that it received something, or that it could not.
	progressAt time.Duration
	// delayMin is the shortest time from a record to its acknowledgement; 0 is unknown.
	delayMin time.Duration
	// arrivedAt is when a record last arrived, gap the smoothed time between two.
	arrivedAt, gap time.Duration
	arrived        bool
	stats          Stats
}

// Stats counts. Refused* are what peers or strangers sent in vain.
type Stats struct {
	Sent, Received, Duplicates, BytesSent, BytesReceived, Resent uint64
	// Switches by reason, and arrivals.
	SwitchesByNotice, SwitchesAtOnce, SwitchesBySilence, Failovers uint64
	Arrivals, ArrivalsMerged, ArrivalsOld                          uint64
	// Notices that were sent (server) or received (phone).
	Notices uint64
	// RefusedFrames violated the protocol. RefusedDatagrams were malformed or forged, ReplayedDatagrams had an old
	// counter.
	RefusedFrames, RefusedDatagrams, ReplayedDatagrams uint64
	// ServerRestarts is how often a phone found the session forgotten, RecordsMissed how many records a server lacks
	// that it had confirmed in an earlier life.
	ServerRestarts, RecordsMissed uint64
	// Unconfirmed is the number of records that the peer's application has not confirmed, Waiting that of those that
	// arrived and were not taken.
	Unconfirmed, Waiting       int
	OutboxBytes, InboxBytes    int
	Connections, ReadyToSwitch int
}

func newLink(settings Settings, peerNewestFirst bool, next uint64) link {
	return link{
		settings: settings,
		out:      newOutbox(settings.NewestFirst, settings.OutboxBytes),
		in:       newInbox(peerNewestFirst, next, settings.InboxBytes, settings.SpanMax),
	}
}

// Send takes a record; its data must not change any more. It returns ErrFull if the application has to wait.
func (l *link) Send(now time.Duration, data []byte) (uint64, error) {
	switch {
	case len(data) > wire.PayloadBytesMax:
		return 0, ErrTooLong
	case l.out.ended || l.over:
		return 0, ErrEnded
	case !l.out.fits(data) || uint64(len(l.out.items)) >= l.settings.SpanMax:
		return 0, ErrFull
	}
	if l.out.lacking() == 0 {
		l.progressAt = now // Silence begins with something to be silent about.
	}
	l.stats.Sent++
	l.stats.BytesSent += uint64(len(data))
	return l.out.add(now, data), nil
}

// End announces that no record follows.
func (l *link) End() {
	if !l.out.ended {
		l.out.ended, l.endDue = true, true
	}
}

// Receive returns the application's next record.
func (l *link) Receive(now time.Duration) (Record, bool) {
	wasFull := l.in.full()
	record, found := l.in.pop()
	if wasFull && !l.in.full() {
		l.ackDue = true
		l.arrivedAt = now // The silence was this application's.
	}
	return record, found
}

// Complete is whether all records up to the peer's end were taken.
func (l *link) Complete() bool { return l.in.waiting() == 0 && l.in.complete() }

// Over is whether the session has ended.
func (l *link) Over() bool { return l.over }

// Confirm reports that the application is done with a record that it took. It returns false if that record was not
// taken, was confirmed already, or came from a peer that was started again since.
func (l *link) Confirm(sequence, generation uint64) bool {
	if !l.in.done(sequence, generation) {
		return false
	}
	l.ackDue = true
	return true
}

// Full is whether connections are not to be read.
func (l *link) Full() bool { return l.in.full() }

// Settled is whether the peer's application has confirmed all.
func (l *link) Settled() bool { return len(l.out.items) == 0 && (!l.out.ended || !l.endDue) }

// Unconfirmed returns the records that the peer's application has not confirmed.
func (l *link) Unconfirmed() []Record {
	var records []Record
	for i := range l.out.items {
		if !l.out.items[i].confirmed {
			records = append(records, l.out.items[i].Record)
		}
	}
	return records
}

// take takes in a frame that either end may send.
func (l *link) take(now time.Duration, frame wire.Frame) error {
	switch frame := frame.(type) {
	case wire.Data:
		return l.takeData(now, &frame)
	case wire.Ack:
		before := l.out.receivedCount
		sentAt, isNew, possible := l.out.acknowledge(&frame)
		if !possible {
			return l.violation()
		}
		if l.out.receivedCount > before || frame.Full || l.out.lacking() == 0 {
			l.progressAt = now
		}
		if delay := now - sentAt; isNew && (l.delayMin == 0 || delay < l.delayMin) {
			l.delayMin = max(delay, 1)
		}
	case wire.End:
		if !l.in.setEnd(frame.Next) {
			return l.violation()
		}
		l.ackDue = true
	case wire.Bye:
		l.over = true
	default:
		return l.violation()
	}
	return nil
}

func (l *link) takeData(now time.Duration, data *wire.Data) error {
	what := l.in.take(data)
	if what == impossible {
		return l.violation()
	}
	if l.arrived {
		l.gap += (now - l.arrivedAt - l.gap) / 8 // Smoothed as TCP does with the RTT, RFC 6298.
	}
	l.arrived, l.arrivedAt, l.ackDue = true, now, true
	if what == duplicate {
		l.stats.Duplicates++
		return nil
	}
	l.stats.Received++
	l.stats.BytesReceived += uint64(len(data.Payload))
	return nil
}

// Malformed counts bytes of a connection that were no frame.
func (l *link) Malformed() { l.stats.RefusedFrames++ }

func (l *link) violation() error {
	l.stats.RefusedFrames++
	return ErrProtocol
}

// use makes a connection the current one: all that the peer has not received is written to it.
func (l *link) use(now time.Duration, number uint64) {
	l.current = number
	l.ackDue, l.endDue = true, l.out.ended
	for i := range l.out.items {
		if item := &l.out.items[i]; item.written && !item.confirmed && item.Sequence >= l.out.received {
			l.stats.Resent++
		}
	}
	l.out.restart()
	l.progressAt = now
}

// nextFrame returns what the current connection is to be given.
func (l *link) nextFrame() (wire.Frame, bool) {
	if l.byeSent {
		return nil, false
	}
	if l.ackDue {
		l.ackDue = false
		return l.in.ack(), true
	}
	if record, found := l.out.write(); found {
		return wire.Data{
			Sequence: record.Sequence, SentAtUs: record.SentAt.Microseconds(), Payload: record.Data,
		}, true
	}
	if l.endDue {
		l.endDue = false
		return wire.End{Next: l.out.next()}, true
	}
	if l.byeDue {
		l.byeSent, l.over = true, true
		return wire.Bye{}, true
	}
	return nil, false
}

// Bye has the session ended once all else is written to the current connection.
func (l *link) Bye() { l.byeDue = true }

// silentFor is how long the peer has not reported that anything arrived, though something was sent.
func (l *link) silentFor(now time.Duration) time.Duration {
	oldest, found := l.out.oldest()
	if !found || l.out.lacking() == 0 || l.out.peerFull {
		return 0
	}
	return now - max(l.progressAt, oldest)
}

// silence is how long silentFor has to be for an arrival to make the phone switch.
func (l *link) silence() time.Duration {
	return min(max(2*l.delayMin, l.settings.SilenceMin), l.settings.SilenceMax)
}

// Stats returns the counters.
func (l *link) Stats() Stats {
	stats := l.stats
	stats.Unconfirmed, stats.Waiting = l.out.unconfirmed(), l.in.waiting()
	stats.OutboxBytes, stats.InboxBytes = l.out.bytes, l.in.bytes
	return stats
}
