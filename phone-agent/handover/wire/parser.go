// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/binary"
	"math"
)

// parser takes numbers from the front of a body. After a failure it returns zeroes, so that the caller checks once.
type parser struct {
	rest    []byte
	problem string
	version bool
}

var zeroes [64]byte

func (p *parser) fail(problem string) {
	if p.problem == "" {
		p.problem = problem
	}
	p.rest = nil
}

// take returns the next n bytes, at most 64.
func (p *parser) take(n int) []byte {
	if len(p.rest) < n {
		p.fail("too short")
		return zeroes[:n]
	}
	taken := p.rest[:n]
	p.rest = p.rest[n:]
	return taken
}

func (p *parser) number16() uint16 { return binary.BigEndian.Uint16(p.take(2)) }
func (p *parser) number64() uint64 { return binary.BigEndian.Uint64(p.take(8)) }

// flags returns a byte in which no other bits than those known are set.
func (p *parser) flags(known byte) byte {
	flags := p.take(1)[0]
	if flags&^known != 0 {
		p.fail("unknown flags")
	}
	return flags
}

// sequence returns a sequence number. They begin with 1, and half of all numbers suffice for ever.
func (p *parser) sequence() uint64 {
	number := p.number64()
	if p.problem == "" && (number == 0 || number > math.MaxInt64) {
		p.fail("no sequence number")
	}
	return number
}

// time returns microseconds since a session began.
func (p *parser) time() int64 {
	number := p.number64()
	if number > math.MaxInt64/1000 {
		p.fail("no time")
		return 0
	}
	return int64(number)
}
