// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/trace"
)

const (
	payload = "netns=4026531840 cookie=7 local=10.0.0.2:5001 remote=10.0.9.1:443 uid=10073 ca_state=open " +
		"cwnd_segs=11 " +
		"ssthresh_segs=2147483647 bound_min_segs=10 bound_max_segs=20 in_flight_segs=9 srtt_us=4012 last_rtt_us=4100 " +
		"min_rtt_us=3990 unsent_bytes=5 unacked_bytes=14480"
	head   = "          <idle>-0       [000] ..s1.    12.345678: "
	window = head + "tcp_monitor_window: " + payload
	event  = head + "tcp_monitor_event: event=dup_ack times=3 " + payload
)

func exampleRecord(event string, times uint64) trace.Record {
	return trace.Record{
		TimeUS: 12_345_678, Event: event, Times: times, Cookie: 7,
		Local: netip.MustParseAddrPort("10.0.0.2:5001"), Remote: netip.MustParseAddrPort("10.0.9.1:443"), UID: 10073,
		CAState: "open", CwndSegs: 11, SsthreshSegs: 2147483647, BoundMinSegs: 10, BoundMaxSegs: 20, InFlightSegs: 9,
		SRTTUS: 4012, LastRTTUS: 4100, MinRTTUS: 3990, UnsentBytes: 5, UnackedBytes: 14480,
	}
}

func TestParseReadsEveryField(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		line string
		want trace.Record
	}{
		"window":          {window, exampleRecord(trace.Window, 1)},
		"event":           {event, exampleRecord("dup_ack", 3)},
		"lost":            {"CPU:0 [LOST 123 EVENTS]", trace.Record{Event: trace.Lost, Times: 123}},
		"lost, uncounted": {"CPU:19 [LOST EVENTS]", trace.Record{Event: trace.Lost, Times: 1}},
		"lost, many": {
			"CPU:65535 [LOST 18446744073709551615 EVENTS]", trace.Record{Event: trace.Lost, Times: 1<<64 - 1},
		},
		"name with colons": {
			"a: tcp_monitor_-12 [001] d.s2. 12.345678: tcp_monitor_window: " + payload,
			exampleRecord(trace.Window, 1),
		},
		"name like a loss": {
			"CPU:0 [LOST 1 E-12 [001] d.s2. 12.345678: tcp_monitor_window: " + payload,
			exampleRecord(trace.Window, 1),
		},
		"later kernel": {window + " pacing_mbps=7", exampleRecord(trace.Window, 1)},
		"IPv4 in IPv6": {
			strings.Replace(window, "=10.0.9.1:443", "=[::ffff:10.0.9.1]:443", 1),
			exampleRecord(trace.Window, 1),
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := trace.ParseLine(test.line)
			if err != nil || got != test.want {
				t.Errorf("got  %+v, %v\nwant %+v", got, err, test.want)
			}
		})
	}
}

func TestTheLastMomentThatFits(t *testing.T) {
	t.Parallel()
	got, err := trace.ParseLine(strings.Replace(window, "12.345678", "18446744073708.999999", 1))
	if err != nil || got.TimeUS != 18446744073708_999999 {
		t.Errorf("%d, %v", got.TimeUS, err)
	}
}

