// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/airbound/airbound/ap-firmware/statedir"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/command"
)

type statusOptions struct {
	state         stateOptions
	interfaceName string
	json          bool
}

func statusCommand() command.Command {
	var options statusOptions
	return command.Command{
		Name: "status", Summary: "show which EDCA parameters are in force and why, and the certificate of the agent",
		Examples: []string{"airbound-ap status", "airbound-ap status --interface wlan0 --json"},
		Flags: func(flags *flag.FlagSet) {
			options.state.register(flags)
			flags.StringVar(&options.interfaceName, "interface", "",
				"`INTERFACE` of the agent; needed if there are several agents")
			flags.BoolVar(&options.json, "json", false, "print JSON")
		},
		Check: options.state.check,
		Run: func(_ context.Context, stdout, _ io.Writer) (int, error) {
			return printStatus(options, stdout)
		},
	}
}

func printStatus(options statusOptions, stdout io.Writer) (int, error) {
	view, err := readStatus(options)
	if err != nil {
		return command.ExitError, err
	}
	if err := printView(stdout, view, options.json); err != nil {
		return command.ExitError, fmt.Errorf("print the status: %w", err)
	}
	if !view.Running {
		return exitNotRunning, nil
	}
	return command.ExitOK, nil
}

func readStatus(options statusOptions) (status.View, error) {
	name := options.interfaceName
	if name == "" {
		names, err := statedir.Interfaces(options.state.parent)
		switch {
		case err != nil:
			return status.View{}, err
		case len(names) == 0:
			return status.View{}, nil
		case len(names) > 1:
			return status.View{}, errors.New("--interface is missing, there are agents of " + strings.Join(names, ", "))
		}
		name = names[0]
	}
	directory := statedir.New(options.state.parent, name)
	running, err := directory.Running()
	if err != nil {
		return status.View{}, err
	}
	state, err := directory.LoadState()
	if err != nil {
		return status.View{}, err
	}
	record, err := directory.LoadRecord()
	if err != nil {
		return status.View{}, err
	}
	credentials, err := directory.LoadCredentials()
	if err != nil {
		return status.View{}, err
	}
	view := status.NewView(running, state, record, monotonicUS())
	view.Credentials = credentials
	return view, nil
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
