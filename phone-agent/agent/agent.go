// SPDX-License-Identifier: Apache-2.0

// Package agent is the phone agent between its edges: snapshots of the kernel and commands of the controller come in,
// reports go out and rules go to the back end. Every method gets the time; none waits, and one goroutine calls them
// all.
package agent

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/airbound/airbound/internal/lease"
	"github.com/airbound/airbound/internal/sparselog"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/flows"
	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Config is what an agent is made of. Every field but Marks and Flows is needed.
type Config struct {
	Version    string
	PID        int
	Controller string
	// Interval is the time between two reports while the terminal sends or has bounds or flows, and between two samples
	// of the kernel while it does not send.
	Interval time.Duration
	// Heartbeat is the time between two reports otherwise.
	Heartbeat time.Duration
	// HeartbeatPhase returns, for each stream, by what part of its period a heartbeat comes later, from 0 to 1. It is
	// random: when a controller restarts, all phones connect at nearly the same moment.
	HeartbeatPhase func() float64
	// SampleInterval is the time between two samples of the kernel while anything is being sent.
	SampleInterval time.Duration
	Monitor        monitor.Source
	// Marks knows the DSCPs of connections; nil if Monitor does.
	Marks monitor.Marker
	// Starts is how the start of sending is noticed: whether StartSeen will be called.
	Starts  status.Starts
	BackEnd apply.BackEnd
	// Flows may be zero: then the agent takes none.
	Flows     Flows
	SaveState func(status.State) error
	Logger    *slog.Logger
}

// Link is what is read again at each connection to the controller, and when the phone moves to another network or to
// another access point.
type Link struct {
	// Interface and access point, for the status; empty if not known.
	Interface, BSSID, SSID string
	// MAC address of the Wi-Fi interface. It may differ from the last: phones use another for each network.
	MAC net.HardwareAddr
	// Where the controller is. Connections to it are the agent's own and no destinations.
	Controllers []netip.AddrPort
}

// Agent is one terminal's agent.
type Agent struct {
	cfg        Config
	aggregator monitor.Aggregator
	// Whether classes follow from DSCPs.
	namesDSCPs bool
	lease      *bounds.Lease
	// The generation of the rules that the kernel has.
	inKernel uint64
	pace     lease.Pace
	// The last set that came too fast, until waitingUS; nil if none waits.
	waiting   *airboundv1.SetBounds
	waitingUS int64
	heldFlows lease.Held[airboundv1.SetFlows]
	flows     flowState
	self      *airboundv1.Agent
	state     status.State
	mac       net.HardwareAddr
	connected bool
	sequence  uint64
	reporting reporting
	// Whether the next report is the first of its stream.
	first bool
	// Whether a lease ended or a set could not be applied since the last report.
	boundsChanged bool
	// Whether a connection's class has changed since.
	classesChanged bool
	nextSampleUS   int64
	starts         startSamples
	// When the stream began.
	streamUS       int64
	heartbeatPhase float64
	lastReportUS   int64
	saved          savedState
}

// Start restores the kernel's defaults after an agent that could not, and finds out what this kernel can do.
func Start(cfg Config, link Link, nowUS int64) (*Agent, error) {
	if err := cfg.BackEnd.CleanUp(); err != nil {
		return nil, fmt.Errorf("clean up after an earlier run: %w", err)
	}
	can, err := cfg.BackEnd.Up()
	if err != nil {
		return nil, err
	}
	if _, err := cfg.Monitor.Snapshot(); err != nil {
		return nil, fmt.Errorf("read the kernel's monitor: %w", err)
	}
	a := &Agent{
		cfg:   cfg,
		lease: bounds.NewLease(can),
		flows: flowState{lease: flows.NewLease(cfg.Flows.Can)},
		self: &airboundv1.Agent{
			Version: cfg.Version, BackEnd: backEndOf(can), TakesArrivals: true,
			CanMark: cfg.Flows.Can.CanMark, CanAdmit: cfg.Flows.Can.CanAdmit, CanPace: cfg.Flows.Can.CanPace,
			FlowsRefusal: cfg.Flows.Can.Refusal, FlowsMax: cfg.Flows.Can.Max(),
		},
		state: status.State{
			Schema:     status.Schema,
			Version:    cfg.Version,
			PID:        cfg.PID,
			Controller: cfg.Controller,
			BackEnd:    can,
			Starts:     cfg.Starts,
			Reason:     "the controller has not set bounds yet",
			Flows:      status.Flows{Can: cfg.Flows.Can},
		},
		reporting:    ownReporting(cfg),
		nextSampleUS: nowUS,
		starts:       noStart(),
	}
	a.LinkChanged(nowUS, link)
	return a, nil
}

// LinkChanged takes another link over. The next report has its MAC address.
func (a *Agent) LinkChanged(nowUS int64, link Link) {
	a.aggregator.Exclude(link.Controllers)
	a.mac = link.MAC
	a.state.Interface, a.state.MAC = link.Interface, link.MAC.String()
	a.state.BSSID, a.state.SSID = link.BSSID, link.SSID
	a.flowsMoved(nowUS)
	a.saved.due = true
	a.save(nowUS)
}

func backEndOf(can bounds.Capabilities) *airboundv1.BackEnd {
	return &airboundv1.BackEnd{
		Name:                    can.Name,
		CanSetMax:               can.CanSetMax,
		CanSetMin:               can.CanSetMin,
		CanSelectDestination:    can.CanSelectDestination,
		CanSelectUid:            can.CanSelectUID,
		CanSelectUidDestination: can.CanSelectUIDDestination,
		RulesMax:                can.RulesMax,
	}
}

// leasePollUS is how often the end of a lease is checked. The lease's clock goes on while the machine sleeps, timers do
// not: a lease that ended in that time is found at most so long after waking up.
const leasePollUS = 1_000_000

