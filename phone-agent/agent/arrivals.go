// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/events"
)

// ArrivalReported takes over that a source reported an arrival, or err: that an input of a source was none.
func (a *Agent) ArrivalReported(nowUS int64, event events.Event, outcome events.Outcome, err error) {
	switch {
	case err != nil:
		a.state.Counters.ArrivalsRefused++
		a.state.LastRefusal = "arrival: " + err.Error()
	case outcome == events.Merged:
		a.state.Counters.ArrivalsMerged++
	default:
		a.state.Counters.Arrivals++
		a.state.LastArrival = &event
		a.saved.due = true
	}
	a.save(nowUS)
}

// Retransmitted counts what was done for the phone's connections after an arrival.
func (a *Agent) Retransmitted(outcome arrival.Outcome) {
	a.state.Counters.ArrivalsUnanswered += outcome.Unanswered
	a.state.Counters.ArrivalsAtOnce += outcome.AtOnce
}
