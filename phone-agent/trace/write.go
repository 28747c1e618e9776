// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/trace/rows"
)

// NewText writes lines for people.
func NewText(to io.Writer) Writer { return writer{rows.NewText(to)} }

// NewJSON writes one JSON object a line.
func NewJSON(to io.Writer) Writer { return writer{rows.NewJSON(to)} }

// NewCSV writes a header and one record a line (RFC 4180, newlines without carriage return). The caller flushes the
// buffer.
func NewCSV(to *bufio.Writer) (Writer, error) {
	csv, err := rows.NewCSV(to, csvColumns)
	return writer{csv}, err
}

type writer struct{ to rows.Writer }

func (w writer) Write(r *Record) error { return w.to.Write(r) }

// Gap returns the kind of gap that the record is, and how many records are missing.
func (r *Record) Gap() (kind string, times uint64, is bool) { return r.Event, r.Times, r.IsGap() }

// Text is a line for people.
func (r *Record) Text() string {
	event := r.Event
	if r.Times > 1 {
		event = fmt.Sprintf("%s x%d", event, r.Times)
	}
	return fmt.Sprintf("%6d.%06d  %s > %s  %-15s  cwnd %d  ssthresh %s  bounds %s  in flight %d  srtt %s"+
		"  min rtt %s  queue %d+%d B  %s",
		r.TimeUS/1_000_000, r.TimeUS%1_000_000, r.Local, r.Remote, event, r.CwndSegs, ssthresh(r.SsthreshSegs),
		bounds(r.BoundMinSegs, r.BoundMaxSegs), r.InFlightSegs, milliseconds(r.SRTTUS), milliseconds(r.MinRTTUS),
		r.UnsentBytes, r.UnackedBytes, r.CAState)
}

func ssthresh(segs uint32) string {
	if segs == monitor.SsthreshUnset {
		return "-"
	}
	return strconv.FormatUint(uint64(segs), 10)
}

func bounds(minSegs, maxSegs uint32) string {
	if maxSegs == 0 { // A bound that is in force has both.
		return "-"
	}
	return fmt.Sprintf("%d..%d", minSegs, maxSegs)
}

func milliseconds(us uint32) string {
	if us == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f ms", float64(us)/1000)
}

var csvColumns = []string{
	"time_us", "event", "times", "cookie", "local", "remote", "uid", "ca_state", "cwnd_segs", "ssthresh_segs",
	"bound_min_segs", "bound_max_segs", "in_flight_segs", "srtt_us", "last_rtt_us", "min_rtt_us", "unsent_bytes",
	"unacked_bytes",
}

// AppendCells appends the values of csvColumns.
func (r *Record) AppendCells(to []string) []string {
	return append(to,
		decimal(
			r.TimeUS,
		),
		r.Event,
		decimal(r.Times),
		decimal(r.Cookie),
		r.Local.String(),
		r.Remote.String(),
		decimal(r.UID),
		r.CAState,
		decimal(r.CwndSegs),
		decimal(r.SsthreshSegs),
		decimal(r.BoundMinSegs),
		decimal(r.BoundMaxSegs),
		decimal(r.InFlightSegs),
		decimal(r.SRTTUS),
		decimal(r.LastRTTUS),
		decimal(r.MinRTTUS),
		decimal(r.UnsentBytes),
		decimal(r.UnackedBytes),
	)
}

func decimal[T uint32 | uint64](value T) string { return strconv.FormatUint(uint64(value), 10) }
