// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/airbound/airbound/phone-agent/proctext"
)

const (
	system = "tcp_monitor"
	// WindowName is the trace event of a window's change.
	WindowName  = system + "_window"
	eventName   = system + "_event"
	eventMarker = ": " + system + "_"
)

// EventNames are the kernel's two trace events.
var EventNames = []string{WindowName, eventName}

// EventSystem is the directory of EventNames below tracefs's events.
const EventSystem = system

// ParseLine reads one line of trace_pipe, without its newline.
//
//	<comm>-<pid>  [000] ..s1.  12.345678: tcp_monitor_window: netns=4026531840 cookie=1 ...
//	CPU:0 [LOST 123 EVENTS]
//
// A process may have any name, so the line is read from its right end: the payload cannot contain the marker.
func ParseLine(line string) (Record, error) {
	if times, lost := parseLost(line); lost {
		return Record{Event: Lost, Times: times}, nil
	}
	at := strings.LastIndex(line, eventMarker)
	if at < 0 {
		return Record{}, fmt.Errorf("%s names no event of %s", proctext.Quoted(line), system)
	}
	name, payload, found := strings.Cut(line[at+len(": "):], ": ")
	if !found || !slices.Contains(EventNames, name) {
		return Record{}, fmt.Errorf("%s is no event of %s", proctext.Quoted(name), system)
	}
	record := Record{Event: Window, Times: 1}
	var err error
	if record.TimeUS, err = parseTime(line[strings.LastIndexByte(line[:at], ' ')+1 : at]); err != nil {
		return Record{}, err
	}
	wanted := fields
	if name == eventName {
		wanted = eventFields
	}
	if err := record.setAll(wanted, payload); err != nil {
		return Record{}, err
	}
	return record, nil
}

func parseLost(line string) (times uint64, lost bool) {
	rest, found := strings.CutPrefix(line, "CPU:")
	if !found {
		return 0, false
	}
	cpu, rest, found := strings.Cut(rest, " [LOST ")
	if _, err := strconv.ParseUint(cpu, 10, 16); !found || err != nil {
		return 0, false
	}
	if rest == "EVENTS]" {
		return 1, true
	}
	count, found := strings.CutSuffix(rest, " EVENTS]")
	times, err := strconv.ParseUint(count, 10, 64)
	return times, found && err == nil
}

// parseTime reads seconds with six decimals, the format of clocks in nanoseconds.
func parseTime(text string) (uint64, error) {
	seconds, microseconds, found := strings.Cut(text, ".")
	whole, errWhole := strconv.ParseUint(seconds, 10, 64)
	fraction, errFraction := strconv.ParseUint(microseconds, 10, 64)
	const usPerSecond, decimals = 1_000_000, 6
	if !found || len(microseconds) != decimals || errWhole != nil || errFraction != nil ||
		whole > math.MaxUint64/usPerSecond-1 {
		return 0, fmt.Errorf("%s is not a time in seconds with six decimals", proctext.Quoted(text))
	}
	return whole*usPerSecond + fraction, nil
}

type field = proctext.Field[Record]

func number32(part func(*Record) *uint32) func(*Record, string) error {
	return func(r *Record, value string) error { return proctext.Number(part(r), value) }
}

func number64(part func(*Record) *uint64) func(*Record, string) error {
	return func(r *Record, value string) error { return proctext.Number(part(r), value) }
}

var (
	// fields are those of both events. Others, of a later kernel, may stand between them and are skipped.
	fields = []field{
		{Name: "netns", Set: func(_ *Record, v string) error { var netns uint32; return proctext.Number(&netns, v) }},
		{Name: "cookie", Set: number64(func(r *Record) *uint64 { return &r.Cookie })},
		{Name: "local", Set: func(r *Record, v string) error { return proctext.Endpoint(&r.Local, v) }},
		{Name: "remote", Set: func(r *Record, v string) error { return proctext.Endpoint(&r.Remote, v) }},
		{Name: "uid", Set: number32(func(r *Record) *uint32 { return &r.UID })},
		{
			Name: "ca_state",
			Set:  func(r *Record, v string) error { return proctext.OneOf(&r.CAState, proctext.CAStates, v) },
		},
		{Name: "cwnd_segs", Set: number32(func(r *Record) *uint32 { return &r.CwndSegs })},
		{Name: "ssthresh_segs", Set: number32(func(r *Record) *uint32 { return &r.SsthreshSegs })},
		{Name: "bound_min_segs", Set: number32(func(r *Record) *uint32 { return &r.BoundMinSegs })},
		{Name: "bound_max_segs", Set: number32(func(r *Record) *uint32 { return &r.BoundMaxSegs })},
		{Name: "in_flight_segs", Set: number32(func(r *Record) *uint32 { return &r.InFlightSegs })},
		{Name: "srtt_us", Set: number32(func(r *Record) *uint32 { return &r.SRTTUS })},
		{Name: "last_rtt_us", Set: number32(func(r *Record) *uint32 { return &r.LastRTTUS })},
		{Name: "min_rtt_us", Set: number32(func(r *Record) *uint32 { return &r.MinRTTUS })},
		{Name: "unsent_bytes", Set: number64(func(r *Record) *uint64 { return &r.UnsentBytes })},
		{Name: "unacked_bytes", Set: number64(func(r *Record) *uint64 { return &r.UnackedBytes })},
	}
	eventFields = append([]field{
		{Name: "event", Set: func(r *Record, v string) error { return proctext.OneOf(&r.Event, events, v) }},
		{Name: "times", Set: times},
	}, fields...)
	events = []string{"local_congestion", "dup_ack", "sack", "fast_retransmit", "timeout", "undo"}
)

func times(r *Record, value string) error {
	if err := proctext.Number(&r.Times, value); err != nil {
		return err
	}
	if r.Times == 0 {
		return errors.New("0 times is no event")
	}
	return nil
}

// setAll parses a payload, which must have every wanted field exactly once.
func (r *Record) setAll(wanted []field, payload string) error {
	var seen uint32
	for text := range strings.SplitSeq(payload, " ") {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return fmt.Errorf("%s is not NAME=VALUE", proctext.Quoted(text))
		}
		i := slices.IndexFunc(wanted, func(f field) bool { return f.Name == name })
		if i < 0 {
			continue
		}
		if seen&(1<<i) != 0 {
			return fmt.Errorf("field %s: twice", name)
		}
		seen |= 1 << i
		if err := wanted[i].Set(r, value); err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
	}
	for i, f := range wanted {
		if seen&(1<<i) == 0 {
			return fmt.Errorf("field %s is missing", f.Name)
		}
	}
	return nil
}
