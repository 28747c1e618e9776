// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/arrival"
	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/flows"
	"github.com/airbound/airbound/phone-agent/status"
)

func TestTextOfARunningAgent(t *testing.T) {
	t.Parallel()
	state := running()
	state.Counters.Arrivals, state.Counters.ArrivalsUnanswered, state.Counters.ArrivalsAtOnce = 2, 3, 1
	state.Counters.ArrivalsMerged, state.Counters.ArrivalsRefused = 1, 4
	state.Retransmission.By, state.LastSilenceMS = arrival.Messages, 30
	state.Counters.ArrivalsAnswered, state.Counters.ArrivalSilenceMS = 2, 120
	state.Counters.ArrivalMessages, state.Counters.ArrivalMessagesRefused, state.Counters.ArrivalsUnsent = 9, 1, 2
	state.Downloads.By, state.Counters.DownloadsSilent, state.Counters.DownloadsResumed = arrival.ToServers, 4, 3
	state.Counters.ServerMessages, state.Counters.ServerMessagesRefused, state.Counters.DownloadsUnsent = 28, 2, 1
	state.LastArrival = &events.Event{
		Source: events.NL80211, Kind: events.Association, Interface: "wlan1", Place: "02:00:00:00:00:01",
	}
	state.Applications = &status.Applications{
		Table: "/etc/classes", Entries: 5, NotInstalled: 1, Conflicts: 2, LinesRefused: 1, PackagesRefused: 3,
		DSCPError: "read DSCPs: not permitted",
		Error:     "line 7: wrong\nthe list of packages: line 1: no user id",
	}
	state.Counters.DSCPReadsFailed = 2
	live := apply.Live{Rules: []apply.LiveRule{
		{Rule: toAll, Effect: &apply.Effect{Raised: 1, Lowered: 591}}, {Rule: toServer, Effect: &apply.Effect{}},
	}}
	const want = `agent        running, pid 42, version 1.2
controller   10.0.9.9:50051, connected
terminal     02:00:00:00:01:0a wlan1
network      "home", access point 02:00:00:00:00:01
back end     procfs (max, min, destination; at most 256 rules)
starts       seen at once, by the kernel's trace events
bounds       generation 7, 2 rules
because      the terminal began to send to 10.0.4.1
inputs       active senders 5, capacity 20.1 Mb/s
refused      1 monitor line, 2 commands
             last: command: set_bounds: generation is 0
since start  3 sets applied, 0 failed; 4 leases ended; 0 renewals ignored; 0 external changes
retransmits  after an arrival, by messages of the phone to itself (RFC 6069)
downloads    after an arrival, by messages to their servers (RFC 6069)
arrivals     2; of 3 connections that waited for TCP's timers, 1 retransmitted at once
             silence until the first answer: 30 ms the last time, 60 ms on average of 2
             9 messages sent, 1 refused by the kernel; 2 connections too many, left to TCP's timers
             of 4 downloads that had stopped, 3 went on within a second
             28 messages to servers, 2 refused by the kernel; 1 download too many, left to their servers' timers
             last: association wlan1 02:00:00:00:00:01, reported by nl80211
             1 report more of the same arrivals, 4 refused
classes      by /etc/classes, 5 lines; 1 package not installed
             left out: 1 line of it, 3 of the list of packages
             2 user ids shared by packages of different classes: the default
             2 samples without DSCPs: read DSCPs: not permitted
             line 7: wrong
             the list of packages: line 1: no user id
lease        at least 5.5 s left
kernel       all: 2 to 90 segments; lowered a window 591 times, raised one once
             destination 10.0.4.1/32: 10 to 20 segments; lowered a window 0 times, raised one 0 times
`
	if got := status.NewView(true, state, live, nil, 102*secondUS+secondUS/2).Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTextOfFlows(t *testing.T) {
	t.Parallel()
	text := func(is status.Flows, counters status.Counters) string {
		state := running()
		state.Flows, state.Counters = is, counters
		whole := status.NewView(true, state, apply.Live{}, nil, 0).Text()
		_, after, _ := strings.Cut(whole, " external changes\n")
		before, _, _ := strings.Cut(after, "lease  ")
		return before
	}
	video := flows.Flow{Selector: flows.Selector{HasUID: true, UID: 10073}, Video: true, AdmittedUSPerS: 100_000}
	const whole = `flows        can be given access category; the driver has no WMM admission
             generation 3, 1 flow
             uid 10073: as video, admitted for 100000 us/s
             the driver has 100000 us/s admitted
             because: a reason
warning      admission: not permitted
             9 packets in another category, 2 of UDP dropped; sets: 1 refused, 4 failed, 5 ended
`
	for want, got := range map[string]string{
		"": text(status.Flows{}, status.Counters{}),
		"flows        leave as they are: --no-flows\n": text(
			status.Flows{Can: flows.Capabilities{Refusal: "--no-flows"}}, status.Counters{}),
		"flows        can be given access category, admission, rate of UDP\n": text(
			status.Flows{Can: flows.Capabilities{CanMark: true, CanAdmit: true, CanPace: true}}, status.Counters{}),
		whole: text(status.Flows{
			Can:        flows.Capabilities{CanMark: true, Refusal: "the driver has no WMM admission"},
			Generation: 3, InForce: []flows.Flow{video}, Reason: "a reason", AdmittedUSPerS: 100_000,
			Failure: "admission: not permitted", Counters: flows.Counters{Marked: 9, Paced: 2, Dropped: 2},
		}, status.Counters{FlowSetsRefused: 1, FlowFailures: 4, FlowLeasesEnded: 5}),
	} {
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}
}

func TestWhatMakesTCPRetransmit(t *testing.T) {
	t.Parallel()
	for text, is := range map[string]status.Retransmission{
		"after an arrival, by requests to the patched kernel":       {By: arrival.Requests},
		"after an arrival, by messages to their servers (RFC 6069)": {By: arrival.ToServers},
		"by TCP's own timers alone: no raw sockets":                 {By: status.TimersOnly, Why: "no raw sockets"},
	} {
		if got := is.String(); got != text {
			t.Errorf("%q, not %q", got, text)
		}
	}
}

func TestTextOfEverythingElse(t *testing.T) {
	t.Parallel()
	removed := running()
	removed.Generation, removed.Rules, removed.LeaseEndsUS, removed.Connected = 0, nil, 0, false
	removed.ActiveSenders, removed.CapacityBPS = 0, 0
	removed.Starts = status.Starts{By: status.Sampling, Why: "no tracefs at /sys/kernel/tracing"}
	removed.Reason, removed.RestoreError = "the lease on generation 7 ended without a renewal", "input/output error"
	stopped := running()
	stopped.Stopped = true
	none := apply.Live{}
	one := apply.Live{Rules: []apply.LiveRule{{Rule: bounds.Rule{
		Selector: bounds.Selector{Kind: bounds.All}, MinSegs: 1, MaxSegs: 2,
	}}}, NoEffects: "the kernel does not count"}
	both := apply.Live{Rules: []apply.LiveRule{{Rule: toAll}, {Rule: toServer}}}
	tests := map[string]struct {
		view  status.View
		parts []string
		not   []string
	}{
		"never started": {
			status.NewView(false, nil, none, errors.New("the kernel is not patched"), 0),
			[]string{"agent        not running\n", "kernel       unknown: the kernel is not patched\n"},
			[]string{"warning", "lease"},
		},
		"starting": {
			status.NewView(true, nil, none, nil, 0),
			[]string{"running; it has not written its state yet", "kernel       no rule in force\n"},
			[]string{"warning"},
		},
		"stopped": {
			status.NewView(false, stopped, none, nil, 102*secondUS),
			[]string{"not running; it stopped in order", "no rule in force"},
			[]string{"warning", "lease"},
		},
		"killed": {
			status.NewView(false, running(), one, nil, 102*secondUS),
			[]string{
				"not running; it did not stop in order (pid was 42)",
				"all: 1 to 2 segments",
				"`airbound-phone cleanup` removes them",
			},
			[]string{"lease"},
		},
		"no bounds": {
			status.NewView(true, removed, none, nil, 102*secondUS),
			[]string{
				"bounds       none: the kernel's defaults are in force\n",
				"because      the lease on generation 7 ended without a renewal\n",
				"10.0.9.9:50051, not connected",
				"starts       seen by sampling: no tracefs at /sys/kernel/tracing\n",
				"could not be restored, trying again: input/output error",
			},
			[]string{"lease  ", "inputs"},
		},
		"changed by something else": {
			status.NewView(true, running(), one, nil, 102*secondUS),
			[]string{"something else changed them", "changed a window is unknown: the kernel does not count"},
			nil,
		},
		"rules cannot be read": {
			status.NewView(true, running(), none, errors.New("input/output error"), 102*secondUS),
			[]string{"bounds       generation 7, 2 rules\n", "kernel       unknown: input/output error\n"},
			[]string{"warning"},
		},
		"lease over": {
			status.NewView(true, running(), both, nil, 200*secondUS),
			[]string{"generation 7"},
			[]string{"lease  ", "warning"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := test.view.Text()
			for _, part := range test.parts {
				if !strings.Contains(text, part) {
					t.Errorf("%q is not in\n%s", part, text)
				}
			}
			for _, part := range test.not {
				if strings.Contains(text, part) {
					t.Errorf("%q is in\n%s", part, text)
				}
			}
		})
	}
}

func TestJSONOfAView(t *testing.T) {
	t.Parallel()
	live := apply.Live{Rules: []apply.LiveRule{{Rule: toServer, Effect: &apply.Effect{Raised: 3, Lowered: 591}}}}
	text, err := json.Marshal(status.NewView(false, nil, live, nil, 0))
	const want = `"live_rules":[{"selector":"destination 10.0.4.1/32","min_segs":10,"max_segs":20,` +
		`"effect":{"raised_total":3,"lowered_total":591}}]`
	if err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%s, %v", text, err)
	}
}
