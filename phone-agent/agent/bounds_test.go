// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/agent"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func TestBoundsAreInForceWhileTheLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(busy)
	p.connect()
	p.set(1, 3_000, dst("10.0.4.1/32", 10, 20))
	if reports, _ := p.pass(0); len(reports) != 1 || reports[0].GetBoundsGeneration() != 1 {
		t.Errorf("%v", reports)
	}
	for range 60 {
		p.pass(time.Second)
		p.renew(1, 3_000)
		p.rulesAre("dst 10.0.4.1/32 10 20\n")
	}
	if got := len(p.kernel.Transactions); got != 1 {
		t.Errorf("%d transactions for one set renewed for a minute", got)
	}
	p.pass(3*time.Second - time.Microsecond)
	p.rulesAre("dst 10.0.4.1/32 10 20\n")
	p.pass(time.Microsecond)
	p.rulesAre("")
	got := p.state()
	if got.Generation != 0 || got.Counters.LeasesEnded != 1 ||
		got.Reason != "the lease on generation 1 ended without a renewal" ||
		got.ReasonCode != "" || got.ActiveSenders != 0 ||
		got.CapacityBPS != 0 {
		t.Errorf("%+v", got)
	}
	if reports, _ := p.pass(time.Second); len(reports) == 0 || reports[0].GetBoundsGeneration() != 0 {
		t.Errorf("%v", reports)
	}
}

func TestRenewalsWriteTheStateFileEverySecondTime(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 3_000, dst("10.0.4.1/32", 10, 20))
	before := len(p.states)
	for range 60 {
		p.pass(time.Second)
		p.renew(1, 3_000)
		if got := p.state(); got.Generation != 1 || got.LeaseEndsUS <= p.nowUS+secondUS {
			t.Fatalf("in the state file the lease ends at %d; it is %d", got.LeaseEndsUS, p.nowUS)
		}
	}
	if got := len(p.states) - before; got != 30 {
		t.Errorf("%d state files for 60 renewals", got)
	}
}

func TestTheLeaseOutlivesTheControllerAndNotByLong(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(5, 10_000, all(true, 2, 90))
	p.pass(2 * time.Second)
	p.agent.Disconnected(p.nowUS)
	p.pass(7 * time.Second)
	p.rulesAre("all 2 90\n")
	p.pass(time.Second)
	p.rulesAre("")

	p.connect()
	p.set(1, 10_000, all(true, 3, 80))
	p.rulesAre("all 3 80\n")
	p.agent.Disconnected(p.nowUS)
	p.connect()
	p.set(1, 10_000, all(true, 4, 70))
	p.rulesAre("all 4 70\n")
}

func TestALeaseThatEndedUnnoticedEndsBeforeACommand(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(5, 10_000, all(true, 2, 90))
	p.nowUS += 11 * secondUS // the phone slept
	p.renew(5, 10_000)
	p.rulesAre("")
	if got := p.state(); got.Counters.LeasesEnded != 1 || got.Generation != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAnEmptySetRemovesTheBounds(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 10_000, all(true, 2, 90))
	p.set(2, 10_000)
	p.rulesAre("")
	const want = "the controller removed all bounds: active senders 3 -> 5"
	if got := p.state(); got.Generation != 0 || got.Reason != want || got.LeaseEndsUS != 0 || got.Rules == nil {
		t.Errorf("%+v", got)
	}
}

// A controller's stolen certificate must not wear out a phone.
func TestOfSetsThatComeTooFastTheLastOneCounts(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(busy)
	p.connect()
	const each = time.Millisecond
	for generation := range uint64(1000) {
		p.set(generation+1, 10_000, all(true, 2, uint32(10+generation)))
		reports, _ := p.pass(each)
		for _, report := range reports {
			p.rulesAre(fmt.Sprintf("all 2 %d\n", 9+report.GetBoundsGeneration()))
		}
	}
	if got := len(p.kernel.Transactions); got < 18 || got > 20 {
		t.Errorf("%d transactions for 1000 sets in a second", got)
	}
	p.pass(100 * time.Millisecond)
	p.rulesAre("all 2 1009\n")
	if got := p.state().Counters; got.SetsApplied+got.SetsHeldBack < 1000 || got.CommandsRefused != 0 {
		t.Errorf("%+v", got)
	}
	p.set(1001, 10_000, all(true, 2, 5))
	p.pass(2 * time.Second)
	p.rulesAre("all 2 5\n") // and the pace is right again
}

