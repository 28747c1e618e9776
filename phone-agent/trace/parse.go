// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

const (
	system      = "tcp_monitor"
	windowName  = system + "_window"
	eventName   = system + "_event"
	eventMarker = ": " + system + "_"
)

// EventNames are the kernel's two trace events, EventSystem the folder that they are in.
var EventNames = []string{windowName, eventName}

// EventSystem is the folder of EventNames below tracefs's events.
const EventSystem = system

// ParseLine reads one line of trace_pipe, without its newline.
//
//	<comm>-<pid>  [000] ..s1.  12.345678: tcp_monitor_window: netns=4026531840 cookie=1 ...
//	CPU:0 [LOST 123 EVENTS]
//
// A process may call itself anything, so the line is read from its right end: nothing of the payload looks like the marker.
func ParseLine(line string) (Record, error) {
	if times, lost := parseLost(line); lost {
		return Record{Event: Lost, Times: times}, nil
	}
	at := strings.LastIndex(line, eventMarker)
	if at < 0 {
		return Record{}, fmt.Errorf("%s names no event of %s", quoted(line), system)
	}
	name, payload, found := strings.Cut(line[at+len(": "):], ": ")
	if !found || !slices.Contains(EventNames, name) {
		return Record{}, fmt.Errorf("%s is no event of %s", quoted(name), system)
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

// parseTime reads seconds with six decimals, which is how clocks in nanoseconds are printed.
func parseTime(text string) (uint64, error) {
	seconds, microseconds, found := strings.Cut(text, ".")
	whole, errWhole := strconv.ParseUint(seconds, 10, 64)
	fraction, errFraction := strconv.ParseUint(microseconds, 10, 64)
	if !found || len(microseconds) != len("000000") || errWhole != nil || errFraction != nil || whole > math.MaxUint64/1_000_000-1 {
		return 0, fmt.Errorf("%s is not a time in seconds with six decimals", quoted(text))
	}
	return whole*1_000_000 + fraction, nil
}

// field is one NAME=VALUE of a payload.
type field struct {
	name string
	set  func(record *Record, value string) error
}

var (
	// What both events tell. Others, of a later kernel, may stand between them and are passed over.
	fields = []field{
		{"netns", func(_ *Record, v string) error { var netns uint32; return number(&netns, v) }},
		{"cookie", func(r *Record, v string) error { return number(&r.Cookie, v) }},
		{"local", func(r *Record, v string) error { return endpoint(&r.Local, v) }},
		{"remote", func(r *Record, v string) error { return endpoint(&r.Remote, v) }},
		{"uid", func(r *Record, v string) error { return number(&r.UID, v) }},
		{"ca_state", func(r *Record, v string) error { return oneOf(&r.CAState, caStates, v) }},
		{"cwnd_segs", func(r *Record, v string) error { return number(&r.CwndSegs, v) }},
		{"ssthresh_segs", func(r *Record, v string) error { return number(&r.SsthreshSegs, v) }},
		{"bound_min_segs", func(r *Record, v string) error { return number(&r.BoundMinSegs, v) }},
		{"bound_max_segs", func(r *Record, v string) error { return number(&r.BoundMaxSegs, v) }},
		{"in_flight_segs", func(r *Record, v string) error { return number(&r.InFlightSegs, v) }},
		{"srtt_us", func(r *Record, v string) error { return number(&r.SRTTUS, v) }},
		{"last_rtt_us", func(r *Record, v string) error { return number(&r.LastRTTUS, v) }},
		{"min_rtt_us", func(r *Record, v string) error { return number(&r.MinRTTUS, v) }},
		{"unsent_bytes", func(r *Record, v string) error { return number(&r.UnsentBytes, v) }},
		{"unacked_bytes", func(r *Record, v string) error { return number(&r.UnackedBytes, v) }},
	}
	eventFields = append([]field{
		{"event", func(r *Record, v string) error { return oneOf(&r.Event, events, v) }},
		{"times", times},
	}, fields...)
	caStates = []string{"open", "disorder", "cwr", "recovery", "loss"}
	events   = []string{"local_congestion", "dup_ack", "sack", "fast_retransmit", "timeout", "undo"}
)

func times(r *Record, value string) error {
	if err := number(&r.Times, value); err != nil {
		return err
	}
	if r.Times == 0 {
		return errors.New("0 times is no event")
	}
	return nil
}

// setAll takes every wanted field exactly once.
func (r *Record) setAll(wanted []field, payload string) error {
	var seen uint32
	for text := range strings.SplitSeq(payload, " ") {
		name, value, found := strings.Cut(text, "=")
		if !found {
			return fmt.Errorf("%s is not NAME=VALUE", quoted(text))
		}
		i := slices.IndexFunc(wanted, func(f field) bool { return f.name == name })
		if i < 0 {
			continue
		}
		if seen&(1<<i) != 0 {
			return fmt.Errorf("field %s: twice", name)
		}
		seen |= 1 << i
		if err := wanted[i].set(r, value); err != nil {
			return fmt.Errorf("field %s: %w", name, err)
		}
	}
	for i, f := range wanted {
		if seen&(1<<i) == 0 {
			return fmt.Errorf("field %s is missing", f.name)
		}
	}
	return nil
}

// oneOf takes the name out of the table, so that a record kept does not keep the line.
func oneOf(to *string, names []string, value string) error {
	i := slices.Index(names, value)
	if i < 0 {
		return fmt.Errorf("%s is none of %s", quoted(value), strings.Join(names, ", "))
	}
	*to = names[i]
	return nil
}

func endpoint(to *netip.AddrPort, value string) error {
	parsed, err := netip.ParseAddrPort(value)
	if err != nil || parsed.Addr().Zone() != "" {
		return fmt.Errorf("%s is not an address and port", quoted(value))
	}
	*to = netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port())
	return nil
}

func number[T uint32 | uint64](to *T, value string) error {
	bits := 64
	if uint64(^T(0)) == math.MaxUint32 {
		bits = 32
	}
	parsed, err := strconv.ParseUint(value, 10, bits)
	if err != nil {
		return fmt.Errorf("%s is not an unsigned decimal of %d bits", quoted(value), bits)
	}
	*to = T(parsed)
	return nil
}

// quotedMax keeps one long line of garbage from filling the terminal.
const quotedMax = 60

func quoted(value string) string {
	if len(value) > quotedMax {
		return strconv.Quote(value[:quotedMax]) + "..."
	}
	return strconv.Quote(value)
}
