// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/internal/identity"
)

// Account is what `airbound-ap status --json` prints.
type Account struct {
	Schema int    `json:"schema"`
	Agents []View `json:"agents"`
}

// View is everything `airbound-ap status` shows of one BSS.
type View struct {
	// Interface is that of the BSS.
	Interface string `json:"interface"`
	Running   bool   `json:"running"`
	// Nil if no agent ever wrote one here.
	State *State `json:"state"`
	// At least this much of the lease is left; 0 while own values are in force.
	LeaseLeftMS int64 `json:"lease_left_ms"`
	// The same of limits of windows.
	WindowsLeaseLeftMS int64 `json:"windows_lease_left_ms,omitempty"`
	// The same of packets' categories.
	StationFlowsLeaseLeftMS int64 `json:"station_flows_lease_left_ms,omitempty"`
	// Own values that an agent which ended has not written back; nil if there are none.
	NotRestored *edca.Record `json:"not_restored,omitempty"`
	// Nil if no agent ever wrote about its certificate here.
	Credentials *identity.Status `json:"credentials"`
}

// NewView puts the parts together. nowUS is CLOCK_MONOTONIC.
func NewView(running bool, state *State, record *edca.Record, nowUS int64) View {
	view := View{Running: running, State: state}
	if !running {
		view.NotRestored = record
		return view
	}
	if state != nil && state.Generation != 0 {
		view.LeaseLeftMS = max(0, (state.LeaseEndsUS-nowUS)/1000)
	}
	if state != nil && state.Windows != nil && state.Windows.Generation != 0 {
		view.WindowsLeaseLeftMS = max(0, (state.Windows.LeaseEndsUS-nowUS)/1000)
	}
	if state != nil && state.StationFlows != nil && state.StationFlows.Generation != 0 {
		view.StationFlowsLeaseLeftMS = max(0, (state.StationFlows.LeaseEndsUS-nowUS)/1000)
	}
	return view
}

// Text is the view for a person.
func (v View) Text() string {
	var text strings.Builder
	line := func(label, format string, values ...any) {
		fmt.Fprintf(&text, "%-12s %s\n", label, fmt.Sprintf(format, values...))
	}
	switch {
	case v.Running && v.State != nil:
		v.State.describe(line, v.LeaseLeftMS)
		v.State.Windows.describe(line, v.WindowsLeaseLeftMS)
		v.State.StationFlows.describe(line, v.StationFlowsLeaseLeftMS)
	case v.Running:
		line("agent", "running; it has not written its state yet")
	case v.State == nil:
		line("agent", "not running")
	case v.State.Stopped:
		line("agent", "not running; it stopped in order and wrote the access point's own values back")
	default:
		line("agent", "not running; it did not stop in order (pid was %d)", v.State.PID)
	}
	v.Credentials.Describe(line)
	if v.NotRestored != nil {
		line("warning", "the access point's own values were not written back; the next start of airbound-ap does it, "+
			"and so does a restart of hostapd")
		describe(line, "own values", v.NotRestored.Own)
		describe(line, "stations", v.NotRestored.OwnStations)
	}
	return text.String()
}

type printer func(label, format string, values ...any)

func (s *State) describe(line printer, leaseLeftMS int64) {
	line("agent", "running, pid %d, version %s", s.PID, s.Version)
	connection := "not connected"
	if s.Connected {
		connection = "connected"
	}
	line("controller", "%s, %s", s.Controller, connection)
	line("interface", "%s", s.Interface)
	s.BSS.describe(line)
	s.describePeriods(line)
	s.Check.describe(line)
	describeStations(line, s.Devices)
	if s.LastError != "" {
		line("error", "%s", s.LastError)
	}
	if s.Refusal != "" {
		line("can set", "no: %s", s.Refusal)
	} else {
		line("can set", "yes: best effort and background")
	}
	if s.StationsRefusal != "" {
		line("can announce", "no: %s", s.StationsRefusal)
	} else {
		line("can announce", "yes: best effort, background; video and voice by admission, or without advantage")
	}
	if s.Generation == 0 {
		line("EDCA", "the access point's own values are in force")
	} else {
		line("EDCA", "generation %d", s.Generation)
	}
	if s.Reason != "" {
		line("because", "%s", s.Reason)
	}
	if leaseLeftMS > 0 {
		line("lease", "at least %.1f s left", (time.Duration(leaseLeftMS) * time.Millisecond).Seconds())
	}
	describe(line, "in force", s.Queues)
	describe(line, "announced", s.Announced)
	describe(line, "own values", s.Own)
	line("", "from %s", s.OwnSource)
	wmm := "without WMM: DCF"
	if s.WMM {
		wmm = "with WMM"
	}
	line("stations", "%s", wmm)
	describe(line, "", s.Stations)
	if s.RestoreError != "" {
		line("warning", "the access point's own values could not be written back, trying again: %s", s.RestoreError)
	}
	c := s.Counters
	line("refused", "%s", counted(c.CommandsRefused, "command"))
	if s.LastRefusal != "" {
		line("", "last: %s", s.LastRefusal)
	}
	line("since start", "%d sets applied, %d failed; %d applied again; %d leases ended",
		c.SetsApplied, c.ApplyFailures, c.AppliedAgain, c.LeasesEnded)
	if c.SetsHeldBack > 0 {
		line("", "%d sets held back, more than 10 of a kind came in a second", c.SetsHeldBack)
	}
}

func (b *BSS) describe(line printer) {
	if b.LastReportUS == 0 {
		return
	}
	channel := "no channel"
	if b.FrequencyMHz != 0 {
		channel = fmt.Sprintf("%d MHz (%s)", b.FrequencyMHz, cmp.Or(b.Band, "no known band"))
	}
	if len(b.Links) > 0 {
		channel = "multi-link device with " + countedItems(len(b.Links), "link")
	}
	line("BSS", "%s %q, %s, %s", b.BSSID, b.SSID, channel, countedItems(b.StationsReported, "station"))
}

// describe prints one queue a line.
func describe(line printer, label string, queues []edca.Queue) {
	for _, queue := range queues {
		line(label, "%s", queue)
		label = ""
	}
}

func countedItems(n int, noun string) string { return counted(uint64(n), noun) } //nolint:gosec // a length

func counted(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
