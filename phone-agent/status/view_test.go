// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/status"
)

func TestTextOfARunningAgent(t *testing.T) {
	t.Parallel()
	state := running()
	live := []status.Rule{state.Rules[1], state.Rules[0]}
	const want = `agent        running, pid 42, version 1.2
controller   10.0.9.9:50051, connected
terminal     02:00:00:00:01:0a wlan1
back end     procfs (max, min, dst; at most 256 rules)
bounds       generation 7, 2 rules
because      n 5, paper JB
refused      1 monitor line, 2 commands
             last: command: set_bounds: generation is 0
since start  3 sets applied, 0 failed; 4 leases ended; 0 renewals passed over; 0 changes by others
lease        at least 5.5 s left
kernel       all: 2 to 90 segments
             dst 10.0.4.1/32: 10 to 20 segments
`
	if got := status.NewView(true, state, live, nil, 102*secondUS+secondUS/2).Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTextOfEverythingElse(t *testing.T) {
	t.Parallel()
	lifted := running()
	lifted.Generation, lifted.Rules, lifted.LeaseEndsUS, lifted.Connected = 0, nil, 0, false
	lifted.Reason, lifted.RestoreError = "the lease on generation 7 ended without a renewal", "input/output error"
	stopped := running()
	stopped.Stopped = true
	one := []status.Rule{{Selector: "all", MinSegs: 1, MaxSegs: 2}}
	tests := map[string]struct {
		view  status.View
		parts []string
		not   []string
	}{
		"nobody was ever here": {
			status.NewView(false, nil, nil, errors.New("the kernel is not patched"), 0),
			[]string{"agent        not running\n", "kernel       unknown: the kernel is not patched\n"},
			[]string{"warning", "lease"},
		},
		"starting": {
			status.NewView(true, nil, nil, nil, 0),
			[]string{"running; it has not written its state yet", "kernel       holds no rule\n"},
			[]string{"warning"},
		},
		"stopped": {
			status.NewView(false, stopped, nil, nil, 102*secondUS),
			[]string{"not running; it stopped in order", "holds no rule"},
			[]string{"warning", "lease"},
		},
		"killed": {
			status.NewView(false, running(), one, nil, 102*secondUS),
			[]string{"not running; it did not stop in order (pid was 42)", "all: 1 to 2 segments", "`airbound-phone cleanup` removes them"},
			[]string{"lease"},
		},
		"no bounds": {
			status.NewView(true, lifted, nil, nil, 102*secondUS),
			[]string{
				"bounds       none: the kernel's defaults hold\n", "because      the lease on generation 7 ended without a renewal\n",
				"10.0.9.9:50051, not connected", "could not be restored, trying again: input/output error",
			},
			[]string{"lease  "},
		},
		"changed by someone else": {
			status.NewView(true, running(), one, nil, 102*secondUS),
			[]string{"someone else changed them"},
			nil,
		},
		"lease over": {
			status.NewView(true, running(), running().Rules, nil, 200*secondUS),
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
