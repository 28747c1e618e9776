// SPDX-License-Identifier: Apache-2.0

// Package measure makes figures of a load test: which sets of bounds were expected, when they came, and what follows
// for the result. It opens nothing and asks no clock.
package measure

// WaitUS is how long a set of bounds may take; one that takes longer is missing.
const WaitUS = 5_000_000

// Sample is one latency.
type Sample struct {
	// LeftUS is when the access point's report left.
	LeftUS    int64
	LatencyUS int64
}

// Expectations are the sets of bounds that terminals must be sent since their cell's number of active senders changed.
// A set is recognised by its active_senders: it is that of the report.
type Expectations struct {
	Samples []Sample
	// Missing did not come in time.
	Missing int
	// Void are those whose terminal stopped sending, roamed or lost its stream before they came, or was given up
	// because the number changed again, and sets that came earlier than they could be expected. They count nowhere.
	Void int

	open  []expected
	last  []uint32 // active_senders of each terminal's last set
	queue []queued
}

type expected struct {
	leftUS  int64
	active  uint32
	counted bool
}

type queued struct {
	terminal int
	leftUS   int64
}

// NewExpectations is for terminals 0 to count-1.
func NewExpectations(count int) *Expectations {
	return &Expectations{open: make([]expected, count), last: make([]uint32, count)}
}

// Expect opens an expectation. One that is not counted changes no figure. A set that is there already is not expected:
// a controller counts a terminal that starts from its own report on, which may come before its access point's.
func (e *Expectations) Expect(terminal int, active uint32, leftUS int64, counted bool) {
	e.Cancel(terminal)
	if e.last[terminal] == active {
		if counted {
			e.Void++
		}
		return
	}
	e.open[terminal] = expected{leftUS: leftUS, active: active, counted: counted}
	e.queue = append(e.queue, queued{terminal, leftUS})
}

// Cancel ends an expectation, if one is open, without a figure.
func (e *Expectations) Cancel(terminal int) {
	if x := &e.open[terminal]; x.leftUS != 0 {
		if x.counted {
			e.Void++
		}
		*x = expected{}
	}
}

// Forget is Cancel for a terminal whose last set is no longer what its controller has sent it: it lost its stream, or
// is in another cell.
func (e *Expectations) Forget(terminal int) {
	e.Cancel(terminal)
	e.last[terminal] = 0
}

// Arrived takes note of a set of bounds and returns whether it was expected.
func (e *Expectations) Arrived(terminal int, active uint32, nowUS int64) bool {
	e.last[terminal] = active
	x := &e.open[terminal]
	if x.leftUS == 0 || x.active != active {
		return false
	}
	if x.counted {
		e.Samples = append(e.Samples, Sample{x.leftUS, nowUS - x.leftUS})
	}
	*x = expected{}
	return true
}

// Expire counts as missing what was expected before nowUS - WaitUS.
func (e *Expectations) Expire(nowUS int64) {
	passed := 0
	for _, q := range e.queue {
		if nowUS-q.leftUS <= WaitUS {
			break
		}
		passed++
		if x := &e.open[q.terminal]; x.leftUS == q.leftUS {
			if x.counted {
				e.Missing++
			}
			*x = expected{}
		}
	}
	if passed > 0 {
		e.queue = append(e.queue[:0], e.queue[passed:]...)
	}
}

// Pending is how many counted expectations are open.
func (e *Expectations) Pending() int {
	pending := 0
	for _, x := range e.open {
		if x.leftUS != 0 && x.counted {
			pending++
		}
	}
	return pending
}
