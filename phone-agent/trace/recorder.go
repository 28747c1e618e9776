// SPDX-License-Identifier: Apache-2.0

package trace

import (
	"bytes"
	"net/netip"
)

// Writer takes records in the order of their time.
type Writer interface {
	Write(record *Record) error
}

// Counts are what a recording came to.
type Counts struct {
	// Written, holes not included.
	Records uint64
	// Of connections that were not asked for.
	PassedOver uint64
	// Lines that could not be read.
	Refused uint64
	// Overwritten in the kernel's buffer before they were read.
	Lost uint64
}

// Recorder turns the text of trace_pipe, in pieces of any size, into records of the connections that are asked for.
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
	// refusalsKept bounds what a file full of garbage makes the agent remember; all are counted.
	refusalsKept = 4
	// lineBytesMax is more than the kernel gives out at a time (a page).
	lineBytesMax = 16 << 10
)

// Feed takes the next piece. The error is the writer's.
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

// Lose makes a hole of records of which the text says nothing. Where they are missing nobody knows.
func (r *Recorder) Lose(times uint64) error {
	if times == 0 {
		return nil
	}
	r.Counts.Lost += times
	return r.Out.Write(&Record{Event: Lost, Times: times})
}

// Finish refuses what is left of a line that was cut short.
func (r *Recorder) Finish() error {
	if len(r.partial) == 0 {
		return nil
	}
	return r.flushPartial()
}

func (r *Recorder) flushPartial() error {
	reason := quoted(string(r.partial)) + " does not end with a newline"
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
		r.Counts.PassedOver++
		return nil
	default:
		r.Counts.Records++
	}
	return r.Out.Write(&record)
}

func (r *Recorder) refuse(reason string) error {
	r.Counts.Refused++
	if len(r.Refusals) < refusalsKept {
		r.Refusals = append(r.Refusals, reason)
	}
	return r.Out.Write(&Record{Event: Refused, Times: 1})
}
