// SPDX-License-Identifier: Apache-2.0

package status_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/status"
)

const second = int64(1_000_000)

var (
	own = edca.Values{
		edca.Background: {AIFSN: 7, CWMin: 15, CWMax: 1023}, edca.BestEffort: {AIFSN: 3, CWMin: 15, CWMax: 63},
		edca.Video: {AIFSN: 1, CWMin: 7, CWMax: 15, TXOPLimit: 94},
		edca.Voice: {AIFSN: 1, CWMin: 3, CWMax: 7, TXOPLimit: 47},
	}
	waiting = edca.Queue{Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: 5, CWMin: 15, CWMax: 63}}
)

func running() *status.State {
	return &status.State{
		Schema: status.Schema, Version: "1.2", PID: 42, Controller: "10.0.9.9:50051", Connected: true,
		Interface:  "wlan0",
		Generation: 7, Queues: []edca.Queue{waiting}, Own: own.Queues(), OwnSource: "/etc/hostapd.conf",
		Announced: []edca.Queue{{
			Category: edca.BestEffort, Parameters: edca.Parameters{AIFSN: 4, CWMin: 31, CWMax: 1023},
		}},
		Stations: own.Queues()[:1], WMM: true, Reason: "uploads are 95.3 % of the payload (first needed: 60.0 %)",
		LeaseEndsUS: 108 * second, LastRefusal: "set_edca: generation is 0",
		BSS: status.BSS{
			BSSID: "02:00:00:00:00:00", SSID: "cell", FrequencyMHz: 5955, Band: "6 GHz", StationsReported: 1,
			LastReportUS: 101 * second,
		},
		LastError: "controller: the controller closed the stream",
		Counters:  status.Counters{CommandsRefused: 1, SetsApplied: 3, AppliedAgain: 2, LeasesEnded: 4},
	}
}

