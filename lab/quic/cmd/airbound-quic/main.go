// SPDX-License-Identifier: Apache-2.0

// Command airbound-quic uploads by QUIC in the lab's guest, in place of the traffic generator.
//
//	airbound-quic send --name NAME --to ADDRESS:PORT --start-ms N --stop-ms N --seconds N --zero-ns N --out FILE
//	airbound-quic receive --name NAME --listen ADDRESS:PORT --seconds N --zero-ns N --out FILE
//
// Times are since time zero, which is a moment of the monotonic clock. Both write samples each second, up to the last.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/airbound/airbound/lab/quic/upload"
)

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

// after is for how long a sender goes on when the run has ended: then the receiver has written its last samples.
const after = 100 * time.Millisecond

var errUsage = errors.New("wrong usage")

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stderr)) }

func run(ctx context.Context, words []string, stderr io.Writer) int {
	err := execute(ctx, words, stderr)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "airbound-quic: %v\n", err)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "airbound-quic: %v\n", err)
		return exitFailed
	}
}

func execute(ctx context.Context, words []string, stderr io.Writer) error {
	if len(words) == 0 || (words[0] != "send" && words[0] != "receive") {
		return fmt.Errorf("%w: send or receive?", errUsage)
	}
	flags := flag.NewFlagSet("airbound-quic "+words[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	name := flags.String("name", "", "of the samples")
	to, listen := flags.String("to", "", "`ADDRESS:PORT`"), flags.String("listen", "", "`ADDRESS:PORT`")
	start, stop := flags.Int64("start-ms", 0, "when it begins"), flags.Int64("stop-ms", 0, "when it ends")
	seconds := flags.Int64("seconds", 0, "length of the run")
	zero := flags.Int64("zero-ns", 0, "time zero")
	file := flags.String("out", "", "where the samples go, `FILE`")
	if err := flags.Parse(words[1:]); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if *file == "" || flags.NArg() != 0 {
		return fmt.Errorf("%w: --out is needed, and nothing but flags", errUsage)
	}
	clock, err := upload.NewClock(time.Duration(*zero))
	if err != nil {
		return err //nolint:wrapcheck // it has all that is known
	}
	out, err := os.Create(*file) //nolint:gosec // named by a flag, on purpose
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	last := time.Duration(*seconds) * time.Second
	if words[0] == "receive" {
		err = receive(ctx, *name, *listen, clock, last, out)
	} else {
		sender := upload.Sender{Name: *name, To: *to, Start: milliseconds(*start), Stop: milliseconds(*stop)}
		err = sender.Send(ctx, clock, out)
		clock.SleepUntil(last + after)
	}
	return errors.Join(err, out.Close())
}

func receive(
	ctx context.Context, name, address string, clock upload.Clock, last time.Duration, out io.Writer,
) error {
	receiver, err := upload.Listen(name, address)
	if err != nil {
		return err //nolint:wrapcheck // it has all that is known
	}
	return receiver.Receive(ctx, clock, last, out) //nolint:wrapcheck // as above
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }
