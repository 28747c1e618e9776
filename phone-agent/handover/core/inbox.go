// SPDX-License-Identifier: Apache-2.0

package core

import (
	"cmp"
	"slices"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// inbox takes each record once, from all connections, and has those that the application has not taken.
type inbox struct {
	newestFirst bool
	bytesMax    int
	spanMax     uint64
	bytes       int
	received    set
	confirmed   set
	queue       []Record // by sequence number
	earlier     []Record // of a peer that was started again since
	generation  uint64   // how often it was
	end         uint64   // the sequence number after the last, 0 while unknown
	newest      Record   // the last that arrived, without its data
	duplicates  uint64
}

func newInbox(newestFirst bool, next uint64, bytesMax int, spanMax uint64) inbox {
	return inbox{
		newestFirst: newestFirst, bytesMax: bytesMax, spanMax: spanMax,
		received: newSet(next), confirmed: newSet(next), newest: Record{Sequence: next - 1},
	}
}

// verdict is what became of a record.
type verdict int

const (
	taken verdict = iota
	duplicate
	impossible // a gap in an order without gaps, or more than the sender may send
)

func (i *inbox) take(data *wire.Data) verdict {
	number := data.Sequence
	switch {
	case i.received.has(number):
		i.duplicates++
		return duplicate
	case !i.newestFirst && number != i.received.next,
		number-i.confirmed.next >= i.spanMax,
		i.end != 0 && number >= i.end:
		return impossible
	}
	i.received.add(number)
	record := Record{number, time.Duration(data.SentAtUs) * time.Microsecond, data.Payload, i.generation}
	at := len(i.queue)
	if at > 0 && i.queue[at-1].Sequence > number {
		at, _ = slices.BinarySearchFunc(i.queue, number, bySequence)
	}
	i.queue = slices.Insert(i.queue, at, record)
	i.bytes += record.memoryBytes()
	if number >= i.newest.Sequence {
		i.newest = Record{Sequence: number, SentAt: record.SentAt}
	}
	return taken
}

// full is whether connections are not to be read.
func (i *inbox) full() bool { return i.bytes >= i.bytesMax }

// pop returns the record that is the application's next.
func (i *inbox) pop() (Record, bool) {
	if len(i.earlier) > 0 {
		record := i.earlier[0]
		i.earlier = i.earlier[1:]
		i.bytes -= record.memoryBytes()
		return record, true
	}
	if len(i.queue) == 0 {
		return Record{}, false
	}
	at := 0
	if i.newestFirst {
		at = len(i.queue) - 1
	}
	record := i.queue[at]
	i.queue[at] = Record{}
	if at == 0 {
		i.queue = i.queue[1:]
	} else {
		i.queue = i.queue[:at]
	}
	if len(i.queue) == 0 {
		i.queue = nil
	}
	i.bytes -= record.memoryBytes()
	return record, true
}

// setEnd takes in where the records end; false is an end that contradicts what has arrived.
func (i *inbox) setEnd(next uint64) bool {
	if i.end != 0 && i.end != next || i.received.next > next ||
		len(i.received.above) > 0 && i.received.above[len(i.received.above)-1].Last >= next {
		return false
	}
	i.end = next
	return true
}

// complete is whether no record will follow those in the queue.
func (i *inbox) complete() bool { return i.end != 0 && i.received.next == i.end }

func (i *inbox) ack() wire.Ack {
	return wire.Ack{
		Received: i.received.next, ReceivedCount: i.received.count(),
		Confirmed: i.confirmed.next, Ranges: i.confirmed.newest(), Full: i.full(),
	}
}

// restart is for a peer that was started again: its records are numbered from next on. What arrived before stays, and
// is delivered first.
func (i *inbox) restart(next uint64) {
	i.earlier, i.queue = append(i.earlier, i.queue...), nil
	i.generation++
	i.received, i.confirmed = newSet(next), newSet(next)
	i.end, i.newest = 0, Record{Sequence: next - 1}
}

// done takes in that the application is done with a record that it took. It returns whether the peer is to know.
func (i *inbox) done(sequence, generation uint64) bool {
	if generation != i.generation || !i.received.has(sequence) {
		return false
	}
	_, waiting := slices.BinarySearchFunc(i.queue, sequence, bySequence)
	return !waiting && i.confirmed.add(sequence)
}

func bySequence(r Record, number uint64) int { return cmp.Compare(r.Sequence, number) }

// waiting is the number of records that the application has not taken.
func (i *inbox) waiting() int { return len(i.queue) + len(i.earlier) }

// skip is for a sender that has no records below first any more. It returns the number of those that never arrived.
func (i *inbox) skip(first uint64) uint64 {
	before := i.received.count()
	i.received.raise(first)
	missing := i.received.count() - before
	if missing > 0 {
		i.confirmed.raise(first)
	}
	return missing
}
