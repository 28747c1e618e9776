// SPDX-License-Identifier: Apache-2.0

// Package recording copies records from an instance of tracing to the output, from the start to the end of a recording.
package recording

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"github.com/airbound/airbound/phone-agent/trace"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

// ErrAbandoned means that the output blocked and the user did not wait for it.
var ErrAbandoned = errors.New("the output is blocked: stopped, records are missing")

// Recording is a recording that Instance has started.
type Recording struct {
	Instance *tracefs.Instance
	Recorder *trace.Recorder
	// Flush writes what Recorder has buffered.
	Flush func() error
	// ReadAtEnd leaves everything in the kernel's buffer until the end.
	ReadAtEnd bool
}

// Run records until the context ends, then reads what is left in the kernel's buffer. At the end of the context the
// kernel stops recording even if the output is stuck; Run then returns ErrAbandoned when abandon is closed. The
// instance is removed when Run returns, whatever ended it.
func (r *Recording) Run(ctx context.Context, abandon <-chan struct{}) error {
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

func (r *Recording) follow(ctx context.Context) error {
	stopped := make(chan error, 1)
	defer context.AfterFunc(ctx, func() {
		stopped <- r.Instance.Stop()
		r.Instance.Interrupt()
	})()
	if r.ReadAtEnd {
		<-ctx.Done()
	}
	for ctx.Err() == nil {
		text, err := r.Instance.Read()
		if err == nil && text != nil {
			err = r.take(text)
		}
		if err != nil {
			return err
		}
	}
	if err := <-stopped; err != nil {
		return err
	}
	for {
		text, err := r.Instance.Drain()
		if err != nil {
			return err
		}
		if text == nil {
			return r.finish()
		}
		if err := r.take(text); err != nil {
			return err
		}
	}
}

func (r *Recording) take(text []byte) error {
	return errors.Join(r.Recorder.Feed(text), r.Flush())
}

func (r *Recording) finish() error {
	err := r.Recorder.Finish()
	lost, countErr := r.Instance.LostUnreported()
	if err = errors.Join(err, countErr, r.Recorder.Lose(lost), r.Flush()); err != nil {
		return fmt.Errorf("end the recording: %w", err)
	}
	return nil
}
