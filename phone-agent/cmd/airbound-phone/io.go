// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/blockio"
	"github.com/airbound/airbound/phone-agent/blockio/machine"
	"github.com/airbound/airbound/phone-agent/trace/recording"
	"github.com/airbound/airbound/phone-agent/trace/ring"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

// ioEvery is the time between two looks into the kernel's buffer. In that time 1 MiB takes 5000 requests.
const ioEvery = 100 * time.Millisecond

// The limit of Go's memory, with the 3 MiB of its runtime, and how much the heap may grow: what lives is less than
// 1 MiB, and what a record takes is short-lived. So the program has less than 4 MiB beside its file (RssAnon).
const (
	ioMemoryLimitBytes = 7 << 20
	ioGCPercent        = 10
)

func ioCommand() command.Command {
	var options ioOptions
	return command.Command{
		Name: "io", Summary: "record each request to the storage: when, what, by which process, for which fsync",
		Notes: ioNotes, Examples: ioExamples, Flags: options.register, Check: options.check,
		Run: func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
			debug.SetMemoryLimit(ioMemoryLimitBytes)
			debug.SetGCPercent(ioGCPercent)
			debug.FreeOSMemory()
			// `io | head` must not end the program before its instance is removed.
			signal.Ignore(syscall.SIGPIPE)
			if err := recordIO(ctx, options, stdout, stderr); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

// recordIO records from start to end. Whatever ends it, its instance of tracing is removed when it returns.
func recordIO(ctx context.Context, options ioOptions, stdout, stderr io.Writer) (err error) {
	root, err := tracefs.Mounted(tracefsPlaces(options.tracefs), tracefs.RealKernel())
	if err != nil {
		return err
	}
	if err := cleanUp(root, "io", stderr); err != nil {
		return err
	}
	this := machine.Machine{Proc: options.procRoot, Sys: options.sysRoot}
	var stack machine.Stack
	if options.device != "" {
		if stack, err = this.Find(options.device); err != nil {
			return err
		}
	}
	decoder, events, err := known(root, this, stack, stderr)
	if err != nil {
		return err
	}
	out, err := options.openOut(stdout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.close()) }()
	instance, err := root.StartRaw(tracefs.RawConfig{
		PID: os.Getpid(), Events: events, Every: ioEvery,
		BufferKiB: uint32(options.bufferKiB), //nolint:gosec // checked
	})
	if err != nil {
		return err
	}
	buffer := bufio.NewWriter(out.to)
	var to sink
	if err = out.begin(); err == nil {
		to, err = options.sink(buffer)
	}
	if err != nil {
		return errors.Join(err, instance.Remove())
	}
	fmt.Fprintln(stderr, "airbound-phone io: recording")
	recorder := blockio.NewRecorder(decoder, this, to)
	recorder.Select = blockio.Selection{Process: options.process, Uppers: stack.Uppers}
	recorder.Tick = to.tick
	running := recording.Recording[ring.Event]{
		Instance: instance, Recorder: recorder, Flush: buffer.Flush, ReadAtEnd: options.readAtEnd,
	}
	ctx, abandon, release := options.limits(ctx)
	defer release()
	err = running.Run(ctx, abandon)
	if errors.Is(err, recording.ErrAbandoned) {
		// Its goroutine still writes to the recorder.
		return err
	}
	if to.end != nil {
		err = errors.Join(err, to.end(), buffer.Flush())
	}
	summarizeIO(stderr, recorder, options.bufferKiB)
	if options.device != "" && !this.Exists(stack.Number) {
		fmt.Fprintf(stderr, "airbound-phone io: the device %s is gone\n", stack.Name)
	}
	return err
}

// known are the events to enable, and a decoder that has their formats. An event that the kernel does not have, or has
// in another form, is left out, unless nothing can be recorded without it.
func known(
	root tracefs.Root, this machine.Machine, stack machine.Stack, stderr io.Writer,
) (decoder blockio.Decoder, events []tracefs.Event, err error) {
	for _, event := range blockio.KernelEvents {
		format, err := root.Format(event.System, event.Name)
		absent := errors.Is(err, fs.ErrNotExist)
		if err == nil {
			err = decoder.Add(event, format)
		}
		switch {
		case err == nil:
			events = append(events, tracefs.Event{
				System: event.System, Name: event.Name, Filter: tracefs.FilterDevices(stack.All),
			})
		case event.Without == "":
			return decoder, nil, err
		case absent && event.System != "block" && !this.HasFileSystem(event.System):
		default:
			fmt.Fprintf(stderr, "airbound-phone io: %v; not recorded: %s\n", err, event.Without)
		}
	}
	return decoder, events, nil
}

func summarizeIO(stderr io.Writer, recorder *blockio.Recorder, bufferKiB uint) {
	counts := recorder.Counts
	fmt.Fprintf(stderr, "airbound-phone io: %d requests, %d fsyncs; %d of others skipped; %d events lost; %d refused\n",
		counts.Requests, counts.Fsyncs, counts.Skipped, counts.Lost, counts.Refused)
	fmt.Fprintf(stderr, "airbound-phone io: %d events of the kernel: %d issues, %d completions, %d ends of flushed "+
		"writes\n", counts.Events, counts.Issues, counts.Completions, counts.FlushEnds)
	if counts.Forgotten > 0 {
		fmt.Fprintf(stderr, "airbound-phone io: %d things in flight were forgotten to save memory\n", counts.Forgotten)
	}
	if counts.Lost > 0 {
		fmt.Fprintf(stderr, "airbound-phone io: the kernel's buffer was too small: try --buffer-kib %d, or --device\n",
			min(bufferKiB*4, bufferKiBMax))
	}
	for _, reason := range recorder.Refusals {
		fmt.Fprintf(stderr, "airbound-phone io: refused: %s\n", reason)
	}
}