func TestTextOfARunningAgent(t *testing.T) {
	t.Parallel()
	const want = `agent        running, pid 42, version 1.2
controller   10.0.9.9:50051, connected
interface    wlan0
BSS          02:00:00:00:00:00 "cell", 5955 MHz (6 GHz), 1 station
error        controller: the controller closed the stream
can set      yes: best effort and background
can announce yes: best effort, background; video and voice by admission, or without advantage
EDCA         generation 7
because      uploads are 95.3 % of the payload (first needed: 60.0 %)
lease        at least 5.5 s left
in force     best effort: AIFSN 5, CW 15 to 63, TXOP limit 0
announced    best effort: AIFSN 4, CW 31 to 1023, TXOP limit 0
own values   background: AIFSN 7, CW 15 to 1023, TXOP limit 0
             best effort: AIFSN 3, CW 15 to 63, TXOP limit 0
             video: AIFSN 1, CW 7 to 15, TXOP limit 94
             voice: AIFSN 1, CW 3 to 7, TXOP limit 47
             from /etc/hostapd.conf
stations     with WMM
             background: AIFSN 7, CW 15 to 1023, TXOP limit 0
refused      1 command
             last: set_edca: generation is 0
since start  3 sets applied, 0 failed; 2 applied again; 4 leases ended
windows      switched off on the access point: --window-clamp is not given
flows        switched off on the access point: --no-station-flows is given
`
	if got := status.NewView(true, running(), nil, 102*second+second/2).Text(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTextOfEverythingElse(t *testing.T) {
	t.Parallel()
	restored := running()
	restored.Generation, restored.Queues, restored.Connected, restored.WMM = 0, nil, false, false
	restored.RestoreError, restored.Refusal = "connection reset", "the driver cannot"
	stopped := running()
	stopped.Stopped = true
	record := &edca.Record{Own: []edca.Queue{waiting}}
	tests := map[string]struct {
		view  status.View
		parts []string
		not   string
	}{
		"never started": {status.NewView(false, nil, nil, 0), []string{"agent        not running\n"}, "warning"},
		"just starting": {
			status.NewView(true, nil, nil, 0), []string{"running; it has not written its state yet"}, "warning",
		},
		"stopped": {
			status.NewView(false, stopped, nil, 0),
			[]string{"it stopped in order and wrote the access point's own values back"},
			"warning",
		},
		"killed": {
			status.NewView(false, running(), record, 0),
			[]string{
				"it did not stop in order (pid was 42)",
				"warning      the access point's own values were not written back",
				"own values   best effort: AIFSN 5",
			},
			"lease",
		},
		"own values": {
			status.NewView(true, restored, record, 0),
			[]string{
				"controller   10.0.9.9:50051, not connected\n", "can set      no: the driver cannot\n",
				"EDCA         the access point's own values are in force\n", "stations     without WMM: DCF\n",
				"could not be written back, trying again: connection reset\n",
			},
			"in force ",
		},
		"the lease has just ended": {status.NewView(true, running(), nil, 200*second), nil, "lease  "},
	}
	for name, test := range tests {
		got := test.view.Text()
		for _, part := range test.parts {
			if !strings.Contains(got, part) {
				t.Errorf("%s: no %q in\n%s", name, part, got)
			}
		}
		if strings.Contains(got, test.not) {
			t.Errorf("%s: %q in\n%s", name, test.not, got)
		}
	}
}

func TestAStateIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(running())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := status.ParseState(text); err != nil || !reflect.DeepEqual(&got, running()) {
		t.Errorf("%+v, %v", got, err)
	}
	for text, want := range map[string]string{
		"":                                      "parse the state file: unexpected end of JSON input",
		`{"schema":1}`:                          "parse the state file: its schema is 1, this program reads 2",
		`{"schema":2,"pid":"x"}`:                "parse the state file: json: cannot unmarshal string into",
		`{"schema":2,"own":"x"}`:                "parse the state file: json: cannot unmarshal string into",
		`{"schema":2,"own":[{"category":"x"}]}`: "parse the state file: parse access category: neither",
	} {
		if got, err := status.ParseState([]byte(text)); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func leased(reason string) status.Leased {
	return status.Leased{
		Generation: 3, Stations: 1, LeaseEndsUS: 104 * second, Reason: reason, CommandsRefused: 2,
		LastRefusal: "generation is 0", SetsApplied: 4, ApplyFailures: 5, LeasesEnded: 6,
	}
}

func TestTextOfWindows(t *testing.T) {
	t.Parallel()
	state := running()
	state.Windows = &status.Windows{
		Leased: leased("3 active senders"), Limits: 2, Connections: 12, ConnectionsMax: 4096, ConnectionsEvicted: 1,
		SegmentsLimited: 1,
	}
	const want = `windows      generation 3, 2 limits of 1 station
because      3 active senders
lease        at least 1.5 s left
connections  12 of 4096, 1 forgotten; 1 segment limited
refused      2 commands
             last: generation is 0
since start  4 sets applied, 5 failed; 6 leases ended
`
	if got := status.NewView(true, state, nil, 102*second+second/2).Text(); !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	state.Windows.Generation = 0
	if got := status.NewView(true, state, nil, 0).Text(); !strings.Contains(got, "windows      not limited\n") {
		t.Error(got)
	}
	state.Windows.Refusal = "no BPF"
	if got := status.NewView(true, state, nil, 0).Text(); !strings.Contains(got, "cannot be limited: no BPF\n") {
		t.Error(got)
	}
}

func TestTextOfStationFlows(t *testing.T) {
	t.Parallel()
	state := running()
	state.StationFlows = &status.StationFlows{Leased: leased("live video"), Flows: 2, PacketsMarked: 12}
	const want = `flows        generation 3, 2 flows to 1 station as video
because      live video
lease        at least 1.5 s left
marked       12 packets
refused      2 commands
             last: generation is 0
since start  4 sets applied, 5 failed; 6 leases ended
`
	if got := status.NewView(true, state, nil, 102*second+second/2).Text(); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	state.StationFlows.Generation = 0
	if got := status.NewView(true, state, nil, 0).Text(); !strings.Contains(got, "flows        all packets go") {
		t.Error(got)
	}
	state.StationFlows.Refusal = "no BPF"
	if got := status.NewView(true, state, nil, 0).Text(); !strings.Contains(got, "in another category: no BPF\n") {
		t.Error(got)
	}
}
