// SPDX-License-Identifier: Apache-2.0

package cell

import (
	"math"
	"math/rand/v2"
	"net/netip"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	heartbeatUS = 10 * secondUS
	// sampleUS is how often a terminal compares RTT ratios if it is asked to.
	sampleUS     = secondUS
	segmentBytes = 1448
	agentVersion = "load"
	rulesMax     = 256
)

// Limits of SetReporting and of leases, as the contract has them.
const (
	intervalMinMS, intervalMaxMS   = 100, 60_000
	heartbeatMinMS, heartbeatMaxMS = 1_000, 600_000
	leaseMinMS, leaseMaxMS         = 1_000, 60_000
)

// The ratio of srtt to minimum RTT wanders between these.
const ratioMin, ratioMax, ratioStep = 1.05, 1.6, 0.1

// Terminal is a phone: a station of a cell, and the agent on it.
type Terminal struct {
	// Source is the address that its stream comes from.
	Source netip.Addr
	// Reconnects and Roams are planned from StartChanges on.
	Reconnects Times
	Roams      Times

	// The station; its cell owns these.
	cell    *Cell
	station station

	// What it sends over.
	flows   []flow
	ratio   float64
	sending bool

	// The agent.
	number          int
	mac             []byte
	random          *rand.Rand
	macs            *rand.Rand
	phaseUS         int64
	heartbeatPhase  float64 // 0 to 1, of the heartbeat's period
	connected       bool
	connectedUS     int64
	introduced      bool // the agent's capabilities were reported on this stream
	sequence        uint64
	intervalUS      int64
	heartbeatUS     int64
	changePermille  uint32
	reportedRatio   float64
	ownIntervalUS   int64
	dueTrigger      airboundv1.TerminalReportTrigger
	nextReportUS    int64
	nextSampleUS    int64
	advancedUS      int64
	generation      uint64
	leaseEndUS      int64
	streamGenerated uint64
	flowsGeneration uint64
	flowsEndUS      int64
	flowsGenerated  uint64 // of the last set on this stream
	refused         uint64
}

func newTerminal(p Parameters, cellNumber, number int, nowUS int64) *Terminal {
	t := &Terminal{
		Source:        p.source(terminalSources, number),
		Reconnects:    never,
		Roams:         never,
		number:        number,
		advancedUS:    nowUS,
		mac:           mac(kindTerminal, number),
		random:        p.random(kindTerminal, number, sequenceReports),
		macs:          p.random(kindTerminal, number, sequenceMACs),
		ownIntervalUS: p.IntervalUS,
		nextReportUS:  math.MaxInt64,
		nextSampleUS:  math.MaxInt64,
	}
	const ownDelayMaxUS = 1_000
	t.flows = newFlows(p, cellNumber, number, t.random.Int64N(ownDelayMaxUS))
	t.phaseUS = t.random.Int64N(p.IntervalUS)
	t.heartbeatPhase = t.random.Float64()
	t.ratio = ratioMin + t.random.Float64()*(ratioMax-ratioMin)
	t.forgetReporting()
	return t
}

// StartChanges begins with roaming and reconnecting.
func (t *Terminal) StartChanges(nowUS int64) {
	p := t.cell.p
	t.Reconnects = newTimes(p.random(kindTerminal, t.number, sequenceReconnects), p.ReconnectEveryUS, nowUS)
	t.Roams = newTimes(p.random(kindTerminal, t.number, sequenceRoams), p.RoamEveryUS, nowUS)
}

func (t *Terminal) forgetReporting() {
	t.intervalUS, t.heartbeatUS, t.changePermille = t.ownIntervalUS, heartbeatUS, 0
}

// Number is the terminal's, counted from 0 over all generators.
func (t *Terminal) Number() int { return t.number }

// Sending reports whether the terminal sends.
func (t *Terminal) Sending() bool { return t.sending }

// Generation is that of the bounds in force; 0 while there are none.
func (t *Terminal) Generation() uint64 { return t.generation }

// RefusedTotal counts commands that are not of the contract.
func (t *Terminal) RefusedTotal() uint64 { return t.refused }

// SettledSinceUS is since when the terminal has been connected and in its cell; math.MaxInt64 while it is not
// connected.
func (t *Terminal) SettledSinceUS() int64 {
	if !t.connected {
		return math.MaxInt64
	}
	return max(t.connectedUS, t.station.associatedUS)
}

// Connected starts a stream: a first report is due.
func (t *Terminal) Connected(nowUS int64) {
	t.connected, t.connectedUS, t.introduced, t.streamGenerated = true, nowUS, false, 0
	t.flowsGenerated = 0
	t.due(airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL)
	t.plan(nowUS)
}

