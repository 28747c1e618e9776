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
	"path/filepath"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"airbound/phone-agent/trace"
	"airbound/phone-agent/trace/tracefs"
)

func traceCommand(ctx context.Context, arguments []string, stdout, stderr io.Writer) (int, error) {
	options, err := parseTraceOptions(arguments, stdout)
	if err != nil {
		return exitUsage, err
	}
	debug.SetMemoryLimit(memoryLimitBytes)
	// `trace | head` must not end the program before its instance is gone.
	signal.Ignore(syscall.SIGPIPE)
	if err := record(ctx, options, stdout, stderr); err != nil {
		return exitError, err
	}
	return exitOK, nil
}

// record is the recording from its start to its end. Whatever ends it, its instance of tracing is gone when it returns.
func record(ctx context.Context, options traceOptions, stdout, stderr io.Writer) (err error) {
	var self unix.Stat_t
	if err := unix.Stat(filepath.Join(options.procRoot, "self", "ns", "net"), &self); err != nil {
		return fmt.Errorf("find out the network namespace: %w", err)
	}
	root, err := tracefs.Find(options.places(), tracefs.RealKernel())
	if err != nil {
		return err
	}
	removed, err := root.CleanUp(os.Getpid())
	if err != nil {
		return err
	}
	if removed > 0 {
		fmt.Fprintf(stderr, "airbound-phone trace: recordings left behind and removed: %d\n", removed)
	}
	file := stdout
	if options.out != "" {
		out, err := os.Create(options.out)
		if err != nil {
			return fmt.Errorf("write the records: %w", err)
		}
		defer func() { err = errors.Join(err, out.Close()) }()
		file = out
	}
	buffer := bufio.NewWriter(file)
	writer, err := options.writer(buffer)
	if err != nil {
		return err
	}
	instance, err := root.Start(tracefs.Config{
		PID: os.Getpid(), Netns: uint32(self.Ino), UID: options.uid, //nolint:gosec // the kernel numbers namespaces in 32 bits
		BufferKiB: uint32(options.bufferKiB), //nolint:gosec // checked
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(stderr, "airbound-phone trace: recording")
	if options.seconds > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(options.seconds*float64(time.Second)))
		defer cancel()
	}
	recorder := trace.Recorder{Remote: options.remote, Out: writer}
	err = follow(ctx, instance, &recorder, buffer, options.readAtEnd)
	if errors.Is(err, syscall.EPIPE) {
		// Whoever read has seen enough.
		err = nil
	}
	if err = errors.Join(err, instance.Remove()); err == nil {
		summarize(stderr, &recorder, options.bufferKiB)
	}
	return err
}

// follow reads until the context ends, then what is left in the kernel's buffer.
func follow(ctx context.Context, instance *tracefs.Instance, recorder *trace.Recorder, out *bufio.Writer, readAtEnd bool) error {
	defer context.AfterFunc(ctx, instance.Interrupt)()
	if readAtEnd {
		<-ctx.Done()
	}
	take := func(text []byte) error { return errors.Join(recorder.Feed(text), out.Flush()) }
	for ctx.Err() == nil {
		text, err := instance.Read()
		if err == nil && text != nil {
			err = take(text)
		}
		if err != nil {
			return err
		}
	}
	if err := instance.Stop(); err != nil {
		return err
	}
	for {
		text, err := instance.Drain()
		if err != nil {
			return err
		}
		if text == nil {
			return errors.Join(recorder.Finish(), out.Flush())
		}
		if err := take(text); err != nil {
			return err
		}
	}
}

func summarize(stderr io.Writer, recorder *trace.Recorder, bufferKiB uint) {
	counts := recorder.Counts
	fmt.Fprintf(stderr, "airbound-phone trace: %d records; %d of other remotes passed over; %d lost; %d lines refused\n",
		counts.Records, counts.PassedOver, counts.Lost, counts.Refused)
	if counts.Lost > 0 {
		fmt.Fprintf(stderr, "airbound-phone trace: the kernel's buffer was too small: try --buffer-kib %d, or --uid\n", bufferKiB*4)
	}
	for _, reason := range recorder.Refusals {
		fmt.Fprintf(stderr, "airbound-phone trace: refused: %s\n", reason)
	}
}
