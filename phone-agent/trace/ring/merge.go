// SPDX-License-Identifier: Apache-2.0

package ring

import "encoding/binary"

// Pages gives the pages of one processor's buffer, in their order.
type Pages interface {
	// Next fills page with the next page and reports whether there is one now.
	Next(cpu int, page []byte) (bool, error)
}

// Merger puts the events of all processors in the order of their time. It has one page of each processor in memory.
type Merger struct {
	// Lost is how many events the gaps of that kind stand for.
	Lost uint64

	layout  Layout
	pages   Pages
	streams []stream
	// batch and arena are what Batch returns; arena has the bytes.
	batch []Event
	arena []byte
}

// stream is one processor's sequence.
type stream struct {
	page   []byte
	cursor cursor
	// waiting is whether there is an event that has not been delivered: head.
	waiting bool
	head    Event
	// lost is a gap before head.
	lost Event
	// emptyAtNS is when the buffer was found empty: an event before that time would have been there.
	emptyAtNS uint64
}

// The size of a batch: a consumer gets hundreds of events at a time, and the memory is bounded.
const (
	batchEvents = 512
	arenaBytes  = 32 << 10
)

// NewMerger reads the buffers of that many processors.
func NewMerger(layout Layout, cpus int, pages Pages) *Merger {
	m := &Merger{
		layout: layout, pages: pages, streams: make([]stream, cpus),
		batch: make([]Event, 0, batchEvents+1), arena: make([]byte, 0, max(arenaBytes, layout.PageBytes)),
	}
	for cpu := range m.streams {
		m.streams[cpu].page = make([]byte, layout.PageBytes)
	}
	return m
}

// Batch returns the next events, whose bytes are valid until the next call, at most some hundreds; none if there are no
// more now. nowNS is a reading of the trace's clock from before the call: an event of a processor whose buffer is empty
// cannot be older than that, so younger ones of other processors wait for it. The events of one processor are in the
// order in which its buffer has them.
func (m *Merger) Batch(nowNS uint64) ([]Event, error) { return m.merge(nowNS) }

// Rest is Batch for buffers into which nothing is written any more.
func (m *Merger) Rest() ([]Event, error) { return m.merge(never) }

func (m *Merger) merge(emptyAtNS uint64) ([]Event, error) {
	m.batch, m.arena = m.batch[:0], m.arena[:0]
	for len(m.batch) < batchEvents {
		next, err := m.first(emptyAtNS)
		if err != nil || next == nil {
			return m.batch, err
		}
		if next.lost.Times > 0 {
			m.batch = append(m.batch, next.lost)
			m.Lost += next.lost.Times
			next.lost = Event{}
		}
		if len(next.head.Data) > cap(m.arena)-len(m.arena) {
			return m.batch, nil
		}
		from := len(m.arena)
		m.arena = append(m.arena, next.head.Data...)
		event := next.head
		event.Data = m.arena[from:]
		m.batch = append(m.batch, event)
		next.waiting = false
	}
	return m.batch, nil
}

// first is the stream with the oldest event, nil if there is none or if an older one may come.
func (m *Merger) first(emptyAtNS uint64) (*stream, error) {
	var oldest *stream
	limitNS := uint64(never)
	for cpu := range m.streams {
		s := &m.streams[cpu]
		if err := m.fill(cpu, s, emptyAtNS); err != nil {
			return nil, err
		}
		if !s.waiting {
			limitNS = min(limitNS, s.emptyAtNS)
			continue
		}
		if oldest == nil || s.head.TimeNS < oldest.head.TimeNS {
			oldest = s
		}
	}
	if oldest != nil && oldest.head.TimeNS > limitNS {
		return nil, nil
	}
	return oldest, nil
}

// fill makes head the next event of a processor, from its page or the next one. A page that cannot be read is refused
// from there on: one gap.
func (m *Merger) fill(cpu int, s *stream, emptyAtNS uint64) error {
	for !s.waiting {
		data, corrupt := s.cursor.next()
		switch {
		case corrupt, len(data) == 1: // An event begins with its number of two bytes.
			s.head = Event{Kind: Refused, CPU: cpu, TimeNS: s.cursor.timeNS, Times: 1}
			s.cursor, s.waiting = cursor{}, true
			return nil
		case len(data) > 0:
			s.head = Event{CPU: cpu, TimeNS: s.cursor.timeNS, ID: binary.LittleEndian.Uint16(data), Data: data}
			s.waiting = true
			return nil
		case data != nil:
			continue
		}
		if s.emptyAtNS == emptyAtNS {
			return nil // It was empty in this call or in one of the same time.
		}
		there, err := m.pages.Next(cpu, s.page)
		if err != nil {
			return err
		}
		if !there {
			s.emptyAtNS = emptyAtNS
			return nil
		}
		m.open(cpu, s)
	}
	return nil
}

func (m *Merger) open(cpu int, s *stream) {
	opened, lost, err := m.layout.open(s.page)
	if err != nil {
		s.head, s.waiting = Event{Kind: Refused, CPU: cpu, Times: 1}, true
		return
	}
	s.cursor = opened
	if lost > 0 {
		s.lost = Event{Kind: Lost, CPU: cpu, TimeNS: opened.timeNS, Times: lost + s.lost.Times}
	}
}
