// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/trace"
	"github.com/airbound/airbound/phone-agent/trace/recording"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

func traceCommand() command.Command {
	var options traceOptions
	return command.Command{
		Name: "trace", Summary: "record the history of connections: each change of their windows, each event",
		Notes: traceNotes, Examples: traceExamples, Flags: options.register, Check: options.check,
		Run: func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
			debug.SetMemoryLimit(memoryLimitBytes)
			// `trace | head` must not end the program before its instance is removed.
			signal.Ignore(syscall.SIGPIPE)
			if err := record(ctx, options, stdout, stderr); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

// record records from start to end. Whatever ends it, its instance of tracing is removed when it returns.
func record(ctx context.Context, options traceOptions, stdout, stderr io.Writer) (err error) {
	netns, err := netnsOf(options.procRoot)
	if err != nil {
		return err
	}
	root, err := tracefs.Find(tracefsPlaces(options.tracefs), tracefs.RealKernel())
	if err != nil {
		return err
	}
	removed, err := root.CleanUp(os.Getpid())
	if err != nil {
		return err
	}
	if removed > 0 {
		fmt.Fprintf(stderr, "airbound-phone trace: instances of tracing left behind and removed: %d\n", removed)
	}
	file := stdout
	var out *os.File
	if options.out != "" {
		// Remote addresses of every user are private.
		if out, err = os.OpenFile(options.out, os.O_WRONLY|os.O_CREATE, 0o600); err != nil {
			return fmt.Errorf("write the records: %w", err)
		}
		defer func() { err = errors.Join(err, out.Close()) }()
		file = out
	}
	instance, err := root.Start(tracefs.Config{
		PID: os.Getpid(), Netns: netns, UID: options.uid,
		BufferKiB: uint32(options.bufferKiB), //nolint:gosec // checked
	})
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(file)
	writer, err := begin(out, buffer, options)
	if err != nil {
		return errors.Join(err, instance.Remove())
	}
	fmt.Fprintln(stderr, "airbound-phone trace: recording")
	recorder := trace.Recorder{Remote: options.remote, Out: writer}
	running := recording.Recording{
		Instance: instance, Recorder: &recorder, Flush: buffer.Flush, ReadAtEnd: options.readAtEnd,
	}
	ctx, abandon, release := limits(ctx, options.seconds)
	defer release()
	err = running.Run(ctx, abandon)
	if errors.Is(err, recording.ErrAbandoned) {
		// Its goroutine still writes to the recorder.
		return err
	}
	summarize(stderr, &recorder, options.bufferKiB)
	return err
}

// begin truncates the file only when recording has started: an earlier history survives a recording that cannot start.
func begin(out *os.File, buffer *bufio.Writer, options traceOptions) (trace.Writer, error) {
	if out != nil {
		info, err := out.Stat()
		if err == nil && info.Mode().IsRegular() {
			err = out.Truncate(0)
		}
		if err != nil {
			return nil, fmt.Errorf("write the records: %w", err)
		}
	}
	return options.writer(buffer)
}

// limits are when recording ends, and when waiting for the output ends: with the next signal after that.
func limits(ctx context.Context, seconds float64) (limited context.Context, abandon <-chan struct{}, release func()) {
	cancel := func() {}
	if seconds > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(seconds*float64(time.Second)))
	}
	abandoned, released := make(chan struct{}), make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
		defer signal.Stop(signals)
		select {
		case <-signals:
			close(abandoned)
		case <-released:
		}
	})
	return ctx, abandoned, func() {
		stop()
		close(released)
		cancel()
	}
}

func summarize(stderr io.Writer, recorder *trace.Recorder, bufferKiB uint) {
	counts := recorder.Counts
	fmt.Fprintf(stderr, "airbound-phone trace: %d records; %d of other remotes skipped; %d lost; %d lines refused\n",
		counts.Records, counts.Skipped, counts.Lost, counts.Refused)
	if counts.Lost > 0 {
		fmt.Fprintf(stderr, "airbound-phone trace: the kernel's buffer was too small: try --buffer-kib %d, or --uid\n",
			min(bufferKiB*4, bufferKiBMax))
	}
	for _, reason := range recorder.Refusals {
		fmt.Fprintf(stderr, "airbound-phone trace: refused: %s\n", reason)
	}
}
