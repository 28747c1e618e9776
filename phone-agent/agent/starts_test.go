// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/status"
)

const handshaken = start + "28123 27010 4312 1448 0 0 0 1 0 0 0 0 0 0"

// quiet is a connected phone that was sampled 300 ms ago.
func quiet(t *testing.T) *phone {
	t.Helper()
	p := newPhone(t)
	p.connect()
	p.connections(handshaken)
	p.pass(300 * time.Millisecond)
	p.samples = 0
	return p
}

func TestAStartIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	p := quiet(t)
	p.connections(busy)
	p.agent.StartSeen(p.nowUS)
	seenUS := p.nowUS
	reports, atUS := p.pass(100 * time.Millisecond)
	if len(reports) != 1 || reports[0].GetTrigger() != startedSending || atUS[0] != seenUS {
		t.Errorf("%v at %v", reports, atUS)
	}
}

func TestDataThatIsWrittenAfterTheConnectionIsReportedAtTheNextOfThreeSamples(t *testing.T) {
	t.Parallel()
	for writtenMS, reportedMS := range map[int]int64{1: 10, 9: 10, 11: 50, 49: 50, 51: 700} {
		p := quiet(t)
		p.agent.StartSeen(p.nowUS)
		seenUS := p.nowUS
		if reports, _ := p.pass(time.Duration(writtenMS) * time.Millisecond); len(reports) != 0 {
			t.Errorf("reports of a handshake: %v", reports)
		}
		p.connections(busy)
		reports, atUS := p.pass(800 * time.Millisecond)
		dueUS := seenUS + reportedMS*millisecondUS
		if len(reports) == 0 || reports[0].GetTrigger() != startedSending || atUS[0] != dueUS {
			t.Errorf("written after %d ms: %v at %v", writtenMS, reports, atUS)
		}
	}
}

func TestWhatSamplesAStartCosts(t *testing.T) {
	t.Parallel()
	p := quiet(t)
	for range 20 { // as often as starts.Watch has notices: every 50 ms
		p.agent.StartSeen(p.nowUS)
		p.pass(50 * time.Millisecond)
	}
	if p.samples > 3*20+1 { // one is regular
		t.Errorf("%d samples in a second", p.samples)
	}
	p.samples = 0
	if p.pass(10 * time.Second); p.samples < 10 || p.samples > 11 {
		t.Errorf("%d samples in 10 s after that", p.samples)
	}
}

func TestAnAdditionalSampleStopsNothing(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.connections(busy)
	p.pass(100 * time.Millisecond) // the first sample, and a report
	p.connections(idle)
	p.agent.StartSeen(p.nowUS)
	if reports, _ := p.pass(100 * time.Millisecond); len(reports) != 0 {
		t.Errorf("between two regular samples: %v", reports)
	}
	reports, _ := p.pass(100 * time.Millisecond)
	if len(reports) != 1 || reports[0].GetTrigger() != stoppedSending {
		t.Errorf("at the regular sample: %v", reports)
	}
}

func TestAStartWithoutAControllerIsNotSampled(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.pass(300 * time.Millisecond)
	p.samples = 0
	p.agent.StartSeen(p.nowUS)
	if p.pass(100 * time.Millisecond); p.samples != 0 {
		t.Errorf("%d samples", p.samples)
	}
	p = quiet(t)
	p.agent.StartSeen(p.nowUS)
	p.agent.Disconnected(p.nowUS)
	if p.pass(100 * time.Millisecond); p.samples != 0 {
		t.Errorf("%d samples after the controller was lost", p.samples)
	}
}

func TestHowStartsAreSeenIsInTheState(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	if got := p.state().Starts; got != (status.Starts{By: status.TraceEvents}) {
		t.Errorf("%+v", got)
	}
	p.agent.StartSeen(p.nowUS)
	p.agent.StartsUnseen(p.nowUS, errors.New("closed by the kernel"))
	want := status.Starts{By: status.Sampling, Why: "closed by the kernel"}
	if got := p.state(); got.Starts != want || got.Counters.StartsSeen != 1 {
		t.Errorf("%+v", got)
	}
	lines := slices.Collect(strings.Lines(p.log.String()))
	if len(lines) != 1 || !strings.Contains(lines[0], "trace events failed") {
		t.Errorf("%q", lines)
	}
}