// Disconnected ends it. Bounds last until their lease ends; settings of reporting end with the stream.
func (t *Terminal) Disconnected() {
	t.connected, t.dueTrigger = false, 0
	t.forgetReporting()
}

// setSending starts or stops the TCP sender.
func (t *Terminal) setSending(nowUS int64, sending bool) {
	if sending == t.sending {
		return
	}
	t.advance(nowUS)
	t.sending = sending
	if sending {
		t.due(airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STARTED_SENDING)
	} else {
		t.due(airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STOPPED_SENDING)
	}
	t.plan(nowUS)
}

func (t *Terminal) due(trigger airboundv1.TerminalReportTrigger) {
	if t.connected {
		t.dueTrigger = trigger
	}
}

// plan sets when the next report and sample are due, on a grid that is the terminal's own.
func (t *Terminal) plan(nowUS int64) {
	period, phaseUS := t.heartbeatUS, int64(t.heartbeatPhase*float64(t.heartbeatUS))
	if t.sending || t.generation != 0 {
		period, phaseUS = t.intervalUS, t.phaseUS
	}
	t.nextReportUS = nextOnGrid(nowUS, phaseUS, period)
	t.nextSampleUS = math.MaxInt64
	if t.sending && t.changePermille > 0 && period > sampleUS {
		t.nextSampleUS = nextOnGrid(nowUS, t.phaseUS, sampleUS)
	}
}

// nextOnGrid is the first moment after nowUS that is phaseUS and a multiple of periodUS.
func nextOnGrid(nowUS, phaseUS, periodUS int64) int64 {
	phaseUS %= periodUS
	return nowUS + periodUS - ((nowUS-phaseUS)%periodUS+periodUS)%periodUS
}

// NextUS is when Wake has something to do.
func (t *Terminal) NextUS() int64 {
	next := int64(math.MaxInt64)
	if t.generation != 0 {
		next = t.leaseEndUS
	}
	if !t.connected {
		return next
	}
	if t.dueTrigger != 0 {
		return 0
	}
	return min(next, t.nextReportUS, t.nextSampleUS)
}

// Wake does what is due and returns whether a report must be sent now.
func (t *Terminal) Wake(nowUS int64) bool {
	if t.generation != 0 && nowUS >= t.leaseEndUS {
		t.generation = 0
		t.due(airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED)
		t.plan(nowUS)
	}
	if t.flowsGeneration != 0 && nowUS >= t.flowsEndUS {
		t.flowsGeneration = 0
	}
	if !t.connected {
		return false
	}
	if nowUS >= t.nextSampleUS {
		t.wander()
		if moved(t.reportedRatio, t.ratio, t.changePermille) {
			t.due(airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_RTT_RATIO_CHANGED)
		}
		t.nextSampleUS = nextOnGrid(nowUS, t.phaseUS, sampleUS)
	}
	if nowUS >= t.nextReportUS {
		t.due(max(t.dueTrigger, airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL))
	}
	return t.dueTrigger != 0
}

func moved(before, after float64, permille uint32) bool {
	return math.Abs(after-before)*1000 > before*float64(permille)
}

func (t *Terminal) wander() {
	step := (t.random.Float64()*2 - 1) * ratioStep
	t.ratio = min(max(t.ratio+step, ratioMin), ratioMax)
}

// advance counts what the terminal delivered since it was last called.
func (t *Terminal) advance(nowUS int64) {
	if t.sending {
		live, other := t.rates()
		for i := range t.flows {
			rate := other
			if t.flows[i].class == airboundv1.ApplicationClass_APPLICATION_CLASS_LIVE {
				rate = live
			}
			t.flows[i].delivered += rate * float64(nowUS-t.advancedUS)
		}
	}
	t.advancedUS = nowUS
}

// Report fills in the report that is due, or one of the interval; every field of report is set or cleared.
func (t *Terminal) Report(nowUS int64, report *airboundv1.TerminalReport) {
	t.advance(nowUS)
	if nowUS >= t.nextReportUS {
		t.wander()
	}
	t.sequence++
	report.Mac = t.mac
	report.Sequence = t.sequence
	report.MonotonicUs = uint64(nowUS) //nolint:gosec // not negative
	report.Trigger = max(t.dueTrigger, airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL)
	report.BoundsGeneration = t.generation
	report.MalformedInputsTotal = t.refused
	report.Agent = nil
	if !t.introduced {
		report.Agent, t.introduced = agent, true
		if t.cell.p.Classes {
			report.Agent = agentWithFlows
		}
	}
	report.Flows = nil
	if t.cell.p.Classes {
		report.Flows = &airboundv1.FlowState{Generation: t.flowsGeneration}
	}
	for len(report.GetDestinations()) < len(t.flows) {
		report.Destinations = append(report.Destinations, &airboundv1.Destination{Events: &airboundv1.EventCounts{}})
	}
	for i := range t.flows {
		t.fill(&t.flows[i], report.GetDestinations()[i])
	}
	t.reportedRatio, t.dueTrigger = t.ratio, 0
	t.plan(nowUS)
}

var agent = &airboundv1.Agent{
	Version: agentVersion,
	BackEnd: &airboundv1.BackEnd{
		Name: "procfs", CanSetMax: true, CanSetMin: true, CanSelectDestination: true, CanSelectUid: true,
		RulesMax: rulesMax,
	},
}

var agentWithFlows = &airboundv1.Agent{
	Version: agentVersion,
	BackEnd: &airboundv1.BackEnd{
		Name: "procfs", CanSetMax: true, CanSetMin: true, CanSelectDestination: true, CanSelectUid: true,
		CanSelectUidDestination: true, RulesMax: rulesMax,
	},
	CanMark: true, CanAdmit: true, CanPace: true, FlowsMax: FlowsMax,
}

// Command carries out a command of the controller, after what was due before it: a lease that ended is not renewed, and
// a report that is due is not put off.
func (t *Terminal) Command(nowUS int64, command *airboundv1.TerminalCommand) {
	t.Wake(nowUS)
	switch c := command.GetCommand().(type) {
	case *airboundv1.TerminalCommand_SetBounds:
		t.setBounds(nowUS, c.SetBounds)
	case *airboundv1.TerminalCommand_RenewLease:
		t.renewLease(nowUS, c.RenewLease)
	case *airboundv1.TerminalCommand_SetFlows:
		if !t.cell.p.Classes {
			t.refused++
			return
		}
		t.setFlows(nowUS, c.SetFlows)
	case *airboundv1.TerminalCommand_SetReporting:
		t.setReporting(nowUS, c.SetReporting)
	default:
		t.refused++
	}
}

func (t *Terminal) setBounds(nowUS int64, set *airboundv1.SetBounds) {
	if set.GetGeneration() <= t.streamGenerated || !leaseAllowed(set.GetLeaseMs()) || len(set.GetBounds()) > rulesMax {
		t.refused++
		return
	}
	for _, bound := range set.GetBounds() {
		if bound.GetMinSegs() < 1 || bound.GetMinSegs() > bound.GetMaxSegs() || bound.GetSelector() == nil {
			t.refused++
			return
		}
	}
	t.streamGenerated = set.GetGeneration()
	if len(set.GetBounds()) == 0 {
		t.generation = 0
	} else {
		t.generation, t.leaseEndUS = set.GetGeneration(), leaseEnd(nowUS, set.GetLeaseMs())
	}
	// As with the phone agent, the next report shows what is in force; only bounds that are lost are reported at once.
	t.plan(nowUS)
}

func (t *Terminal) renewLease(nowUS int64, renewal *airboundv1.RenewLease) {
	switch {
	case !leaseAllowed(renewal.GetLeaseMs()) || renewal.GetGeneration() == 0:
		t.refused++
	case renewal.GetGeneration() == t.generation:
		t.leaseEndUS = leaseEnd(nowUS, renewal.GetLeaseMs())
	}
}

func leaseAllowed(leaseMS uint32) bool { return leaseMS >= leaseMinMS && leaseMS <= leaseMaxMS }

func leaseEnd(nowUS int64, leaseMS uint32) int64 { return nowUS + int64(leaseMS)*1000 }

func (t *Terminal) setReporting(nowUS int64, set *airboundv1.SetReporting) {
	interval, heartbeat := set.GetIntervalMs(), set.GetHeartbeatMs()
	if interval != 0 && (interval < intervalMinMS || interval > intervalMaxMS) ||
		heartbeat != 0 && (heartbeat < heartbeatMinMS || heartbeat > heartbeatMaxMS) {
		t.refused++
		return
	}
	t.intervalUS, t.heartbeatUS = t.ownIntervalUS, heartbeatUS
	if interval != 0 {
		t.intervalUS = int64(interval) * 1000
	}
	if heartbeat != 0 {
		t.heartbeatUS = int64(heartbeat) * 1000
	}
	t.changePermille = set.GetRttRatioChangePermille()
	t.plan(nowUS)
}