// NextWakeUS is when Wake must be called at the latest.
func (a *Agent) NextWakeUS(nowUS int64) int64 {
	nextUS := min(a.nextSampleUS, a.starts.nextUS, a.heldFlows.NextUS())
	if a.waiting != nil {
		nextUS = min(nextUS, a.waitingUS)
	}
	if inForce := a.flows.lease.InForce(); inForce.Generation != 0 {
		nextUS = min(nextUS, inForce.DeadlineUS, nowUS+leasePollUS)
	}
	if inForce := a.lease.InForce(); inForce.Generation != 0 {
		return min(nextUS, inForce.DeadlineUS, nowUS+leasePollUS)
	}
	return nextUS
}

// Wake does what is due: it ends a lease, and samples the kernel. It returns a report if one is to be sent now.
func (a *Agent) Wake(nowUS int64) *airboundv1.TerminalReport {
	a.expire(nowUS)
	a.expireFlows(nowUS)
	a.putWaitingInForce(nowUS)
	if held := a.heldFlows.Due(nowUS); held != nil {
		a.refuse(a.setFlows(nowUS, held))
	}
	var report *airboundv1.TerminalReport
	if regular := nowUS >= a.nextSampleUS; regular || nowUS >= a.starts.nextUS {
		a.retryRestore()
		report = a.sample(nowUS, regular)
	}
	a.save(nowUS)
	return report
}

// Connected begins a stream to the controller. The next Wake reports.
func (a *Agent) Connected(nowUS int64, link Link) {
	a.connected, a.first, a.boundsChanged = true, true, false
	a.lease.NewStream()
	a.flows.lease.NewStream()
	a.heldFlows.Drop()
	a.nextSampleUS, a.streamUS, a.heartbeatPhase = nowUS, nowUS, a.cfg.HeartbeatPhase()
	a.state.Connected = true
	a.state.Counters.ControllerConnected++
	a.LinkChanged(nowUS, link)
}

// Disconnected ends the stream. Bounds in force stay until their lease ends.
func (a *Agent) Disconnected(nowUS int64) {
	a.connected = false
	a.starts = noStart()
	a.reporting = ownReporting(a.cfg)
	a.state.Connected = false
	a.saved.due = true
	a.save(nowUS)
}

// Stop restores the kernel's defaults for good.
func (a *Agent) Stop(nowUS int64) error {
	a.lease.Drop()
	err := errors.Join(a.cfg.BackEnd.Close(), a.stopFlows())
	a.explain("the agent stopped")
	a.state.Stopped = err == nil
	a.state.Connected = false
	if err != nil {
		a.state.RestoreError = err.Error()
	}
	a.saved.due = true
	a.save(nowUS)
	return err
}

// sample reads the kernel and returns a report if something happened or one is due. A sample that is not regular is one
// after StartSeen.
func (a *Agent) sample(nowUS int64, regular bool) *airboundv1.TerminalReport {
	changes, known := a.observe(nowUS, regular)
	a.starts.sampled(nowUS)
	nextUS := nowUS + a.samplePeriod().Microseconds()
	if !regular {
		nextUS = min(nextUS, a.nextSampleUS)
	}
	a.nextSampleUS = nextUS
	if !a.connected || !known {
		// If the kernel could not be read, no report is sent; the controller notices that the last one is getting old.
		return nil
	}
	trigger := a.triggerOf(changes)
	if dueUS := a.reportDueUS(); trigger == triggerInterval && nowUS < dueUS && !a.classesChanged {
		a.nextSampleUS = min(a.nextSampleUS, dueUS)
		return nil
	}
	a.sequence++
	report := &airboundv1.TerminalReport{
		Mac:                  a.mac,
		Sequence:             a.sequence,
		Destinations:         a.aggregator.Report(),
		BoundsGeneration:     a.inKernel,
		Trigger:              trigger,
		MalformedInputsTotal: a.state.Counters.Malformed(),
	}
	report.Arrivals = a.arrivals(nowUS)
	report.Flows = a.flowReport()
	if a.first {
		report.Agent = a.self
	}
	a.first, a.boundsChanged, a.classesChanged, a.lastReportUS = false, false, false, nowUS
	a.nextSampleUS = min(a.nextSampleUS, a.reportDueUS())
	return report
}

// observe returns what changed since the last sample, and whether the kernel could be read.
func (a *Agent) observe(nowUS int64, regular bool) (monitor.Changes, bool) {
	snapshot, err := a.cfg.Monitor.Snapshot()
	switch {
	case errors.Is(err, monitor.ErrMalformed):
		a.refuseMonitor(1, err.Error())
		return monitor.Changes{}, false
	case err != nil:
		if sparselog.Add(&a.state.Counters.MonitorReadsFailed, 1) {
			a.cfg.Logger.Error("cannot read the kernel's monitor", "error", err,
				"total", a.state.Counters.MonitorReadsFailed)
		}
		return monitor.Changes{}, false
	}
	if snapshot.RefusedTotal > 0 {
		a.refuseMonitor(snapshot.RefusedTotal, snapshot.Refused[0].String())
	}
	a.mark(&snapshot)
	if !regular {
		return a.aggregator.ObserveStarts(snapshot, nowUS), true
	}
	return a.aggregator.Observe(snapshot, nowUS), true
}

func (a *Agent) refuseMonitor(lines uint64, why string) {
	a.state.LastRefusal = "the kernel's monitor: " + why
	if sparselog.Add(&a.state.Counters.MonitorLinesRefused, lines) {
		a.cfg.Logger.Warn("refused monitor lines", "total", a.state.Counters.MonitorLinesRefused, "last", why)
	}
}
