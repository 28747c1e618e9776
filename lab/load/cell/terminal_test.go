// SPDX-License-Identifier: Apache-2.0

package cell_test

import (
	"testing"

	"github.com/airbound/airbound/lab/load/cell"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	periodic = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL
	started  = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STARTED_SENDING
	stopped  = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STOPPED_SENDING
	ratio    = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_RTT_RATIO_CHANGED
	bounds   = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED
)

// phone is a connected terminal and the time.
type phone struct {
	*cell.Terminal
	nowUS  int64
	report airboundv1.TerminalReport
}

// newPhone gives a terminal after its first report; it sends unless idle.
func newPhone(t *testing.T, idle bool) *phone {
	t.Helper()
	p := parameters()
	if idle {
		p.Sending = 0
	}
	_, terminals := cell.New(p, startUS)
	phone := &phone{Terminal: terminals[4], nowUS: startUS}
	phone.Connected(startUS)
	if got := phone.next(startUS); got != periodic || phone.report.GetAgent() == nil {
		t.Fatalf("the first report: %v", &phone.report)
	}
	return phone
}

// next advances until the next report or untilUS; the report's trigger, or 0.
func (p *phone) next(untilUS int64) airboundv1.TerminalReportTrigger {
	for max(p.NextUS(), p.nowUS) <= untilUS {
		p.nowUS = max(p.NextUS(), p.nowUS)
		if p.Wake(p.nowUS) {
			p.Report(p.nowUS, &p.report)
			return p.report.GetTrigger()
		}
	}
	p.nowUS = untilUS
	return 0
}

func (p *phone) triggers(seconds int64) map[airboundv1.TerminalReportTrigger]int {
	counts := map[airboundv1.TerminalReportTrigger]int{}
	untilUS := p.nowUS + seconds*secondUS
	for {
		trigger := p.next(untilUS)
		if trigger == 0 {
			return counts
		}
		counts[trigger]++
	}
}

func setBounds(generation uint64, leaseMS uint32, maxima ...uint32) *airboundv1.TerminalCommand {
	set := &airboundv1.SetBounds{Generation: generation, LeaseMs: leaseMS}
	for _, maximum := range maxima {
		set.Bounds = append(set.Bounds, &airboundv1.Bound{
			Selector: &airboundv1.Bound_All{All: true}, MinSegs: 2, MaxSegs: maximum,
		})
	}
	return &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetBounds{SetBounds: set}}
}

func renewLease(generation uint64, leaseMS uint32) *airboundv1.TerminalCommand {
	return &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_RenewLease{
		RenewLease: &airboundv1.RenewLease{Generation: generation, LeaseMs: leaseMS},
	}}
}

func setReporting(intervalMS, heartbeatMS, permille uint32) *airboundv1.TerminalCommand {
	return &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetReporting{
		SetReporting: &airboundv1.SetReporting{
			IntervalMs: intervalMS, HeartbeatMs: heartbeatMS, RttRatioChangePermille: permille,
		},
	}}
}

func TestASenderReportsEachSecondAnIdleTerminalEachTen(t *testing.T) {
	sender := newPhone(t, false)
	if counts := sender.triggers(100); counts[periodic] != 100 || len(counts) != 1 {
		t.Errorf("a sender: %v", counts)
	}
	d := sender.report.GetDestinations()[0]
	if d.GetConnectionsSending() != 1 || d.GetSrttUs() <= d.GetMinRttUs() || d.GetDeliveredBytes() == 0 {
		t.Errorf("a sender reports %v", d)
	}
	if sender.report.GetAgent() != nil || sender.report.GetSequence() != 101 {
		t.Errorf("report %d with agent %v", sender.report.GetSequence(), sender.report.GetAgent())
	}
	idle := newPhone(t, true)
	if counts := idle.triggers(100); counts[periodic] != 10 {
		t.Errorf("an idle terminal: %v", counts)
	}
	if d := idle.report.GetDestinations()[0]; d.GetConnectionsSending() != 0 || d.GetQueuedBytes() != 0 {
		t.Errorf("an idle terminal reports %v", d)
	}
}

func TestHeartbeatsOfTerminalsThatConnectTogetherAreSpread(t *testing.T) {
	t.Parallel()
	p := parameters()
	p.Sending = 0
	_, terminals := cell.New(p, startUS)
	seconds := map[int64]bool{}
	var report airboundv1.TerminalReport
	for _, terminal := range terminals {
		terminal.Connected(startUS)
		terminal.Report(startUS, &report)
		next := terminal.NextUS() - startUS
		if next <= 0 || next > 10*secondUS {
			t.Errorf("the heartbeat after %d us", next)
		}
		seconds[next/secondUS] = true
	}
	if want := min(len(terminals), 10) / 2; len(seconds) < want {
		t.Errorf("%d terminals report in %d of 10 seconds", len(terminals), len(seconds))
	}
}

func TestChangesOfSendingAreReportedAtOnce(t *testing.T) {
	cells, terminals := cell.New(parameters(), startUS)
	cells[0].Connected(startUS)
	cells[0].StartChanges(startUS)
	phones := map[*cell.Terminal]*phone{}
	for _, terminal := range terminals[:10] {
		terminal.Connected(startUS)
		phones[terminal] = &phone{Terminal: terminal, nowUS: startUS}
		phones[terminal].next(startUS)
	}
	for nowUS := cells[0].NextUS(); nowUS < startUS+40*secondUS; nowUS = cells[0].NextUS() {
		cells[0].Report(nowUS, interval)
		for _, terminal := range cells[0].ChangeSenders(nowUS) {
			want := stopped
			if terminal.Sending() {
				want = started
			}
			phone := phones[terminal]
			phone.nowUS = nowUS
			if got := phone.next(nowUS); got != want {
				t.Errorf("reports %v, want %v", got, want)
			}
		}
	}
}

func TestBoundsAreInForceUntilTheirLeaseEnds(t *testing.T) {
	p := newPhone(t, true)
	p.Command(p.nowUS, setBounds(7, 6000, 20))
	if got := p.next(p.nowUS); got != 0 || p.Generation() != 7 {
		t.Errorf("a set that was applied: reports %v, generation %d", got, p.Generation())
	}
	// With bounds even an idle terminal reports each second.
	if got := p.next(p.nowUS + secondUS); got != periodic || p.report.GetBoundsGeneration() != 7 {
		t.Errorf("reports %v, generation %d", got, p.report.GetBoundsGeneration())
	}
	if counts := p.triggers(4); counts[periodic] != 4 || len(counts) != 1 {
		t.Errorf("with bounds: %v", counts)
	}
	p.Command(p.nowUS, renewLease(6, 6000)) // another set
	p.Command(p.nowUS, renewLease(7, 3000))
	if counts := p.triggers(2); p.Generation() != 7 || counts[bounds] != 0 {
		t.Error("a renewal did not renew")
	}
	if counts := p.triggers(2); counts[bounds] != 1 || p.Generation() != 0 || p.report.GetBoundsGeneration() != 0 {
		t.Errorf("the lease did not end: %v", counts)
	}
}

func TestASetIsReportedWithTheNextReport(t *testing.T) {
	p := newPhone(t, false)
	for generation := range uint64(10) {
		p.Command(p.nowUS, setBounds(generation+1, 6000, 20))
		if counts := p.triggers(1); counts[periodic] != 1 || len(counts) != 1 {
			t.Errorf("reports %v", counts)
		}
		if got := p.report.GetBoundsGeneration(); got != generation+1 {
			t.Errorf("generation %d is reported as %d", generation+1, got)
		}
	}
}

func TestACommandDoesNotPutOffTheReportThatIsDue(t *testing.T) {
	commands := map[string]*airboundv1.TerminalCommand{
		"set_bounds": setBounds(1, 6000, 20), "set_reporting": setReporting(5000, 0, 0),
	}
	for name, command := range commands {
		t.Run(name, func(t *testing.T) {
			p := newPhone(t, false)
			p.nowUS = p.NextUS()
			p.Command(p.nowUS, command)
			if got := p.next(p.nowUS); got != periodic {
				t.Errorf("reports %v", got)
			}
		})
	}
}

