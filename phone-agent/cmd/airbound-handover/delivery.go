// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/handover"
)

// delivery writes records to a file so that each is in it once, although this process may be killed at any moment: the
// state, in a file of its own, has which records the file has and how long it is. A record is written, then the state
// is replaced, and only then is the record confirmed. What was written behind the length in the state is cut off at the
// next start, and the phone sends it again.
type delivery struct {
	output *os.File
	path   string
	state  deliveryState
	// step, unless nil, is called after each step; its error is the end, as a signal is.
	step func(done string) error
}

// deliveryState is the state's JSON.
type deliveryState struct {
	// Session is empty until the first one.
	Session string `json:"session"`
	// Next is the lowest record that is not in the file, Above are ranges that are, above it.
	Next  uint64           `json:"next"`
	Above []handover.Range `json:"above,omitempty"`
	// Bytes is how much of the file counts.
	Bytes int64 `json:"bytes"`
}

// openDelivery opens both files, of which either may not be there yet. The output is locked until it is closed, which
// the end of the process does however it ends: a second receiver would cut off what the first has just written.
func openDelivery(output, state string) (*delivery, error) {
	made := &delivery{path: state}
	var err error
	if made.output, err = os.OpenFile(output, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, fmt.Errorf("open the output: %w", err)
	}
	err = unix.FcntlFlock(made.output.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK})
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EACCES):
		err = fmt.Errorf("lock %s: another process has it: %w", output, err)
	case err != nil:
		err = fmt.Errorf("lock %s: %w", output, err)
	default:
		made.state, err = readDeliveryState(state)
	}
	if err == nil {
		err = made.rewind()
	}
	if err != nil {
		return nil, errors.Join(err, made.output.Close())
	}
	return made, nil
}

// readDeliveryState returns the state of nothing if there is no file.
func readDeliveryState(path string) (deliveryState, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return deliveryState{Next: 1}, nil
	}
	if err != nil {
		return deliveryState{}, fmt.Errorf("read what was delivered: %w", err)
	}
	var state deliveryState
	if err = json.Unmarshal(text, &state); err == nil {
		err = state.check()
	}
	if err != nil {
		return deliveryState{}, fmt.Errorf("read what was delivered: %s is no state of `receive`: %w", path, err)
	}
	return state, nil
}

// check returns what save never writes.
func (s *deliveryState) check() error {
	if s.Session == "" || s.Next == 0 || s.Bytes < 0 {
		return fmt.Errorf("session %q, next record %d, %d bytes", s.Session, s.Next, s.Bytes)
	}
	missing := s.Next // Each range is above a record that is not in the file.
	for _, each := range s.Above {
		if each.First <= missing || each.Last < each.First {
			return fmt.Errorf("records %d to %d above record %d, which is missing", each.First, each.Last, missing)
		}
		missing = each.Last + 1
	}
	return nil
}

// rewind goes to where the next record belongs.
func (d *delivery) rewind() error {
	length, err := d.output.Seek(0, io.SeekEnd)
	switch {
	case err != nil:
		return fmt.Errorf("find the end of the output: %w", err)
	case d.state.Session == "" && length > 0:
		return fmt.Errorf("%s is not empty, and there is no state about it", d.output.Name())
	case length < d.state.Bytes:
		return fmt.Errorf("%s has %d bytes, and had %d: it is not the one that the state is about",
			d.output.Name(), length, d.state.Bytes)
	}
	if err := d.output.Truncate(d.state.Bytes); err != nil {
		return fmt.Errorf("cut off what was not delivered: %w", err)
	}
	if _, err := d.output.Seek(d.state.Bytes, io.SeekStart); err != nil {
		return fmt.Errorf("find the end of the output: %w", err)
	}
	return nil
}

// errOther is a session that is not the one of the state.
var errOther = errors.New("the state is of another session")

// origin is for handover.Config: one session, the first that comes or the one of the state.
func (d *delivery) origin(session, _ string) (handover.Origin, error) {
	switch d.state.Session {
	case session:
		return handover.Origin{Next: d.state.Next, Above: slices.Clone(d.state.Above)}, nil
	case "":
		// Before anything of it is written.
		d.state.Session = session
		return handover.Origin{}, d.save()
	}
	return handover.Origin{}, errOther
}

// write adds a record, as it is in the file.
func (d *delivery) write(sequence uint64, text []byte) error {
	if _, err := d.output.Write(text); err != nil {
		return err
	}
	if err := d.did("written"); err != nil {
		return err
	}
	d.state.Bytes += int64(len(text))
	d.state.add(sequence)
	if err := d.save(); err != nil {
		return err
	}
	return d.did("saved")
}

func (d *delivery) did(what string) error {
	if d.step == nil {
		return nil
	}
	return d.step(what)
}

// save replaces the state as a whole.
func (d *delivery) save() error {
	text, err := json.Marshal(d.state)
	if err != nil {
		return fmt.Errorf("save what was delivered: %w", err)
	}
	const private = 0o600
	if err := os.WriteFile(d.path+".new", append(text, '\n'), private); err != nil {
		return fmt.Errorf("save what was delivered: %w", err)
	}
	if err := os.Rename(d.path+".new", d.path); err != nil {
		return fmt.Errorf("save what was delivered: %w", err)
	}
	return nil
}

// finish removes the state of a session that has ended: all is in the file.
func (d *delivery) finish() error {
	if err := errors.Join(d.output.Sync(), os.Remove(d.path)); err != nil {
		return fmt.Errorf("end the delivery: %w", err)
	}
	return nil
}

// add takes a record to those that are in the file.
func (s *deliveryState) add(sequence uint64) {
	if sequence == s.Next {
		s.Next++
		if len(s.Above) > 0 && s.Above[0].First == s.Next {
			s.Next = s.Above[0].Last + 1
			s.Above = s.Above[1:]
		}
		return
	}
	at, _ := slices.BinarySearchFunc(s.Above, sequence, func(r handover.Range, wanted uint64) int {
		if r.First < wanted {
			return -1
		}
		return 1
	})
	s.Above = slices.Insert(s.Above, at, handover.Range{First: sequence, Last: sequence})
	if at+1 < len(s.Above) && s.Above[at+1].First == sequence+1 {
		s.Above[at].Last = s.Above[at+1].Last
		s.Above = slices.Delete(s.Above, at+1, at+2)
	}
	if at > 0 && s.Above[at-1].Last+1 == sequence {
		s.Above[at-1].Last = s.Above[at].Last
		s.Above = slices.Delete(s.Above, at, at+1)
	}
}
