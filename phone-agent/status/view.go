// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/airbound/airbound/internal/identity"
	"github.com/airbound/airbound/internal/reasontext"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/flows"
)

// View is everything `airbound-phone status` shows.
type View struct {
	Running bool `json:"running"`
	// Nil if no agent ever wrote one here.
	State *State `json:"state"`
	// The rules in force in the kernel; nil if they could not be read, and then LiveError is why.
	Live      []apply.LiveRule `json:"live_rules"`
	LiveError string           `json:"live_rules_error,omitempty"`
	// Why the rules have no counts of how often they changed a window.
	NoEffects string `json:"no_effects,omitempty"`
	// At least this much of the lease is left; 0 without bounds.
	LeaseLeftMS int64 `json:"lease_left_ms"`
	// Whether other rules are in force than the agent set.
	Differs bool `json:"live_rules_differ"`
	// Nil if no agent ever wrote about its certificate here.
	Credentials *identity.Status `json:"credentials"`
}

// NewView puts the parts together. nowUS is CLOCK_BOOTTIME.
func NewView(running bool, state *State, live apply.Live, liveErr error, nowUS int64) View {
	view := View{Running: running, State: state, Live: live.Rules, NoEffects: live.NoEffects}
	if liveErr != nil {
		view.Live, view.LiveError = nil, liveErr.Error()
	}
	if state == nil || !running {
		return view
	}
	if state.Generation != 0 {
		view.LeaseLeftMS = max(0, (state.LeaseEndsUS-nowUS)/1000)
	}
	view.Differs = liveErr == nil && !sameRules(live.RulesOf(), state.Rules)
	return view
}

func sameRules(a, b []bounds.Rule) bool {
	order := func(x, y bounds.Rule) int { return cmp.Compare(x.String(), y.String()) }
	return slices.Equal(slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order))
}

// Text is the view for a person.
func (v View) Text() string {
	var text strings.Builder
	line := func(label, format string, values ...any) {
		fmt.Fprintf(&text, "%-12s %s\n", label, fmt.Sprintf(format, values...))
	}
	switch {
	case v.Running && v.State != nil:
		v.State.describe(line)
	case v.Running:
		line("agent", "running; it has not written its state yet")
	case v.State == nil:
		line("agent", "not running")
	case v.State.Stopped:
		line("agent", "not running; it stopped in order and restored the kernel's defaults")
	default:
		line("agent", "not running; it did not stop in order (pid was %d)", v.State.PID)
	}
	if v.LeaseLeftMS > 0 {
		line("lease", "at least %.1f s left", (time.Duration(v.LeaseLeftMS) * time.Millisecond).Seconds())
	}
	v.Credentials.Describe(line)
	v.describeLive(line)
	return text.String()
}

type printer func(label, format string, values ...any)

func (s *State) describe(line printer) {
	line("agent", "running, pid %d, version %s", s.PID, s.Version)
	connection := "not connected"
	if s.Connected {
		connection = "connected"
	}
	line("controller", "%s, %s", s.Controller, connection)
	line("terminal", "%s", strings.TrimSpace(s.MAC+" "+s.Interface))
	if s.BSSID != "" {
		line("network", "%q, access point %s", s.SSID, s.BSSID)
	}
	line("back end", "%s", s.BackEnd)
	line("starts", "%s", s.Starts)
	if s.Generation == 0 {
		line("bounds", "none: the kernel's defaults are in force")
	} else {
		line("bounds", "generation %d, %s", s.Generation, counted(uint64(len(s.Rules)), "rule"))
	}
	if s.Reason != "" {
		line("because", "%s", s.Reason)
	}
	if inputs := reasontext.Inputs(s.ActiveSenders, s.CapacityBPS); inputs != "" {
		line("inputs", "%s", inputs)
	}
	if s.RestoreError != "" {
		line("warning", "the kernel's defaults could not be restored, trying again: %s", s.RestoreError)
	}
	c := s.Counters
	line("refused", "%s, %s", counted(c.MonitorLinesRefused, "monitor line"), counted(c.CommandsRefused, "command"))
	if s.LastRefusal != "" {
		line("", "last: %s", s.LastRefusal)
	}
	line("since start", "%d sets applied, %d failed; %d leases ended; %d renewals ignored; %d external changes",
		c.SetsApplied, c.ApplyFailures, c.LeasesEnded, c.RenewalsIgnored, c.ExternalChanges)
	if c.SetsHeldBack > 0 {
		line("", "%d sets held back, more than 10 came in a second", c.SetsHeldBack)
	}
	s.describeArrivals(line)
	s.Flows.describe(line, c)
	if s.Applications != nil {
		s.Applications.describe(line, c)
	}
}

