// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/status"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// ArrivalReport is a command of the controller's as the report of a source.
func ArrivalReport(command *airboundv1.Arrived) (events.Report, error) {
	const bssidOctets = 6
	bssid := net.HardwareAddr(command.GetBssid())
	if len(bssid) != bssidOctets {
		return events.Report{}, fmt.Errorf("arrived: bssid has %d octets, want %d", len(bssid), bssidOctets)
	}
	return events.Report{Kind: events.Association, Place: bssid.String()}, nil
}

// ArrivalReported takes over that a source reported an arrival, or err: that an input of a source was none.
func (a *Agent) ArrivalReported(nowUS int64, event events.Event, outcome events.Outcome, err error) {
	switch {
	case err != nil:
		a.state.Counters.ArrivalsRefused++
		a.state.LastRefusal = "arrival: " + err.Error()
	case outcome == events.Merged:
		a.state.Counters.ArrivalsMerged++
	default:
		a.state.Counters.Arrivals++
		a.state.LastArrival = &event
		a.saved.due = true
	}
	a.save(nowUS)
}

// Retransmitted counts what was done for the phone's connections after an arrival.
func (a *Agent) Retransmitted(outcome arrival.Outcome) {
	a.state.Counters.ArrivalsUnanswered += outcome.Unanswered
	a.state.Counters.ArrivalsAtOnce += outcome.AtOnce
	a.state.Counters.ArrivalMessages += outcome.Messages
	a.state.Counters.ArrivalMessagesRefused += outcome.Refused
	a.state.Counters.ArrivalsUnsent += outcome.Unsent
}

// ServersAsked counts what was done for the phone's downloads after an arrival.
func (a *Agent) ServersAsked(outcome arrival.DownloadsOutcome) {
	a.state.Counters.DownloadsSilent += outcome.Silent
	a.state.Counters.DownloadsResumed += outcome.Resumed
	a.state.Counters.ServerMessages += outcome.Messages
	a.state.Counters.ServerMessagesRefused += outcome.Refused
	a.state.Counters.DownloadsUnsent += outcome.Unsent
}

// DownloadsBy takes over what makes servers retransmit after arrivals.
func (a *Agent) DownloadsBy(nowUS int64, by status.Retransmission) {
	a.state.Downloads = by
	a.saved.due = true
	a.save(nowUS)
}

// RetransmissionBy takes over what makes TCP retransmit after arrivals.
func (a *Agent) RetransmissionBy(nowUS int64, by status.Retransmission) {
	a.state.Retransmission = by
	a.saved.due = true
	a.save(nowUS)
}

// Answered takes over that a connection which waited at an arrival has been answered, so long after it.
func (a *Agent) Answered(nowUS int64, silence time.Duration) {
	milliseconds := uint64(max(0, silence.Milliseconds()))
	a.state.LastSilenceMS = milliseconds
	a.state.Counters.ArrivalsAnswered++
	a.state.Counters.ArrivalSilenceMS += milliseconds
	a.saved.due = true
	a.save(nowUS)
}

// arrivals is what is reported of them; nil while there was none.
func (a *Agent) arrivals(nowUS int64) *airboundv1.Arrivals {
	last := a.state.LastArrival
	if last == nil {
		return nil
	}
	counters, ageUS := a.state.Counters, max(0, nowUS-last.AtUS)
	source := slices.Index(events.Sources(), last.Source) + 1 // The first is unspecified.
	return &airboundv1.Arrivals{
		ArrivalsTotal: counters.Arrivals, MergedReportsTotal: counters.ArrivalsMerged,
		WaitingConnectionsTotal: counters.ArrivalsUnanswered, RetransmissionsTotal: counters.ArrivalsAtOnce,
		LastSource: airboundv1.ArrivalSource(source), //nolint:gosec // one of few
		LastAgeMs:  uint64(ageUS) / 1000,
		BackEnd:    retransmissionOf(a.state.Retransmission.By), AnsweredTotal: counters.ArrivalsAnswered,
		SilenceMsTotal: counters.ArrivalSilenceMS, LastSilenceMs: a.state.LastSilenceMS,
		SilentDownloadsTotal: counters.DownloadsSilent, ResumedDownloadsTotal: counters.DownloadsResumed,
		ServerMessagesTotal: counters.ServerMessages,
	}
}

func retransmissionOf(by string) airboundv1.Retransmission {
	switch by {
	case arrival.Requests:
		return airboundv1.Retransmission_RETRANSMISSION_REQUESTS
	case arrival.Messages:
		return airboundv1.Retransmission_RETRANSMISSION_MESSAGES
	case status.TimersOnly:
		return airboundv1.Retransmission_RETRANSMISSION_TIMERS
	}
	return airboundv1.Retransmission_RETRANSMISSION_UNSPECIFIED
}
