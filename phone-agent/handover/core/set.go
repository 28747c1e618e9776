// SPDX-License-Identifier: Apache-2.0

package core

import (
	"slices"

	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// set is sequence numbers: all from 1 to next-1, and ranges above next, which rise and do not touch.
type set struct {
	next  uint64
	above []wire.Range
}

func newSet(next uint64) set { return set{next: next} }

func (s *set) has(number uint64) bool {
	if number < s.next {
		return true
	}
	i, _ := slices.BinarySearchFunc(s.above, number, func(r wire.Range, n uint64) int {
		if r.Last < n {
			return -1
		}
		return 1
	})
	return i < len(s.above) && s.above[i].First <= number
}

// add returns whether the number is new.
func (s *set) add(number uint64) bool {
	if s.has(number) {
		return false
	}
	// The first range that ends at number-1 or later.
	i, _ := slices.BinarySearchFunc(s.above, number, func(r wire.Range, n uint64) int {
		if r.Last+1 < n {
			return -1
		}
		return 1
	})
	switch {
	case i == len(s.above) || s.above[i].First > number+1:
		s.above = slices.Insert(s.above, i, wire.Range{First: number, Last: number})
	case s.above[i].First == number+1:
		s.above[i].First = number
	default: // It ends at number-1.
		s.above[i].Last = number
		if i+1 < len(s.above) && s.above[i+1].First == number+1 {
			s.above[i].Last = s.above[i+1].Last
			s.above = slices.Delete(s.above, i+1, i+2)
		}
	}
	s.settle()
	return true
}

// raise adds all numbers below another.
func (s *set) raise(next uint64) {
	if next <= s.next {
		return
	}
	s.next = next
	for len(s.above) > 0 && s.above[0].First < next {
		s.next = max(s.next, s.above[0].Last+1)
		s.above = s.above[1:]
	}
	s.settle()
}

func (s *set) settle() {
	for len(s.above) > 0 && s.above[0].First <= s.next {
		s.next = max(s.next, s.above[0].Last+1)
		s.above = slices.Delete(s.above, 0, 1)
	}
}

// count is the number of sequence numbers in the set.
func (s *set) count() uint64 {
	total := s.next - 1
	for _, r := range s.above {
		total += r.Last - r.First + 1
	}
	return total
}

// newest returns the highest ranges, no more than fit into an Ack.
func (s *set) newest() []wire.Range {
	return slices.Clone(s.above[max(0, len(s.above)-wire.RangesMax):])
}
