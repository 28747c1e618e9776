// SPDX-License-Identifier: Apache-2.0

package trace_test

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/trace"
)

func written(t *testing.T, newWriter func(*bufio.Writer) trace.Writer) string {
	t.Helper()
	var text strings.Builder
	buffer := bufio.NewWriter(&text)
	writer := newWriter(buffer)
	bare := exampleRecord("timeout", 1)
	bare.SsthreshSegs, bare.BoundMinSegs, bare.BoundMaxSegs, bare.SRTTUS, bare.MinRTTUS = 2, 0, 0, 0, 0
	records := []trace.Record{
		exampleRecord(trace.Window, 1),
		exampleRecord("sack", 3),
		{Event: trace.Lost, Times: 9},
		bare,
	}
	for _, record := range records {
		if err := writer.Write(&record); err != nil {
			t.Fatal(err)
		}
	}
	if err := buffer.Flush(); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func TestTextIsForPeople(t *testing.T) {
	t.Parallel()
	got := written(t, func(to *bufio.Writer) trace.Writer { return trace.NewText(to) })
	const queue = "  min rtt %s  queue 5+14480 B  open\n"
	const start = "    12.345678  10.0.0.2:5001 > 10.0.9.1:443  "
	want := start + "window           cwnd 11  ssthresh -  bounds 10..20  in flight 9  srtt 4.0 ms" + fmt.Sprintf(
		queue,
		"4.0 ms",
	) +
		start + "sack x3          cwnd 11  ssthresh -  bounds 10..20  in flight 9  srtt 4.0 ms" + fmt.Sprintf(
		queue,
		"4.0 ms",
	) +
		"--- missing here: 9 lost\n" +
		start + "timeout          cwnd 11  ssthresh 2  bounds -  in flight 9  srtt -" + fmt.Sprintf(
		queue,
		"-",
	)
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTheTimeOfAMachineThatRanForWeeks(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	record := exampleRecord(trace.Window, 1)
	record.TimeUS = 4_000_000_000_007
	if err := trace.NewText(&text).Write(&record); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.HasPrefix(got, "4000000.000007  ") {
		t.Errorf("%s", got)
	}
}

func TestCSVAndJSONAgree(t *testing.T) {
	t.Parallel()
	rows, err := csv.NewReader(strings.NewReader(written(t, func(to *bufio.Writer) trace.Writer {
		writer, err := trace.NewCSV(to)
		if err != nil {
			t.Fatal(err)
		}
		return writer
	}))).ReadAll()
	if err != nil || len(rows) != 5 {
		t.Fatalf("%v, %v", rows, err)
	}
	decoder := json.NewDecoder(
		strings.NewReader(written(t, func(to *bufio.Writer) trace.Writer { return trace.NewJSON(to) })),
	)
	decoder.UseNumber()
	for _, row := range rows[1:] {
		object := map[string]any{}
		if err := decoder.Decode(&object); err != nil {
			t.Fatal(err)
		}
		for i, column := range rows[0] {
			var text string
			switch value := object[column].(type) {
			case json.Number:
				text = value.String()
			case string:
				text = value
			}
			if text != row[i] {
				t.Errorf("%s: JSON has %q, CSV %q", column, text, row[i])
			}
			delete(object, column)
		}
		if len(object) > 0 {
			t.Errorf("only in JSON: %v", object)
		}
	}
	if got, want := strings.Join(rows[3], ","), ",lost,9,,,,,,,,,,,,,,,"; got != want {
		t.Errorf("gap: %s", got)
	}
}
