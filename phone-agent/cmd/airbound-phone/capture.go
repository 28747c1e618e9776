// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

// captureOptions are the flags that `trace` and `io` share.
type captureOptions struct {
	tracefs   string
	seconds   float64
	asJSON    bool
	asCSV     bool
	out       string
	bufferKiB uint
	readAtEnd bool
}

// Limits of the buffer: the kernel rounds up to two pages, and more than a gigabyte is too much for a phone.
const (
	bufferKiBMin     = 8
	bufferKiBMax     = 1 << 20
	bufferKiBDefault = 1024
	secondsMax       = 366 * 24 * 3600
)

// register registers the flags; enough says what the default size of the buffer is enough for.
func (o *captureOptions) register(flags *flag.FlagSet, enough string) {
	registerTracefs(flags, &o.tracefs)
	flags.Float64Var(&o.seconds, "seconds", 0, "stop after so many seconds (default: when stopped by a signal)")
	flags.BoolVar(&o.asJSON, "json", false, "write one JSON object a line")
	flags.BoolVar(&o.asCSV, "csv", false, "write CSV")
	flags.StringVar(&o.out, "out", "", "write to `FILE` instead of standard output")
	flags.UintVar(&o.bufferKiB, "buffer-kib", bufferKiBDefault,
		"size of the kernel's buffer for each processor; "+enough)
	flags.BoolVar(
		&o.readAtEnd,
		"read-at-end",
		false,
		"read the kernel's buffer only at the end: nothing wakes up before; what does not fit is lost, oldest first",
	)
}

func registerTracefs(flags *flag.FlagSet, directory *string) {
	flags.StringVar(directory, "tracefs", "",
		"`DIR` where tracefs is mounted (default "+tracefs.Places[0]+", or "+tracefs.Places[1]+")")
}

func (o *captureOptions) check() error {
	if math.IsNaN(o.seconds) || o.seconds < 0 || o.seconds > secondsMax {
		return fmt.Errorf("--seconds %v is not within 0 and %d", o.seconds, secondsMax)
	}
	if o.asJSON && o.asCSV {
		return errors.New("--json and --csv exclude each other")
	}
	if o.bufferKiB < bufferKiBMin || o.bufferKiB > bufferKiBMax {
		return fmt.Errorf("--buffer-kib %d is not within %d and %d", o.bufferKiB, bufferKiBMin, bufferKiBMax)
	}
	return nil
}

// output is where the records go.
type output struct {
	to io.Writer
	// Nil: standard output.
	file *os.File
}

// openOut opens the file. Remote addresses and names of processes of every user are private.
func (o *captureOptions) openOut(stdout io.Writer) (output, error) {
	if o.out == "" {
		return output{to: stdout}, nil
	}
	file, err := os.OpenFile(o.out, os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return output{}, fmt.Errorf("write the records: %w", err)
	}
	return output{file, file}, nil
}

// begin truncates the file only when recording has started: an earlier history survives a recording that cannot start.
func (o output) begin() error {
	if o.file == nil {
		return nil
	}
	info, err := o.file.Stat()
	if err == nil && info.Mode().IsRegular() {
		err = o.file.Truncate(0)
	}
	if err != nil {
		return fmt.Errorf("write the records: %w", err)
	}
	return nil
}

func (o output) close() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}

// cleanUp removes what killed recordings have left in the kernel.
func cleanUp(root tracefs.Root, name string, stderr io.Writer) error {
	removed, err := root.CleanUp(os.Getpid())
	if removed > 0 {
		fmt.Fprintf(stderr, "airbound-phone %s: instances of tracing left behind and removed: %d\n", name, removed)
	}
	return err
}

// limits are when recording ends, and when waiting for the output ends: with the next signal after that.
func (o *captureOptions) limits(
	ctx context.Context,
) (limited context.Context, abandon <-chan struct{}, release func()) {
	cancel := func() {}
	if o.seconds > 0 {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(o.seconds*float64(time.Second)))
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
