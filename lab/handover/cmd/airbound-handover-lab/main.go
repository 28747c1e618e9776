// SPDX-License-Identifier: Apache-2.0

// Command airbound-handover-lab runs rivals over the paths of handovers, in the guest of `airbound-lab study handover`.
//
//	airbound-handover-lab forward --plan FILE --zero NS --out FILE     carries the frames of all lanes
//	airbound-handover-lab exchange --plan FILE --zero NS --out FILE    sends and receives their records
//
// NS is time zero on the monotonic clock, in nanoseconds. Both end when the plan ends.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/airbound/airbound/lab/handover/exchange"
	"github.com/airbound/airbound/lab/handover/forward"
	"github.com/airbound/airbound/lab/handover/lane"
)

const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
)

const usage = `usage: airbound-handover-lab forward --plan FILE --zero NS --out FILE
       airbound-handover-lab exchange --plan FILE --zero NS --out FILE
`

// after is for how long frames are carried after the records' end: nobody finds the path gone.
const after = time.Second

func main() { os.Exit(run(context.Background(), os.Args[1:], os.Stderr)) }

var errUsage = errors.New("wrong usage")

func run(ctx context.Context, words []string, stderr io.Writer) int {
	err := execute(ctx, words, stderr)
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errUsage):
		fmt.Fprintf(stderr, "airbound-handover-lab: %v\n%s", err, usage)
		return exitUsage
	default:
		fmt.Fprintf(stderr, "airbound-handover-lab: %v\n", err)
		return exitFailed
	}
}

func execute(ctx context.Context, words []string, stderr io.Writer) error {
	if len(words) == 0 {
		return fmt.Errorf("%w: forward or exchange?", errUsage)
	}
	flags := flag.NewFlagSet("airbound-handover-lab "+words[0], flag.ContinueOnError)
	flags.SetOutput(stderr)
	file := flags.String("plan", "", "the lanes, `FILE`")
	zero := flags.Duration("zero", 0, "time zero on the monotonic clock")
	out := flags.String("out", "", "where the results go, `FILE`")
	if err := flags.Parse(words[1:]); err != nil {
		return fmt.Errorf("%w: %w", errUsage, err)
	}
	if *file == "" || *out == "" || flags.NArg() != 0 {
		return fmt.Errorf("%w: --plan and --out are needed, and nothing else", errUsage)
	}
	data, err := os.ReadFile(*file) //nolint:gosec // named by a flag, on purpose
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	plan, err := lane.Read(data)
	if err != nil {
		return fmt.Errorf("%s: %w", *file, err)
	}
	var results any
	switch words[0] {
	case "forward":
		results, err = carry(plan, *zero)
	case "exchange":
		results, err = send(ctx, plan, *zero)
	default:
		return fmt.Errorf("%w: %q is neither forward nor exchange", errUsage, words[0])
	}
	if err != nil {
		return err
	}
	return write(*out, results)
}

func carry(plan *lane.Plan, zero time.Duration) ([]lane.Traffic, error) {
	forwarder, err := forward.Open(plan, zero)
	if err != nil {
		return nil, err //nolint:wrapcheck // it has all that is known
	}
	if err := forwarder.Run(plan.End() + plan.Drain + after); err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	return forwarder.Traffic(), nil
}

func send(ctx context.Context, plan *lane.Plan, zero time.Duration) ([]lane.Result, error) {
	clock, err := exchange.NewClock(zero)
	if err != nil {
		return nil, err //nolint:wrapcheck // it has all that is known
	}
	return exchange.Run(ctx, plan, clock) //nolint:wrapcheck // as above
}

func write(file string, results any) error {
	data, err := json.Marshal(results)
	if err != nil {
		return fmt.Errorf("write the results: %w", err)
	}
	return os.WriteFile(file, data, 0o600) //nolint:gosec,wrapcheck // as above; the error names it
}
