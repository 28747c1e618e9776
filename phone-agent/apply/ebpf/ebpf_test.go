// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package ebpf_test

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	ciliumebpf "github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/apply/ebpf"
	"github.com/airbound/airbound/phone-agent/apply/ebpf/ebpftest"
	"github.com/airbound/airbound/phone-agent/bounds"
)

func TestMain(m *testing.M) { ebpftest.Main(m) }

const leaseUS = 60_000_000

func optionsOf(p *ebpftest.Phone) ebpf.Options {
	return ebpf.Options{Cgroup: p.Cgroup, ProcRoot: "/proc"}
}

// up brings a back end up until the test ends, with a lease.
func up(t *testing.T, options ebpf.Options) *ebpf.BackEnd {
	t.Helper()
	backEnd := ebpf.New(options)
	if _, err := backEnd.Up(); err != nil {
		t.Fatalf("this machine cannot run the back end for stock kernels: %v", err)
	}
	t.Cleanup(func() {
		if err := backEnd.Close(); err != nil {
			t.Error(err)
		}
	})
	lease(t, backEnd, leaseUS)
	return backEnd
}

func lease(t *testing.T, backEnd *ebpf.BackEnd, fromNowUS int64) {
	t.Helper()
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		t.Fatal(err)
	}
	if err := backEnd.Lease(now.Nano()/1000 + fromNowUS); err != nil {
		t.Fatal(err)
	}
}

func set(t *testing.T, backEnd *ebpf.BackEnd, rules ...bounds.Rule) {
	t.Helper()
	if outcome, err := backEnd.Set(rules); err != nil || !outcome.Wrote || outcome.ExternalChange {
		t.Fatalf("%+v, %v", outcome, err)
	}
}

func everything(maxSegs uint32) bounds.Rule {
	return bounds.Rule{Selector: bounds.Selector{Kind: bounds.All}, MinSegs: 1, MaxSegs: maxSegs}
}

func dst(prefix string, maxSegs uint32) bounds.Rule {
	selector := bounds.Selector{Kind: bounds.Destination, Prefix: netip.MustParsePrefix(prefix)}
	return bounds.Rule{Selector: selector, MinSegs: 1, MaxSegs: maxSegs}
}

func app(uid, maxSegs uint32) bounds.Rule {
	return bounds.Rule{Selector: bounds.Selector{Kind: bounds.UID, UID: uid}, MinSegs: 1, MaxSegs: maxSegs}
}

func appTo(uid uint32, prefix string, maxSegs uint32) bounds.Rule {
	selector := bounds.Selector{Kind: bounds.UIDDestination, UID: uid, Prefix: netip.MustParsePrefix(prefix)}
	return bounds.Rule{Selector: selector, MinSegs: 1, MaxSegs: maxSegs}
}

// kinds are the two sets of programs. The tests of both are about connections that the agent sees from their beginning.
func kinds(t *testing.T, test func(t *testing.T, p *ebpftest.Phone, options ebpf.Options)) {
	t.Helper()
	for name, newOnly := range map[string]bool{"BTF and iterator": false, "neither": true} {
		t.Run(name, func(t *testing.T) {
			p := ebpftest.New(t)
			options := optionsOf(p)
			options.NewOnly = newOnly
			test(t, p, options)
		})
	}
}

func TestWhatThisKernelCanDo(t *testing.T) {
	p := ebpftest.New(t)
	for newOnly, want := range map[bool]bounds.Capabilities{
		false: {
			Name: "ebpf", CanSetMax: true, CanSelectDestination: true, CanSelectUID: true,
			CanSelectUIDDestination: true, RulesMax: 256,
		},
		true: {Name: "ebpf-new-only", CanSetMax: true, CanSelectDestination: true, RulesMax: 256},
	} {
		options := optionsOf(p)
		options.NewOnly = newOnly
		backEnd := ebpf.New(options)
		if got, err := backEnd.Up(); err != nil || got != want {
			t.Errorf("this machine cannot run the back end for stock kernels: %+v, %v", got, err)
		}
		if err := backEnd.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestANewConnectionIsBounded(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		set(t, up(t, options), everything(20))
		p.Send("10.0.4.1").IsBounded(20)
		p.Send("fd00:4::1").IsBounded(20)
	})
}

