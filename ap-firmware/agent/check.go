// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/reasontext"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// checkAnsweredWithinUS is how long reports ask for a check, and how long nothing may be said of one that runs.
const checkAnsweredWithinUS = 60_000_000

const (
	checkNotAnswered  = "the controller does not answer: is it older than this agent?"
	checkDisconnected = "the connection to the controller ended"
)

// checks are what somebody at the access point asks the controller for: it carries them out.
type checks struct {
	// asked returns a request and takes it away; nil if there is none.
	asked func() *status.CheckRequest
	// last is the one that was asked for last; nil before the first.
	last *status.Check
	// heardUS is when it was asked for, or the controller last said something of it, if it is answered.
	heardUS  int64
	answered bool
}

// request takes over what was asked for, and is what a report says of it. It returns whether the status has changed.
func (c *checks) request(nowUS int64) (message *airboundv1.CheckRequest, changed bool) {
	if c.asked != nil && !c.last.Runs() {
		// One that was left while there was no stream has been forgotten meanwhile.
		if request := c.asked(); request != nil && nowUS-request.AskedUS < checkAnsweredWithinUS {
			c.last = &status.Check{ID: request.ID, AskedUS: request.AskedUS, Last: c.last.LastResult()}
			c.heardUS, c.answered, changed = request.AskedUS, false, true
		}
	}
	switch {
	case !c.last.Runs():
	case nowUS-c.heardUS >= checkAnsweredWithinUS:
		c.last.Refusal, changed = checkNotAnswered, true
	case !c.answered:
		message = &airboundv1.CheckRequest{Id: c.last.ID}
	}
	return message, changed
}

// take takes over what a response says of a check, and returns whether the status has changed.
func (c *checks) take(nowUS int64, said *airboundv1.CellCheck) bool {
	if !c.last.Runs() || said.GetId() != c.last.ID {
		return false
	}
	before := *c.last
	c.heardUS, c.answered = nowUS, true
	c.last.Turn, c.last.Turns = said.GetTurn(), said.GetTurns()
	c.last.Line, c.last.Verdict = printable([]byte(said.GetLine())), printable([]byte(said.GetVerdict()))
	if refusal := said.GetRefusal(); refusal != nil {
		c.last.Refusal = reasontext.Sentence(refusal)
	}
	return *c.last != before
}

// disconnected ends one that runs, as the controller does, and returns whether the status has changed.
func (c *checks) disconnected() bool {
	if !c.last.Runs() {
		return false
	}
	c.last.Refusal = checkDisconnected
	return true
}

// saved is the last one for the status.
func (c *checks) saved() *status.Check {
	if c.last == nil {
		return nil
	}
	last := *c.last
	return &last
}

// Check takes over what a response says of the check that was asked for.
func (a *Agent) Check(nowUS int64, said *airboundv1.CellCheck) {
	if a.account.checks.take(nowUS, said) {
		a.account.due = true
		a.save(nowUS)
	}
}

// askForCheck is what a report says of a check.
func (a *Agent) askForCheck(nowUS int64) *airboundv1.CheckRequest {
	message, changed := a.account.checks.request(nowUS)
	a.account.due = a.account.due || changed
	return message
}
