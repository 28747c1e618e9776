// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"bytes"
	"io/fs"
	"log/slog"
	"net/netip"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/apply/applytest"
	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	millisecondUS = 1_000
	secondUS      = 1_000_000

	idle  = "1 established 10.0.0.11:40312 10.0.4.1:5001 10073 open 42 2147483647 0 0 28123 27010 4312 1448 0 0 0 1234567 0 3 0 0 0 0"
	busy  = "1 established 10.0.0.11:40312 10.0.4.1:5001 10073 open 42 2147483647 0 0 28123 27010 4312 1448 98304 60816 0 1234567 0 3 0 0 0 0"
	slow  = "1 established 10.0.0.11:40312 10.0.4.1:5001 10073 open 42 2147483647 0 0 98123 97010 4312 1448 98304 60816 0 1234567 0 3 0 0 0 0"
	other = "1 established 10.0.0.11:40999 10.0.9.9:50051 0 open 10 2147483647 0 0 2000 2000 2000 1448 10 0 0 1 0 0 0 0 0 0"
)

const (
	interval       = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL
	startedSending = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STARTED_SENDING
	stoppedSending = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STOPPED_SENDING
	rttRatioBand   = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_RTT_RATIO_BAND
)

// phone is an agent with a fake kernel and a clock of its own.
type phone struct {
	t      *testing.T
	agent  *agent.Agent
	kernel *applytest.Kernel
	nowUS  int64
	// The monitor's text, or why it cannot be read.
	monitor      string
	monitorError error
	samples      int
	states       []status.State
	saveError    error
	log          bytes.Buffer
}

func newPhone(t *testing.T) *phone {
	t.Helper()
	p := &phone{t: t, kernel: &applytest.Kernel{}, nowUS: 100 * secondUS}
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
		Version: "test", PID: 42, Controller: "10.0.9.9:50051", Interface: "wlan1",
		Interval: time.Second, SampleInterval: 250 * time.Millisecond,
		ReadMonitor: func() ([]byte, error) {
			p.samples++
			return []byte(p.monitor), p.monitorError
		},
		BackEnd: apply.NewProcfs(p.kernel),
		SaveState: func(state status.State) error {
			p.states = append(p.states, state)
			return p.saveError
		},
		Logger: slog.New(slog.NewTextHandler(&p.log, nil)),
	}
}

func (p *phone) connections(lines ...string) {
	p.monitor = strings.Join(append([]string{strings.Join(monitor.Columns, " ")}, lines...), "\n") + "\n"
}

func (p *phone) connect() {
	p.agent.Connected(p.nowUS, link("02:00:00:00:01:0b"))
}

func link(mac string) agent.Link {
	return agent.Link{MAC: mac, Controllers: []netip.AddrPort{netip.MustParseAddrPort("10.0.9.9:50051")}}
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
		SetBounds: &airboundv1.SetBounds{Generation: generation, LeaseMs: leaseMS, Bounds: bounds, Reason: "n 5"},
	}})
}

func (p *phone) renew(generation uint64, leaseMS uint32) {
	p.agent.Command(p.nowUS, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_RenewLease{
		RenewLease: &airboundv1.RenewLease{Generation: generation, LeaseMs: leaseMS},
	}})
}

func (p *phone) state() status.State { return p.states[len(p.states)-1] }

func (p *phone) holds(want string) {
	p.t.Helper()
	if got, err := p.kernel.Read(); err != nil || string(got) != want {
		p.t.Errorf("the kernel holds %q, %v; want %q", got, err, want)
	}
}

func dst(prefix string, minSegs, maxSegs uint32) *airboundv1.Bound {
	return &airboundv1.Bound{
		Selector: &airboundv1.Bound_DestinationPrefix{DestinationPrefix: prefix}, MinSegs: minSegs, MaxSegs: maxSegs,
	}
}

func all(value bool, minSegs, maxSegs uint32) *airboundv1.Bound {
	return &airboundv1.Bound{Selector: &airboundv1.Bound_All{All: value}, MinSegs: minSegs, MaxSegs: maxSegs}
}

