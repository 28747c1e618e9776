// SPDX-License-Identifier: Apache-2.0

// Package agent is the access point's agent between its edges: associations of hostapd, samples of the kernel and
// commands of the controller come in, reports go out, EDCA parameters, limits of windows and categories of packets go
// to the kernel and to hostapd. Every method gets the time; one goroutine calls them all.
package agent

import (
	"errors"
	"log/slog"
	"maps"
	"time"

	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/neighbours"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/lease"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	triggerNone     = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_UNSPECIFIED
	triggerInterval = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_INTERVAL
	triggerJoined   = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_JOINED
	triggerLeft     = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_STATION_LEFT
	triggerSenders  = airboundv1.AccessPointReportTrigger_ACCESS_POINT_REPORT_TRIGGER_SENDERS
)

// SecondReportAfter is the time between the first and the second report of a stream: the controller computes rates from
// two reports and sends no bounds before. It is long enough for a rate that means something (some 100 frames of one
// sender).
const SecondReportAfter = 300 * time.Millisecond

// Config is what an agent is made of. Every field is needed but LookInterval, Windows, StationFlows, CheckAsked
// and DatapathID.
type Config struct {
	Version string
	// Interval is the time between two reports.
	Interval time.Duration
	// LookInterval is how often it is looked in between whether a station began to send or stopped; 0: never.
	LookInterval time.Duration
	Sampler      Sampler
	// EstimateAirtime makes every airtime an estimate, whatever the driver has.
	EstimateAirtime bool
	// RefreshAssociations requests hostapd's list again; called when it differs from the kernel's table.
	RefreshAssociations func()
	// Malformed counts input that was refused.
	Malformed *sparselog.Counter
	EDCA      EDCA
	Windows   Windows
	// StationFlows is the way to give packets to stations another access category.
	StationFlows StationFlows
	// CheckAsked returns a check that somebody asks for here, and takes the request away; nil if there is none.
	CheckAsked func() *status.CheckRequest
	// DatapathID returns that of the OpenFlow switch that the BSS is a port of, 0 if there is none; nil if none is
	// named.
	DatapathID func() uint64
	Logger     *slog.Logger
}

// Agent is the agent of one BSS.
type Agent struct {
	cfg          Config
	reporter     report.Reporter
	associations hostapd.Associations
	connected    bool
	// pending is what has happened and is not reported yet.
	pending airboundv1.AccessPointReportTrigger
	// nextReportUS is when a report is due even if nothing happens.
	nextReportUS int64
	secondIsDue  bool

	account *account
	queues  queues
	limits  limits
	flows   flows
	held    held

	// recent are the stations that hostapd's events were about a moment ago. The kernel's flags follow the events.
	recent   map[mac.Address]recentEvent
	arrivals arrivals
	activity activity

	lastSampleError string
	addressesFailed uint64
	surveysRefused  uint64
}

// recentEvent is what hostapd's last event said of a station.
type recentEvent struct {
	authorized bool
	endsUS     int64
}

// eventsPrecede is how long a station is what hostapd's event said, whatever the kernel says, if hostapd has no list.
// hostapd reports first and then changes the kernel's table, within milliseconds.
const eventsPrecede = time.Second

// New makes an agent without a controller. It writes back what an earlier one left.
func New(cfg Config, nowUS int64) *Agent {
	a := &Agent{
		cfg:      cfg,
		reporter: report.Reporter{AgentVersion: cfg.Version, EstimateAirtime: cfg.EstimateAirtime},
		recent:   map[mac.Address]recentEvent{},
		arrivals: arrivals{until: map[mac.Address]int64{}},
		account:  newAccount(cfg),
	}
	a.queues = queues{cfg: cfg.EDCA, logger: cfg.Logger, account: a.account, malformed: cfg.Malformed}
	a.limits, a.flows = newLimits(cfg), newFlows(cfg)
	a.limits.start(nowUS)
	a.flows.start(nowUS)
	a.queues.start(nowUS)
	a.save(nowUS)
	return a
}

// Connected begins a stream to the controller. The next Wake reports.
func (a *Agent) Connected(nowUS int64) {
	a.connected, a.secondIsDue = true, true
	a.pending, a.nextReportUS = triggerNone, nowUS
	a.activity.start(nowUS)
	for _, held := range a.held.all() {
		held.Drop()
	}
	a.limits.connected()
	a.flows.connected()
	a.queues.connected(true)
	a.save(nowUS)
}

// ConnectionFailed takes over why there is no stream, for the status.
func (a *Agent) ConnectionFailed(nowUS int64, err error) {
	a.account.failing("controller: "+err.Error(), &a.account.connectionError)
	a.save(nowUS)
}

// Interfaces are the indexes of the BSS's interfaces by the last report.
func (a *Agent) Interfaces() []uint32 { return a.arrivals.interfaces }

