// SPDX-License-Identifier: Apache-2.0

package measure_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/airbound/airbound/lab/load/measure"
)

const secondUS = 1_000_000

func TestExpectations(t *testing.T) {
	e := measure.NewExpectations(5)
	nowUS := int64(100 * secondUS)
	for terminal := range 5 {
		e.Expect(terminal, 3, nowUS, terminal != 4)
	}
	if e.Arrived(0, 2, nowUS+10) {
		t.Error("a set of another number of senders was taken for the expected one")
	}
	if !e.Arrived(0, 3, nowUS+20) || e.Arrived(0, 3, nowUS+30) {
		t.Error("a set is expected once")
	}
	e.Cancel(1)
	e.Expect(2, 4, nowUS+secondUS, true)
	if e.Pending() != 2 {
		t.Errorf("%d pending", e.Pending())
	}
	e.Expire(nowUS + measure.WaitUS)
	if e.Missing != 0 {
		t.Error("missing too early")
	}
	e.Expire(nowUS + measure.WaitUS + 1)
	if e.Missing != 1 || e.Void != 2 || e.Pending() != 1 {
		t.Errorf("%d missing, %d void, %d pending", e.Missing, e.Void, e.Pending())
	}
	e.Expire(nowUS + 2*measure.WaitUS)
	if e.Missing != 2 || e.Pending() != 0 {
		t.Errorf("%d missing, %d pending", e.Missing, e.Pending())
	}
	if want := []measure.Sample{{LeftUS: nowUS, LatencyUS: 20}}; !slices.Equal(e.Samples, want) {
		t.Errorf("samples are %v", e.Samples)
	}
}

func TestASetThatCameBeforeItsReportIsNotExpected(t *testing.T) {
	e := measure.NewExpectations(2)
	nowUS := int64(100 * secondUS)
	for terminal := range 2 {
		e.Arrived(terminal, 5, nowUS)
		e.Arrived(terminal, 10, nowUS+secondUS)
	}
	e.Forget(1)
	for terminal := range 2 {
		e.Expect(terminal, 10, nowUS+2*secondUS, true)
	}
	e.Expire(nowUS + 3*secondUS + measure.WaitUS)
	if e.Missing != 1 || e.Void != 1 {
		t.Errorf("%d missing, %d void", e.Missing, e.Void)
	}
	e.Expect(0, 5, nowUS+10*secondUS, true)
	e.Expire(nowUS + 11*secondUS + measure.WaitUS)
	if e.Missing != 2 {
		t.Error("a set of an earlier change was taken for a new one")
	}
}

func TestPercentiles(t *testing.T) {
	if measure.PercentilesOf(nil) != nil {
		t.Error("percentiles of nothing")
	}
	var values []int64
	for i := range 1000 {
		values = append(values, int64(1000-i)*1000)
	}
	want := measure.Percentiles{P50: 500, P95: 950, P99: 990, Max: 1000}
	if got := *measure.PercentilesOf(values); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	want = measure.Percentiles{P50: 7, P95: 7, P99: 7, Max: 7}
	if got := *measure.PercentilesOf([]int64{7000}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestGrows(t *testing.T) {
	tests := map[string]struct {
		latencyUS func(part int) int64
		count     int
		want      bool
	}{
		"a queue":     {func(part int) int64 { return int64(part+1) * 100_000 }, 30, true},
		"steady":      {func(int) int64 { return 100_000 }, 30, false},
		"up and down": {func(part int) int64 { return []int64{100_000, 300_000, 200_000, 400_000}[part] }, 30, false},
		"little":      {func(part int) int64 { return int64(part+1) * 10_000 }, 30, false},
		"few samples": {func(part int) int64 { return int64(part+1) * 100_000 }, 10, false},
	}
	for name, test := range tests {
		var samples []measure.Sample
		for part := range 4 {
			for i := range test.count {
				samples = append(samples, measure.Sample{
					LeftUS: int64(part)*secondUS + int64(i), LatencyUS: test.latencyUS(part),
				})
			}
		}
		if got := measure.Grows(samples, 0, 4*secondUS); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func samples(count int) []measure.Sample { return make([]measure.Sample, count) }

func TestBehind(t *testing.T) {
	tests := map[string]struct {
		round measure.Round
		want  bool
	}{
		"all": {
			measure.Round{OfferedReports: 1000, HandledReports: 990, Samples: samples(1000), Missing: 1}, false,
		},
		"too few":            {measure.Round{OfferedReports: 1000, HandledReports: 989}, true},
		"few, one under way": {measure.Round{OfferedReports: 87, HandledReports: 86}, false},
		"few, too few":       {measure.Round{OfferedReports: 87, HandledReports: 81}, true},
		"saturated":          {measure.Round{OfferedReports: 1000, HandledReports: 900, Saturate: true}, false},
		"missing": {
			measure.Round{OfferedReports: 1000, HandledReports: 1000, Samples: samples(1000), Missing: 2}, true,
		},
		"p99 grows":   {measure.Round{Grows: true}, true},
		"no bounds":   {measure.Round{OfferedReports: 10, HandledReports: 10, Missing: 5}, true},
		"not a thing": {measure.Round{}, false},
	}
	for name, test := range tests {
		if got := test.round.Behind(); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheResultSumsRoundsByServer(t *testing.T) {
	controller := measure.Round{
		Server: measure.Controller, Seconds: 10,
		OfferedReports: 1000, HandledReports: 1000, TerminalReports: 900, Commands: 500,
		CPUUS: new(400_000.0), RSSBeforeKiB: new(int64(1000)), RSSAfterKiB: new(int64(6000)), Terminals: 100,
		Samples: []measure.Sample{{LatencyUS: 5000}},
	}
	slower := controller
	slower.CPUUS, slower.Samples = new(600_000.0), []measure.Sample{{LatencyUS: 9000}}
	raw := controller
	raw.Server, raw.CPUUS, raw.Samples = measure.Raw, new(200_000.0), nil
	result := measure.Sum([]measure.Round{controller, raw, slower}, 7, map[string]any{"cells": 10})
	for name, pair := range map[string][2]float64{
		"reports_per_s":         {*result.ReportsPerS, 100},
		"cpu_us_per_report":     {*result.CPUUSPerReport, 500},
		"raw_cpu_us_per_report": {*result.RawCPUUSPerReport, 200},
		"rss_kib_per_terminal":  {*result.RSSKiBPerTerminal, 50},
		"commands_per_s":        {*result.CommandsPerS, 50},
		"cores":                 {*result.Cores, 0.05},
		"max":                   {result.Latency.Max, 9},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %v, want %v", name, pair[0], pair[1])
		}
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	var keys map[string]any
	if err := json.Unmarshal(text, &keys); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"reports_per_s", "cpu_us_per_report", "raw_cpu_us_per_report", "rss_kib_per_terminal", "latency_ms", "behind",
	} {
		if keys[key] == nil {
			t.Errorf("no %s", key)
		}
	}
}

func TestWhatIsNotKnownIsNull(t *testing.T) {
	round := measure.Round{Server: measure.Raw, Seconds: 1, OfferedReports: 5, HandledReports: 5}
	result := measure.Sum([]measure.Round{round}, 1, nil)
	if result.ReportsPerS != nil || result.CPUUSPerReport != nil ||
		result.RawCPUUSPerReport != nil || result.Latency != nil {
		t.Errorf("result is %+v", result)
	}
	if *result.RawReportsPerS != 5 || *result.OfferedPerS != 5 {
		t.Errorf("raw %v, offered %v", *result.RawReportsPerS, *result.OfferedPerS)
	}
}
