// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/apply/procfs"
	"github.com/airbound/airbound/phone-agent/apply/procfs/procfstest"
	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/monitor"
	monitorprocfs "github.com/airbound/airbound/phone-agent/monitor/procfs"
	"github.com/airbound/airbound/phone-agent/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	millisecondUS = 1_000
	secondUS      = 1_000_000

	start = "1 established 10.0.0.11:40312 10.0.4.1:5001 10073 open 42 2147483647 0 0 "
	idle  = start + "28123 27010 4312 1448 0 0 0 1234567 0 3 0 0 0 0"
	busy  = start + "28123 27010 4312 1448 98304 60816 0 1234567 0 3 0 0 0 0"
	slow  = start + "98123 97010 4312 1448 98304 60816 0 1234567 0 3 0 0 0 0"
	other = "1 established 10.0.0.11:40999 10.0.9.9:50051 0 open 10 2147483647 0 0 2000 2000 2000 1448 " +
		"10 0 0 1 0 0 0 0 0 0"
)

const (
	interval       = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL
	startedSending = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STARTED_SENDING
	stoppedSending = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STOPPED_SENDING
	rttRatio       = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_RTT_RATIO_CHANGED
	boundsChanged  = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED
)

// phone is an agent with a fake kernel and a clock of its own.
type phone struct {
	t      *testing.T
	agent  *agent.Agent
	kernel *procfstest.Kernel
	nowUS  int64
	// The text of /proc/net/tcp_monitor, or why it cannot be read.
	monitor      string
	monitorError error
	samples      int
	states       []status.State
	saveError    error
	log          bytes.Buffer
	// Of the streams that begin from now on.
	heartbeatPhase float64
}

func newPhone(t *testing.T) *phone {
	t.Helper()
	return newPhoneWith(t, &procfstest.Kernel{})
}

func newPhoneWith(t *testing.T, kernel *procfstest.Kernel) *phone {
	t.Helper()
	p := &phone{t: t, kernel: kernel, nowUS: 100 * secondUS}
	p.connections()
	var err error
	if p.agent, err = agent.Start(p.config(), link("02:00:00:00:01:0a"), p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.kernel.Transactions = nil
	return p
}

func (p *phone) config() agent.Config {
	return agent.Config{
		Version: "test", PID: 42, Controller: "10.0.9.9:50051",
		Interval: time.Second, Heartbeat: 10 * time.Second, SampleInterval: 250 * time.Millisecond,
		HeartbeatPhase: func() float64 { return p.heartbeatPhase },
		Monitor:        p, BackEnd: procfs.New(p.kernel), Starts: status.Starts{By: status.TraceEvents},
		SaveState: func(state status.State) error {
			p.states = append(p.states, state)
			return p.saveError
		},
		Logger: slog.New(slog.NewTextHandler(&p.log, nil)),
	}
}

// Snapshot makes the phone its own monitor.Source.
func (p *phone) Snapshot() (monitor.Snapshot, error) {
	p.samples++
	if p.monitorError != nil {
		return monitor.Snapshot{}, p.monitorError
	}
	snapshot, err := monitorprocfs.Parse([]byte(p.monitor))
	if err != nil {
		return snapshot, fmt.Errorf("%w: %w", monitor.ErrMalformed, err)
	}
	return snapshot, nil
}

func (p *phone) connections(lines ...string) {
	p.monitor = strings.Join(append([]string{monitorprocfs.Header()}, lines...), "\n") + "\n"
}

func (p *phone) connect() {
	p.agent.Connected(p.nowUS, link("02:00:00:00:01:0b"))
}

func link(mac string) agent.Link {
	address, _ := net.ParseMAC(mac) // A wrong one is nil, which no expectation is.
	return agent.Link{
		Interface: "wlan1", MAC: address,
		Controllers: []netip.AddrPort{netip.MustParseAddrPort("10.0.9.9:50051")},
	}
}

// pass lets time pass, waking the agent when it wants to be woken, and returns the reports with their times.
func (p *phone) pass(duration time.Duration) (reports []*airboundv1.TerminalReport, atUS []int64) {
	p.t.Helper()
	end := p.nowUS + duration.Microseconds()
	for p.agent.NextWakeUS(p.nowUS) <= end {
		if next := p.agent.NextWakeUS(p.nowUS); next > p.nowUS {
			p.nowUS = next
		}
		if report := p.agent.Wake(p.nowUS); report != nil {
			reports, atUS = append(reports, report), append(atUS, p.nowUS)
		}
		if p.agent.NextWakeUS(p.nowUS) <= p.nowUS {
			p.t.Fatalf("at %d the agent wants to wake at %d: it would spin", p.nowUS, p.agent.NextWakeUS(p.nowUS))
		}
	}
	p.nowUS = end
	return reports, atUS
}

func (p *phone) set(generation uint64, leaseMS uint32, bounds ...*airboundv1.Bound) {
	p.agent.Command(p.nowUS, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetBounds{
		SetBounds: &airboundv1.SetBounds{
			Generation: generation,
			LeaseMs:    leaseMS,
			Bounds:     bounds,
			Reason: &airboundv1.Reason{
				Code:   airboundv1.ReasonCode_REASON_CODE_ACTIVE_SENDERS,
				Before: new(3.0),
				After:  new(5.0),
			},
			ActiveSenders: 5,
			CapacityBps:   20_140_000,
		},
	}})
}

