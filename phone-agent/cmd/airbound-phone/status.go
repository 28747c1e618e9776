// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/statedir"
	"github.com/airbound/airbound/phone-agent/status"
)

func statusCommand() command.Command {
	var where places
	var asJSON bool
	return command.Command{
		Name: "status", Summary: "show which bounds are in force now, why, and the certificate of the agent",
		Examples: []string{"airbound-phone status", "airbound-phone status --json"},
		Flags: func(flags *flag.FlagSet) {
			where.register(flags)
			flags.BoolVar(&asJSON, "json", false, "print JSON")
		},
		Config: configFile(),
		Run:    func(_ context.Context, stdout, _ io.Writer) (int, error) { return printStatus(where, asJSON, stdout) },
	}
}

func printStatus(where places, asJSON bool, stdout io.Writer) (int, error) {
	directory := statedir.New(where.stateDir)
	running, err := directory.Running()
	if err != nil {
		return command.ExitError, err
	}
	state, err := directory.Load()
	if err != nil {
		return command.ExitError, err
	}
	credentials, err := directory.LoadCredentials()
	if err != nil {
		return command.ExitError, err
	}
	live, liveErr := where.newBackEnd(slog.New(slog.DiscardHandler)).Live()
	view := status.NewView(running, state, live, liveErr, bootTimeUS())
	view.Credentials = credentials
	if err := printView(stdout, view, asJSON); err != nil {
		return command.ExitError, fmt.Errorf("print the status: %w", err)
	}
	if !running {
		return exitNotRunning, nil
	}
	return command.ExitOK, nil
}

func printView(stdout io.Writer, view status.View, asJSON bool) error {
	if !asJSON {
		_, err := io.WriteString(stdout, view.Text())
		return err
	}
	encoder := json.NewEncoder(stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(view)
}