func TestALeaseThatEndedEndsBeforeACommand(t *testing.T) {
	p := newPhone(t, false)
	p.Command(p.nowUS, setBounds(1, 6000, 20))
	p.nowUS += 6 * secondUS
	p.Command(p.nowUS, renewLease(1, 6000))
	if got := p.next(p.nowUS); got != bounds || p.report.GetBoundsGeneration() != 0 {
		t.Errorf("reports %v, generation %d", got, p.report.GetBoundsGeneration())
	}
}

func TestAnEmptySetRestoresTheDefaults(t *testing.T) {
	p := newPhone(t, false)
	p.Command(p.nowUS, setBounds(1, 6000))
	p.Command(p.nowUS, setBounds(2, 6000, 20))
	p.triggers(1)
	p.Command(p.nowUS, setBounds(3, 6000))
	if counts := p.triggers(1); counts[periodic] != 1 || len(counts) != 1 || p.report.GetBoundsGeneration() != 0 {
		t.Errorf("reports %v, generation %d", counts, p.report.GetBoundsGeneration())
	}
	idle := newPhone(t, true)
	idle.Command(idle.nowUS, setBounds(1, 6000, 20))
	idle.Command(idle.nowUS, setBounds(2, 6000))
	if counts := idle.triggers(10); counts[periodic] != 1 || len(counts) != 1 {
		t.Errorf("without bounds again an idle terminal reports %v", counts)
	}
}

func TestCommandsThatAreNotOfTheContractAreRefusedAndCounted(t *testing.T) {
	tests := map[string]*airboundv1.TerminalCommand{
		"nothing":            {},
		"generation 0":       setBounds(0, 6000, 20),
		"same generation":    setBounds(5, 6000, 20),
		"lease too short":    setBounds(6, 999, 20),
		"lease too long":     renewLease(5, 60_001),
		"minimum above":      setBounds(6, 6000, 1),
		"interval too short": setReporting(99, 0, 0),
		"heartbeat too long": setReporting(0, 600_001, 0),
	}
	for name, command := range tests {
		t.Run(name, func(t *testing.T) {
			p := newPhone(t, false)
			p.Command(p.nowUS, setBounds(5, 6000, 20))
			p.Command(p.nowUS, command)
			if p.RefusedTotal() != 1 || p.Generation() != 5 {
				t.Errorf("%d refused, generation %d", p.RefusedTotal(), p.Generation())
			}
		})
	}
}

func TestGenerationsBeginAnewWithAStream(t *testing.T) {
	p := newPhone(t, false)
	p.Command(p.nowUS, setBounds(5, 6000, 20))
	p.Disconnected()
	p.Connected(p.nowUS)
	p.Command(p.nowUS, setBounds(3, 6000, 20))
	if p.Generation() != 3 || p.next(p.nowUS) == 0 || p.report.GetAgent() == nil {
		t.Errorf("generation %d, agent %v", p.Generation(), p.report.GetAgent())
	}
}

func TestReportingIsAsTheControllerSetsIt(t *testing.T) {
	p := newPhone(t, false)
	p.Command(p.nowUS, setReporting(5000, 30_000, 0))
	if counts := p.triggers(100); counts[periodic] != 20 {
		t.Errorf("each 5 s: %v", counts)
	}
	p.Command(p.nowUS, setReporting(5000, 0, 50))
	if counts := p.triggers(100); counts[ratio] < 10 || counts[periodic] < 1 {
		t.Errorf("with changes of the ratio: %v", counts)
	}
	p.Disconnected()
	p.Connected(p.nowUS)
	if counts := p.triggers(100); counts[periodic] < 100 || counts[ratio] != 0 {
		t.Errorf("on another stream: %v", counts)
	}
}