func TestARemovalNeverWaits(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	for generation := range uint64(100) {
		p.set(2*generation+1, 10_000, all(true, 2, 90))
		p.set(2*generation+2, 10_000)
		p.rulesAre("")
	}
	if got := len(p.kernel.Transactions); got > 20 {
		t.Errorf("%d transactions for 100 sets and removals at once", got)
	}
	p.pass(time.Second)
	p.rulesAre("") // what waited is gone with the removal
}

func TestALeaseThatEndsWhileItsSetWaitsEndsThat(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	for generation := range uint64(11) {
		p.set(generation+1, 1_000, all(true, 2, uint32(10+generation)))
	}
	p.rulesAre("all 2 19\n")
	p.nowUS += 2 * secondUS // the phone slept
	p.pass(0)
	p.rulesAre("")
	p.pass(time.Second)
	p.rulesAre("")
}

func TestRefusedCommandsChangeNothing(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 10_000, all(true, 2, 90))
	refused := []func(){
		func() { p.set(2, 10_000, all(false, 2, 90)) },
		func() { p.set(2, 10_000, all(true, 0, 90)) },
		func() { p.set(2, 10_000, uid(10073, 1, 2)) },
		func() { p.set(2, 10_000, dst("10.0.4.1/24", 1, 2)) },
		func() { p.set(2, 10_000, &airboundv1.Bound{MinSegs: 1, MaxSegs: 2}) },
		func() { p.set(2, 10_000, nil) },
		func() { p.set(1, 10_000) },
		func() { p.renew(1, 0) },
		func() { p.agent.Command(p.nowUS, nil) },
		func() { p.agent.Command(p.nowUS, &airboundv1.TerminalCommand{}) },
		func() {
			p.agent.Command(p.nowUS, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetBounds{}})
		},
		func() {
			p.agent.Command(p.nowUS, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_RenewLease{}})
		},
	}
	for i, refuse := range refused {
		refuse()
		got := p.state()
		if got.Counters.CommandsRefused != uint64(i+1) || !strings.HasPrefix(got.LastRefusal, "command: ") ||
			got.ReasonCode != "REASON_CODE_ACTIVE_SENDERS" || got.ActiveSenders != 5 || got.CapacityBPS != 20_140_000 {
			t.Errorf("%d: %+v", i, got)
		}
		p.rulesAre("all 2 90\n")
	}
	const first = `msg="refused a command" total=1 error="set_bounds: bounds[0]: selector all is false`
	if got := p.log.String(); !strings.Contains(got, first) {
		t.Errorf("the first refusal is not logged:\n%s", got)
	}
	p.renew(9, 10_000)
	reports, _ := p.pass(0)
	if len(reports) != 1 || reports[0].GetMalformedInputsTotal() != uint64(len(refused)) ||
		reports[0].GetBoundsGeneration() != 1 {
		t.Errorf("%v", reports)
	}
}

func TestEverySelectorReachesTheKernel(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 10_000, all(true, 2, 90), dst("10.0.4.1/32", 3, 4), dst("2001:db8::/48", 5, 6))
	p.rulesAre("all 2 90\ndst 10.0.4.1/32 3 4\ndst 2001:db8::/48 5 6\n")
}

func TestALargeSetIsLoggedInShort(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	many := make([]*airboundv1.Bound, 200)
	for i := range many {
		many[i] = dst(fmt.Sprintf("10.0.4.%d/32", i), 3, 4)
	}
	p.set(1, 10_000, many...)
	if got := p.log.String(); !strings.Contains(got, "destination 10.0.4.7/32: 3 to 4 segments] and 192 more") ||
		len(got) > 1000 {
		t.Errorf("%d bytes: %s", len(got), got)
	}
}

func TestBoundsThatCannotBeAppliedLeaveTheDefaults(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 60_000, all(true, 2, 90))
	p.kernel.WriteError = syscall.EIO
	p.set(2, 60_000, all(true, 3, 80))
	got := p.state()
	if got.Generation != 0 || got.Counters.ApplyFailures != 1 || got.RestoreError == "" ||
		!strings.Contains(got.Reason, "input/output error") {
		t.Errorf("%+v", got)
	}
	p.rulesAre("all 2 90\n")
	p.pass(5 * time.Second)
	p.kernel.WriteError = nil
	p.pass(time.Second)
	p.rulesAre("")
	if got := p.state(); got.RestoreError != "" || got.Counters.DefaultsNotRestored < 5 {
		t.Errorf("%+v", got)
	}
	if reports, _ := p.pass(10 * time.Second); len(reports) != 1 || reports[0].GetBoundsGeneration() != 0 {
		t.Errorf("%v", reports)
	}
	p.set(3, 60_000, all(true, 3, 80))
	p.rulesAre("all 3 80\n")
}