// Disconnected ends the stream. Without a controller nothing is sampled; a set in force stays under its lease.
func (a *Agent) Disconnected(nowUS int64) {
	a.connected = false
	a.setMode(nowUS, airboundv1.CellMode_CELL_MODE_UNSPECIFIED)
	a.account.due = a.account.checks.disconnected() || a.account.due
	a.queues.connected(false)
	a.save(nowUS)
}

// Mode takes over the controller's mode of this cell, which every response has.
func (a *Agent) Mode(nowUS int64, mode airboundv1.CellMode) {
	a.setMode(nowUS, mode)
	a.save(nowUS)
}

func (a *Agent) setMode(nowUS int64, mode airboundv1.CellMode) {
	if a.account.periods.is(nowUS, mode) {
		a.account.due = true
	}
}

// held are the sets that came too fast, by their kind.
type held struct {
	edca, windows, flows lease.Held[airboundv1.AccessPointCommand]
}

func (h *held) all() []*lease.Held[airboundv1.AccessPointCommand] {
	return []*lease.Held[airboundv1.AccessPointCommand]{&h.edca, &h.windows, &h.flows}
}

// Command executes a command of the controller, or soon the last of those that come too fast.
func (a *Agent) Command(nowUS int64, whole *airboundv1.AccessPointCommand) {
	if !a.admits(nowUS, whole) {
		a.account.state.Counters.SetsHeldBack++
		return
	}
	a.execute(nowUS, whole)
	a.save(nowUS)
}

func (a *Agent) admits(nowUS int64, whole *airboundv1.AccessPointCommand) bool {
	switch command := whole.GetCommand().(type) {
	case *airboundv1.AccessPointCommand_SetEdca:
		removes := len(command.SetEdca.GetQueues())+len(command.SetEdca.GetStations()) == 0
		return a.held.edca.Admit(nowUS, whole, removes && a.queues.lease.InForce().Generation != 0)
	case *airboundv1.AccessPointCommand_SetWindows:
		removes := len(command.SetWindows.GetLimits()) == 0
		return a.held.windows.Admit(nowUS, whole, removes && a.limits.isInForce())
	case *airboundv1.AccessPointCommand_SetStationFlows:
		removes := len(command.SetStationFlows.GetFlows()) == 0
		return a.held.flows.Admit(nowUS, whole, removes && a.flows.isInForce())
	default:
		return true // It is refused.
	}
}

func (a *Agent) executeHeld(nowUS int64) {
	for _, held := range a.held.all() {
		if command := held.Due(nowUS); command != nil {
			a.execute(nowUS, command)
		}
	}
}

func (a *Agent) execute(nowUS int64, whole *airboundv1.AccessPointCommand) {
	switch command := whole.GetCommand().(type) {
	case *airboundv1.AccessPointCommand_SetWindows:
		a.limits.command(nowUS, command.SetWindows)
	case *airboundv1.AccessPointCommand_SetStationFlows:
		a.flows.command(nowUS, command.SetStationFlows)
	default:
		a.queues.command(nowUS, whole)
	}
}

func (a *Agent) save(nowUS int64) { a.account.save(nowUS, &a.queues, &a.limits, &a.flows) }

// Stop restores the access point's own EDCA parameters, and ends all limits of windows and categories of packets. It
// may be called again after an error.
func (a *Agent) Stop(nowUS int64) error {
	err := errors.Join(a.limits.stop(), a.flows.stop(), a.queues.stop(nowUS))
	a.save(nowUS)
	return err
}

// Update takes over hostapd's associations. The next Wake reports if a station has joined or left; of several changes
// that wait, one report is made.
func (a *Agent) Update(nowUS int64, update hostapd.Update) {
	a.associations = update.Associations
	a.forgetRecent(nowUS)
	if station := update.Change.Station; !station.IsZero() {
		a.recent[station] = recentEvent{authorized: update.Change.Joined, endsUS: nowUS + eventsPrecede.Microseconds()}
	}
	a.queues.hostapdAttached(update.Associations.Attached())
	if update.Enabled {
		a.queues.hostapdStarted(nowUS)
		a.save(nowUS)
	}
	switch {
	case update.Change.Joined:
		a.pending = triggerJoined
	case update.Change.Left && a.pending == triggerNone:
		a.pending = triggerLeft
	}
}

// NextWakeUS is when Wake must be called at the latest; math.MaxInt64 if there is nothing to do.
func (a *Agent) NextWakeUS() int64 {
	nextUS := min(a.queues.nextWakeUS(), a.limits.nextWakeUS(), a.flows.nextWakeUS())
	for _, held := range a.held.all() {
		nextUS = min(nextUS, held.NextUS())
	}
	switch {
	case !a.connected:
		return nextUS
	case a.pending != triggerNone, a.queues.changed, a.limits.changed, a.flows.changed:
		return 0
	default:
		nextUS = min(nextUS, a.nextReportUS)
		if a.cfg.LookInterval > 0 {
			nextUS = min(nextUS, a.activity.nextLookUS)
		}
		return a.nextArrivalsLookUS(nextUS)
	}
}

