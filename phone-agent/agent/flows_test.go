// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/flows"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// leaving is a fake of the kernel and of the driver as far as packets leave by them.
type leaving struct {
	// What is in force, and where; a set that fails leaves nothing.
	at         string
	flows      []flows.Flow
	deadlineUS int64
	calls      int
	closed     bool
	counts     flows.Counters
	err        error

	// Whether the access point demands admission, and what the driver was given.
	demands       bool
	given         uint32
	asked         int
	admissionFail error
}

func (l *leaving) Set(interfaceName string, wanted []flows.Flow, deadlineUS int64) error {
	l.calls++
	l.at, l.flows, l.deadlineUS = interfaceName, wanted, deadlineUS
	if l.err != nil {
		l.flows = nil
	}
	return l.err
}

func (l *leaving) Counters() (flows.Counters, error) { return l.counts, nil }

func (l *leaving) Close() error {
	l.closed, l.flows = true, nil
	return l.err
}

func (l *leaving) Admit(_ string, usPerS uint32) (bool, error) {
	l.asked++
	l.given = 0
	if l.admissionFail != nil {
		return false, l.admissionFail
	}
	if l.demands {
		l.given = usPerS
	}
	return l.given > 0, nil
}

// is fails the test unless these flows are in force, for so long, and the driver was given so much.
func (l *leaving) is(t *testing.T, p *phone, want string, left time.Duration, given uint32) {
	t.Helper()
	leftUS := int64(0)
	if len(l.flows) > 0 {
		leftUS = l.deadlineUS - p.nowUS
	}
	if got := fmt.Sprint(l.flows); got != want || leftUS != left.Microseconds() || l.given != given {
		t.Errorf("got  %s for %d us, %d us/s admitted\nwant %s for %s, %d", got, leftUS, l.given, want, left, given)
	}
}

