// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/airbound/airbound/phone-agent/monitor"
)

// NewText writes lines for people.
func NewText(to io.Writer) Writer { return textWriter{to} }

// NewJSON writes one JSON object a line.
func NewJSON(to io.Writer) Writer { return jsonWriter{json.NewEncoder(to)} }

// NewCSV writes a header and one record a line (RFC 4180, newlines without carriage return). No value needs quotes.
func NewCSV(to io.Writer) (Writer, error) {
	_, err := fmt.Fprintln(to, strings.Join(csvColumns, ","))
	return csvWriter{to}, err
}

type textWriter struct{ to io.Writer }

func (w textWriter) Write(r *Record) error {
	if r.IsHole() {
		_, err := fmt.Fprintf(w.to, "--- missing here: %d %s\n", r.Times, r.Event)
		return err
	}
	event := r.Event
	if r.Times > 1 {
		event = fmt.Sprintf("%s x%d", event, r.Times)
	}
	_, err := fmt.Fprintf(w.to, "%6d.%06d  %s > %s  %-15s  cwnd %d  ssthresh %s  bounds %s  in flight %d  srtt %s  min rtt %s  queue %d+%d B  %s\n",
		r.TimeUS/1_000_000, r.TimeUS%1_000_000, r.Local, r.Remote, event, r.CwndSegs, ssthresh(r.SsthreshSegs),
		bounds(r.BoundMinSegs, r.BoundMaxSegs), r.InFlightSegs, milliseconds(r.SRTTUS), milliseconds(r.MinRTTUS), r.UnsentBytes,
		r.UnackedBytes, r.CAState)
	return err
}

func ssthresh(segs uint32) string {
	if segs == monitor.SsthreshUnset {
		return "-"
	}
	return strconv.FormatUint(uint64(segs), 10)
}

func bounds(minSegs, maxSegs uint32) string {
	if minSegs == 0 && maxSegs == 0 {
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

// jsonHole and jsonRecord are Record with the names and the order of CSV.
type jsonHole struct {
	Event string `json:"event"`
	Times uint64 `json:"times"`
}

type jsonRecord struct {
	TimeUS       uint64 `json:"time_us"`
	Event        string `json:"event"`
	Times        uint64 `json:"times"`
	Cookie       uint64 `json:"cookie"`
	Local        string `json:"local"`
	Remote       string `json:"remote"`
	UID          uint32 `json:"uid"`
	CAState      string `json:"ca_state"`
	CwndSegs     uint32 `json:"cwnd_segs"`
	SsthreshSegs uint32 `json:"ssthresh_segs"`
	BoundMinSegs uint32 `json:"bound_min_segs"`
	BoundMaxSegs uint32 `json:"bound_max_segs"`
	InFlightSegs uint32 `json:"in_flight_segs"`
	SRTTUS       uint32 `json:"srtt_us"`
	LastRTTUS    uint32 `json:"last_rtt_us"`
	MinRTTUS     uint32 `json:"min_rtt_us"`
	UnsentBytes  uint64 `json:"unsent_bytes"`
	UnackedBytes uint64 `json:"unacked_bytes"`
}

func (w jsonWriter) Write(r *Record) error {
	if r.IsHole() {
		return w.to.Encode(jsonHole{r.Event, r.Times})
	}
	return w.to.Encode(jsonRecord{
		r.TimeUS, r.Event, r.Times, r.Cookie, r.Local.String(), r.Remote.String(), r.UID, r.CAState, r.CwndSegs, r.SsthreshSegs,
		r.BoundMinSegs, r.BoundMaxSegs, r.InFlightSegs, r.SRTTUS, r.LastRTTUS, r.MinRTTUS, r.UnsentBytes, r.UnackedBytes,
	})
}

type csvWriter struct{ to io.Writer }

var csvColumns = []string{
	"time_us", "event", "times", "cookie", "local", "remote", "uid", "ca_state", "cwnd_segs", "ssthresh_segs", "bound_min_segs",
	"bound_max_segs", "in_flight_segs", "srtt_us", "last_rtt_us", "min_rtt_us", "unsent_bytes", "unacked_bytes",
}

func (w csvWriter) Write(r *Record) error {
	if r.IsHole() {
		_, err := fmt.Fprintf(w.to, ",%s,%d%s\n", r.Event, r.Times, strings.Repeat(",", len(csvColumns)-3))
		return err
	}
	_, err := fmt.Fprintf(w.to, "%d,%s,%d,%d,%s,%s,%d,%s,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d\n",
		r.TimeUS, r.Event, r.Times, r.Cookie, r.Local, r.Remote, r.UID, r.CAState, r.CwndSegs, r.SsthreshSegs,
		r.BoundMinSegs, r.BoundMaxSegs, r.InFlightSegs, r.SRTTUS, r.LastRTTUS, r.MinRTTUS, r.UnsentBytes, r.UnackedBytes)
	return err
}