// Wake does what is due, and returns a report if one is. nowUS is CLOCK_MONOTONIC.
func (a *Agent) Wake(nowUS int64) *airboundv1.AccessPointReport {
	a.limits.wake(nowUS)
	a.flows.wake(nowUS)
	a.queues.wake(nowUS)
	a.executeHeld(nowUS)
	a.save(nowUS)
	a.lookForArrivals(nowUS)
	a.lookAtActivity(nowUS)
	trigger := a.pending
	if trigger == triggerNone && (a.queues.changed || a.limits.changed || a.flows.changed) {
		trigger = triggerInterval // The contract has no trigger of its own for it.
	}
	a.pending, a.queues.changed, a.limits.changed, a.flows.changed = triggerNone, false, false, false
	if !a.connected {
		return nil
	}
	if nowUS >= a.nextReportUS {
		a.scheduleNext(nowUS)
		if trigger == triggerNone {
			trigger = triggerInterval
		}
	}
	if trigger == triggerNone {
		return nil
	}
	return a.report(nowUS, trigger)
}

func (a *Agent) scheduleNext(nowUS int64) {
	period := a.cfg.Interval
	if a.secondIsDue {
		period, a.secondIsDue = min(period, SecondReportAfter), false
	}
	a.nextReportUS += period.Microseconds()
	if a.nextReportUS <= nowUS { // After a suspend: one report, not all that were missed.
		a.nextReportUS = nowUS + period.Microseconds()
	}
}

func (a *Agent) report(nowUS int64, trigger airboundv1.AccessPointReportTrigger) *airboundv1.AccessPointReport {
	check := a.askForCheck(nowUS)
	snapshot, err := a.cfg.Sampler.Snapshot()
	if err != nil {
		if text := err.Error(); text != a.lastSampleError {
			a.cfg.Logger.Warn("cannot read the BSS", "error", err)
			a.lastSampleError = text
		}
		a.account.failing("kernel: "+err.Error(), &a.account.sampleError)
		a.save(nowUS)
		return nil
	}
	a.lastSampleError = ""
	a.queues.observe(nowUS, snapshot)
	a.limits.observe(nowUS, snapshot)
	a.flows.observe(nowUS, snapshot)
	a.forgetRecent(nowUS)
	if trigger == triggerInterval && a.differs(snapshot.Stations) {
		a.cfg.RefreshAssociations()
	}
	recent := report.Recent{}
	if a.cfg.LookInterval > 0 {
		recent = a.activity.reported(nowUS, snapshot.Stations)
		a.activity.nextLookUS = nowUS + a.cfg.LookInterval.Microseconds()
	}
	message := a.reporter.Next(report.Sample{
		MonotonicUS: uint64(max(nowUS, 0)), Kernel: snapshot, Addresses: a.addresses(snapshot.Indexes()),
		IsAuthorized: a.isAuthorized, Trigger: trigger, MalformedInputsTotal: a.cfg.Malformed.Total(),
		EDCA: a.queues.message(), Recent: recent,
	})
	a.limits.report(message)
	message.StationFlows, message.Check = a.flows.message(), check
	if a.cfg.DatapathID != nil {
		message.DatapathId = a.cfg.DatapathID()
	}
	if refusal := message.GetSurveyRefusal(); refusal != "" && sparselog.Add(&a.surveysRefused, 1) {
		a.cfg.Logger.Warn("refused the driver's survey of the channel", "reason", refusal, "total", a.surveysRefused)
	}
	a.arrivals.observe(snapshot, message.GetStations())
	a.account.reported(nowUS, message, snapshot.Interface)
	a.save(nowUS)
	return message
}

// addresses returns nil if the neighbour table could not be read: a report without addresses is better than none.
func (a *Agent) addresses(indexes []uint32) neighbours.Table {
	table, err := a.cfg.Sampler.Addresses(indexes[0], indexes[1:]...)
	if err != nil {
		if sparselog.Add(&a.addressesFailed, 1) {
			a.cfg.Logger.Warn("cannot read the stations' IP addresses", "error", err, "total", a.addressesFailed)
		}
		return nil
	}
	return table
}

func (a *Agent) forgetRecent(nowUS int64) {
	maps.DeleteFunc(a.recent, func(_ mac.Address, event recentEvent) bool { return nowUS >= event.endsUS })
}

// isAuthorized is by hostapd's list, which its events keep up to date; without one, by the last event or the kernel.
func (a *Agent) isAuthorized(station *nl80211.Station) bool {
	if a.associations.Known() {
		return a.associations.Has(station.MAC)
	}
	if event, is := a.recent[station.MAC]; is {
		return event.authorized
	}
	return station.Authorized
}

// differs reports whether the kernel's associated stations are others than hostapd's.
func (a *Agent) differs(stations []nl80211.Station) bool {
	if !a.associations.Known() {
		return false
	}
	common := 0
	for i := range stations {
		switch {
		case !stations[i].Associated:
		case a.associations.Has(stations[i].MAC):
			common++
		default:
			return true
		}
	}
	return common != a.associations.Len()
}