func (p *phone) renew(generation uint64, leaseMS uint32) {
	p.agent.Command(p.nowUS, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_RenewLease{
		RenewLease: &airboundv1.RenewLease{Generation: generation, LeaseMs: leaseMS},
	}})
}

func (p *phone) setReporting(command *airboundv1.SetReporting) {
	p.agent.Command(p.nowUS, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetReporting{
		SetReporting: command,
	}})
}

func (p *phone) state() status.State { return p.states[len(p.states)-1] }

func (p *phone) rulesAre(want string) {
	p.t.Helper()
	if got, err := p.kernel.Read(); err != nil || string(got) != want {
		p.t.Errorf("rules are %q, %v; want %q", got, err, want)
	}
}

func dst(prefix string, minSegs, maxSegs uint32) *airboundv1.Bound {
	parsed := netip.MustParsePrefix(prefix)
	return &airboundv1.Bound{
		Selector: &airboundv1.Bound_Destination{Destination: &airboundv1.Prefix{
			Address: parsed.Addr().AsSlice(), LengthBits: uint32(parsed.Bits()),
		}},
		MinSegs: minSegs, MaxSegs: maxSegs,
	}
}

func all(value bool, minSegs, maxSegs uint32) *airboundv1.Bound {
	return &airboundv1.Bound{Selector: &airboundv1.Bound_All{All: value}, MinSegs: minSegs, MaxSegs: maxSegs}
}

func uid(id, minSegs, maxSegs uint32) *airboundv1.Bound {
	return &airboundv1.Bound{Selector: &airboundv1.Bound_Uid{Uid: id}, MinSegs: minSegs, MaxSegs: maxSegs}
}

// The stream may survive when the phone moves to another access point, and so may what it has in force.
func TestAnotherLinkWithinAStream(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.pass(0)
	p.set(1, 6000, dst("10.0.4.1/32", 10, 20))
	moved := link("02:00:00:00:01:0c")
	moved.Interface, moved.BSSID, moved.SSID = "wlan0", "02:00:00:00:00:01", "home"
	p.agent.LinkChanged(p.nowUS, moved)
	reports, _ := p.pass(time.Second)
	if len(reports) != 1 || net.HardwareAddr(reports[0].GetMac()).String() != "02:00:00:00:01:0c" ||
		reports[0].GetBoundsGeneration() != 1 {
		t.Errorf("%v", reports)
	}
	state := p.state()
	if state.MAC != "02:00:00:00:01:0c" || state.BSSID != moved.BSSID || state.SSID != "home" ||
		state.Interface != "wlan0" || !state.Connected || state.Generation != 1 {
		t.Errorf("%+v", state)
	}
	p.agent.LinkChanged(p.nowUS, link("02:00:00:00:01:0c"))
	if state := p.state(); state.BSSID != "" || state.SSID != "" || state.Interface != "wlan1" {
		t.Errorf("%+v", state)
	}
}

