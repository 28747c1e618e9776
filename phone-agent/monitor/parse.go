// SPDX-License-Identifier: Apache-2.0

package monitor

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Snapshot is one reading of /proc/net/tcp_monitor.
type Snapshot struct {
	Connections []Connection
	// How many lines were refused, and why the first few were.
	RefusedTotal uint64
	Refused      []Refusal
}

// Refusal tells which line was refused and why. Line 1 is the header.
type Refusal struct {
	Line   int
	Reason string
}

func (r Refusal) String() string { return fmt.Sprintf("line %d: %s", r.Line, r.Reason) }

// refusalsKept bounds what a file full of garbage makes the agent remember; all are counted.
const refusalsKept = 4

// Columns are the names a header must hold. Others, of a later kernel, may stand between them and are passed over.
var Columns = []string{
	"time_us", "state", "local", "remote", "uid", "ca_state", "cwnd_segs", "ssthresh_segs", "bound_min_segs",
	"bound_max_segs", "srtt_us", "last_rtt_us", "min_rtt_us", "mss_bytes", "unsent_bytes", "unacked_bytes", "rcvq_bytes",
	"acked_bytes", "local_congestion", "dup_ack", "sack", "fast_retransmit", "timeout", "undo",
}

// Parse reads a whole /proc/net/tcp_monitor. A line that is malformed or cut short is refused and counted, and the
// others are kept. Without a header that names every column nothing can be read, and Parse returns an error.
func Parse(data []byte) (Snapshot, error) {
	header, rest, terminated := bytes.Cut(data, []byte("\n"))
	if !terminated {
		return Snapshot{}, errors.New("line 1: the header is missing or cut short")
	}
	names := strings.Split(string(header), " ")
	if err := checkHeader(names); err != nil {
		return Snapshot{}, err
	}
	var snapshot Snapshot
	for line := 2; len(rest) > 0; line++ {
		var text []byte
		text, rest, terminated = bytes.Cut(rest, []byte("\n"))
		if !terminated {
			snapshot.refuse(line, "cut short: it does not end with a newline")
			break
		}
		connection, err := parseLine(names, string(text))
		if err != nil {
			snapshot.refuse(line, err.Error())
			continue
		}
		snapshot.Connections = append(snapshot.Connections, connection)
	}
	return snapshot, nil
}

func (s *Snapshot) refuse(line int, reason string) {
	s.RefusedTotal++
	if len(s.Refused) < refusalsKept {
		s.Refused = append(s.Refused, Refusal{Line: line, Reason: reason})
	}
}

func checkHeader(names []string) error {
	for _, column := range Columns {
		switch count := countOf(names, column); count {
		case 1:
		case 0:
			return fmt.Errorf("line 1: the header names no column %s", column)
		default:
			return fmt.Errorf("line 1: the header names column %s %d times", column, count)
		}
	}
	return nil
}

func countOf(names []string, wanted string) int {
	count := 0
	for _, name := range names {
		if name == wanted {
			count++
		}
	}
	return count
}

func parseLine(names []string, text string) (Connection, error) {
	var connection Connection
	values := strings.Split(text, " ")
	if len(values) != len(names) {
		return connection, fmt.Errorf("%d columns where the header names %d", len(values), len(names))
	}
	for i, name := range names {
		if err := connection.set(name, values[i]); err != nil {
			return connection, fmt.Errorf("column %s: %w", name, err)
		}
	}
	return connection, nil
}

func (c *Connection) set(column, value string) (err error) {
	switch column {
	case "time_us":
		c.TimeUS, err = number64(value)
	case "state":
		c.State, err = oneOf(states, value)
	case "local":
		c.Local, err = endpoint(value)
	case "remote":
		c.Remote, err = endpoint(value)
	case "uid":
		c.UID, err = number32(value)
	case "ca_state":
		c.CAState, err = oneOf(caStates, value)
	case "cwnd_segs":
		c.CwndSegs, err = number32(value)
	case "ssthresh_segs":
		c.SsthreshSegs, err = number32(value)
	case "bound_min_segs":
		c.BoundMinSegs, err = number32(value)
	case "bound_max_segs":
		c.BoundMaxSegs, err = number32(value)
	case "srtt_us":
		c.SRTTUS, err = number32(value)
	case "last_rtt_us":
		c.LastRTTUS, err = number32(value)
	case "min_rtt_us":
		c.MinRTTUS, err = number32(value)
	case "mss_bytes":
		c.MSSBytes, err = number32(value)
	case "unsent_bytes":
		c.UnsentBytes, err = number64(value)
	case "unacked_bytes":
		c.UnackedBytes, err = number64(value)
	case "rcvq_bytes":
		c.RcvqBytes, err = number64(value)
	case "acked_bytes":
		c.AckedBytes, err = number64(value)
	default:
		err = c.Events.set(column, value)
	}
	return err
}

func (e *Events) set(column, value string) (err error) {
	switch column {
	case "local_congestion":
		e.LocalCongestion, err = number64(value)
	case "dup_ack":
		e.DupAck, err = number64(value)
	case "sack":
		e.Sack, err = number64(value)
	case "fast_retransmit":
		e.FastRetransmit, err = number64(value)
	case "timeout":
		e.Timeout, err = number64(value)
	case "undo":
		e.Undo, err = number64(value)
	}
	return err
}

var (
	states = []string{
		"established", "syn_sent", "syn_recv", "fin_wait1", "fin_wait2", "close_wait", "last_ack", "closing",
	}
	caStates = []string{"open", "disorder", "cwr", "recovery", "loss"}
)

// oneOf returns the name out of the table, so that a snapshot kept does not keep the file's text.
func oneOf(names []string, value string) (string, error) {
	if i := slices.Index(names, value); i >= 0 {
		return names[i], nil
	}
	return "", fmt.Errorf("%s is none of %s", quoted(value), strings.Join(names, ", "))
}

func endpoint(value string) (netip.AddrPort, error) {
	parsed, err := netip.ParseAddrPort(value)
	if err != nil || parsed.Addr().Zone() != "" {
		return netip.AddrPort{}, fmt.Errorf("%s is not an address and port", quoted(value))
	}
	return netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port()), nil
}

func number64(value string) (uint64, error) { return number(value, 64) }

func number32(value string) (uint32, error) {
	parsed, err := number(value, 32)
	return uint32(parsed), err //nolint:gosec // number refuses what does not fit 32 bits
}

func number(value string, bits int) (uint64, error) {
	parsed, err := strconv.ParseUint(value, 10, bits)
	if err != nil {
		return 0, fmt.Errorf("%s is not an unsigned decimal of %d bits", quoted(value), bits)
	}
	return parsed, nil
}

// quotedMax keeps one long line of garbage from filling the log.
const quotedMax = 40

func quoted(value string) string {
	if len(value) > quotedMax {
		return strconv.Quote(value[:quotedMax]) + "..."
	}
	return strconv.Quote(value)
}