func (f *Flows) describe(line printer, c Counters) {
	switch {
	case f.Can.Max() > 0:
		line("flows", "can be given %s", f.Can)
	case f.Can.Refusal != "":
		line("flows", "leave as they are: %s", f.Can.Refusal)
	}
	if f.Generation != 0 {
		line("", "generation %d, %s", f.Generation, counted(uint64(len(f.InForce)), "flow"))
	}
	for _, flow := range f.InForce {
		line("", "%s", flow)
	}
	if f.AdmittedUSPerS > 0 {
		line("", "the driver has %d us/s admitted", f.AdmittedUSPerS)
	}
	if f.Reason != "" {
		line("", "because: %s", f.Reason)
	}
	if f.Failure != "" {
		line("warning", "%s", f.Failure)
	}
	if f.Counters != (flows.Counters{}) || c.FlowSetsRefused+c.FlowFailures+c.FlowLeasesEnded > 0 {
		line("", "%s in another category, %d of UDP dropped; sets: %d refused, %d failed, %d ended",
			counted(f.Counters.Marked, "packet"), f.Counters.Dropped, c.FlowSetsRefused, c.FlowFailures,
			c.FlowLeasesEnded)
	}
}

func (a *Applications) describe(line printer, c Counters) {
	line("classes", "by %s, %s; %s not installed", a.Table, counted(a.Entries, "line"),
		counted(a.NotInstalled, "package"))
	if a.LinesRefused+a.PackagesRefused > 0 {
		line("", "left out: %s of it, %d of the list of packages", counted(a.LinesRefused, "line"), a.PackagesRefused)
	}
	if a.Conflicts > 0 {
		line("", "%s shared by packages of different classes: the default", counted(a.Conflicts, "user id"))
	}
	if a.DSCPError != "" {
		line("", "%s without DSCPs: %s", counted(c.DSCPReadsFailed, "sample"), a.DSCPError)
	}
	for each := range strings.SplitSeq(a.Error, "\n") {
		if each != "" {
			line("", "%s", each)
		}
	}
}

func (s *State) describeArrivals(line printer) {
	c := s.Counters
	if s.Retransmission.By != "" {
		line("retransmits", "%s", s.Retransmission)
	}
	if s.Downloads.By != "" {
		line("downloads", "%s", s.Downloads)
	}
	if c.Arrivals+c.ArrivalsRefused == 0 {
		return
	}
	line("arrivals", "%d; of %s that waited for TCP's timers, %d retransmitted at once",
		c.Arrivals, counted(c.ArrivalsUnanswered, "connection"), c.ArrivalsAtOnce)
	if c.ArrivalsAnswered > 0 {
		line("", "silence until the first answer: %d ms the last time, %d ms on average of %d",
			s.LastSilenceMS, c.ArrivalSilenceMS/c.ArrivalsAnswered, c.ArrivalsAnswered)
	}
	if c.ArrivalMessages+c.ArrivalMessagesRefused+c.ArrivalsUnsent > 0 {
		line("", "%s sent, %d refused by the kernel; %s too many, left to TCP's timers",
			counted(c.ArrivalMessages, "message"), c.ArrivalMessagesRefused, counted(c.ArrivalsUnsent, "connection"))
	}
	if c.DownloadsSilent > 0 {
		line("", "of %s that had stopped, %d went on within a second",
			counted(c.DownloadsSilent, "download"), c.DownloadsResumed)
		line("", "%s to servers, %d refused by the kernel; %s too many, left to their servers' timers",
			counted(c.ServerMessages, "message"), c.ServerMessagesRefused, counted(c.DownloadsUnsent, "download"))
	}
	if last := s.LastArrival; last != nil {
		where := last.Place
		if last.Interface != "" {
			where = strings.TrimSpace(last.Interface + " " + last.Place)
		}
		line("", "last: %s, reported by %s", strings.TrimSpace(string(last.Kind)+" "+where), last.Source)
	}
	if c.ArrivalsMerged+c.ArrivalsRefused > 0 {
		line("", "%s more of the same arrivals, %d refused", counted(c.ArrivalsMerged, "report"), c.ArrivalsRefused)
	}
}

// String names what makes the agent sample the kernel when a connection begins to send.
func (s Starts) String() string {
	if s.By == TraceEvents {
		return "seen at once, by the kernel's trace events"
	}
	return "seen by sampling: " + s.Why
}

// String names what makes TCP retransmit after an arrival.
func (r Retransmission) String() string {
	switch r.By {
	case arrival.Requests:
		return "after an arrival, by requests to the patched kernel"
	case arrival.Messages:
		return "after an arrival, by messages of the phone to itself (RFC 6069)"
	case arrival.ToServers:
		return "after an arrival, by messages to their servers (RFC 6069)"
	}
	return "by TCP's own timers alone: " + r.Why
}

func (v View) describeLive(line printer) {
	switch {
	case v.LiveError != "":
		line("kernel", "unknown: %s", v.LiveError)
	case len(v.Live) == 0:
		line("kernel", "no rule in force")
	}
	label := "kernel"
	for _, rule := range v.Live {
		text := rule.String()
		if effect := rule.Effect; effect != nil {
			text += fmt.Sprintf("; lowered a window %s, raised one %s", times(effect.Lowered), times(effect.Raised))
		}
		line(label, "%s", text)
		label = ""
	}
	if v.NoEffects != "" && len(v.Live) > 0 {
		line("", "how often they changed a window is unknown: %s", v.NoEffects)
	}
	switch {
	case v.Differs:
		line(
			"warning",
			"these are not the agent's rules: something else changed them; the agent's next set replaces them",
		)
	case !v.Running && len(v.Live) > 0:
		line("warning", "no agent renews or ends these rules; `airbound-phone cleanup` removes them")
	}
}

func times(count uint64) string {
	if count == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", count)
}

func counted(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
