// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/proctext"
)

type column = proctext.Field[monitor.Connection]

func number32(field func(*monitor.Connection) *uint32) func(*monitor.Connection, string) error {
	return func(c *monitor.Connection, value string) error { return proctext.Number(field(c), value) }
}

func number64(field func(*monitor.Connection) *uint64) func(*monitor.Connection, string) error {
	return func(c *monitor.Connection, value string) error { return proctext.Number(field(c), value) }
}

var (
	// columns are those that a header must name. Others, of a later kernel, may stand between them and are skipped.
	columns = []column{
		{Name: "time_us", Set: number64(func(c *monitor.Connection) *uint64 { return &c.TimeUS })},
		{
			Name: "state",
			Set:  func(c *monitor.Connection, v string) error { return proctext.OneOf(&c.State, states, v) },
		},
		{Name: "local", Set: func(c *monitor.Connection, v string) error { return proctext.Endpoint(&c.Local, v) }},
		{Name: "remote", Set: func(c *monitor.Connection, v string) error { return proctext.Endpoint(&c.Remote, v) }},
		{Name: "uid", Set: number32(func(c *monitor.Connection) *uint32 { return &c.UID })},
		{Name: "ca_state", Set: func(c *monitor.Connection, v string) error {
			return proctext.OneOf(&c.CAState, proctext.CAStates, v)
		}},
		{Name: "cwnd_segs", Set: number32(func(c *monitor.Connection) *uint32 { return &c.CwndSegs })},
		{Name: "ssthresh_segs", Set: number32(func(c *monitor.Connection) *uint32 { return &c.SsthreshSegs })},
		{Name: "bound_min_segs", Set: number32(func(c *monitor.Connection) *uint32 { return &c.BoundMinSegs })},
		{Name: "bound_max_segs", Set: number32(func(c *monitor.Connection) *uint32 { return &c.BoundMaxSegs })},
		{Name: "srtt_us", Set: number32(func(c *monitor.Connection) *uint32 { return &c.SRTTUS })},
		{Name: "last_rtt_us", Set: number32(func(c *monitor.Connection) *uint32 { return &c.LastRTTUS })},
		{Name: "min_rtt_us", Set: number32(func(c *monitor.Connection) *uint32 { return &c.MinRTTUS })},
		{Name: "mss_bytes", Set: number32(func(c *monitor.Connection) *uint32 { return &c.MSSBytes })},
		{Name: "unsent_bytes", Set: number64(func(c *monitor.Connection) *uint64 { return &c.UnsentBytes })},
		{Name: "unacked_bytes", Set: number64(func(c *monitor.Connection) *uint64 { return &c.UnackedBytes })},
		{Name: "rcvq_bytes", Set: number64(func(c *monitor.Connection) *uint64 { return &c.RcvqBytes })},
		{Name: "acked_bytes", Set: number64(func(c *monitor.Connection) *uint64 { return &c.AckedBytes })},
		{
			Name: "local_congestion",
			Set:  number64(func(c *monitor.Connection) *uint64 { return &c.Events.LocalCongestion }),
		},
		{Name: "dup_ack", Set: number64(func(c *monitor.Connection) *uint64 { return &c.Events.DupAck })},
		{Name: "sack", Set: number64(func(c *monitor.Connection) *uint64 { return &c.Events.Sack })},
		{
			Name: "fast_retransmit",
			Set:  number64(func(c *monitor.Connection) *uint64 { return &c.Events.FastRetransmit }),
		},
		{Name: "timeout", Set: number64(func(c *monitor.Connection) *uint64 { return &c.Events.Timeout })},
		{Name: "undo", Set: number64(func(c *monitor.Connection) *uint64 { return &c.Events.Undo })},
	}
	states = []string{
		"established", "syn_sent", "syn_recv", "fin_wait1", "fin_wait2", "close_wait", "last_ack", "closing",
	}
)

// Header is the first line of the file as this version of the kernel series prints it.
func Header() string {
	names := make([]string, len(columns))
	for i := range columns {
		names[i] = columns[i].Name
	}
	return strings.Join(names, " ")
}

// Parse reads a whole /proc/net/tcp_monitor. A line that is malformed or truncated is refused and counted, and the
// others are kept. Without a header that names every column nothing can be read, and Parse returns an error.
func Parse(data []byte) (monitor.Snapshot, error) {
	header, rest, terminated := bytes.Cut(data, []byte("\n"))
	if !terminated {
		return monitor.Snapshot{}, errors.New("line 1: the header is missing or truncated")
	}
	order, err := parseHeader(string(header))
	if err != nil {
		return monitor.Snapshot{}, err
	}
	var snapshot monitor.Snapshot
	for line := 2; len(rest) > 0; line++ {
		var text []byte
		text, rest, terminated = bytes.Cut(rest, []byte("\n"))
		if !terminated {
			snapshot.Refuse(line, "truncated: it does not end with a newline")
			break
		}
		connection, err := parseLine(order, string(text))
		if err != nil {
			snapshot.Refuse(line, err.Error())
			continue
		}
		snapshot.Connections = append(snapshot.Connections, connection)
	}
	return snapshot, nil
}

// parseHeader returns the columns in the order of the header, nil for those that are not known.
func parseHeader(header string) ([]*column, error) {
	names := strings.Split(header, " ")
	order := make([]*column, len(names))
	for i := range columns {
		name := columns[i].Name
		at := slices.Index(names, name)
		if at < 0 {
			return nil, fmt.Errorf("line 1: the header names no column %s", name)
		}
		if slices.Contains(names[at+1:], name) {
			return nil, fmt.Errorf("line 1: the header names column %s twice", name)
		}
		order[at] = &columns[i]
	}
	return order, nil
}

func parseLine(order []*column, text string) (monitor.Connection, error) {
	var connection monitor.Connection
	values := strings.Split(text, " ")
	if len(values) != len(order) {
		return connection, fmt.Errorf("%d columns where the header names %d", len(values), len(order))
	}
	for i, column := range order {
		if column == nil {
			continue
		}
		if err := column.Set(&connection, values[i]); err != nil {
			return connection, fmt.Errorf("column %s: %w", column.Name, err)
		}
	}
	return connection, nil
}