func TestAnExistingConnectionIsBounded(t *testing.T) {
	p := ebpftest.New(t)
	v4, v6 := p.Connect("10.0.4.1", ebpftest.From{}), p.Connect("fd00:4::1", ebpftest.From{})
	set(t, up(t, optionsOf(p)), everything(20))
	v4.Begin()
	v6.Begin()
	v4.IsBounded(20)
	v6.IsBounded(20)
}

// Without the iterator, a connection from before the agent stays as it is.
func TestAnExistingConnectionIsNotBoundedWithoutTheIterator(t *testing.T) {
	p := ebpftest.New(t)
	options := optionsOf(p)
	options.NewOnly = true
	sender := p.Send("10.0.4.1")
	set(t, up(t, options), everything(20))
	sender.GrowsAbove(30)
}

func TestOtherRulesReachAConnection(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		backEnd := up(t, options)
		set(t, backEnd, everything(20))
		sender := p.Send("10.0.4.1")
		sender.IsBounded(20)
		set(t, backEnd, everything(8))
		sender.IsBounded(8)
		set(t, backEnd, everything(40))
		sender.IsBounded(40)
		set(t, backEnd, dst("10.0.5.0/24", 5))
		sender.GrowsAbove(60)
	})
}

func TestAnEmptySetReleases(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		backEnd := up(t, options)
		set(t, backEnd, everything(20))
		sender := p.Send("10.0.4.1")
		sender.IsBounded(20)
		set(t, backEnd)
		sender.GrowsAbove(60)
		sender.Stop()
		p.Send("10.0.4.1").GrowsAbove(60)
	})
}

func TestRulesForDestinations(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		set(t, up(t, options), dst("10.0.4.1/32", 20), dst("fd00:4::/64", 30))
		p.Send("10.0.4.1").IsBounded(20)
		p.Send("fd00:4::1").IsBounded(30)
		p.Send("10.0.5.1").GrowsAbove(60)
	})
}

func TestARuleForAnIPv4PrefixIsForIPv4InIPv6AsWell(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		set(t, up(t, options), dst("10.0.4.0/24", 20), dst("::/0", 40))
		p.SendFrom("10.0.4.1", ebpftest.From{Mapped: true}).IsBounded(20)
		p.SendFrom("10.0.5.1", ebpftest.From{Mapped: true}).GrowsAbove(60)
	})
}

func TestRulesForUsers(t *testing.T) {
	p := ebpftest.New(t)
	existing := p.Connect("10.0.4.1", ebpftest.From{UID: 10073})
	backEnd := up(t, optionsOf(p))
	set(t, backEnd, app(10073, 20), app(0, 30))
	existing.Begin()
	existing.IsBounded(20)
	p.SendFrom("10.0.4.1", ebpftest.From{UID: 10073}).IsBounded(20)
	p.Send("10.0.4.1").IsBounded(30)
	p.SendFrom("10.0.4.1", ebpftest.From{UID: 10074}).GrowsAbove(60)
}

// Of all rules that match, the smallest maximum is in force, whichever prefix is longest.
func TestTheSmallestMaximumIsInForce(t *testing.T) {
	p := ebpftest.New(t)
	backEnd := up(t, optionsOf(p))
	sender := p.Connect("10.0.4.1", ebpftest.From{UID: 10073})
	rules := []bounds.Rule{
		everything(50), dst("10.0.4.1/32", 40), dst("10.0.0.0/16", 30), dst("0.0.0.0/0", 35), app(10073, 20),
	}
	set(t, backEnd, rules...)
	sender.Begin()
	sender.IsBounded(20)
	set(t, backEnd, rules[:4]...)
	sender.IsBounded(30)
	set(t, backEnd, rules[:2]...)
	sender.IsBounded(40)
	set(t, backEnd, rules[:1]...)
	sender.IsBounded(50)
}

