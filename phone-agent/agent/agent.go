// SPDX-License-Identifier: Apache-2.0

// Package agent is the phone agent without its edges: snapshots of the kernel and commands of the controller come in,
// reports go out and rules go to the back end. Every method takes the time; none waits, and one goroutine calls them all.
package agent

import (
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// Config is what an agent is given for its life. Every field but Interface is needed.
type Config struct {
	Version    string
	PID        int
	Controller string
	Interface  string
	// Longest time between two reports.
	Interval time.Duration
	// Time between two looks at the kernel while anything is being sent. Idle, the agent looks once per Interval.
	SampleInterval time.Duration
	// ReadMonitor gives the text of /proc/net/tcp_monitor.
	ReadMonitor func() ([]byte, error)
	BackEnd     apply.BackEnd
	SaveState   func(status.State) error
	Logger      *slog.Logger
}

// Link is what the agent learns anew whenever it is connected to the controller.
type Link struct {
	// MAC address of the Wi-Fi interface. It may differ from the last: phones take another for each network.
	MAC string
	// Where the controller is. Connections to it are the agent's own and no destinations.
	Controllers []netip.AddrPort
}

// Agent is one terminal's agent.
type Agent struct {
	cfg        Config
	aggregator monitor.Aggregator
	lease      *bounds.Lease
	backEnd    *airboundv1.BackEnd
	state      status.State
	connected  bool
	sequence   uint64
	// When the kernel is next looked at, and when a report is next due whatever happens.
	nextSampleUS int64
	nextReportUS int64
	saved        savedState
}

// Start restores the kernel's defaults after a life that could not, and finds out what this kernel can do.
func Start(cfg Config, link Link, nowUS int64) (*Agent, error) {
	if err := cfg.BackEnd.CleanUp(); err != nil {
		return nil, fmt.Errorf("clean up after an earlier life: %w", err)
	}
	can, err := cfg.BackEnd.Up()
	if err != nil {
		return nil, err
	}
	text, err := cfg.ReadMonitor()
	if err != nil {
		return nil, fmt.Errorf("read the kernel's monitor (is the kernel patched?): %w", err)
	}
	if _, err := monitor.Parse(text); err != nil {
		return nil, fmt.Errorf("read the kernel's monitor: %w", err)
	}
	a := &Agent{
		cfg:     cfg,
		lease:   bounds.NewLease(can),
		backEnd: backEndMessage(can),
		state: status.State{
			Schema: status.Schema, Version: cfg.Version, PID: cfg.PID, Controller: cfg.Controller, Interface: cfg.Interface,
			MAC: link.MAC, BackEnd: backEndState(can), Reason: "the controller has not set bounds yet",
		},
		nextSampleUS: nowUS,
		nextReportUS: nowUS,
	}
	a.aggregator.Exclude(link.Controllers)
	a.saved.due = true
	a.save(nowUS)
	return a, nil
}

// heldLookUS is how often a lease is looked at. The lease's clock goes on while the machine sleeps, timers do not: the end of
// a lease in that time is found so long after waking up, at most.
const heldLookUS = 1_000_000

// NextWakeUS is when Wake must be called at the latest.
func (a *Agent) NextWakeUS(nowUS int64) int64 {
	if held := a.lease.Held(); held.Generation != 0 {
		return min(a.nextSampleUS, held.DeadlineUS, nowUS+heldLookUS)
	}
	return a.nextSampleUS
}

// Wake does what is due: ends a lease, looks at the kernel. It returns a report if one is to be sent now.
func (a *Agent) Wake(nowUS int64) *airboundv1.TerminalReport {
	a.expire(nowUS)
	var report *airboundv1.TerminalReport
	if nowUS >= a.nextSampleUS {
		a.retryRestore()
		report = a.sample(nowUS)
	}
	a.save(nowUS)
	return report
}

// Connected tells of a new stream to the controller. The next Wake reports.
func (a *Agent) Connected(nowUS int64, link Link) {
	a.connected = true
	a.lease.NewStream()
	a.aggregator.Exclude(link.Controllers)
	a.nextSampleUS, a.nextReportUS = nowUS, nowUS
	a.state.MAC, a.state.Connected = link.MAC, true
	a.state.Counters.ControllerConnected++
	a.saved.due = true
	a.save(nowUS)
}

// Disconnected tells that the stream ended. What holds, holds on until its lease ends.
func (a *Agent) Disconnected(nowUS int64) {
	a.connected = false
	a.state.Connected = false
	a.saved.due = true
	a.save(nowUS)
}

// Stop restores the kernel's defaults for good.
func (a *Agent) Stop(nowUS int64) error {
	a.lease.Drop()
	err := a.cfg.BackEnd.Close()
	a.state.Reason = "the agent stopped"
	a.state.Stopped = err == nil
	a.state.Connected = false
	if err != nil {
		a.state.RestoreError = err.Error()
	}
	a.saved.due = true
	a.save(nowUS)
	return err
}

// sample looks at the kernel and returns a report if something happened or the interval is over.
func (a *Agent) sample(nowUS int64) *airboundv1.TerminalReport {
	changes, known := a.observe(nowUS)
	period := a.cfg.Interval
	if a.connected && a.aggregator.Sending() {
		period = a.cfg.SampleInterval
	}
	a.nextSampleUS = nowUS + period.Microseconds()
	if !a.connected || !known {
		// Where nothing is known of now, nothing is said: the controller sees the last report age.
		return nil
	}
	trigger := triggerOf(changes)
	if trigger == airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL && nowUS < a.nextReportUS {
		a.nextSampleUS = min(a.nextSampleUS, a.nextReportUS)
		return nil
	}
	a.nextReportUS = nowUS + a.cfg.Interval.Microseconds()
	a.sequence++
	return &airboundv1.TerminalReport{
		Mac:                  a.state.MAC,
		Sequence:             a.sequence,
		BackEnd:              a.backEnd,
		Destinations:         a.aggregator.Destinations(),
		BoundsGeneration:     a.lease.Held().Generation,
		Trigger:              trigger,
		MalformedInputsTotal: a.state.Counters.Malformed(),
		AgentVersion:         a.cfg.Version,
	}
}

// observe tells what a look at the kernel brought, and whether it brought anything.
func (a *Agent) observe(nowUS int64) (monitor.Changes, bool) {
	text, err := a.cfg.ReadMonitor()
	if err != nil {
		if count(&a.state.Counters.MonitorReadsFailed, 1) {
			a.cfg.Logger.Error("cannot read the kernel's monitor", "error", err)
		}
		return monitor.Changes{}, false
	}
	snapshot, err := monitor.Parse(text)
	if err != nil {
		a.refuseMonitor(1, err.Error())
		return monitor.Changes{}, false
	}
	if snapshot.RefusedTotal > 0 {
		a.refuseMonitor(snapshot.RefusedTotal, snapshot.Refused[0].String())
	}
	return a.aggregator.Observe(snapshot, nowUS), true
}

func (a *Agent) refuseMonitor(lines uint64, why string) {
	a.state.LastRefusal = "/proc/net/tcp_monitor: " + why
	if count(&a.state.Counters.MonitorLinesRefused, lines) {
		a.cfg.Logger.Warn("refused monitor lines", "total", a.state.Counters.MonitorLinesRefused, "last", why)
	}
}

// count adds to a counter of something that may recur at every sample, and tells whether to log it: at the first and
// whenever the total passes a power of two.
func count(counter *uint64, n uint64) bool {
	before := *counter
	*counter += n
	return before == 0 || (before^*counter) > before
}
