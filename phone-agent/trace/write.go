// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"github.com/airbound/airbound/phone-agent/monitor"
)

// NewText writes lines for people.
func NewText(to io.Writer) Writer { return textWriter{to} }

// NewJSON writes one JSON object a line.
func NewJSON(to io.Writer) Writer { return jsonWriter{json.NewEncoder(to)} }

// NewCSV writes a header and one record a line (RFC 4180, newlines without carriage return). The caller flushes the
// buffer.
func NewCSV(to *bufio.Writer) (Writer, error) {
	writer := csvWriter{csv.NewWriter(to)} // It uses the buffer as its own.
	return writer, writer.to.Write(csvColumns)
}

type textWriter struct{ to io.Writer }

func (w textWriter) Write(r *Record) error {
	if r.IsGap() {
		_, err := fmt.Fprintf(w.to, "--- missing here: %d %s\n", r.Times, r.Event)
		return err
	}
	event := r.Event
	if r.Times > 1 {
		event = fmt.Sprintf("%s x%d", event, r.Times)
	}
	_, err := fmt.Fprintf(w.to, "%6d.%06d  %s > %s  %-15s  cwnd %d  ssthresh %s  bounds %s  in flight %d  srtt %s"+
		"  min rtt %s  queue %d+%d B  %s\n",
		r.TimeUS/1_000_000, r.TimeUS%1_000_000, r.Local, r.Remote, event, r.CwndSegs, ssthresh(r.SsthreshSegs),
		bounds(r.BoundMinSegs, r.BoundMaxSegs), r.InFlightSegs, milliseconds(r.SRTTUS), milliseconds(r.MinRTTUS),
		r.UnsentBytes, r.UnackedBytes, r.CAState)
	return err
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

type jsonWriter struct{ to *json.Encoder }

// gap is the Record of a gap.
type gap struct {
	Event string `json:"event"`
	Times uint64 `json:"times"`
}

func (w jsonWriter) Write(r *Record) error {
	if r.IsGap() {
		return w.to.Encode(gap{r.Event, r.Times})
	}
	return w.to.Encode(r)
}

type csvWriter struct{ to *csv.Writer }

var csvColumns = []string{
	"time_us", "event", "times", "cookie", "local", "remote", "uid", "ca_state", "cwnd_segs", "ssthresh_segs",
	"bound_min_segs", "bound_max_segs", "in_flight_segs", "srtt_us", "last_rtt_us", "min_rtt_us", "unsent_bytes",
	"unacked_bytes",
}

func (w csvWriter) Write(r *Record) error {
	if r.IsGap() {
		row := make([]string, len(csvColumns))
		row[1], row[2] = r.Event, decimal(r.Times)
		return w.to.Write(row)
	}
	return w.to.Write([]string{
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
	})
}

func decimal[T uint32 | uint64](value T) string { return strconv.FormatUint(uint64(value), 10) }