// Of rules for an app and a destination that match, the one with the longest prefix is in force, and no other rule.
func TestRulesForAUserAndADestinationDecideAlone(t *testing.T) {
	p := ebpftest.New(t)
	set(t, up(t, optionsOf(p)),
		everything(22), app(10073, 26), dst("10.0.4.1/32", 20), appTo(10073, "10.0.4.0/24", 34),
		appTo(10073, "10.0.4.1/32", 40), appTo(10073, "::/0", 50))
	for _, connection := range []struct {
		to      string
		from    ebpftest.From
		maximum uint32
	}{
		{"10.0.4.1", ebpftest.From{UID: 10073}, 40},
		{"10.0.4.1", ebpftest.From{UID: 10073, Mapped: true}, 40},
		{"fd00:4::1", ebpftest.From{UID: 10073}, 50},
		{"10.0.5.1", ebpftest.From{UID: 10073}, 22},
		{"10.0.4.1", ebpftest.From{UID: 10074}, 20},
	} {
		sender := p.SendFrom(connection.to, connection.from)
		sender.IsBounded(connection.maximum)
		sender.Stop()
	}
}

func TestRulesForAUserAndADestinationComeAndGo(t *testing.T) {
	p := ebpftest.New(t)
	backEnd := up(t, optionsOf(p))
	sender := p.Connect("10.0.4.1", ebpftest.From{UID: 10073})
	others := []bounds.Rule{everything(22), dst("10.0.4.1/32", 20)}
	set(t, backEnd, append(others, appTo(10073, "10.0.4.1/32", 40))...)
	sender.Begin()
	sender.IsBounded(40)
	set(t, backEnd, append(others, appTo(10073, "10.0.0.0/16", 34))...)
	sender.IsBounded(34)
	set(t, backEnd, append(others, appTo(10074, "10.0.4.1/32", 60))...)
	sender.IsBounded(20)
	only := appTo(10073, "10.0.4.1/32", 30)
	set(t, backEnd, only)
	sender.IsBounded(30)
	live, err := backEnd.Live()
	if err != nil || !reflect.DeepEqual(live.RulesOf(), []bounds.Rule{only}) || live.Rules[0].Effect.Lowered == 0 {
		t.Errorf("%+v, %v", live, err)
	}
	set(t, backEnd)
	sender.GrowsAbove(60)
}

// noGuard is a guard that cannot be started.
type noGuard struct{ asked int }

var errNoGuard = errors.New("no guard")

func (g *noGuard) Protect(int64) error {
	g.asked++
	return errNoGuard
}

func (*noGuard) Release() {}

func TestWithoutAGuardThatIsReadyNothingIsSet(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		keeper := &noGuard{}
		options.Guard = keeper
		backEnd := ebpf.New(options)
		if _, err := backEnd.Up(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = backEnd.Close() }()
		if err := backEnd.Lease(math.MaxInt64 / 1000); !errors.Is(err, errNoGuard) || keeper.asked != 1 {
			t.Errorf("%v, asked %d times", err, keeper.asked)
		}
		_, _ = backEnd.Set([]bounds.Rule{everything(20)}) // The agent would not.
		p.Send("10.0.4.1").GrowsAbove(60)
	})
}

// No process of the agent does anything: the program at the cgroup knows when the lease ends.
func TestTheEndOfTheLeaseReleases(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		backEnd := up(t, options)
		set(t, backEnd, everything(20))
		sender := p.Send("10.0.4.1")
		sender.IsBounded(20)
		lease(t, backEnd, 300_000)
		sender.GrowsAbove(60)
		sender.Stop()
		p.Send("10.0.4.1").GrowsAbove(60)
		if live, err := backEnd.Live(); err != nil || len(live.Rules) != 0 {
			t.Errorf("after the lease: %+v, %v", live, err)
		}
	})
}

func TestClosingReleases(t *testing.T) {
	p := ebpftest.New(t)
	sender := p.Connect("10.0.4.1", ebpftest.From{})
	backEnd := ebpf.New(optionsOf(p))
	if _, err := backEnd.Up(); err != nil {
		t.Fatal(err)
	}
	lease(t, backEnd, leaseUS)
	set(t, backEnd, everything(20))
	sender.Begin()
	sender.IsBounded(20)
	if err := backEnd.Close(); err != nil {
		t.Fatal(err)
	}
	sender.GrowsAbove(60)
}

