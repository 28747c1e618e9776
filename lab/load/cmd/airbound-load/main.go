// SPDX-License-Identifier: Apache-2.0

// Command airbound-load loads a controller with simulated access points and terminals.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"syscall"

	"github.com/airbound/airbound/lab/load/measure"
	"github.com/airbound/airbound/lab/load/server"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(arguments []string, out io.Writer, errorOutput *os.File) int {
	o, err := parse(arguments, errorOutput)
	switch {
	case o.help:
		return exitDone
	case err != nil:
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(errorOutput, "airbound-load: %v\n", err)
		}
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	p := newProgress(errorOutput)
	result, err := load(ctx, o, p)
	if err == nil {
		table(out, result)
		err = save(result, o.json)
	}
	switch {
	case err == nil:
		return exitDone
	case ctx.Err() != nil:
		p.note("interrupted")
		return exitFailed
	case errors.Is(err, errNoReply):
		p.note(err.Error())
		return exitNoReply
	default:
		p.note(err.Error())
		return exitFailed
	}
}

// load runs all rounds.
func load(ctx context.Context, o *options, p *progress) (*measure.Result, error) {
	if err := server.AllowFiles(o.files()); err != nil {
		return nil, err
	}
	if err := share(o, p); err != nil {
		return nil, err
	}
	if err := o.loadIdentities(); err != nil {
		return nil, err
	}
	var rounds []measure.Round
	answersPerReport := o.answersPerReport
	for _, name := range o.servers() {
		round, err := runRound(ctx, o, name, answersPerReport, p)
		if err != nil {
			return nil, err
		}
		if name == measure.Controller && round.TerminalReports > 0 {
			answersPerReport = min(1, float64(round.Commands)/float64(round.TerminalReports))
		}
		rounds = append(rounds, round)
	}
	result := measure.Sum(rounds, o.cells.Seed, o.given)
	return &result, nil
}

// share divides the cores: the server has its own, the generator the others. One that was started elsewhere stays where
// it is, and so does the generator.
func share(o *options, p *progress) error {
	cores, err := server.Cores()
	if err != nil {
		return err
	}
	if o.controller != "" && !o.compareRaw && len(o.serverCores) == 0 {
		return nil
	}
	if len(o.serverCores) == 0 {
		o.serverCores = cores[len(cores)-1:]
	}
	others := slices.DeleteFunc(slices.Clone(cores), func(core int) bool {
		return slices.Contains(o.serverCores, core)
	})
	if len(others) == 0 {
		p.note("there is one core: the server shares it with the generator, whose work delays what is measured")
		return nil
	}
	// One more than cores: while no processor of Go's is idle, its monitor thread takes the event loop's away in each
	// wait for sockets, and that costs more than the loop does.
	runtime.GOMAXPROCS(len(others) + 1)
	return server.PinSelf(others)
}

func save(result *measure.Result, path string) error {
	if path == "" {
		return nil
	}
	text, err := json.MarshalIndent(result, "", "  ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	if err := os.WriteFile(path, append(text, '\n'), 0o644); err != nil { //nolint:gosec // for everybody to read
		return fmt.Errorf("write results: %w", err)
	}
	return nil
}
