// SPDX-License-Identifier: Apache-2.0

package ring

import (
	"encoding/binary"
	"errors"
)

// Kind is what an Event stands for.
type Kind uint8

// Kinds of events. Lost and Refused are gaps: at this place Times events are missing, at least. Now is none of the
// kernel's: everything until TimeNS has been delivered.
const (
	Data Kind = iota
	Lost
	Refused
	Now
)

// Event is an entry of the buffer.
type Event struct {
	Kind Kind
	// CPU is the processor on which it happened.
	CPU int
	// TimeNS is the trace clock's.
	TimeNS uint64
	// Times is how many events a gap stands for.
	Times uint64
	// ID is that of the event's Format, Data all of its bytes.
	ID   uint16
	Data []byte
}

// Types of entries in a page, by the low five bits of their first word (include/linux/ring_buffer.h,
// ring_buffer_event). Types 1 to 28 are the length of the data in words of four bytes; 0 has the length in the next
// word.
const (
	typeBits       = 5
	typeMask       = 1<<typeBits - 1
	deltaBits      = 27
	typeLong       = 0
	typePadding    = 29
	typeTimeExtend = 30
	typeTimeStamp  = 31
	wordBytes      = 4
	// An absolute time has the upper five bits of the time before it (kernel/trace/ring_buffer.c, rb_fix_abs_ts).
	absoluteBits = 59
)

// Flags beside the number of bytes in use (kernel/trace/ring_buffer.c): events before this page were overwritten, and
// their number follows the data.
const (
	missedEvents = 1 << 31
	missedStored = 1 << 30
	commitMask   = 1<<30 - 1
)

var errCorrupt = errors.New("a page of the trace buffer is corrupt")

// cursor goes through the entries of a page.
type cursor struct {
	data   []byte
	at     int
	timeNS uint64
}

// open begins a page and returns how many events were lost before it, 1 if that number is not known.
func (l Layout) open(page []byte) (c cursor, lost uint64, err error) {
	if len(page) < l.dataOffset {
		return cursor{}, 0, errCorrupt
	}
	head := l.long(page[l.commit.Offset:])
	used := int(head & commitMask)
	if l.dataOffset+used > len(page) {
		return cursor{}, 0, errCorrupt
	}
	data := page[l.dataOffset : l.dataOffset+used]
	if head&missedEvents != 0 {
		lost = 1
		if rest := page[l.dataOffset+used:]; head&missedStored != 0 && len(rest) >= l.commit.Size {
			lost = max(1, l.long(rest))
		}
	}
	return cursor{data: data, timeNS: binary.LittleEndian.Uint64(page)}, lost, nil
}

// long reads a number of the size of the kernel's registers.
func (l Layout) long(from []byte) uint64 {
	if l.commit.Size == wordBytes {
		return uint64(binary.LittleEndian.Uint32(from))
	}
	return binary.LittleEndian.Uint64(from)
}

// next returns the next event's data, nil at the end of the page, and whether the page is corrupt from there on.
func (c *cursor) next() (data []byte, corrupt bool) {
	for c.at+wordBytes <= len(c.data) {
		word := binary.LittleEndian.Uint32(c.data[c.at:])
		kind, delta := word&typeMask, uint64(word>>typeBits)
		body := c.data[c.at+wordBytes:]
		var first uint64 // word of the body, where the type has one
		if kind == typeLong || kind >= typePadding {
			if len(body) < wordBytes {
				// Padding to the end of the page needs no second word.
				return nil, kind != typePadding || delta != 0
			}
			first = uint64(binary.LittleEndian.Uint32(body))
		}
		size, skipped := int(kind)*wordBytes, 0
		switch kind {
		case typePadding:
			if delta == 0 { // The rest of the page is unused.
				return nil, false
			}
			size, skipped = 0, int(first)
		case typeTimeExtend:
			delta += first << deltaBits
			size, skipped = 0, wordBytes
		case typeTimeStamp:
			c.timeNS = c.timeNS>>absoluteBits<<absoluteBits | (first<<deltaBits+delta)&(1<<absoluteBits-1)
			delta = 0
			size, skipped = 0, wordBytes
		case typeLong:
			if first < wordBytes || first > uint64(len(body)) {
				return nil, true
			}
			body = body[wordBytes:]
			size = int(first) - wordBytes
			c.at += wordBytes
		}
		if first > uint64(len(body)) && kind == typePadding || size+skipped > len(body) {
			return nil, true
		}
		c.timeNS += delta
		c.at += wordBytes + skipped + (size+wordBytes-1)/wordBytes*wordBytes
		if kind < typePadding {
			return body[:size], false
		}
	}
	return nil, false
}
