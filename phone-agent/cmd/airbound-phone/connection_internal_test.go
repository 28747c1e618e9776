// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/airbound/airbound/phone-agent/events"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The first report of a stream may be replaced before it is sent; the controller still has to learn what the agent is.
func TestAReportThatReplacesAnotherKeepsTheAgent(t *testing.T) {
	t.Parallel()
	first := &request{Report: &airboundv1.TerminalReport{Sequence: 1, Agent: &airboundv1.Agent{Version: "1"}}}
	second := &request{Report: &airboundv1.TerminalReport{Sequence: 2}}
	keepAgent(first, second)
	if got := second.GetReport(); got.GetAgent().GetVersion() != "1" || got.GetSequence() != 2 {
		t.Errorf("%v", got)
	}
	third := &request{Report: &airboundv1.TerminalReport{Sequence: 3, Agent: &airboundv1.Agent{Version: "3"}}}
	keepAgent(second, third)
	if got := third.GetReport().GetAgent().GetVersion(); got != "3" {
		t.Errorf("%q", got)
	}
}

// What came by the stream to the controller shows that it works: it is not made anew, while TCP retransmits all the
// same.
func TestAnArrivalMakesTheStreamAnewUnlessItCameByIt(t *testing.T) {
	t.Parallel()
	for _, source := range events.Sources() {
		c := newConnection(t.Context())
		c.arrived(events.Event{Source: source, Kind: events.Association})
		c.links.Wait()
		if anew, want := len(c.moved) == 1, source != events.Stream && source != events.Controller; anew != want {
			t.Errorf("%s: anew: %v", source, anew)
		}
	}
}
