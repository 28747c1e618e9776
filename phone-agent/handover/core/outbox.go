// SPDX-License-Identifier: Apache-2.0

package core

import (
	"time"

	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// Record is a record on its way.
type Record struct {
	// Sequence is 1 for the first record of a session.
	Sequence uint64
	// SentAt is when Send took the record, since the sender's session began.
	SentAt time.Duration
	Data   []byte
	// Generation counts the starts of the peer that sent the record; for Confirm.
	Generation uint64
}

// recordOverheadBytes is the memory of a record beside its data, for the limits.
const recordOverheadBytes = 64

func (r *Record) memoryBytes() int { return len(r.Data) + recordOverheadBytes }

// outbox has the records that the peer's application has not confirmed, and which of them the current connection has
// been given.
type outbox struct {
	newestFirst bool
	bytesMax    int
	bytes       int
	// items have the sequence numbers from first on, without a gap.
	first uint64
	items []outboxItem
	// Written or not wanted on the current connection: all below cursor (in order), or all from cursor on (newest
	// first).
	cursor uint64
	ended  bool // no record follows
	// What the peer has received; its reports may come late and out of turn.
	received      uint64
	receivedCount uint64
	peerFull      bool
}

type outboxItem struct {
	Record
	confirmed, written bool
}

func newOutbox(newestFirst bool, bytesMax int) outbox {
	return outbox{newestFirst: newestFirst, bytesMax: bytesMax, first: 1, cursor: 1, received: 1}
}

func (o *outbox) next() uint64 { return o.first + uint64(len(o.items)) }

func (o *outbox) fits(data []byte) bool {
	return o.bytes == 0 || o.bytes+len(data)+recordOverheadBytes <= o.bytesMax
}

func (o *outbox) add(now time.Duration, data []byte) uint64 {
	item := outboxItem{Record: Record{Sequence: o.next(), SentAt: now, Data: data}}
	o.items = append(o.items, item)
	o.bytes += item.memoryBytes()
	if o.newestFirst {
		o.cursor = o.next()
	}
	return item.Sequence
}

// restart is for a new connection: what the peer has not received has to be written to it.
func (o *outbox) restart() {
	for i := range o.items {
		o.items[i].written = o.items[i].Sequence < o.received
	}
	o.cursor = max(o.first, o.received)
	if o.newestFirst {
		o.cursor = o.next()
	}
}

// forget is for a peer that was started again: its application has confirmed all below next, and nothing else is there.
func (o *outbox) forget(next uint64) {
	next = min(max(next, o.first), o.next())
	o.received, o.receivedCount, o.peerFull = next, next-1, false
	o.confirm(next, nil)
}

// write returns the record that the current connection is to be given next.
func (o *outbox) write() (Record, bool) {
	if o.newestFirst {
		for ; o.cursor > o.first; o.cursor-- {
			if item := o.item(o.cursor - 1); !item.written && !item.confirmed {
				item.written = true
				o.cursor--
				return item.Record, true
			}
		}
		return Record{}, false
	}
	for o.cursor = max(o.cursor, o.first); o.cursor < o.next(); {
		item := o.item(o.cursor)
		o.cursor++
		if !item.written && !item.confirmed {
			item.written = true
			return item.Record, true
		}
	}
	return Record{}, false
}

func (o *outbox) item(sequence uint64) *outboxItem { return &o.items[sequence-o.first] }

// acknowledge takes in a report of the peer's. It returns whether the report is possible at all, and when the newest
// record was sent that all up to have now been received, if there is a new one.
func (o *outbox) acknowledge(ack *wire.Ack) (sentAt time.Duration, isNew, possible bool) {
	last := ack.Confirmed - 1
	if number := len(ack.Ranges); number > 0 {
		last = ack.Ranges[number-1].Last
	}
	if last >= o.next() || ack.Received > o.next() || ack.ReceivedCount >= o.next() {
		return 0, false, false
	}
	if newest := ack.Received - 1; newest >= o.received && newest >= o.first {
		sentAt, isNew = o.item(newest).SentAt, true
	}
	o.received = max(o.received, ack.Received)
	o.receivedCount = max(o.receivedCount, ack.ReceivedCount)
	o.peerFull = ack.Full
	o.confirm(ack.Confirmed, ack.Ranges)
	return sentAt, isNew, true
}

func (o *outbox) confirm(next uint64, above []wire.Range) {
	for _, r := range above {
		for number := max(r.First, o.first); number <= r.Last; number++ {
			o.release(o.item(number))
		}
	}
	done := 0
	for done < len(o.items) && (o.items[done].Sequence < next || o.items[done].confirmed) {
		o.release(&o.items[done])
		done++
	}
	o.items = o.items[done:]
	o.first += uint64(done)
	if len(o.items) == 0 {
		o.items = nil // What append left behind goes as well.
	}
}

// release frees a record's data, and keeps its place if it is not the first.
func (o *outbox) release(item *outboxItem) {
	if !item.confirmed {
		item.confirmed = true
		o.bytes -= item.memoryBytes()
		item.Data = nil
	}
}

// lacking is the number of records that the peer has not received.
func (o *outbox) lacking() uint64 { return o.next() - 1 - o.receivedCount }

// oldest is when the oldest record was sent that the peer may not have received.
func (o *outbox) oldest() (time.Duration, bool) {
	for number := max(o.first, o.received); number < o.next(); number++ {
		if item := o.item(number); !item.confirmed {
			return item.SentAt, true
		}
	}
	return 0, false
}

// unconfirmed is the number of records that the peer's application has not confirmed.
func (o *outbox) unconfirmed() int {
	number := 0
	for i := range o.items {
		if !o.items[i].confirmed {
			number++
		}
	}
	return number
}
