// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"math"
	"time"

	"github.com/airbound/airbound/phone-agent/monitor"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	triggerInterval       = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_INTERVAL
	triggerStartedSending = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STARTED_SENDING
	triggerStoppedSending = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_STOPPED_SENDING
	triggerBoundsChanged  = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_BOUNDS_CHANGED
	triggerRTTRatio       = airboundv1.TerminalReportTrigger_TERMINAL_REPORT_TRIGGER_RTT_RATIO_CHANGED
)

// Limits of the times between reports, for flags and for SetReporting.
const (
	IntervalMin  = 100 * time.Millisecond
	IntervalMax  = time.Minute
	HeartbeatMin = time.Second
	HeartbeatMax = 10 * time.Minute
)

// reporting is when reports are sent.
type reporting struct {
	interval, heartbeat time.Duration
	// 0 reports no change of an RTT ratio at once.
	rttRatioChangePermille uint32
}

func ownReporting(cfg Config) reporting {
	return reporting{interval: cfg.Interval, heartbeat: cfg.Heartbeat}
}

// setReporting is in force until the stream ends; a field of 0 leaves the agent's own setting.
func (a *Agent) setReporting(nowUS int64, command *airboundv1.SetReporting) error {
	next := ownReporting(a.cfg)
	if ms := command.GetIntervalMs(); ms != 0 {
		next.interval = time.Duration(ms) * time.Millisecond
		if next.interval < IntervalMin || next.interval > IntervalMax {
			return fmt.Errorf("set_reporting: interval_ms %d is not within %v to %v", ms, IntervalMin, IntervalMax)
		}
	}
	if ms := command.GetHeartbeatMs(); ms != 0 {
		next.heartbeat = time.Duration(ms) * time.Millisecond
		if next.heartbeat < HeartbeatMin || next.heartbeat > HeartbeatMax {
			return fmt.Errorf("set_reporting: heartbeat_ms %d is not within %v to %v", ms, HeartbeatMin, HeartbeatMax)
		}
	}
	next.rttRatioChangePermille = command.GetRttRatioChangePermille()
	a.reporting = next
	a.nextSampleUS = max(nowUS, min(a.nextSampleUS, a.reportDueUS()))
	a.cfg.Logger.Info("the controller set the reporting", "interval", next.interval, "heartbeat", next.heartbeat,
		"rtt_ratio_change_permille", next.rttRatioChangePermille)
	return nil
}

// reportDueUS is when a report is due even if nothing happens. It means nothing without a stream.
func (a *Agent) reportDueUS() int64 {
	if a.first {
		return math.MinInt64
	}
	period, fromUS := a.reporting.interval, a.streamUS
	idle := !a.aggregator.Sending() && a.lease.InForce().Generation == 0 && a.flows.lease.InForce().Generation == 0
	if idle {
		period = a.reporting.heartbeat
		fromUS += int64(a.heartbeatPhase * float64(period.Microseconds()))
	}
	// All phones of a cell are sent new bounds at the same moment, and other things happen to all of them at once. If
	// each counted its period from there, they would all report, and contend for the air, at the same moments ever
	// after. So the period counts from the beginning of the stream; that of a heartbeat, from a random moment of the
	// first one.
	periodUS := period.Microseconds()
	sinceUS := a.lastReportUS + periodUS/2 - fromUS
	return fromUS + (sinceUS+periodUS-1)/periodUS*periodUS
}

// samplePeriod is short while anything is being sent. An idle kernel is sampled more often than reported, so that the
// start of sending is reported soon.
func (a *Agent) samplePeriod() time.Duration {
	if a.connected && a.aggregator.Sending() {
		return min(a.cfg.SampleInterval, a.reporting.interval)
	}
	return a.cfg.Interval
}

// triggerOf returns the most important of the changes.
func (a *Agent) triggerOf(changes monitor.Changes) airboundv1.TerminalReportTrigger {
	permille := a.reporting.rttRatioChangePermille
	switch {
	case a.first:
		return triggerInterval
	case changes.StartedSending:
		return triggerStartedSending
	case changes.StoppedSending:
		return triggerStoppedSending
	case a.boundsChanged:
		return triggerBoundsChanged
	case permille > 0 && a.aggregator.RTTRatioMoved(permille):
		return triggerRTTRatio
	default:
		return triggerInterval
	}
}
