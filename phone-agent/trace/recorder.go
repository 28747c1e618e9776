// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bytes"
	"net/netip"

	"github.com/airbound/airbound/phone-agent/proctext"
)

// Writer takes records in the order of their time.
type Writer interface {
	Write(record *Record) error
}

// Counts are the totals of a recording.
type Counts struct {
	// Written, gaps not included.
	Records uint64
	// Of connections that were not selected.
	Skipped uint64
	// Lines that could not be read.
	Refused uint64
	// Overwritten in the kernel's buffer before they were read.
	Lost uint64
}

// Recorder turns the text of trace_pipe, in pieces of any size, into records of the selected connections.
type Recorder struct {
	// Remote selects by remote address; the zero prefix is every address.
	Remote netip.Prefix
	Out    Writer

	Counts Counts
	// Why the first few lines were refused.
	Refusals []string

	partial []byte
}

const (
	// lineBytesMax is more than the kernel returns at a time (a page).
	lineBytesMax = 16 << 10
)

// Feed parses the next piece. The error is the writer's.
func (r *Recorder) Feed(piece []byte) error {
	for {
		line, rest, whole := bytes.Cut(piece, []byte("\n"))
		if !whole {
			r.partial = append(r.partial, piece...)
			if len(r.partial) > lineBytesMax {
				return r.flushPartial()
			}
			return nil
		}
		if len(r.partial) > 0 {
			line = append(r.partial, line...)
			r.partial = r.partial[:0]
		}
		if err := r.take(string(line)); err != nil {
			return err
		}
		piece = rest
	}
}

// Lose writes a gap for lost records that the text does not report; at which place they are missing is not known.
func (r *Recorder) Lose(times uint64) error {
	if times == 0 {
		return nil
	}
	r.Counts.Lost += times
	return r.Out.Write(&Record{Event: Lost, Times: times})
}

// Finish refuses what is left of a truncated line.
func (r *Recorder) Finish() error {
	if len(r.partial) == 0 {
		return nil
	}
	return r.flushPartial()
}

func (r *Recorder) flushPartial() error {
	reason := proctext.Quoted(string(r.partial)) + " does not end with a newline"
	r.partial = r.partial[:0]
	return r.refuse(reason)
}

func (r *Recorder) take(line string) error {
	record, err := ParseLine(line)
	switch {
	case err != nil:
		return r.refuse(err.Error())
	case record.Event == Lost:
		r.Counts.Lost += record.Times
	case r.Remote.IsValid() && !r.Remote.Contains(record.Remote.Addr()):
		r.Counts.Skipped++
		return nil
	default:
		r.Counts.Records++
	}
	return r.Out.Write(&record)
}

func (r *Recorder) refuse(reason string) error {
	r.Counts.Refused++
	if len(r.Refusals) < proctext.RefusalsKept {
		r.Refusals = append(r.Refusals, reason)
	}
	return r.Out.Write(&Record{Event: Refused, Times: 1})
}
