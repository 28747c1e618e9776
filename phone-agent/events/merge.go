// SPDX-License-Identifier: Apache-2.0

package events

// MergeUS is how long after the first report of an arrival further ones are of the same: a link is up some milliseconds
// after the association, and an access point reports it within some tens of milliseconds.
const MergeUS = 1_000_000

// lateUS is how long the controller's report of an arrival may take: its stream may be one of the connections that wait
// for TCP's timers.
const lateUS = 60_000_000

// Outcome is what a report was.
type Outcome int

// The outcomes.
const (
	// New is the first report of an arrival.
	New Outcome = iota
	// Merged is another report of the last arrival.
	Merged
	// TooMany is a report of a program, an app or a script that has reported too often.
	TooMany
)

// String is the outcome as programs are answered.
func (o Outcome) String() string {
	switch o {
	case New:
		return "new"
	case Merged:
		return "merged"
	default:
		return "too many"
	}
}

// Merger makes one event of all the reports of an arrival.
type Merger struct {
	last    Event
	any     bool
	budgets map[Source]*budget
}

// Add takes a report over. The event has its time; it is one that Check accepts.
func (m *Merger) Add(event Event) Outcome {
	if isLimited(event.Source) {
		if m.budgets == nil {
			m.budgets = make(map[Source]*budget)
		}
		if m.budgets[event.Source] == nil {
			m.budgets[event.Source] = newBudget(event.AtUS)
		}
		if !m.budgets[event.Source].take(event.AtUS) {
			return TooMany
		}
	}
	if m.any && m.isLast(event) {
		if m.last.Place == "" {
			m.last.Place = event.Place
		}
		return Merged
	}
	m.last, m.any = event, true
	return New
}

// isLast reports whether an event is of the last arrival.
func (m *Merger) isLast(event Event) bool {
	afterUS := event.AtUS - m.last.AtUS
	isSamePlace := event.Place != "" && event.Place == m.last.Place
	if event.Source == Controller && m.last.Source != Controller && isSamePlace {
		return afterUS < lateUS
	}
	// Ids of access points and of base stations are not comparable.
	isElsewhere := event.Kind == m.last.Kind && event.Place != "" && m.last.Place != "" && !isSamePlace
	return afterUS < MergeUS && !isElsewhere
}

// isLimited are the sources that anything may write to.
func isLimited(source Source) bool { return source == Program || source == Loopback || source == File }

// A phone in a train passes a base station every few seconds at the most.
const (
	budgetMax      = 5
	budgetEachUS   = 5_000_000
	budgetFilledUS = budgetMax * budgetEachUS
)

// budget allows budgetMax reports at once, and one each budgetEachUS in the long run.
type budget struct{ emptyUS int64 }

func newBudget(nowUS int64) *budget { return &budget{emptyUS: nowUS - budgetFilledUS} }

func (b *budget) take(nowUS int64) bool {
	from := max(b.emptyUS, nowUS-budgetFilledUS)
	if from+budgetEachUS > nowUS {
		return false
	}
	b.emptyUS = from + budgetEachUS
	return true
}
