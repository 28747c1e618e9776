// SPDX-License-Identifier: Apache-2.0

package procfs_test

import (
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/monitor/procfs"
)

const (
	example = "81234567 established 10.0.0.11:40312 10.0.4.1:5001 10073 open 42 2147483647 10 50 28123 " +
		"27010 4312 1448 98304 60816 7 1234567 1 3 2 4 5 6"
	second = "81234567 syn_sent [2001:db8::2]:1024 [2001:db8::1]:443 0 loss 10 2147483647 0 0 0 0 0 536 " +
		"0 1 0 0 0 0 0 0 1 0"
)

var header = procfs.Header()

func lines(text ...string) []byte { return []byte(strings.Join(text, "\n") + "\n") }

// with replaces one column of the example.
func with(column, value string) string {
	values := strings.Split(example, " ")
	for i, name := range strings.Split(header, " ") {
		if name == column {
			values[i] = value
		}
	}
	return strings.Join(values, " ")
}

func exampleConnection() monitor.Connection {
	return monitor.Connection{
		TimeUS:       81234567,
		State:        "established",
		Local:        netip.MustParseAddrPort("10.0.0.11:40312"),
		Remote:       netip.MustParseAddrPort("10.0.4.1:5001"),
		UID:          10073,
		CAState:      "open",
		CwndSegs:     42,
		SsthreshSegs: monitor.SsthreshUnset,
		BoundMinSegs: 10,
		BoundMaxSegs: 50,
		SRTTUS:       28123,
		LastRTTUS:    27010,
		MinRTTUS:     4312,
		MSSBytes:     1448,
		UnsentBytes:  98304,
		UnackedBytes: 60816,
		RcvqBytes:    7,
		AckedBytes:   1234567,
		Events:       monitor.Events{LocalCongestion: 1, DupAck: 3, Sack: 2, FastRetransmit: 4, Timeout: 5, Undo: 6},
	}
}

func TestParseReadsEveryColumn(t *testing.T) {
	t.Parallel()
	snapshot, err := procfs.Parse(lines(header, example, second))
	if err != nil || snapshot.RefusedTotal != 0 || len(snapshot.Connections) != 2 {
		t.Fatalf("%+v, %v", snapshot, err)
	}
	if got := snapshot.Connections[0]; got != exampleConnection() {
		t.Errorf("got  %+v\nwant %+v", got, exampleConnection())
	}
	if got := snapshot.Connections[1]; got.Remote.String() != "[2001:db8::1]:443" || got.State != "syn_sent" ||
		got.CAState != "loss" {
		t.Errorf("second: %+v", got)
	}
}

func TestParseGoesByTheHeader(t *testing.T) {
	t.Parallel()
	names, values := strings.Split(header, " "), strings.Split(example, " ")
	reverse := func(names []string) string {
		var turned []string
		for _, name := range slices.Backward(names) {
			turned = append(turned, name)
		}
		return strings.Join(turned, " ")
	}
	snapshot, err := procfs.Parse(lines("pacing "+reverse(names), "x "+reverse(values)))
	if err != nil || snapshot.RefusedTotal != 0 {
		t.Fatalf("%+v, %v", snapshot, err)
	}
	if got := snapshot.Connections[0]; got != exampleConnection() {
		t.Errorf("got %+v", got)
	}
}

func TestParseUnmapsIPv4(t *testing.T) {
	t.Parallel()
	snapshot, err := procfs.Parse(lines(header, with("remote", "[::ffff:10.0.4.1]:5001")))
	if err != nil || len(snapshot.Connections) != 1 {
		t.Fatalf("%+v, %v", snapshot, err)
	}
	if got := snapshot.Connections[0].Remote.String(); got != "10.0.4.1:5001" {
		t.Errorf("remote %s", got)
	}
}

func TestParseWithoutUsableHeaderFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, message string }{
		"empty":            {"", "line 1: the header is missing or truncated"},
		"truncated":        {header, "line 1: the header is missing or truncated"},
		"no header":        {example + "\n", "line 1: the header names no column time_us"},
		"column missing":   {strings.Replace(header, " sack", "", 1) + "\n", "line 1: the header names no column sack"},
		"column repeated":  {header + " undo\n", "line 1: the header names column undo twice"},
		"bytes of nothing": {"\x00\xff\n", "line 1: the header names no column time_us"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snapshot, err := procfs.Parse([]byte(test.text))
			if err == nil || err.Error() != test.message || len(snapshot.Connections) != 0 {
				t.Errorf("%+v, %v", snapshot, err)
			}
		})
	}
}

func TestParseRefusesALineAndKeepsTheOthers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ line, message string }{
		"empty":           {"", "line 3: 1 columns where the header names 24"},
		"column too few":  {strings.TrimSuffix(example, " 6"), "line 3: 23 columns where the header names 24"},
		"column too many": {example + " 7", "line 3: 25 columns where the header names 24"},
		"two spaces":      {strings.Replace(example, " ", "  ", 1), "line 3: 25 columns where the header names 24"},
		"negative": {
			with("cwnd_segs", "-1"),
			`line 3: column cwnd_segs: "-1" is not an unsigned decimal of 32 bits`,
		},
		"signed": {
			with("cwnd_segs", "+1"),
			`line 3: column cwnd_segs: "+1" is not an unsigned decimal of 32 bits`,
		},
		"not a number": {
			with("srtt_us", "NaN"),
			`line 3: column srtt_us: "NaN" is not an unsigned decimal of 32 bits`,
		},
		"beyond 32 bits": {
			with("min_rtt_us", "4294967296"),
			`line 3: column min_rtt_us: "4294967296" is not an unsigned decimal of 32 bits`,
		},
		"beyond 64 bits": {
			with("acked_bytes", "18446744073709551616"),
			`line 3: column acked_bytes: "18446744073709551616" is not an unsigned decimal of 64 bits`,
		},
		"unknown state": {
			with(
				"state",
				"time_wait",
			),
			`line 3: column state: "time_wait" is none of established, syn_sent, syn_recv, ` +
				`fin_wait1, fin_wait2, close_wait, last_ack, closing`,
		},
		"unknown ca_state": {
			with("ca_state", ""),
			`line 3: column ca_state: "" is none of open, disorder, cwr, recovery, loss`,
		},
		"no port": {
			with("remote", "10.0.4.1"),
			`line 3: column remote: "10.0.4.1" is not an address and port`,
		},
		"port beyond": {
			with("local", "10.0.4.1:65536"),
			`line 3: column local: "10.0.4.1:65536" is not an address and port`,
		},
		"zone": {
			with("local", "[fe80::1%wlan0]:1"),
			`line 3: column local: "[fe80::1%wlan0]:1" is not an address and port`,
		},
		"long garbage": {
			with(
				"undo",
				strings.Repeat("9", 90),
			),
			`line 3: column undo: "` + strings.Repeat("9", 60) + `"... is not an unsigned decimal of 64 bits`,
		},
		"carriage return":   {example + "\r", `line 3: column undo: "6\r" is not an unsigned decimal of 64 bits`},
		"header once again": {header, `line 3: column time_us: "time_us" is not an unsigned decimal of 64 bits`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			snapshot, err := procfs.Parse(lines(header, example, test.line, second))
			if err != nil {
				t.Fatal(err)
			}
			if len(snapshot.Connections) != 2 || snapshot.RefusedTotal != 1 || len(snapshot.Refused) != 1 {
				t.Fatalf("%+v", snapshot)
			}
			if got := snapshot.Refused[0].String(); got != test.message {
				t.Errorf("got  %s\nwant %s", got, test.message)
			}
		})
	}
}

func TestParseRefusesATruncatedLastLine(t *testing.T) {
	t.Parallel()
	whole := lines(header, example, second)
	firstEnd := len(lines(header, example))
	for cut := firstEnd + 1; cut < len(whole); cut++ {
		snapshot, err := procfs.Parse(whole[:cut])
		if err != nil || len(snapshot.Connections) != 1 || snapshot.RefusedTotal != 1 {
			t.Fatalf("cut at %d: %+v, %v", cut, snapshot, err)
		}
		if got := snapshot.Refused[0].String(); got != "line 3: truncated: it does not end with a newline" {
			t.Fatalf("cut at %d: %s", cut, got)
		}
	}
}

func TestParseRemembersFewOfManyRefusals(t *testing.T) {
	t.Parallel()
	text := append([]string{header}, strings.Split(strings.Repeat("garbage\n", 999)+"garbage", "\n")...)
	snapshot, err := procfs.Parse(lines(text...))
	if err != nil || snapshot.RefusedTotal != 1000 || len(snapshot.Refused) != 4 {
		t.Errorf("%d refused, %d remembered, %v", snapshot.RefusedTotal, len(snapshot.Refused), err)
	}
}

// FuzzParse: every line is either a connection or counted, and what is kept is valid.
func FuzzParse(f *testing.F) {
	f.Add(lines(header, example, second))
	f.Add([]byte(header + "\n" + example))
	f.Add(lines(header, "", with("acked_bytes", "18446744073709551615")))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		snapshot, err := procfs.Parse(text)
		if err != nil {
			if !reflect.DeepEqual(snapshot, monitor.Snapshot{}) {
				t.Fatalf("an error and a snapshot: %+v", snapshot)
			}
			return
		}
		body := strings.SplitN(string(text), "\n", 2)[1]
		wanted := strings.Count(body, "\n")
		if body != "" && !strings.HasSuffix(body, "\n") {
			wanted++
		}
		if got := len(snapshot.Connections) + int(snapshot.RefusedTotal); got != wanted {
			t.Fatalf("%d lines, %d accounted for", wanted, got)
		}
		for _, connection := range snapshot.Connections {
			valid := connection.Remote.IsValid() && connection.Local.IsValid() && connection.State != ""
			if !valid || connection.Remote.Addr().Is4In6() {
				t.Fatalf("%+v", connection)
			}
		}
		var aggregator monitor.Aggregator
		aggregator.Observe(snapshot, 0)
		aggregator.Observe(snapshot, 1)
		if got := len(aggregator.Report()); got > monitor.DestinationsReported {
			t.Fatalf("%d destinations", got)
		}
	})
}

func TestSnapshotReadsTheFile(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	file := procfs.New(root)
	if _, err := file.Snapshot(); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, monitor.ErrMalformed) {
		t.Errorf("no file: %v", err)
	}
	if err := os.Mkdir(filepath.Join(root, "net"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(text []byte) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, "net", "tcp_monitor"), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write([]byte("sl local rem\n"))
	if _, err := file.Snapshot(); !errors.Is(err, monitor.ErrMalformed) ||
		!strings.Contains(err.Error(), "names no column") {
		t.Errorf("another file: %v", err)
	}
	many := []string{header}
	for range 1000 { // More than the first buffer.
		many = append(many, example)
	}
	for _, connections := range []int{1000, 1, 0} {
		write(lines(many[:connections+1]...))
		if got, err := file.Snapshot(); err != nil || len(got.Connections) != connections || got.RefusedTotal != 0 {
			t.Errorf("%d connections: %d, %v", connections, len(got.Connections), err)
		}
	}
	write(lines(append([]string{header}, slices.Repeat([]string{strings.Repeat("x", 1<<20)}, 17)...)...))
	if _, err := file.Snapshot(); err == nil || !strings.Contains(err.Error(), "longer than 16777216 bytes") {
		t.Errorf("an endless file: %v", err)
	}
}
