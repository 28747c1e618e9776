// SPDX-License-Identifier: Apache-2.0

package blockio

import (
	"slices"
	"strconv"

	"github.com/airbound/airbound/phone-agent/proctext"
	"github.com/airbound/airbound/phone-agent/trace/ring"
	"github.com/airbound/airbound/phone-agent/trace/rows"
)

// Selection is which records are written. The zero value is all.
type Selection struct {
	// Process is the name or number of a thread or process, or of one whose fsync is the cause.
	Process string
	// Uppers are the devices to which a request's bio was submitted; nil: all.
	Uppers map[uint32]bool
}

func (s Selection) has(r *Record) bool {
	if s.Uppers != nil && !s.Uppers[r.upper] {
		return false
	}
	switch s.Process {
	case "", r.Command, r.Process, r.SyncCommand, r.SyncProcess:
		return true
	}
	number, err := strconv.ParseUint(s.Process, 10, 32)
	tid := uint32(number)
	return err == nil && slices.Contains([]uint32{r.TID, r.PID, r.SyncTID, r.syncPID}, tid)
}

// Recorder turns the kernel's events, in pieces of any size, into records.
type Recorder struct {
	Select Selection
	Out    rows.Writer
	// Tick, unless nil, is called when everything until nowNS has been written.
	Tick func(nowNS uint64) error

	Counts Counts
	// Why the first few events were refused.
	Refusals []string

	decoder Decoder
	matcher *matcher
	event   event
}

// NewRecorder makes a recorder for a kernel whose formats the decoder has.
func NewRecorder(decoder Decoder, names Names, out rows.Writer) *Recorder {
	r := &Recorder{Out: out, decoder: decoder}
	r.matcher = newMatcher(names, &r.Counts, r.write)
	return r
}

// Feed takes the next events. The error is the writer's.
func (r *Recorder) Feed(events []ring.Event) error {
	for i := range events {
		if err := r.take(events[i]); err != nil {
			return err
		}
	}
	return nil
}

// Lose writes a gap for lost events that no gap reports; at which place they are missing is not known.
func (r *Recorder) Lose(times uint64) error {
	if times == 0 {
		return nil
	}
	r.Counts.Lost += times
	return r.Out.Write(&Record{Event: Lost, Times: times})
}

// Finish writes what has not ended.
func (r *Recorder) Finish() error { return r.matcher.end() }

func (r *Recorder) take(event ring.Event) error {
	switch event.Kind {
	case ring.Now:
		if r.Tick != nil {
			return r.Tick(event.TimeNS)
		}
		return nil
	case ring.Lost:
		r.Counts.Lost += event.Times
		return r.gap(Lost, event.Times)
	case ring.Refused:
		return r.refuse("a page of the kernel's buffer could not be read", event.Times)
	default:
		if err := r.decoder.decode(event, &r.event); err != nil {
			return r.refuse(err.Error(), 1)
		}
		return r.matcher.take(&r.event)
	}
}

func (r *Recorder) refuse(reason string, times uint64) error {
	r.Counts.Refused += times
	if len(r.Refusals) < proctext.RefusalsKept {
		r.Refusals = append(r.Refusals, reason)
	}
	return r.gap(Refused, times)
}

func (r *Recorder) gap(kind string, times uint64) error {
	r.matcher.gap()
	return r.write(&Record{Event: kind, Times: times})
}

func (r *Recorder) write(record *Record) error {
	switch {
	case record.IsGap():
	case !r.Select.has(record):
		r.Counts.Skipped++
		return nil
	case record.Event == Fsync:
		r.Counts.Fsyncs++
	default:
		r.Counts.Requests++
	}
	return r.Out.Write(record)
}
