// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"cmp"
	"log/slog"
	"reflect"
	"strings"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/report"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/sparselog"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// The state file is written at once when the set in force, or its reason, has changed. Others are written later: a
// renewed lease once half of the lease last written is over; what the stations do, every stationsSavedUS; counters, and
// the time of the last report, every countersSavedUS.

const countersSavedUS = 10_000_000

// account is what `airbound-ap status` shows of the agent.
type account struct {
	state  status.State
	write  func(status.State) error
	logger *slog.Logger
	// due is whether the state file must be written now.
	due bool
	// What is in the state file, and since when.
	savedCounters     status.Counters
	savedLastReportUS int64
	savedAtUS         int64
	// Why the last attempt to connect and to read the BSS failed; empty since one succeeded.
	connectionError, sampleError string
	stations                     stationAccount
	periods                      periods
	checks                       checks
}

func newAccount(cfg Config) *account {
	a := &account{state: cfg.EDCA.State, write: cfg.EDCA.SaveState, logger: cfg.Logger, due: true}
	a.state.Schema, a.checks.asked = status.Schema, cfg.CheckAsked
	return a
}

// explain replaces the reason for the EDCA parameters in force, with one of the agent's own.
func (a *account) explain(reason string) {
	a.state.Reason, a.state.ReasonCode, a.due = reason, "", true
}

// reported puts a report into the state file.
func (a *account) reported(nowUS int64, message *airboundv1.AccessPointReport, kernel nl80211.Interface) {
	bss := status.BSS{
		BSSID: mac.Address(message.GetBssid()).String(), SSID: printable(message.GetSsid()),
		FrequencyMHz: kernel.FrequencyMHz, Band: report.BandName(report.BandOf(kernel.FrequencyMHz)),
		StationsReported: len(message.GetStations()), LastReportUS: nowUS,
	}
	for _, link := range message.GetLinks() {
		bss.Links = append(bss.Links, link.GetLinkId())
	}
	known := a.state.BSS
	known.LastReportUS = nowUS
	a.due = a.due || !reflect.DeepEqual(known, bss)
	a.state.BSS = bss
	a.due = a.stations.reported(nowUS, message.GetStations()) || a.due
	// After a time without reports, rates are means over all of it.
	if elapsedUS := a.stations.elapsedUS; elapsedUS > 0 && elapsedUS < 2*stationsSavedUS {
		a.periods.add(nowUS, elapsedUS, a.stations.rows)
	}
	a.failing("", &a.sampleError)
}

// printable is an SSID for a person and for JSON: 802.11 does not promise text.
func printable(ssid []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == '\x7f' {
			return '\ufffd'
		}
		return r
	}, strings.ToValidUTF8(string(ssid), "\ufffd"))
}

// failing takes over one of the two errors of the status; an empty text ends it.
func (a *account) failing(text string, which *string) {
	*which = text
	if last := cmp.Or(a.sampleError, a.connectionError); last != a.state.LastError {
		a.state.LastError, a.due = last, true
	}
}

// renewed makes the state file be written if the lease in it is half over.
func (a *account) renewed(nowUS int64, leaseMS uint32) {
	if a.state.LeaseEndsUS-nowUS < int64(leaseMS)*usPerMS/2 {
		a.due = true
	}
}

// save writes the state file if that is due.
func (a *account) save(nowUS int64, queues *queues, limits *limits, flows *flows) {
	isNews := a.state.Counters != a.savedCounters || a.state.LastReportUS != a.savedLastReportUS
	countersOld := isNews && nowUS-a.savedAtUS >= countersSavedUS
	if !a.due && !countersOld && !limits.due && !flows.due {
		return
	}
	a.state.Windows, a.state.StationFlows = limits.saved(), flows.saved()
	a.state.Devices = a.stations.limited(limits.lease.InForce().Entries)
	a.periods.describe(&a.state)
	a.state.Check = a.checks.saved()
	queues.describe(&a.state)
	a.state.WrittenUS = nowUS
	// After a failure as well: with a full disk, one try for each countersSavedUS is enough. The failure is counted,
	// which makes the next try due.
	a.due, a.savedCounters, a.savedLastReportUS, a.savedAtUS = false, a.state.Counters, a.state.LastReportUS, nowUS
	err := a.write(a.state)
	if err != nil && sparselog.Add(&a.state.Counters.StateWritesFailed, 1) {
		a.logger.Warn("cannot write the state file", "error", err, "total", a.state.Counters.StateWritesFailed)
	}
}
