// SPDX-License-Identifier: Apache-2.0

package blockio

import (
	"bytes"
	"strings"
)

// Kinds of requests.
const (
	Read  = "read"
	Write = "write"
	// Flush makes the device write its cache.
	Flush   = "flush"
	Discard = "discard"
	// Other: a command of the driver's own, or one for a zone.
	Other = "other"
)

// Flags are properties of a request, or of one part of it.
type Flags uint8

// Preflush: the device's cache is written before the data; FUA: the data itself is in no cache afterwards.
const (
	Preflush Flags = 1 << iota
	FUA
	Readahead
	Sync
	Metadata
	Atomic
	Secure
)

// flagNames are in the order of the bits.
var flagNames = []string{"preflush", "fua", "readahead", "sync", "metadata", "atomic", "secure"}

// flagTexts are made once: each record has one.
var flagTexts = func() (texts [1 << 7]string) {
	for flags := range texts {
		var names []string
		for i, name := range flagNames {
			if flags&(1<<i) != 0 {
				names = append(names, name)
			}
		}
		texts[flags] = strings.Join(names, "+")
	}
	return texts
}()

// String joins the names by "+".
func (f Flags) String() string { return flagTexts[f%Flags(len(flagTexts))] }

// Letters of operations in the kernel's field rwbs.
const (
	opRead    = 'R'
	opWrite   = 'W'
	opFlush   = 'F'
	opDiscard = 'D'
	opZone    = 'Z'
	opOther   = 'N'
)

// operation is a request's kind and flags.
type operation struct {
	// letter is the kernel's. A request and the bios that it consists of have the same one.
	letter byte
	flags  Flags
}

func (o operation) kind() string {
	switch o.letter {
	case opRead:
		return Read
	case opWrite:
		return Write
	case opFlush:
		return Flush
	case opDiscard:
		return Discard
	default:
		return Other
	}
}

// parseOperation reads the field rwbs (kernel/trace/blktrace.c, blk_fill_rwbs): an F if the cache is to be flushed
// before, the operation's letter (two of a zone's), and letters of flags.
func parseOperation(rwbs []byte) operation {
	if end := bytes.IndexByte(rwbs, 0); end >= 0 {
		rwbs = rwbs[:end]
	}
	parsed := operation{letter: opOther}
	if len(rwbs) > 1 && rwbs[0] == 'F' && strings.IndexByte("RWDFNZ", rwbs[1]) >= 0 {
		parsed.flags = Preflush
		rwbs = rwbs[1:]
	}
	if len(rwbs) == 0 {
		return parsed
	}
	parsed.letter = rwbs[0]
	rwbs = rwbs[1:]
	if parsed.letter == opZone && len(rwbs) > 0 {
		rwbs = rwbs[1:]
	}
	for _, letter := range rwbs {
		switch letter {
		case 'F':
			parsed.flags |= FUA
		case 'A':
			parsed.flags |= Readahead
		case 'S':
			parsed.flags |= Sync
		case 'M':
			parsed.flags |= Metadata
		case 'U':
			parsed.flags |= Atomic
		case 'E':
			parsed.flags |= Secure
		}
	}
	return parsed
}
