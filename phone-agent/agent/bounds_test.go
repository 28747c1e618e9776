// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func TestBoundsHoldWhileTheLeaseIsRenewed(t *testing.T) {
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
		p.holds("dst 10.0.4.1/32 10 20\n")
	}
	if got := len(p.kernel.Transactions); got != 1 {
		t.Errorf("%d transactions for one set renewed for a minute", got)
	}
	p.pass(3*time.Second - time.Microsecond)
	p.holds("dst 10.0.4.1/32 10 20\n")
	p.pass(time.Microsecond)
	p.holds("")
	if got := p.state(); got.Generation != 0 || got.Counters.LeasesEnded != 1 || got.Reason != "the lease on generation 1 ended without a renewal" {
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
			t.Fatalf("the state file says the lease ends at %d; it is %d", got.LeaseEndsUS, p.nowUS)
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
	p.holds("all 2 90\n")
	p.pass(time.Second)
	p.holds("")

	p.connect()
	p.set(1, 10_000, all(true, 3, 80))
	p.holds("all 3 80\n")
	p.agent.Disconnected(p.nowUS)
	p.connect()
	p.set(1, 10_000, all(true, 4, 70))
	p.holds("all 4 70\n")
}

func TestALeaseThatEndedUnnoticedEndsBeforeACommand(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(5, 10_000, all(true, 2, 90))
	p.nowUS += 11 * secondUS // the phone slept
	p.renew(5, 10_000)
	p.holds("")
	if got := p.state(); got.Counters.LeasesEnded != 1 || got.Generation != 0 {
		t.Errorf("%+v", got)
	}
}

func TestAnEmptySetLiftsTheBounds(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 10_000, all(true, 2, 90))
	p.set(2, 10_000)
	p.holds("")
	if got := p.state(); got.Generation != 0 || got.Reason != "the controller lifted all bounds with generation 2" || got.LeaseEndsUS != 0 {
		t.Errorf("%+v", got)
	}
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
		func() { p.set(2, 10_000, dst("nowhere", 1, 2)) },
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
		if got.Counters.CommandsRefused != uint64(i+1) || !strings.HasPrefix(got.LastRefusal, "command: ") || got.Reason != "n 5" {
			t.Errorf("%d: %+v", i, got)
		}
		p.holds("all 2 90\n")
	}
	p.renew(9, 10_000)
	reports, _ := p.pass(0)
	if len(reports) != 1 || reports[0].GetMalformedInputsTotal() != uint64(len(refused)) || reports[0].GetBoundsGeneration() != 1 {
		t.Errorf("%v", reports)
	}
}

func TestEverySelectorReachesTheKernel(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 10_000, all(true, 2, 90), dst("10.0.4.1/32", 3, 4), dst("2001:db8::/48", 5, 6))
	p.holds("all 2 90\ndst 10.0.4.1/32 3 4\ndst 2001:db8::/48 5 6\n")
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
	if got := p.log.String(); !strings.Contains(got, "dst 10.0.4.7/32 3 4] and 192 more") || len(got) > 1000 {
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
	if got.Generation != 0 || got.Counters.ApplyFailures != 1 || got.RestoreError == "" || !strings.Contains(got.Reason, "input/output error") {
		t.Errorf("%+v", got)
	}
	p.holds("all 2 90\n")
	p.pass(5 * time.Second)
	p.kernel.WriteError = nil
	p.pass(time.Second)
	p.holds("")
	if got := p.state(); got.RestoreError != "" || got.Counters.DefaultsNotRestored < 5 {
		t.Errorf("%+v", got)
	}
	if reports, _ := p.pass(time.Second); len(reports) != 1 || reports[0].GetBoundsGeneration() != 0 {
		t.Errorf("%v", reports)
	}
	p.set(3, 60_000, all(true, 3, 80))
	p.holds("all 3 80\n")
}

func TestSomeoneElsesRulesAreLeftUntilTheNextSet(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.set(1, 60_000, all(true, 2, 90))
	if err := p.kernel.Write([]byte("flush\nall 5 6\n")); err != nil {
		t.Fatal(err)
	}
	p.pass(3 * time.Second)
	p.renew(1, 60_000)
	p.holds("all 5 6\n")
	p.set(2, 60_000, all(true, 2, 90))
	p.holds("all 2 90\n")
	if got := p.state(); got.Counters.ForeignChanges != 1 {
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
	p.holds("")
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
	p.holds("all 2 90\n")
	if got := p.state(); got.Counters.StateWritesFailed != 3 || got.Generation != 1 {
		t.Errorf("%+v", got)
	}
}
