// SPDX-License-Identifier: Apache-2.0

package main

import (
	"log/slog"
	"net"
	"slices"
	"testing"

	"github.com/airbound/airbound/phone-agent/agent"
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

// An association whose keys are not agreed on when the phone goes to another access point is none any more: the
// interface can send when it is that one's.
func TestAnAssociationThatAnotherHasReplacedIsNotReported(t *testing.T) {
	t.Parallel()
	const name, first, second = "lo", "02:00:00:00:00:00", "02:00:00:00:01:00" // An interface that can send.
	device, err := net.InterfaceByName(name)
	if err != nil || device.Flags&net.FlagRunning == 0 {
		t.Fatalf("%+v, %v", device, err)
	}
	for now, want := range map[string][]string{
		first:  {first},
		second: nil,
		"":     {first}, // It could not be read since.
	} {
		c := newConnection(t.Context())
		c.link = agent.Link{Interface: name, BSSID: now}
		var places []string
		c.hub = &hub{
			now: bootTimeUS, logger: slog.New(slog.DiscardHandler),
			publish: func(event events.Event) { places = append(places, event.Place) },
			arrived: func(events.Event) {},
			counted: func(events.Event, events.Outcome, error) {},
		}
		c.arrive(name, first, uint32(device.Index))
		if !slices.Equal(places, want) {
			t.Errorf("now at %q: %q, not %q", now, places, want)
		}
	}
}