func uid(id, minSegs, maxSegs uint32) *airboundv1.Bound {
	return &airboundv1.Bound{Selector: &airboundv1.Bound_Uid{Uid: id}, MinSegs: minSegs, MaxSegs: maxSegs}
}

func TestStartCleansUpAnEarlierLife(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	if err := p.kernel.Write([]byte("all 1 2\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := agent.Start(p.config(), link("02:00:00:00:01:0a"), p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.holds("")
	if got := p.state(); got.Generation != 0 || got.Reason != "the controller has not set bounds yet" || got.BackEnd.Name != "procfs" {
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
			"bring up back end procfs: the kernel is not patched: open /proc/net/x: no such file or directory",
		},
		"rules cannot be restored": {
			func(p *phone) { p.kernel.WriteError = syscall.EIO },
			"clean up after an earlier life: restore the kernel's defaults: input/output error",
		},
		"no monitor": {
			func(p *phone) { p.monitorError = missing },
			"read the kernel's monitor (is the kernel patched?): open /proc/net/x: no such file or directory",
		},
		"another monitor": {
			func(p *phone) { p.monitor = "sl local rem\n" },
			"read the kernel's monitor: line 1: the header names no column time_us",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPhone(t)
			test.spoil(p)
			if _, err := agent.Start(p.config(), link("02:00:00:00:01:0a"), p.nowUS); err == nil || err.Error() != test.message {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestReportsComeOnceAnInterval(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(idle, other)
	if reports, _ := p.pass(5 * time.Second); len(reports) != 0 {
		t.Errorf("reports without a controller: %v", reports)
	}
	p.connect()
	reports, atUS := p.pass(3 * time.Second)
	if len(reports) != 4 || atUS[0] != 105*secondUS || atUS[3] != 108*secondUS {
		t.Fatalf("%d reports at %v", len(reports), atUS)
	}
	for i, report := range reports {
		if report.GetSequence() != uint64(i+1) || report.GetMac() != "02:00:00:00:01:0b" || report.GetTrigger() != interval {
			t.Errorf("%v", report)
		}
		if got := report.GetDestinations(); len(got) != 1 || got[0].GetAddress() != "10.0.4.1" {
			t.Errorf("destinations %v", got)
		}
	}
	if got := reports[0]; got.GetAgentVersion() != "test" || !got.GetBackEnd().GetCanSelectDestination() || got.GetBackEnd().GetCanSelectUid() {
		t.Errorf("%v", got)
	}
}

func TestAnIdlePhoneIsLookedAtOnceAnInterval(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connect()
	p.connections(idle)
	p.pass(time.Second)
	p.samples = 0
	p.pass(10 * time.Second)
	if p.samples != 10 {
		t.Errorf("%d samples of an idle kernel in 10 s", p.samples)
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

func TestChangesAreReportedAtTheNextLook(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	p.connections(idle)
	p.connect()
	p.pass(500 * time.Millisecond)
	expect := func(what string, wait time.Duration, want airboundv1.TerminalReportTrigger, at time.Duration) {
		t.Helper()
		reports, atUS := p.pass(wait)
		if len(reports) != 1 || reports[0].GetTrigger() != want || atUS[0] != (100*time.Second+at).Microseconds() {
			t.Errorf("%s: %v at %v", what, reports, atUS)
		}
	}
	p.connections(busy)
	expect("started", 500*time.Millisecond, startedSending, time.Second)
	p.connections(slow)
	expect("RTT grew", 300*time.Millisecond, rttRatioBand, 1250*time.Millisecond)
	expect("nothing new until the interval is over", time.Second, interval, 2250*time.Millisecond)
	p.connections(idle)
	expect("stopped", 300*time.Millisecond, stoppedSending, 2500*time.Millisecond)
}

func TestNothingIsSaidOfAKernelThatCannotBeRead(t *testing.T) {
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
	reports, _ := p.pass(time.Second)
	if len(reports) != 1 || reports[0].GetMalformedInputsTotal() != 3 {
		t.Errorf("%v", reports)
	}
	if got := strings.Count(p.log.String(), "cannot read the kernel's monitor"); got != 2 {
		t.Errorf("three failures were logged %d times", got)
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