func TestStartCleansUpAfterAnEarlierRun(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	if err := p.kernel.Write([]byte("all 1 2\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Start(p.config(), link("02:00:00:00:01:0a"), p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.rulesAre("")
	if got := p.state(); got.Generation != 0 || got.Reason != "the controller has not set bounds yet" ||
		got.BackEnd.Name != "procfs" {
		t.Errorf("%+v", got)
	}
}

func TestStartFailsOnAKernelThatIsNotPatched(t *testing.T) {
	t.Parallel()
	missing := &fs.PathError{Op: "open", Path: "/proc/net/x", Err: syscall.ENOENT}
	tests := map[string]struct {
		spoil   func(*phone)
		message string
	}{
		"no rules": {
			func(p *phone) { p.kernel.WriteError, p.kernel.ReadError = missing, missing },
			"bring up back end procfs: the kernel is not patched: the kernel does not support it: " +
				"open /proc/net/x: no such file or directory",
		},
		"rules cannot be restored": {
			func(p *phone) { p.kernel.WriteError = syscall.EIO },
			"clean up after an earlier run: restore the kernel's defaults: input/output error",
		},
		"no monitor": {
			func(p *phone) { p.monitorError = missing },
			"read the kernel's monitor: open /proc/net/x: no such file or directory",
		},
		"another monitor": {
			func(p *phone) { p.monitor = "sl local rem\n" },
			"read the kernel's monitor: malformed monitor data: line 1: the header names no column time_us",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPhone(t)
			test.spoil(p)
			_, err := agent.Start(p.config(), link("02:00:00:00:01:0a"), p.nowUS)
			if err == nil || err.Error() != test.message {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestAnIdlePhoneSendsHeartbeats(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(idle, other)
	if reports, _ := p.pass(25 * time.Second); len(reports) != 0 {
		t.Errorf("reports without a controller: %v", reports)
	}
	p.connect()
	reports, atUS := p.pass(30 * time.Second)
	if want := []int64{125 * secondUS, 135 * secondUS, 145 * secondUS, 155 * secondUS}; !slices.Equal(atUS, want) {
		t.Fatalf("reports at %v, want %v", atUS, want)
	}
	for i, report := range reports {
		if report.GetSequence() != uint64(i+1) || report.GetTrigger() != interval ||
			!bytes.Equal(report.GetMac(), []byte{2, 0, 0, 0, 1, 0xb}) {
			t.Errorf("%v", report)
		}
		if got := report.GetDestinations(); len(got) != 1 || !bytes.Equal(got[0].GetAddress(), []byte{10, 0, 4, 1}) {
			t.Errorf("destinations %v", got)
		}
	}
}

func TestTheAgentIsInTheFirstReportOfAStream(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(busy)
	want := &airboundv1.Agent{Version: "test", BackEnd: &airboundv1.BackEnd{
		Name: "procfs", CanSetMax: true, CanSetMin: true, CanSelectDestination: true, RulesMax: 256,
	}, TakesArrivals: true}
	for stream := range 2 {
		p.connect()
		reports, _ := p.pass(5 * time.Second)
		if len(reports) != 6 {
			t.Fatalf("%d reports", len(reports))
		}
		for i, report := range reports {
			got := report.GetAgent()
			if (got != nil) != (i == 0) {
				t.Errorf("stream %d, report %d: %v", stream, i, got)
			}
			if i == 0 && !proto.Equal(got, want) {
				t.Errorf("%v", got)
			}
		}
		p.agent.Disconnected(p.nowUS)
	}
	// The kernel cannot be read at first: the first report that is sent has it.
	p.monitorError = syscall.EIO
	p.connect()
	p.pass(3 * time.Second)
	p.monitorError = nil
	reports, _ := p.pass(2 * time.Second)
	if len(reports) < 2 || reports[0].GetAgent() == nil || reports[1].GetAgent() != nil {
		t.Errorf("%v", reports)
	}
}

// A kernel of the series without the patch is named in the report, and such a bound is refused there; the set from
// before stays in force.
func TestABoundForAnAppAndADestination(t *testing.T) {
	t.Parallel()
	const before = "all 2 90\n"
	for patched, want := range map[bool]string{
		true: "dst 10.0.9.1/32 2 20\nuid 10073 dst 10.0.9.1/32 40 80\n", false: before,
	} {
		p := newPhoneWith(t, &procfstest.Kernel{AcceptsUID: true, AcceptsUIDDestination: patched})
		p.connect()
		p.connections(busy)
		reports, _ := p.pass(time.Second)
		can := reports[0].GetAgent().GetBackEnd()
		if !can.GetCanSelectUid() || can.GetCanSelectUidDestination() != patched {
			t.Errorf("patched: %v, %v", patched, can)
		}
		p.set(1, 60_000, all(true, 2, 90))
		live := dst("10.0.9.1/32", 40, 80)
		live.Selector = &airboundv1.Bound_UidDestination{UidDestination: &airboundv1.UidDestination{
			Uid: 10073, Destination: live.GetDestination(),
		}}
		p.set(2, 60_000, dst("10.0.9.1/32", 2, 20), live)
		p.rulesAre(want)
	}
}

func TestHowOftenTheKernelIsSampled(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.connections(idle)
	p.pass(time.Second)
	p.samples = 0
	if reports, _ := p.pass(10 * time.Second); p.samples != 10 || len(reports) != 1 {
		t.Errorf("%d samples and %d reports of an idle kernel in 10 s", p.samples, len(reports))
	}
	p.connections(busy)
	p.pass(time.Second)
	p.samples = 0
	reports, _ := p.pass(10 * time.Second)
	if p.samples != 40 || len(reports) != 10 {
		t.Errorf("%d samples and %d reports of a busy kernel in 10 s", p.samples, len(reports))
	}
	p.agent.Disconnected(p.nowUS)
	p.pass(time.Second)
	p.samples = 0
	if reports, _ := p.pass(10 * time.Second); p.samples != 10 || len(reports) != 0 {
		t.Errorf("%d samples and %d reports without a controller in 10 s", p.samples, len(reports))
	}
}

func TestAPhoneWithBoundsReportsEveryInterval(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.connections(idle)
	p.pass(time.Second)
	p.set(1, 60_000, all(true, 2, 90))
	reports, _ := p.pass(10 * time.Second)
	if len(reports) != 10 || reports[0].GetTrigger() != interval || reports[0].GetBoundsGeneration() != 1 {
		t.Errorf("an idle phone with bounds in 10 s: %v", reports)
	}
	p.set(2, 60_000)
	reports, atUS := p.pass(25 * time.Second)
	if len(reports) != 2 || reports[0].GetTrigger() != interval || reports[0].GetBoundsGeneration() != 0 ||
		!slices.Equal(atUS, []int64{120 * secondUS, 130 * secondUS}) {
		t.Errorf("without bounds in 25 s: %v at %v", reports, atUS)
	}
}

// expectOne passes time and expects one report, at a time since the phone's start.
func (p *phone) expectOne(what string, wait time.Duration, want airboundv1.TerminalReportTrigger, at time.Duration) {
	p.t.Helper()
	reports, atUS := p.pass(wait)
	if len(reports) != 1 || reports[0].GetTrigger() != want || atUS[0] != (100*time.Second+at).Microseconds() {
		p.t.Errorf("%s: %v at %v", what, reports, atUS)
	}
}

func TestChangesAreReportedAtTheNextSample(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(idle)
	p.connect()
	p.pass(500 * time.Millisecond)
	p.connections(busy)
	p.expectOne("started", 500*time.Millisecond, startedSending, time.Second)
	p.connections(slow)
	p.expectOne("RTT grew, which is off", time.Second, interval, 2*time.Second)
	p.connections(idle)
	p.expectOne("stopped", 300*time.Millisecond, stoppedSending, 2250*time.Millisecond)
}

func TestTheRTTRatioTrigger(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(busy)
	p.connect()
	p.setReporting(&airboundv1.SetReporting{RttRatioChangePermille: 250})
	p.pass(500 * time.Millisecond)
	p.connections(slow)
	p.expectOne("RTT grew", 250*time.Millisecond, rttRatio, 750*time.Millisecond)
	p.expectOne("nothing new until the interval is over", 1250*time.Millisecond, interval, 2*time.Second)
	p.connections(busy)
	p.expectOne("RTT fell", 250*time.Millisecond, rttRatio, 2250*time.Millisecond)
	p.connections(slow, strings.Replace(busy, "10.0.4.1", "10.0.4.2", 1))
	p.expectOne("two changes at once", 250*time.Millisecond, startedSending, 2500*time.Millisecond)
	p.setReporting(&airboundv1.SetReporting{})
	p.connections(busy)
	p.expectOne("switched off", 499*time.Millisecond, stoppedSending, 2750*time.Millisecond)
}

func TestBoundsThatAreLostAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(idle)
	p.connect()
	p.pass(500 * time.Millisecond)
	p.set(1, 2_000, all(true, 2, 90))
	p.expectOne("a set is not", 600*time.Millisecond, interval, time.Second)
	p.renew(1, 2_000)
	p.expectOne("a renewal is not", time.Second, interval, 2*time.Second)
	p.expectOne("nor is time", 999*time.Millisecond, interval, 3*time.Second)
	p.expectOne("the lease's end", 2*time.Millisecond, boundsChanged, 3100*time.Millisecond)
	p.set(2, 60_000, all(true, 2, 90))
	if reports, _ := p.pass(0); len(reports) != 0 {
		t.Errorf("a set: %v", reports)
	}
	p.kernel.WriteError = syscall.EIO
	p.set(3, 60_000, all(true, 3, 80))
	reports, _ := p.pass(0)
	if len(reports) != 1 || reports[0].GetTrigger() != boundsChanged || reports[0].GetBoundsGeneration() != 0 {
		t.Errorf("a set that failed: %v", reports)
	}
	p.kernel.WriteError = nil
	p.set(3, 60_000, all(true, 3, 80)) // refused
	if reports, _ := p.pass(0); len(reports) != 0 {
		t.Errorf("a refused set: %v", reports)
	}
	p.agent.Disconnected(p.nowUS)
	p.set(4, 60_000)
	p.connect()
	if reports, _ := p.pass(0); len(reports) != 1 || reports[0].GetTrigger() != interval {
		t.Errorf("a new stream: %v", reports)
	}
}

// After a change of their cell all phones are sent bounds at the same moment, and start to send at the same moment if
// something makes them.
func TestPhonesGoOnAtTheirOwnPhases(t *testing.T) {
	t.Parallel()
	for _, phase := range []time.Duration{0, 300 * time.Millisecond, 600 * time.Millisecond, 999 * time.Millisecond} {
		p := newPhone(t)
		p.pass(phase)
		streamUS := p.nowUS
		p.connections(idle)
		p.connect()
		p.pass(21*time.Second - phase)
		// Both happen 21 s after the start, whenever the stream began.
		p.connections(busy)
		p.set(1, 60_000, all(true, 2, 90))
		_, atUS := p.pass(20 * time.Second)
		// The first says that it sends, at the next sample.
		if len(atUS) < 19 || atUS[0] > 122*secondUS {
			t.Fatalf("phase %v: reports at %v", phase, atUS)
		}
		for i, at := range atUS[1:] {
			if (at-streamUS)%secondUS != 0 || (i > 0 && at-atUS[i] != secondUS) {
				t.Errorf("phase %v: a stream that began at %d reports at %v", phase, streamUS, atUS)
				break
			}
		}
		// The release comes to all at once as well.
		p.connections(idle)
		p.pass(2 * time.Second)
		p.set(2, 60_000)
		_, atUS = p.pass(40 * time.Second)
		for _, at := range atUS {
			if (at-streamUS)%(10*secondUS) != 0 {
				t.Errorf("phase %v: a stream that began at %d has its heartbeat at %v", phase, streamUS, atUS)
				break
			}
		}
		if len(atUS) != 4 {
			t.Errorf("phase %v: heartbeats at %v in 40 s", phase, atUS)
		}
	}
}

// After a restart of the controller all phones connect within a moment.
func TestHeartbeatsOfStreamsThatBeganTogetherAreSpread(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(idle)
	for _, tc := range []struct {
		phase  float64
		firstS int64 // between half a period and one and a half after the stream's first report
	}{{0, 10}, {0.3, 13}, {0.4, 14}, {0.5, 5}, {0.9, 9}} {
		p.heartbeatPhase = tc.phase
		p.connect()
		streamUS := p.nowUS
		_, atUS := p.pass(40 * time.Second)
		if len(atUS) < 4 || atUS[0] != streamUS {
			t.Fatalf("phase %v: a stream that began at %d reports at %v", tc.phase, streamUS, atUS)
		}
		for i, at := range atUS[1:] {
			// To the next sample of an idle kernel, which is taken each second.
			if late := at - streamUS - (tc.firstS+10*int64(i))*secondUS; late < 0 || late >= secondUS {
				t.Errorf("phase %v: a stream that began at %d reports at %v", tc.phase, streamUS, atUS)
				break
			}
		}
		p.agent.Disconnected(p.nowUS)
	}
}

// A report for another reason moves the next one by half a period at most, either way.
func TestAReportAtOnceIsFollowedByOneInPhase(t *testing.T) {
	t.Parallel()
	for lateMS, want := range map[int64]int64{250: 2000, 500: 2000, 750: 3000} {
		p := newPhone(t)
		p.connections(busy)
		p.connect()
		p.setReporting(&airboundv1.SetReporting{RttRatioChangePermille: 250})
		p.pass(time.Second)
		p.pass(time.Duration(lateMS-250) * time.Millisecond)
		p.connections(slow)
		at := time.Duration(1000+lateMS) * time.Millisecond
		p.expectOne("RTT grew", 250*time.Millisecond, rttRatio, at)
		next := time.Duration(want) * time.Millisecond
		p.expectOne("the one after it", next-at, interval, next)
	}
}

func TestReportingIsInForceUntilTheStreamEnds(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(busy)
	p.connect()
	count := func(what string, want int) {
		t.Helper()
		if reports, _ := p.pass(10 * time.Second); len(reports) != want {
			t.Errorf("%s: %d reports in 10 s, want %d", what, len(reports), want)
		}
	}
	count("the agent's own", 11)
	p.setReporting(&airboundv1.SetReporting{IntervalMs: 100, HeartbeatMs: 1000})
	count("a short interval", 100)
	p.setReporting(&airboundv1.SetReporting{IntervalMs: 5000})
	count("a long interval", 2)
	p.setReporting(&airboundv1.SetReporting{HeartbeatMs: 2000})
	count("0 is the agent's own", 10)
	p.connections(idle)
	p.pass(time.Second)
	count("a short heartbeat", 5)
	p.setReporting(&airboundv1.SetReporting{HeartbeatMs: 600_000})
	count("a long heartbeat", 0)
	p.agent.Disconnected(p.nowUS)
	p.connect()
	count("a new stream has the agent's own again", 2)
}

func TestReportingOutOfRangeIsRefused(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(busy)
	p.connect()
	p.pass(0)
	for i, refused := range []*airboundv1.SetReporting{
		{IntervalMs: 99},
		{IntervalMs: 60_001},
		{HeartbeatMs: 999},
		{HeartbeatMs: 600_001},
		{IntervalMs: 5000, HeartbeatMs: 1},
		{IntervalMs: 1<<32 - 1},
	} {
		p.setReporting(refused)
		if got := p.state(); got.Counters.CommandsRefused != uint64(i+1) ||
			!strings.Contains(got.LastRefusal, "set_reporting: ") {
			t.Errorf("%v: %+v", refused, got)
		}
	}
	if reports, _ := p.pass(10 * time.Second); len(reports) != 10 || reports[0].GetMalformedInputsTotal() != 6 {
		t.Errorf("%d reports in 10 s", len(reports))
	}
	for _, accepted := range []*airboundv1.SetReporting{
		nil,
		{IntervalMs: 100, HeartbeatMs: 1000},
		{IntervalMs: 60_000, HeartbeatMs: 600_000},
		{RttRatioChangePermille: 1<<32 - 1},
	} {
		p.setReporting(accepted)
	}
	if got := p.state().Counters.CommandsRefused; got != 6 {
		t.Errorf("%d refused", got)
	}
}

func TestNoReportOfAKernelThatCannotBeRead(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.connections(idle)
	p.pass(time.Second)
	p.monitorError = syscall.EIO
	if reports, _ := p.pass(3 * time.Second); len(reports) != 0 {
		t.Errorf("%v", reports)
	}
	p.monitorError, p.monitor = nil, "garbage\n"
	if reports, _ := p.pass(3 * time.Second); len(reports) != 0 {
		t.Errorf("%v", reports)
	}
	p.connections(idle)
	reports, _ := p.pass(10 * time.Second)
	if len(reports) != 1 || reports[0].GetMalformedInputsTotal() != 3 {
		t.Errorf("%v", reports)
	}
	if got := strings.Count(p.log.String(), `level=ERROR msg="cannot read the kernel's monitor" error=`); got != 2 {
		t.Errorf("three failures were logged %d times\n%s", got, p.log.String())
	}
}

func TestRefusedLinesAreCountedAndTheOthersReported(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.connections(idle, strings.Replace(idle, "42", "-42", 1))
	p.monitor += "1 established 10.0.0.1"
	reports, _ := p.pass(0)
	if len(reports) != 1 || reports[0].GetMalformedInputsTotal() != 2 || len(reports[0].GetDestinations()) != 1 {
		t.Fatalf("%v", reports)
	}
	p.pass(20 * time.Second)
	got := p.state()
	if got.Counters.MonitorLinesRefused < 20 || !strings.Contains(got.LastRefusal, `line 3: column cwnd_segs: "-42"`) {
		t.Errorf("%+v", got)
	}
	if len(p.states) > 6 || strings.Count(p.log.String(), "refused monitor lines") > 7 {
		t.Errorf("garbage in every sample costs %d state files and the log\n%s", len(p.states), p.log.String())
	}
}

func TestArrivalsAreCounted(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	first := events.Event{AtUS: p.nowUS, Source: events.RTNetlink, Kind: events.LinkUp, Interface: "wlan0"}
	p.agent.ArrivalReported(p.nowUS, first, events.New, nil)
	if got := p.state(); got.LastArrival == nil || *got.LastArrival != first || got.Counters.Arrivals != 1 {
		t.Errorf("written at once: %+v", got)
	}
	p.agent.ArrivalReported(p.nowUS, events.Event{Source: events.Controller}, events.Merged, nil)
	p.agent.ArrivalReported(p.nowUS, events.Event{}, events.TooMany, errors.New("garbage"))
	p.agent.Retransmitted(arrival.Outcome{Unanswered: 3, AtOnce: 2, Messages: 5})
	p.agent.Retransmitted(arrival.Outcome{Unanswered: 1, Refused: 4, Unsent: 6})
	p.agent.ServersAsked(arrival.DownloadsOutcome{Silent: 3, Messages: 12, Refused: 1, Unsent: 2})
	p.agent.ServersAsked(arrival.DownloadsOutcome{Resumed: 2, Messages: 4})
	p.pass(20 * time.Second)
	c := p.state().Counters
	if c.Arrivals != 1 || c.ArrivalsMerged != 1 || c.ArrivalsRefused != 1 || c.Malformed() != 1 ||
		c.ArrivalsUnanswered != 4 || c.ArrivalsAtOnce != 2 || c.ArrivalMessages != 5 ||
		c.ArrivalMessagesRefused != 4 || c.ArrivalsUnsent != 6 || *p.state().LastArrival != first {
		t.Errorf("%+v", c)
	}
	if c.DownloadsSilent != 3 || c.DownloadsResumed != 2 || c.ServerMessages != 16 ||
		c.ServerMessagesRefused != 1 || c.DownloadsUnsent != 2 {
		t.Errorf("%+v", c)
	}
	if got := p.state().LastRefusal; got != "arrival: garbage" {
		t.Errorf("%q", got)
	}
}

func TestTheSilenceAfterAnArrivalIsReported(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.agent.ArrivalReported(p.nowUS, events.Event{AtUS: p.nowUS, Source: events.NL80211}, events.New, nil)
	for by, want := range map[string]airboundv1.Retransmission{
		"":                airboundv1.Retransmission_RETRANSMISSION_UNSPECIFIED,
		arrival.Requests:  airboundv1.Retransmission_RETRANSMISSION_REQUESTS,
		arrival.Messages:  airboundv1.Retransmission_RETRANSMISSION_MESSAGES,
		status.TimersOnly: airboundv1.Retransmission_RETRANSMISSION_TIMERS,
	} {
		p.agent.RetransmissionBy(p.nowUS, status.Retransmission{By: by})
		p.connect()
		if got := p.agent.Wake(p.nowUS).GetArrivals().GetBackEnd(); got != want || p.state().Retransmission.By != by {
			t.Errorf("%q: %s", by, got)
		}
	}
	p.agent.Answered(p.nowUS, 30*time.Millisecond)
	p.agent.Answered(p.nowUS, 1500*time.Microsecond)
	p.connect()
	got := p.agent.Wake(p.nowUS).GetArrivals()
	if got.GetAnsweredTotal() != 2 || got.GetSilenceMsTotal() != 31 || got.GetLastSilenceMs() != 1 {
		t.Errorf("%v", got)
	}
	is := p.state()
	if is.LastSilenceMS != 1 || is.Counters.ArrivalsAnswered != 2 || is.Counters.ArrivalSilenceMS != 31 {
		t.Errorf("%+v", is)
	}
}

func arrived(bssid ...byte) *airboundv1.TerminalCommand {
	return &airboundv1.TerminalCommand{
		Command: &airboundv1.TerminalCommand_Arrived{Arrived: &airboundv1.Arrived{Bssid: bssid}},
	}
}

func TestTheControllerReportsAnArrival(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.agent.Command(p.nowUS, arrived(2, 0, 0, 0, 0, 1))
	if c := p.state().Counters; c.CommandsRefused != 0 {
		t.Errorf("%+v", c)
	}
	report, err := agent.ArrivalReport(&airboundv1.Arrived{Bssid: []byte{2, 0, 0, 0, 0, 1}})
	if err != nil || report != (events.Report{Kind: events.Association, Place: "02:00:00:00:00:01"}) {
		t.Errorf("%+v, %v", report, err)
	}
	p.agent.Command(p.nowUS, arrived(2, 0, 0))
	if got := p.state(); got.Counters.CommandsRefused != 1 ||
		got.LastRefusal != "command: arrived: bssid has 3 octets, want 6" {
		t.Errorf("%+v", got)
	}
}

func TestArrivalsAreReported(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	reports, _ := p.pass(time.Second)
	if len(reports) == 0 || reports[0].GetArrivals() != nil {
		t.Fatalf("%v", reports)
	}
	at := p.nowUS
	for i, source := range events.Sources() {
		event := events.Event{AtUS: at, Source: source, Kind: events.Association}
		p.agent.ArrivalReported(p.nowUS, event, events.New, nil)
		p.agent.Disconnected(p.nowUS)
		p.connect()
		reports, _ = p.pass(time.Second)
		if len(reports) == 0 {
			t.Fatal("no report")
		}
		got, name := reports[0].GetArrivals(), "ARRIVAL_SOURCE_"+strings.ToUpper(string(source))
		if got.GetArrivalsTotal() != uint64(i)+1 || got.GetLastSource().String() != name ||
			got.GetLastAgeMs() != uint64(i)*1000 {
			t.Errorf("%s: %v", source, got)
		}
	}
	p.agent.ArrivalReported(p.nowUS, events.Event{}, events.Merged, nil)
	p.agent.Retransmitted(arrival.Outcome{Unanswered: 3, AtOnce: 2})
	p.agent.DownloadsBy(p.nowUS, status.Retransmission{By: arrival.ToServers})
	p.agent.ServersAsked(arrival.DownloadsOutcome{Silent: 5, Resumed: 4, Messages: 30})
	if got := p.state().Downloads.By; got != arrival.ToServers {
		t.Errorf("%q", got)
	}
	p.agent.Disconnected(p.nowUS)
	p.connect()
	reports, _ = p.pass(time.Second)
	if got := reports[0].GetArrivals(); got.GetMergedReportsTotal() != 1 || got.GetWaitingConnectionsTotal() != 3 ||
		got.GetRetransmissionsTotal() != 2 || got.GetSilentDownloadsTotal() != 5 ||
		got.GetResumedDownloadsTotal() != 4 || got.GetServerMessagesTotal() != 30 {
		t.Errorf("%v", got)
	}
}
