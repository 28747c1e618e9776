// SPDX-License-Identifier: Apache-2.0

// Package recording copies records from an instance of tracing to the output, from the start to the end of a recording.
package recording

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// ErrAbandoned means that the output blocked and the user did not wait for it.
var ErrAbandoned = errors.New("the output is blocked: stopped, records are missing")

// Instance is an instance of tracing that records. It gives what the kernel has recorded piece by piece, as text
// (tracefs.Instance: an element is a byte) or as events (tracefs.Raw); the methods are described there.
type Instance[Element any] interface {
	Read() ([]Element, error)
	Drain() ([]Element, error)
	Interrupt()
	Stop() error
	LostUnreported() (uint64, error)
	Remove() error
}

// Recorder makes records of the pieces.
type Recorder[Element any] interface {
	Feed(piece []Element) error
	// Lose is called with the number of losses that no piece reports.
	Lose(times uint64) error
	Finish() error
}

// Recording is a recording that Instance has started.
type Recording[Element any] struct {
	Instance Instance[Element]
	Recorder Recorder[Element]
	// Flush writes what Recorder has buffered.
	Flush func() error
	// ReadAtEnd leaves everything in the kernel's buffer until the end.
	ReadAtEnd bool
}

// Run records until the context ends, then reads what is left in the kernel's buffer. At the end of the context the
// kernel stops recording even if the output is stuck; Run then returns ErrAbandoned when abandon is closed. The
// instance is removed when Run returns, whatever ended it.
func (r *Recording[Element]) Run(ctx context.Context, abandon <-chan struct{}) error {
	done := make(chan error, 1)
	go func() { done <- r.follow(ctx) }()
	var err error
	select {
	case err = <-done:
		if errors.Is(err, syscall.EPIPE) {
			// The reader of the output has ended, which is no error.
			err = nil
		}
	case <-abandon:
		// The write that blocks follow ends only with the process.
		err = ErrAbandoned
	}
	return errors.Join(err, r.Instance.Remove())
}

func (r *Recording[Element]) follow(ctx context.Context) error {
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		stopped <- r.Instance.Stop()
		r.Instance.Interrupt()
	})()
	if r.ReadAtEnd {
		<-ctx.Done()
	}
	for ctx.Err() == nil {
		piece, err := r.Instance.Read()
		if err == nil && piece != nil {
			err = r.take(piece)
		}
		if err != nil {
			return err
		}
	}
	if err := <-stopped; err != nil {
		return err
	}
	for {
		piece, err := r.Instance.Drain()
		if err != nil {
			return err
		}
		if piece == nil {
			return r.finish()
		}
		if err := r.take(piece); err != nil {
			return err
		}
	}
}

func (r *Recording[Element]) take(piece []Element) error {
	return errors.Join(r.Recorder.Feed(piece), r.Flush())
}

func (r *Recording[Element]) finish() error {
	err := r.Recorder.Finish()
	lost, countErr := r.Instance.LostUnreported()
	if err = errors.Join(err, countErr, r.Recorder.Lose(lost), r.Flush()); err != nil {
		return fmt.Errorf("end the recording: %w", err)
	}
	return nil
}
