// SPDX-License-Identifier: Apache-2.0

package blockio_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/blockio"
)

func TestTotals(t *testing.T) {
	t.Parallel()
	totals := blockio.NewTotals()
	first := blockio.Record{
		Event: blockio.Fsync, Seen: blockio.Whole, Mount: "/data", Process: "app", Inode: 7, Requests: 3, Flushes: 1,
		Bytes: 8, LatencyNS: 4e6,
	}
	second := first
	second.Requests, second.Flushes, second.Bytes, second.LatencyNS = 1, 0, 0, 2e6
	records := []blockio.Record{
		first, second,
		{Event: blockio.Lost, Times: 9},
		{Event: blockio.Request, Seen: blockio.Begin, Device: "sda", Kind: blockio.Read},
		{
			Event: blockio.Request, Seen: blockio.Whole, Device: "sda", Kind: blockio.Flush, Command: "jbd2", Sync: 1,
			SyncProcess: "app",
		},
	}
	for i := range uint64(100) {
		records = append(records, blockio.Record{
			Event: blockio.Request, Seen: blockio.Whole, Device: "sda", Kind: blockio.Write, Bytes: 512, Process: "app",
			LatencyNS: (i + 1) * 1e6,
		})
	}
	for i := range records {
		if err := totals.Write(&records[i]); err != nil {
			t.Fatal(err)
		}
	}
	var text strings.Builder
	if err := totals.Print(&text, 0); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(text.String()) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	got := strings.Join(lines, "\n")
	// A percentile is that of a step of the histogram, an eighth of a power of two.
	const want = `device kind requests bytes median ms 99 % ms most ms
sda flush 1 0 0.000 0.000 0.000
sda read 1 0 0.000 0.000 0.000
sda write 100 51200 54.526 100.000 100.000

process, or whose fsync requests reads writes flushes bytes
app 101 0 100 1 51200
(unknown) 1 1 0 0 0

fsyncs of on inode calls requests flushes bytes mean ms most ms
app /data 7 2 4 1 8 3.000 4.000
--- missing: 9 lost`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTotalsAreBounded(t *testing.T) {
	t.Parallel()
	totals := blockio.NewTotals()
	for i := range 10_000 {
		for _, event := range []string{blockio.Request, blockio.Fsync} {
			record := blockio.Record{
				Event: event, Device: fmt.Sprint("d", i), Kind: blockio.Read, Process: fmt.Sprint("p", i), Inode: 5,
			}
			if err := totals.Write(&record); err != nil {
				t.Fatal(err)
			}
		}
	}
	var text strings.Builder
	if err := totals.Print(&text, 0); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(text.String(), "\n"); lines != 5+3*(512+1) {
		t.Errorf("%d lines", lines)
	}
	if rest := strings.Count(text.String(), "(others)"); rest != 3 || !strings.Contains(text.String(), "9488") {
		t.Errorf("%d lines of others", rest)
	}
}

func TestTheLiveViewShowsEachInterval(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	live := blockio.NewLive(&text, 1_000)
	write := func(processes int) {
		for i := range processes {
			record := blockio.Record{
				Event: blockio.Request, Device: "sda", Kind: blockio.Read, Process: fmt.Sprint("app", i),
			}
			if err := live.Write(&record); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(40)
	for _, nowNS := range []uint64{5_000, 5_999, 6_000, 6_500} {
		if err := live.Tick(nowNS); err != nil {
			t.Fatal(err)
		}
	}
	first := text.String()
	if strings.Count(first, "\x1b[H\x1b[J") != 1 || strings.Count(first, "app") != 12 ||
		!strings.Contains(first, "  40  ") {
		t.Errorf("%q", first)
	}
	write(1)
	if err := live.Tick(7_000); err != nil {
		t.Fatal(err)
	}
	second := text.String()[len(first):]
	if strings.Count(second, "app") != 1 || !strings.Contains(second, "app0") {
		t.Errorf("%q", second)
	}
	full := blockio.NewLive(broken{}, 1)
	if err := errors.Join(full.Tick(1), full.Tick(2)); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}

var errBroken = errors.New("broken")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }
