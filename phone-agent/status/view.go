// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// View is everything `airbound-phone status` knows.
type View struct {
	Running bool `json:"running"`
	// Nil if no agent ever wrote one here.
	State *State `json:"state"`
	// What the kernel holds now; nil if it could not be read, and then LiveError says why.
	Live      []Rule `json:"live_rules"`
	LiveError string `json:"live_rules_error,omitempty"`
	// At least this much of the lease is left; 0 without bounds.
	LeaseLeftMS int64 `json:"lease_left_ms"`
	// Whether the kernel holds other rules than the agent set.
	Differs bool `json:"live_rules_differ"`
}

// NewView puts the parts together. nowUS is CLOCK_BOOTTIME.
func NewView(running bool, state *State, live []Rule, liveErr error, nowUS int64) View {
	view := View{Running: running, State: state, Live: live}
	if liveErr != nil {
		view.Live, view.LiveError = nil, liveErr.Error()
	}
	if state == nil || !running {
		return view
	}
	if state.Generation != 0 {
		view.LeaseLeftMS = max(0, (state.LeaseEndsUS-nowUS)/1000)
	}
	view.Differs = liveErr == nil && !sameRules(live, state.Rules)
	return view
}

func sameRules(a, b []Rule) bool {
	order := func(x, y Rule) int { return cmp.Compare(x.Selector, y.Selector) }
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
	line("back end", "%s", s.BackEnd)
	if s.Generation == 0 {
		line("bounds", "none: the kernel's defaults hold")
	} else {
		line("bounds", "generation %d, %s", s.Generation, counted(len(s.Rules), "rule"))
	}
	if s.Reason != "" {
		line("because", "%s", s.Reason)
	}
	if s.RestoreError != "" {
		line("warning", "the kernel's defaults could not be restored, trying again: %s", s.RestoreError)
	}
	c := s.Counters
	line("refused", "%s, %s", counted(int(c.MonitorLinesRefused), "monitor line"), counted(int(c.CommandsRefused), "command")) //nolint:gosec // shown only
	if s.LastRefusal != "" {
		line("", "last: %s", s.LastRefusal)
	}
	line("since start", "%d sets applied, %d failed; %d leases ended; %d renewals passed over; %d changes by others",
		c.SetsApplied, c.ApplyFailures, c.LeasesEnded, c.RenewalsPassedOver, c.ForeignChanges)
}

// String tells a back end's abilities.
func (b BackEnd) String() string {
	var can []string
	for _, ability := range []struct {
		has  bool
		name string
	}{{b.CanSetMax, "max"}, {b.CanSetMin, "min"}, {b.CanSelectDestination, "dst"}, {b.CanSelectUID, "uid"}} {
		if ability.has {
			can = append(can, ability.name)
		}
	}
	text := fmt.Sprintf("%s (%s", b.Name, strings.Join(can, ", "))
	if b.RulesMax > 0 {
		text += fmt.Sprintf("; at most %d rules", b.RulesMax)
	}
	return text + ")"
}

func (v View) describeLive(line printer) {
	switch {
	case v.LiveError != "":
		line("kernel", "unknown: %s", v.LiveError)
	case len(v.Live) == 0:
		line("kernel", "holds no rule")
	}
	for i, rule := range v.Live {
		label := ""
		if i == 0 {
			label = "kernel"
		}
		line(label, "%s: %d to %d segments", rule.Selector, rule.MinSegs, rule.MaxSegs)
	}
	switch {
	case v.Differs:
		line("warning", "these are not the agent's rules: someone else changed them; the agent's next set replaces them")
	case !v.Running && len(v.Live) > 0:
		line("warning", "no agent watches over these rules; `airbound-phone cleanup` removes them")
	}
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