// The agent was killed, and its program is gone; another process restores the kernel's defaults.
func TestCleaningUpAfterAnAgentThatIsGone(t *testing.T) {
	p := ebpftest.New(t)
	sender := p.Connect("10.0.4.1", ebpftest.From{})
	backEnd := ebpf.New(optionsOf(p))
	if _, err := backEnd.Up(); err != nil {
		t.Fatal(err)
	}
	lease(t, backEnd, leaseUS)
	set(t, backEnd, everything(20))
	sender.Begin()
	sender.IsBounded(20)
	ebpf.Vanish(backEnd)
	if _, largest := sender.Cwnds(200 * time.Millisecond); largest > 20 {
		t.Fatalf("a socket's maximum went with the program: %d", largest)
	}
	findings := ebpf.Probe(optionsOf(p))
	last := findings[len(findings)-1]
	if last.Found || !strings.HasPrefix(last.Detail, "1 connections have a maximum") {
		t.Errorf("the probe: %+v", last)
	}
	sender.IsBounded(20) // The probe changed nothing.
	if err := ebpf.New(optionsOf(p)).CleanUp(); err != nil {
		t.Fatal(err)
	}
	sender.GrowsAbove(60)
}

func TestCleaningUpBesideAnAgent(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		backEnd := up(t, options)
		set(t, backEnd, everything(20))
		sender := p.Send("10.0.4.1")
		sender.IsBounded(20)
		if err := ebpf.New(options).CleanUp(); err != nil {
			t.Fatal(err)
		}
		sender.GrowsAbove(60)
		sender.Stop()
		lease(t, backEnd, leaseUS) // Renewals do not set anything again,
		other := p.Send("10.0.4.1")
		other.GrowsAbove(60)
		other.Stop()
		outcome, err := backEnd.Set([]bounds.Rule{everything(20)}) // but the next set does.
		if err != nil || outcome != (apply.Outcome{Wrote: true, ExternalChange: true}) {
			t.Errorf("%+v, %v", outcome, err)
		}
		p.Send("10.0.4.1").IsBounded(20)
	})
}

func TestAnotherCgroupIsNotBounded(t *testing.T) {
	p := ebpftest.New(t)
	elsewhere := ebpftest.NewCgroup(t, "elsewhere")
	below := p.Cgroup + "/below"
	if err := os.Mkdir(below, 0o755); err != nil {
		t.Fatal(err)
	}
	ebpftest.Removed(t, below)
	inside := p.Connect("10.0.4.1", ebpftest.From{Cgroup: below})
	outside := p.Connect("10.0.4.1", ebpftest.From{Cgroup: elsewhere})
	set(t, up(t, optionsOf(p)), everything(20))
	inside.Begin()
	outside.Begin()
	inside.IsBounded(20)
	outside.GrowsAbove(60)
	outside.Stop()
	p.SendFrom("10.0.4.1", ebpftest.From{Cgroup: below}).IsBounded(20)
	p.SendFrom("10.0.4.1", ebpftest.From{Cgroup: elsewhere}).GrowsAbove(60)
}

// Two phones in one kernel, as in the lab: each agent's program is at the same cgroup.
func TestAnotherNetworkNamespaceIsNotBounded(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		first := up(t, options)
		set(t, first, everything(20))
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // Ends with the goroutine.
			other := p.InNewNamespace(t)
			if other == nil {
				return
			}
			second := ebpf.New(options)
			if _, err := second.Up(); err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = second.Close() }()
			lease(t, second, leaseUS)
			if _, err := second.Set([]bounds.Rule{everything(40)}); err != nil {
				t.Error(err)
			}
			other.Send("10.0.4.1").IsBounded(40)
			live, err := second.Live()
			if err != nil || !reflect.DeepEqual(live.RulesOf(), []bounds.Rule{everything(40)}) {
				t.Errorf("%+v, %v", live, err)
			}
		}()
		<-done
		p.Send("10.0.4.1").IsBounded(20)
	})
}