func TestRulesChangedExternallyStayUntilTheNextSet(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 60_000, all(true, 2, 90))
	if err := p.kernel.Write([]byte("flush\nall 5 6\n")); err != nil {
		t.Fatal(err)
	}
	p.pass(3 * time.Second)
	p.renew(1, 60_000)
	p.rulesAre("all 5 6\n")
	p.set(2, 60_000, all(true, 2, 90))
	p.rulesAre("all 2 90\n")
	if got := p.state(); got.Counters.ExternalChanges != 1 {
		t.Errorf("%+v", got)
	}
}

func TestStopRestoresTheDefaults(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 60_000, all(true, 2, 90))
	if err := p.agent.Stop(p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.rulesAre("")
	if got := p.state(); !got.Stopped || got.Generation != 0 || got.Connected || len(got.Rules) != 0 {
		t.Errorf("%+v", got)
	}
	p = newPhone(t)
	p.kernel.WriteError = syscall.EIO
	if err := p.agent.Stop(p.nowUS); err == nil || p.state().Stopped || p.state().RestoreError == "" {
		t.Errorf("%v, %+v", err, p.state())
	}
}

func TestAStateFileThatCannotBeWrittenHarmsNothing(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.saveError = syscall.ENOSPC
	p.connect()
	p.set(1, 60_000, all(true, 2, 90))
	p.pass(0)
	before := len(p.states)
	p.pass(10 * time.Second)
	if tries := len(p.states) - before; tries != 1 {
		t.Errorf("%d tries in 10 s", tries)
	}
	p.saveError = nil
	p.pass(10 * time.Second)
	p.rulesAre("all 2 90\n")
	if got := p.state(); got.Counters.StateWritesFailed != 3 || got.Generation != 1 {
		t.Errorf("%+v", got)
	}
}

// Timers stop while the machine sleeps, the lease's clock does not.
func TestALeaseIsCheckedEverySecondWhateverTheIntervals(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	config := p.config()
	config.Interval, config.Heartbeat = time.Minute, 10*time.Minute
	var err error
	if p.agent, err = agent.Start(config, link("02:00:00:00:01:0a"), p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.connect()
	p.set(1, 60_000, all(true, 2, 90))
	p.agent.Disconnected(p.nowUS)
	p.pass(time.Second)
	if wait := p.agent.NextWakeUS(p.nowUS) - p.nowUS; wait <= 0 || wait > secondUS {
		t.Errorf("the next wake is in %d us", wait)
	}
	p.nowUS += 3600 * secondUS // the phone slept, and the timer is set for what it was
	if report := p.agent.Wake(p.nowUS); report != nil {
		t.Errorf("%v", report)
	}
	p.rulesAre("")
	if wait := p.agent.NextWakeUS(p.nowUS) - p.nowUS; wait <= secondUS {
		t.Errorf("without bounds the next wake is in %d us", wait)
	}
}

func TestAStateFileThatCannotBeWrittenIsLogged(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.saveError = syscall.ENOSPC
	for generation := range uint64(5) {
		p.connect()
		p.set(generation+1, 60_000, all(true, 2, 90))
	}
	got := strings.Count(p.log.String(), `level=WARN msg="cannot write the state file" error="no space left on device"`)
	if got != 4 { // Of ten failures the 1st, 2nd, 4th and 8th.
		t.Errorf("logged %d times:\n%s", got, p.log.String())
	}
}

func TestTheReasonOfBoundsIsLogged(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 60_000, all(true, 2, 90))
	for _, want := range []string{
		`reason="active senders 3 -> 5"`, "code=REASON_CODE_ACTIVE_SENDERS",
		"active_senders=5", "capacity_bps=20140000", `rules="[all: 2 to 90 segments]"`,
	} {
		if !strings.Contains(p.log.String(), want) {
			t.Errorf("no %s in\n%s", want, p.log.String())
		}
	}
}
