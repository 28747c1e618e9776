// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// checking is a cell whose agent is connected, and for which somebody may ask for a check.
type checking struct {
	*cell

	waiting *status.CheckRequest
}

func newChecking(t *testing.T) *checking {
	t.Helper()
	c := &checking{cell: newCell(t, time.Second)}
	c.start(indexOfWLAN0)
	c.agent = agent.New(agent.Config{
		Version: "1.2", Interval: time.Second, Sampler: c.kernel, RefreshAssociations: func() {},
		Malformed: &c.malformed, EDCA: c.edca(), Logger: c.logger(),
		CheckAsked: func() *status.CheckRequest {
			request := c.waiting
			c.waiting = nil
			return request
		},
	}, c.nowUS)
	c.agent.Connected(c.nowUS)
	c.pass(2 * time.Second)
	return c
}

func (c *checking) ask(id string) { c.waiting = &status.CheckRequest{ID: id, AskedUS: c.nowUS} }

// asks is the identifier in the report of the next second.
func (c *checking) asks() string {
	c.t.Helper()
	reports, _ := c.pass(time.Second)
	if len(reports) == 0 {
		c.t.Fatal("no report")
	}
	return reports[len(reports)-1].GetCheck().GetId()
}

func (c *checking) answer(said *airboundv1.CellCheck) { c.agent.Check(c.nowUS, said) }

func refusing(id string, code airboundv1.ReasonCode) *airboundv1.CellCheck {
	return &airboundv1.CellCheck{Id: id, Refusal: &airboundv1.Reason{Code: code}}
}

func TestReportsAskForACheckUntilAResponseNamesIt(t *testing.T) {
	t.Parallel()
	c := newChecking(t)
	if got := c.asks(); got != "" || c.saved.Check != nil {
		t.Errorf("before: asks for %q, %+v", got, c.saved.Check)
	}
	c.ask("a")
	for range 3 {
		if got := c.asks(); got != "a" || !c.saved.Check.Runs() {
			t.Errorf("asks for %q, %+v", got, c.saved.Check)
		}
	}
	c.answer(nil)
	c.answer(&airboundv1.CellCheck{Id: "another", Turn: 7, Turns: 12})
	if got := c.asks(); got != "a" || c.saved.Check.Turn != 0 {
		t.Errorf("after another one's answer: asks for %q, %+v", got, c.saved.Check)
	}
	c.answer(&airboundv1.CellCheck{Id: "a", Turn: 1, Turns: 12})
	if got := c.asks(); got != "" || c.saved.Check.Progress() != "turn 1 of 12" {
		t.Errorf("once it is answered: asks for %q, %+v", got, c.saved.Check)
	}
	c.ask("b") // While one runs, no other is asked for.
	if got := c.asks(); got != "" || c.saved.Check.ID != "a" {
		t.Errorf("a second one: asks for %q, %+v", got, c.saved.Check)
	}
	result := &airboundv1.CellCheck{Id: "a", Turn: 12, Turns: 12, Line: "carried\n+50%", Verdict: "It is worth it."}
	c.answer(result)
	if got := c.saved.Check; got.Runs() || got.Line != "carried\ufffd+50%" || got.Verdict != "It is worth it." {
		t.Errorf("%+v", got)
	}
	c.agent.Disconnected(c.nowUS)
	if got := c.saved.Check; got.Refusal != "" || got.Line == "" {
		t.Errorf("the result after the stream's end: %+v", got)
	}
}

func TestACheckThatIsRefused(t *testing.T) {
	t.Parallel()
	c := newChecking(t)
	c.ask("a")
	c.asks()
	c.answer(refusing("a", airboundv1.ReasonCode_REASON_CODE_CHECK_RUNS))
	if got := c.saved.Check; got.Refusal != "a check of this cell runs already" {
		t.Errorf("%+v", got)
	}
	c.ask("b")
	if got := c.asks(); got != "b" || c.saved.Check.Refusal != "" {
		t.Errorf("another one: asks for %q, %+v", got, c.saved.Check)
	}
}

func TestAResultStaysUntilTheNextOne(t *testing.T) {
	t.Parallel()
	c := newChecking(t)
	askedUS := c.nowUS
	c.ask("a")
	c.asks()
	c.answer(&airboundv1.CellCheck{Id: "a", Turn: 12, Turns: 12, Line: "carried +50%", Verdict: "It is worth it."})
	want := status.CheckResult{AskedUS: askedUS, Line: "carried +50%", Verdict: "It is worth it."}
	for _, id := range []string{"b", "c"} {
		c.ask(id)
		c.asks()
		if got := c.saved.Check; !got.Runs() || got.Last == nil || *got.Last != want {
			t.Errorf("while %s runs: %+v", id, got)
		}
		c.answer(refusing(id, airboundv1.ReasonCode_REASON_CODE_CHECK_TOO_SOON))
		if got := c.saved.Check; got.Runs() || got.Last == nil || *got.Last != want {
			t.Errorf("after %s is refused: %+v", id, got)
		}
	}
	c.ask("d")
	c.asks()
	c.answer(&airboundv1.CellCheck{Id: "d", Turn: 12, Turns: 12, Line: "carried -5%", Verdict: "It is not."})
	if got := c.saved.Check.LastResult(); got.Line != "carried -5%" {
		t.Errorf("%+v", got)
	}
}

func TestAControllerThatDoesNotAnswerToACheck(t *testing.T) {
	t.Parallel()
	c := newChecking(t)
	c.ask("a")
	for range 59 {
		if got := c.asks(); got != "a" {
			t.Fatalf("asks for %q", got)
		}
	}
	c.pass(2 * time.Second)
	if got := c.saved.Check; !strings.HasPrefix(got.Refusal, "the controller does not answer: is it older") {
		t.Errorf("%+v", got)
	}
	if got := c.asks(); got != "" {
		t.Errorf("asks for %q", got)
	}
}

func TestACheckOfWhichNothingIsSaidAnyMore(t *testing.T) {
	t.Parallel()
	c := newChecking(t)
	c.ask("a")
	c.asks()
	for range 100 {
		c.answer(&airboundv1.CellCheck{Id: "a", Turn: 2, Turns: 12})
		c.pass(time.Second)
	}
	if !c.saved.Check.Runs() {
		t.Errorf("%+v", c.saved.Check)
	}
	c.pass(61 * time.Second)
	if got := c.saved.Check; got.Refusal == "" {
		t.Errorf("%+v", got)
	}
}

func TestTheEndOfTheStreamEndsACheck(t *testing.T) {
	t.Parallel()
	c := newChecking(t)
	c.ask("a")
	c.asks()
	c.agent.Disconnected(c.nowUS)
	if got := c.saved.Check; got.Refusal != "the connection to the controller ended" {
		t.Errorf("%+v", got)
	}
	c.ask("b") // What is asked for meanwhile is forgotten after a minute.
	c.pass(61 * time.Second)
	c.agent.Connected(c.nowUS)
	if got := c.asks(); got != "" || c.saved.Check.ID != "a" {
		t.Errorf("asks for %q, %+v", got, c.saved.Check)
	}
}
