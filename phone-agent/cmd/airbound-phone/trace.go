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
	if err := cleanUp(root, "trace", stderr); err != nil {
		return err
	}
	out, err := options.openOut(stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	instance, err := root.Start(tracefs.Config{
		PID: os.Getpid(), Netns: netns, UID: options.uid,
		BufferKiB: uint32(options.bufferKiB), //nolint:gosec // checked
	})
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(out.to)
	var writer trace.Writer
	if err = out.begin(); err == nil {
		writer, err = options.writer(buffer)
	}
	if err != nil {
		return errors.Join(err, instance.Remove())
	}
	fmt.Fprintln(stderr, "airbound-phone trace: recording")
	recorder := trace.Recorder{Remote: options.remote, Out: writer}
	running := recording.Recording[byte]{
		Instance: instance, Recorder: &recorder, Flush: buffer.Flush, ReadAtEnd: options.readAtEnd,
	}
	ctx, abandon, release := options.limits(ctx)
	defer release()
	err = running.Run(ctx, abandon)
	if errors.Is(err, recording.ErrAbandoned) {
		// Its goroutine still writes to the recorder.
		return err
	}
	summarize(stderr, &recorder, options.bufferKiB)
	return err
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