func TestASecondAgentIsRefused(t *testing.T) {
	p := ebpftest.New(t)
	set(t, up(t, optionsOf(p)), everything(20))
	ebpf.SetAgentPID(t, optionsOf(p), 1) // Some process that is running and that is not this one.
	second := ebpf.New(optionsOf(p))
	want := "bring up back end ebpf: another agent, pid 1, bounds the connections of " + p.Cgroup
	if _, err := second.Up(); err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	ebpf.SetAgentPID(t, optionsOf(p), 0x7ffffff0) // One that has ended.
	if _, err := second.Up(); err != nil {
		t.Error(err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func TestLiveCountsHowOftenAWindowWasAtTheMaximum(t *testing.T) {
	kinds(t, func(t *testing.T, p *ebpftest.Phone, options ebpf.Options) {
		t.Helper()
		backEnd := up(t, options)
		rules := []bounds.Rule{dst("10.0.4.1/32", 20), everything(30_000)}
		set(t, backEnd, rules...)
		p.Send("10.0.4.1").IsBounded(20)
		var counted uint64
		ebpftest.Eventually(t, "it was counted", func() bool {
			live, err := ebpf.New(options).Live() // Of another process, too.
			if err != nil || !reflect.DeepEqual(live.RulesOf(), rules) || live.NoEffects != "" ||
				live.Rules[1].Effect.Lowered != 0 {
				t.Fatalf("%+v, %v", live, err)
			}
			counted = live.Rules[0].Effect.Lowered
			return counted > 10
		})
		set(t, backEnd, dst("10.0.4.1/32", 19))
		if live, err := backEnd.Live(); err != nil || live.Rules[0].Effect.Lowered < counted {
			t.Errorf("counted anew with another maximum: %+v, %v", live, err)
		}
	})
}

func TestASetIsWrittenOnce(t *testing.T) {
	p := ebpftest.New(t)
	backEnd := up(t, optionsOf(p))
	rules := make([]bounds.Rule, 256)
	for i := range rules {
		rules[i] = dst(fmt.Sprintf("10.1.%d.0/24", i), 7)
	}
	for _, next := range [][]bounds.Rule{rules, rules[:255], rules} {
		set(t, backEnd, next...)
		if live, err := backEnd.Live(); err != nil || !reflect.DeepEqual(live.RulesOf(), next) {
			t.Fatalf("%+v, %v", live, err)
		}
		if outcome, err := backEnd.Set(next); err != nil || outcome != (apply.Outcome{}) {
			t.Errorf("again: %+v, %v", outcome, err)
		}
	}
	if _, err := backEnd.Set(append(rules, everything(1))); err == nil {
		t.Error("257 rules")
	}
	minimum := everything(20)
	minimum.MinSegs = 2
	if _, err := backEnd.Set([]bounds.Rule{minimum}); err == nil ||
		err.Error() != "back end ebpf cannot set a minimum: all: 2 to 20 segments" {
		t.Errorf("a minimum: %v", err)
	}
	if live, err := backEnd.Live(); err != nil || !reflect.DeepEqual(live.RulesOf(), rules) {
		t.Errorf("after sets that were refused: %+v, %v", live, err)
	}
}

func TestACgroupThatIsNone(t *testing.T) {
	for cgroup, want := range map[string]error{
		t.TempDir(): apply.ErrNotSupported, "/sys/fs/cgroup/unified/no-such": unix.ENOENT,
	} {
		options := ebpf.Options{Cgroup: cgroup, ProcRoot: "/proc"}
		if _, err := ebpf.New(options).Up(); !errors.Is(err, want) {
			t.Errorf("%s: %v", cgroup, err)
		}
	}
}

// The library has a verifier's error also for types that are not permitted, then without the verifier's words: a kernel
// that could do it is not taken for one that cannot.
func TestWhatIsNotPermittedIsNotUnsupported(t *testing.T) {
	for _, each := range []struct {
		log         []string
		unsupported bool
	}{{nil, false}, {[]string{"R1 invalid mem access"}, true}} {
		err := ebpf.Explain("load", &ciliumebpf.VerifierError{Cause: unix.EPERM, Log: each.log})
		if errors.Is(err, apply.ErrNotSupported) != each.unsupported {
			t.Errorf("%q: %v", each.log, err)
		}
	}
}

func TestTheProbeFindsEverythingHere(t *testing.T) {
	p := ebpftest.New(t)
	for _, finding := range ebpf.Probe(optionsOf(p)) {
		if !finding.Found {
			t.Errorf("%+v", finding)
		}
	}
}