func TestParseReadsIPv6(t *testing.T) {
	t.Parallel()
	got, err := trace.ParseLine(strings.Replace(window, "10.0.9.1:443", "[2001:db8::1]:443", 1))
	if err != nil || got.Remote.String() != "[2001:db8::1]:443" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	with := func(old, other string) string {
		if !strings.Contains(event, old) {
			t.Fatalf("no %q in the example", old)
		}
		return strings.Replace(event, old, other, 1)
	}
	tests := map[string]struct{ line, message string }{
		"empty":   {"", `"" names no event of tcp_monitor`},
		"too big": {"[LINE TOO BIG]", `"[LINE TOO BIG]" names no event of tcp_monitor`},
		"another event": {
			head + "sched_switch: prev_comm=x",
			`"` + (head + "sched_switch: prev_comm=x")[:60] + `"... names no event of tcp_monitor`,
		},
		"unknown monitor": {
			with("tcp_monitor_event", "tcp_monitor_loss"),
			`"tcp_monitor_loss" is no event of tcp_monitor`,
		},
		"cut after name": {head + "tcp_monitor_window:", `"tcp_monitor_window:" is no event of tcp_monitor`},
		"other clock":    {with("12.345678", "12345678"), `"12345678" is not a time in seconds with six decimals`},
		"time cut":       {with("12.345678", "12.34567"), `"12.34567" is not a time in seconds with six decimals`},
		"time too long": {
			with("12.345678", "18446744073709.551616"),
			`"18446744073709.551616" is not a time in seconds with six decimals`,
		},
		"time a second too long": {
			with("12.345678", "18446744073709.000000"),
			`"18446744073709.000000" is not a time in seconds with six decimals`,
		},
		"seconds in hexadecimal": {
			with("12.345678", "a.345678"),
			`"a.345678" is not a time in seconds with six decimals`,
		},
		"decimals in hexadecimal": {
			with("12.345678", "1.34567a"),
			`"1.34567a" is not a time in seconds with six decimals`,
		},
		"signed time": {with("12.345678", "-1.345678"), `"-1.345678" is not a time in seconds with six decimals`},
		"no such event": {
			with("dup_ack", "window"),
			`field event: "window" is none of local_congestion, dup_ack, sack, fast_retransmit, timeout, undo`,
		},
		"never":         {with("times=3", "times=0"), "field times: 0 times is no event"},
		"event missing": {with("event=dup_ack ", ""), "field event is missing"},
		"field missing": {with("cookie=7 ", ""), "field cookie is missing"},
		"field twice":   {with("cookie=7", "cookie=7 cookie=8"), "field cookie: twice"},
		"no value":      {with("cookie=7", "cookie"), `"cookie" is not NAME=VALUE`},
		"two spaces":    {with("cookie=7 ", "cookie=7  "), `"" is not NAME=VALUE`},
		"negative": {
			with("cwnd_segs=11", "cwnd_segs=-1"),
			`field cwnd_segs: "-1" is not an unsigned decimal of 32 bits`,
		},
		"beyond 32 bits": {
			with("netns=4026531840", "netns=4294967296"),
			`field netns: "4294967296" is not an unsigned decimal of 32 bits`,
		},
		"beyond 64 bits": {
			with("cookie=7", "cookie=18446744073709551616"),
			`field cookie: "18446744073709551616" is not an unsigned decimal of 64 bits`,
		},
		"unknown state": {
			with("ca_state=open", "ca_state=0"),
			`field ca_state: "0" is none of open, disorder, cwr, recovery, loss`,
		},
		"no port": {with("10.0.9.1:443", "10.0.9.1"), `field remote: "10.0.9.1" is not an address and port`},
		"zone": {
			with("10.0.9.1:443", "[fe80::1%wlan0]:1"),
			`field remote: "[fe80::1%wlan0]:1" is not an address and port`,
		},
		"truncated":           {event[:len(event)-len("unacked_bytes=14480")-1], "field unacked_bytes is missing"},
		"loss of nothing":     {"CPU:0 [LOST -1 EVENTS]", `"CPU:0 [LOST -1 EVENTS]" names no event of tcp_monitor`},
		"loss on no CPU":      {"CPU:x [LOST 1 EVENTS]", `"CPU:x [LOST 1 EVENTS]" names no event of tcp_monitor`},
		"loss on CPU a":       {"CPU:a [LOST 1 EVENTS]", `"CPU:a [LOST 1 EVENTS]" names no event of tcp_monitor`},
		"loss of a":           {"CPU:0 [LOST a EVENTS]", `"CPU:0 [LOST a EVENTS]" names no event of tcp_monitor`},
		"loss without EVENTS": {"CPU:0 [LOST 1", `"CPU:0 [LOST 1" names no event of tcp_monitor`},
		"loss cut short":      {"CPU:0 [LOST 1 EVEN", `"CPU:0 [LOST 1 EVEN" names no event of tcp_monitor`},
		"garbage is short": {
			head + "tcp_monitor_" + strings.Repeat("x", 90) + ": ",
			`"tcp_monitor_` + strings.Repeat("x", 48) + `"... is no event of tcp_monitor`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record, err := trace.ParseLine(test.line)
			if err == nil || err.Error() != test.message {
				t.Errorf("%+v\ngot  %v\nwant %s", record, err, test.message)
			}
		})
	}
}

// kept is a Writer that keeps records, or fails.
type kept struct {
	records []trace.Record
	err     error
}

func (k *kept) Write(record *trace.Record) error {
	k.records = append(k.records, *record)
	return k.err
}