func newLeaving(t *testing.T) (*phone, *leaving) {
	t.Helper()
	p := newPhone(t)
	kernel := &leaving{demands: true}
	config := p.config()
	config.Flows = agent.Flows{
		Can: flows.Capabilities{CanMark: true, CanAdmit: true, CanPace: true}, Kernel: kernel, Admission: kernel,
	}
	var err error
	if p.agent, err = agent.Start(config, link("02:00:00:00:01:0a"), p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.connect()
	return p, kernel
}

func (p *phone) setFlows(generation uint64, leaseMS uint32, wanted ...*airboundv1.Flow) {
	p.agent.Command(p.nowUS, &airboundv1.TerminalCommand{Command: &airboundv1.TerminalCommand_SetFlows{
		SetFlows: &airboundv1.SetFlows{Generation: generation, LeaseMs: leaseMS, Flows: wanted},
	}})
}

// lastFlows is what the last of some reports says of flows.
func lastFlows(t *testing.T, reports []*airboundv1.TerminalReport) *airboundv1.FlowState {
	t.Helper()
	if len(reports) == 0 {
		t.Fatal("no report")
	}
	return reports[len(reports)-1].GetFlows()
}

func videoOf(uid, admittedUSPerS uint32) *airboundv1.Flow {
	return &airboundv1.Flow{
		Uid: &uid, Category: airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO, AdmittedUsPerS: admittedUSPerS,
	}
}

const live = "[uid 10073: as video, admitted for 100000 us/s]"

func TestFlowsAreInForceUntilTheirLeaseEnds(t *testing.T) {
	t.Parallel()
	p, kernel := newLeaving(t)
	reports, _ := p.pass(0)
	if self := reports[0].GetAgent(); !self.GetCanMark() || !self.GetCanAdmit() || !self.GetCanPace() ||
		self.GetFlowsMax() != 64 || self.GetFlowsRefusal() != "" {
		t.Errorf("%v", self)
	}
	p.setFlows(3, 6000, videoOf(10073, 100_000))
	kernel.is(t, p, live, 6*time.Second, 100_000)
	kernel.counts = flows.Counters{Marked: 9, Paced: 2, Dropped: 1}
	reports, _ = p.pass(5 * time.Second)
	kernel.is(t, p, live, time.Second, 100_000)
	if got := lastFlows(t, reports); got.GetGeneration() != 3 || got.GetMarkedPacketsTotal() != 9 ||
		got.GetPacedPacketsTotal() != 2 || got.GetDroppedPacketsTotal() != 1 {
		t.Errorf("%v", got)
	}
	p.setFlows(3, 6000, videoOf(10073, 100_000))
	kernel.is(t, p, live, 6*time.Second, 100_000)
	// The end of the stream ends nothing.
	p.agent.Disconnected(p.nowUS)
	p.pass(5 * time.Second)
	kernel.is(t, p, live, time.Second, 100_000)
	p.connect()
	reports, atUS := p.pass(2 * time.Second)
	kernel.is(t, p, "[]", 0, 0)
	ended := lastFlows(t, reports)
	if ended.GetGeneration() != 0 || atUS[len(atUS)-1] != p.nowUS-secondUS {
		t.Errorf("%v at %v of %d", ended, atUS, p.nowUS)
	}
	if state := p.state(); state.Counters.FlowLeasesEnded != 1 || state.Flows.Generation != 0 ||
		state.Flows.Reason != "the lease on generation 3 ended without another set" {
		t.Errorf("%+v", state.Flows)
	}
}

func TestFlowsAndBoundsHaveLeasesOfTheirOwn(t *testing.T) {
	t.Parallel()
	p, kernel := newLeaving(t)
	p.setFlows(7, 6000, videoOf(10073, 100_000))
	p.set(2, 3000, dst("10.0.4.1/32", 10, 20))
	p.setFlows(8, 6000)
	kernel.is(t, p, "[]", 0, 0)
	p.rulesAre("dst 10.0.4.1/32 10 20\n")
	p.setFlows(9, 6000, videoOf(10073, 100_000))
	p.pass(4 * time.Second)
	p.rulesAre("")
	kernel.is(t, p, live, 2*time.Second, 100_000)
}

func TestSetsOfFlowsThatAreRefusedAreCounted(t *testing.T) {
	t.Parallel()
	p, kernel := newLeaving(t)
	p.setFlows(3, 6000, videoOf(10073, 100_000))
	p.setFlows(4, 6000, &airboundv1.Flow{Address: make([]byte, 5)})
	kernel.is(t, p, live, 6*time.Second, 100_000)
	reports, _ := p.pass(0)
	got := lastFlows(t, reports)
	if got.GetRefusedTotal() != 1 || got.GetGeneration() != 3 || reports[0].GetMalformedInputsTotal() != 1 ||
		!strings.Contains(p.state().LastRefusal, "command: set_flows: flows[0]: address: 5 octets") {
		t.Errorf("%v, %q", got, p.state().LastRefusal)
	}
}

// What the kernel refuses leaves packets as they are, and is reported at once.
func TestFlowsThatCannotBeApplied(t *testing.T) {
	t.Parallel()
	p, kernel := newLeaving(t)
	p.pass(0)
	kernel.err = errors.New("no such interface")
	p.setFlows(3, 6000, videoOf(10073, 100_000))
	kernel.is(t, p, "[]", 0, 0)
	reports, _ := p.pass(0)
	if got := lastFlows(t, reports); got.GetGeneration() != 0 || got.GetFailuresTotal() != 1 ||
		got.GetFailure() != "no such interface" {
		t.Errorf("%v", got)
	}
	kernel.err = nil
	p.setFlows(4, 6000, videoOf(10073, 100_000))
	kernel.is(t, p, live, 6*time.Second, 100_000)
	reports, _ = p.pass(time.Second)
	if got := lastFlows(t, reports); got.GetGeneration() != 4 || got.GetFailuresTotal() != 1 || got.GetFailure() != "" {
		t.Errorf("%v", got)
	}
}

// Without admission the marks stay. The driver is asked again, and the failure is counted once.
func TestAdmissionThatFails(t *testing.T) {
	t.Parallel()
	p, kernel := newLeaving(t)
	p.pass(0)
	kernel.admissionFail = errors.New("operation not permitted")
	p.setFlows(3, 20_000, videoOf(10073, 100_000))
	kernel.is(t, p, live, 20*time.Second, 0)
	p.pass(time.Second)
	p.setFlows(3, 20_000, videoOf(10073, 100_000))
	reports, _ := p.pass(5 * time.Second)
	if got := lastFlows(t, reports); got.GetGeneration() != 3 || got.GetFailuresTotal() != 1 ||
		got.GetFailure() != "admission: operation not permitted" || kernel.asked < 6 {
		t.Errorf("%v, asked %d times", got, kernel.asked)
	}
	kernel.admissionFail = nil
	reports, _ = p.pass(2 * time.Second)
	kernel.is(t, p, live, 13*time.Second, 100_000)
	if got := lastFlows(t, reports); got.GetFailuresTotal() != 1 || got.GetFailure() != "" {
		t.Errorf("%v", got)
	}
}

// The access point announces that it demands admission after it was granted.
func TestAdmissionThatIsDemandedLater(t *testing.T) {
	t.Parallel()
	p, kernel := newLeaving(t)
	kernel.demands = false
	p.setFlows(3, 20_000, videoOf(10073, 100_000), videoOf(10074, 50_000))
	p.pass(3 * time.Second)
	if state := p.state(); kernel.given != 0 || state.Flows.AdmittedUSPerS != 0 || state.Flows.Failure != "" {
		t.Errorf("%d, %+v", kernel.given, state.Flows)
	}
	kernel.demands = true
	p.pass(time.Second)
	if state := p.state(); kernel.given != 150_000 || state.Flows.AdmittedUSPerS != 150_000 {
		t.Errorf("%d, %+v", kernel.given, state.Flows)
	}
	asked := kernel.asked
	p.pass(5 * time.Second)
	if kernel.asked != asked {
		t.Errorf("asked %d times more", kernel.asked-asked)
	}
}

// At another access point the driver has forgotten what it had admitted.
func TestFlowsFollowTheLink(t *testing.T) {
	t.Parallel()
	p, kernel := newLeaving(t)
	p.setFlows(3, 20_000, videoOf(10073, 100_000))
	kernel.given = 0
	moved := link("02:00:00:00:01:0c")
	moved.Interface = "wlan2"
	p.agent.LinkChanged(p.nowUS, moved)
	kernel.is(t, p, live, 20*time.Second, 100_000)
	if kernel.at != "wlan2" {
		t.Errorf("at %s", kernel.at)
	}
	calls := kernel.calls
	p.setFlows(4, 0)
	p.agent.LinkChanged(p.nowUS, link("02:00:00:00:01:0c"))
	if kernel.calls != calls+1 {
		t.Errorf("%d calls without flows", kernel.calls-calls)
	}
}

func TestStopLeavesPacketsAsTheyAre(t *testing.T) {
	t.Parallel()
	p, kernel := newLeaving(t)
	p.setFlows(3, 20_000, videoOf(10073, 100_000))
	if err := p.agent.Stop(p.nowUS); err != nil || !kernel.closed || kernel.given != 0 || !p.state().Stopped {
		t.Errorf("%v, %+v", err, kernel)
	}
}

func TestAnAgentThatTakesNoFlows(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	config := p.config()
	config.Flows.Can.Refusal = "--no-flows"
	var err error
	if p.agent, err = agent.Start(config, link("02:00:00:00:01:0a"), p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.connect()
	reports, _ := p.pass(0)
	self := reports[0].GetAgent()
	if reports[0].GetFlows() != nil || self.GetCanMark() || self.GetFlowsMax() != 0 ||
		self.GetFlowsRefusal() != "--no-flows" {
		t.Errorf("%v", reports[0])
	}
	p.setFlows(3, 20_000, videoOf(10073, 100_000))
	if got := p.state().LastRefusal; got != "command: set_flows: this agent takes no flows: --no-flows" {
		t.Error(got)
	}
	p.setFlows(4, 0)
	if err := p.agent.Stop(p.nowUS); err != nil {
		t.Error(err)
	}
}

// A phone whose driver has no admission reports why; its marks stay.
func TestWithoutAdmission(t *testing.T) {
	t.Parallel()
	p := newPhone(t)
	kernel := &leaving{}
	config := p.config()
	config.Flows = agent.Flows{Can: flows.Capabilities{CanMark: true, Refusal: "no driver has it"}, Kernel: kernel}
	var err error
	if p.agent, err = agent.Start(config, link("02:00:00:00:01:0a"), p.nowUS); err != nil {
		t.Fatal(err)
	}
	p.connect()
	p.setFlows(3, 20_000, videoOf(10073, 100_000))
	kernel.is(t, p, live, 20*time.Second, 0)
	reports, _ := p.pass(3 * time.Second)
	if got := lastFlows(t, reports); got.GetFailuresTotal() != 1 ||
		got.GetFailure() != "admission: this agent cannot have time admitted: no driver has it" {
		t.Errorf("%v", got)
	}
	p.setFlows(4, 20_000, videoOf(10073, 0))
	reports, _ = p.pass(time.Second)
	if got := lastFlows(t, reports); got.GetFailuresTotal() != 1 || got.GetFailure() != "" {
		t.Errorf("%v", got)
	}
}

func TestOfSetsOfFlowsThatComeTooFastTheLastOneCounts(t *testing.T) {
	t.Parallel()
	p, kernel := newLeaving(t)
	const count = 1000
	for generation := range uint64(count) {
		p.setFlows(generation+1, 6000, videoOf(10_000+uint32(generation), 100_000))
		p.pass(time.Millisecond)
	}
	p.pass(100 * time.Millisecond)
	if got := fmt.Sprint(kernel.flows); got != "[uid 10999: as video, admitted for 100000 us/s]" || kernel.calls > 22 {
		t.Errorf("%s, set %d times", got, kernel.calls)
	}
	p.setFlows(count+1, 6000)
	if len(kernel.flows) > 0 {
		t.Errorf("%v after their removal", kernel.flows)
	}
	p.pass(11 * time.Second) // counters are saved every 10 s
	if got := p.state().Counters; got.SetsHeldBack < count-21 || got.CommandsRefused != 0 {
		t.Errorf("%+v", got)
	}
}
