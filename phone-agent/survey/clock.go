// SPDX-License-Identifier: Apache-2.0

package survey

import "time"

// Exchange is a datagram of the phone's and the next one of the server's that came back. The first and the last time
// are of the phone's clock, the others of the server's.
type Exchange struct{ SentUS, ArrivedUS, AnsweredUS, BackUS int64 }

// rttUS is the time that both datagrams took; it is of no clock, as long as both run at the same rate.
func (e Exchange) rttUS() int64 { return e.BackUS - e.SentUS - (e.AnsweredUS - e.ArrivedUS) }

// offsetUS is what the server's clock shows more than the phone's, if both datagrams took the same time. The error is
// half of the round trip at the most.
func (e Exchange) offsetUS() int64 { return (e.ArrivedUS - e.SentUS + e.AnsweredUS - e.BackUS) / 2 }

// Estimate is what the server's clock shows more than the phone's, and how wrong that may be.
type Estimate struct{ OffsetUS, UncertaintyUS int64 }

// driftParts: one clock may be faster than the other by one part in so many, as two crystals of 50 ppm each.
const driftParts = 10_000

// windowUS is the time of which the exchange with the shortest round trip is kept.
const windowUS = int64(time.Minute / time.Microsecond)

// Clock estimates the difference of two clocks from exchanges, as NTP does (RFC 5905, 8): the shorter the round trip,
// the better. The zero value has no exchange.
type Clock struct {
	// By the time of the phone's clock over windowUS.
	best map[int64]Exchange
	// The first and the last of these windows.
	first, last int64
	// Refused counts exchanges that cannot be: the answer came before its question.
	Refused uint64
}

// Add takes an exchange in.
func (c *Clock) Add(exchange Exchange) {
	if exchange.rttUS() < 0 || exchange.AnsweredUS < exchange.ArrivedUS {
		c.Refused++
		return
	}
	window := exchange.BackUS / windowUS
	if best, known := c.best[window]; known && best.rttUS() <= exchange.rttUS() {
		return
	}
	if c.best == nil {
		c.best, c.first, c.last = map[int64]Exchange{}, window, window
	}
	c.first, c.last = min(c.first, window), max(c.last, window)
	c.best[window] = exchange
}

// At is the best estimate for a moment of the phone's clock: that with the smallest uncertainty, half of its round trip
// and what the clocks may have drifted since. It is false if there was no exchange.
func (c *Clock) At(phoneUS int64) (Estimate, bool) {
	var found Estimate
	if len(c.best) == 0 {
		return found, false
	}
	known := false
	window := phoneUS / windowUS
	reach := max(c.last-window, window-c.first, 0)
	for away := int64(0); away <= reach; away++ {
		// What is further away has drifted by more than the best so far.
		if known && (away-1)*windowUS/driftParts > found.UncertaintyUS {
			break
		}
		for _, at := range []int64{window - away, window + away} {
			exchange, kept := c.best[at]
			if !kept {
				continue
			}
			is := exchange.at(phoneUS)
			if !known || is.UncertaintyUS < found.UncertaintyUS {
				found, known = is, true
			}
		}
	}
	return found, known
}

func (e Exchange) at(phoneUS int64) Estimate {
	away := e.BackUS - phoneUS
	if away < 0 {
		away = -away
	}
	return Estimate{e.offsetUS(), e.rttUS()/2 + away/driftParts}
}

// Whole is the estimate with the smallest uncertainty of all.
func (c *Clock) Whole() (Estimate, bool) {
	var found Estimate
	known := false
	for _, exchange := range c.best {
		if one := exchange.at(exchange.BackUS); !known || one.UncertaintyUS < found.UncertaintyUS {
			found, known = one, true
		}
	}
	return found, known
}