func TestARecorderAcceptsPiecesOfAnySize(t *testing.T) {
	t.Parallel()
	other := strings.Replace(event, "=10.0.9.1", "=10.0.8.1", 1)
	text := strings.Join([]string{window, "CPU:0 [LOST 5 EVENTS]", "garbage", event, other}, "\n") + "\ncut"
	for size := 1; size <= len(text); size++ {
		var out kept
		recorder := trace.Recorder{Remote: netip.MustParsePrefix("10.0.9.0/24"), Out: &out}
		for at := 0; at < len(text); at += size {
			if err := recorder.Feed([]byte(text[at:min(at+size, len(text))])); err != nil {
				t.Fatal(err)
			}
		}
		if err := recorder.Finish(); err != nil {
			t.Fatal(err)
		}
		want := []trace.Record{
			exampleRecord(trace.Window, 1),
			{Event: trace.Lost, Times: 5},
			{Event: trace.Refused, Times: 1},
			exampleRecord("dup_ack", 3),
			{Event: trace.Refused, Times: 1},
		}
		if fmt.Sprint(out.records) != fmt.Sprint(want) {
			t.Fatalf("pieces of %d: %+v", size, out.records)
		}
		if want := (trace.Counts{Records: 2, Skipped: 1, Refused: 2, Lost: 5}); recorder.Counts != want {
			t.Fatalf("pieces of %d: %+v", size, recorder.Counts)
		}
		if want := `["garbage" names no event of tcp_monitor "cut" does not end with a newline]`; fmt.Sprint(
			recorder.Refusals,
		) != want {
			t.Fatalf("pieces of %d: %v", size, recorder.Refusals)
		}
	}
}

func TestALineThatNeverEndsIsRefusedInParts(t *testing.T) {
	t.Parallel()
	var out kept
	recorder := trace.Recorder{Out: &out}
	for range 100 {
		if err := recorder.Feed(make([]byte, 4096)); err != nil {
			t.Fatal(err)
		}
	}
	if err := recorder.Feed([]byte("\n" + window + "\n")); err != nil {
		t.Fatal(err)
	}
	if recorder.Counts.Refused != 21 || recorder.Counts.Records != 1 || len(recorder.Refusals) != 4 {
		t.Errorf("%+v, %d reasons", recorder.Counts, len(recorder.Refusals))
	}
}

func TestALineMayBe16KiBLong(t *testing.T) {
	t.Parallel()
	recorder := trace.Recorder{Out: &kept{}}
	if err := recorder.Feed(make([]byte, 16<<10)); err != nil || recorder.Counts.Refused != 0 {
		t.Errorf("%+v, %v", recorder.Counts, err)
	}
	if err := recorder.Feed(make([]byte, 1)); err != nil || recorder.Counts.Refused != 1 {
		t.Errorf("%+v, %v", recorder.Counts, err)
	}
}

func TestWhatTheTextDoesNotReportAsLostIsAGap(t *testing.T) {
	t.Parallel()
	var out kept
	recorder := trace.Recorder{Out: &out}
	if err := errors.Join(recorder.Lose(0), recorder.Lose(3), recorder.Lose(4)); err != nil {
		t.Fatal(err)
	}
	want := []trace.Record{{Event: trace.Lost, Times: 3}, {Event: trace.Lost, Times: 4}}
	if !slices.Equal(out.records, want) || recorder.Counts.Lost != 7 {
		t.Errorf("%+v, %+v", out.records, recorder.Counts)
	}
}

func TestAWritersErrorEndsTheRecording(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for _, text := range []string{window + "\n", "garbage\n", "CPU:0 [LOST 5 EVENTS]\n"} {
		recorder := trace.Recorder{Out: &kept{err: full}}
		if err := recorder.Feed([]byte(text)); !errors.Is(err, full) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzRecorder: every line is a record, skipped, or a gap that is counted; and what is kept is valid.
func FuzzRecorder(f *testing.F) {
	f.Add([]byte(window+"\n"+event+"\n"), uint8(1))
	f.Add([]byte("CPU:0 [LOST 123 EVENTS]\n"+window), uint8(7))
	f.Add([]byte("\n\n: tcp_monitor_window: \n"), uint8(3))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		var out kept
		recorder := trace.Recorder{Out: &out, Remote: netip.MustParsePrefix("10.0.0.0/8")}
		for at := 0; at < len(text); at += int(size) + 1 {
			if err := recorder.Feed(text[at:min(at+int(size)+1, len(text))]); err != nil {
				t.Fatal(err)
			}
		}
		if err := recorder.Finish(); err != nil {
			t.Fatal(err)
		}
		lines := strings.Count(string(text), "\n")
		if len(text) > 0 && !strings.HasSuffix(string(text), "\n") {
			lines++
		}
		counts := recorder.Counts
		if got := len(out.records) + int(counts.Skipped); got != lines && len(text) < 16<<10 {
			t.Fatalf("%d lines, %d accounted for", lines, got)
		}
		for _, record := range out.records {
			valid := record.Local.IsValid() && recorder.Remote.Contains(record.Remote.Addr()) && record.CAState != "" &&
				record.Event != ""
			if record.Times == 0 && record.Event != trace.Lost || !record.IsGap() && !valid {
				t.Fatalf("%+v", record)
			}
		}
	})
}
