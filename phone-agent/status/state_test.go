// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/status"
)

const secondUS = 1_000_000

var (
	toServer = bounds.Rule{
		Selector: bounds.Selector{
			Kind:   bounds.Destination,
			Prefix: netip.MustParsePrefix("10.0.4.1/32"),
		},
		MinSegs: 10,
		MaxSegs: 20,
	}
	toAll = bounds.Rule{Selector: bounds.Selector{Kind: bounds.All}, MinSegs: 2, MaxSegs: 90}
)

func running() *status.State {
	return &status.State{
		Schema:     status.Schema,
		Version:    "1.2",
		PID:        42,
		WrittenUS:  100 * secondUS,
		Controller: "10.0.9.9:50051",
		Connected:  true,
		Interface:  "wlan1",
		MAC:        "02:00:00:00:01:0a",
		BSSID:      "02:00:00:00:00:01",
		SSID:       "home",
		BackEnd: bounds.Capabilities{
			Name: "procfs", CanSetMax: true, CanSetMin: true, CanSelectDestination: true, RulesMax: 256,
		},
		Starts:        status.Starts{By: status.TraceEvents},
		Generation:    7,
		Rules:         []bounds.Rule{toServer, toAll},
		LeaseEndsUS:   108 * secondUS,
		Reason:        "the terminal began to send to 10.0.4.1",
		ReasonCode:    "REASON_CODE_STARTED_SENDING",
		ActiveSenders: 5,
		CapacityBPS:   20_140_000,
		Counters:      status.Counters{MonitorLinesRefused: 1, CommandsRefused: 2, SetsApplied: 3, LeasesEnded: 4},
		LastRefusal:   "command: set_bounds: generation is 0",
	}
}

func FuzzParseState(f *testing.F) {
	text, err := json.Marshal(running())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"schema":2,"rules":[{"selector":"all","min_segs":4294967295}],` +
		`"lease_ends_boottime_us":-9223372036854775808,"bounds_generation":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		state, err := status.ParseState(text)
		if err != nil {
			return
		}
		view := status.NewView(true, &state, apply.Live{}, nil, 1<<62)
		if view.LeaseLeftMS < 0 || view.Text() == "" {
			t.Fatalf("%+v", view)
		}
	})
}
