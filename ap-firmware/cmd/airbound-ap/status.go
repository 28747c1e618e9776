// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
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
		Name:     "status",
		Summary:  "show each BSS, which EDCA parameters and limits are in force and why, and the agent's certificate",
		Examples: []string{"airbound-ap status", "airbound-ap status --interface wlan0 --json"},
		Flags: func(flags *flag.FlagSet) {
			options.state.register(flags)
			flags.StringVar(&options.interfaceName, "interface", "",
				"`INTERFACE` of a BSS (default: all)")
			flags.BoolVar(&options.json, "json", false, "print JSON")
		},
		Check: options.state.check,
		Run: func(_ context.Context, stdout, _ io.Writer) (int, error) {
			return printStatus(options, stdout)
		},
	}
}

func printStatus(options statusOptions, stdout io.Writer) (int, error) {
	views, err := readStatus(options)
	if err != nil {
		return command.ExitError, err
	}
	if err := printViews(stdout, views, options.json); err != nil {
		return command.ExitError, fmt.Errorf("print the status: %w", err)
	}
	if !slices.ContainsFunc(views, isRunning) {
		return exitNotRunning, nil
	}
	return command.ExitOK, nil
}

func isRunning(view status.View) bool { return view.Running }

// readStatus returns a view of each BSS whose files can be read; the error is about the others. While an agent runs,
// BSSs that were served before and ended in order are left out, unless one is named.
func readStatus(options statusOptions) ([]status.View, error) {
	if options.interfaceName != "" {
		view, err := readView(options.state.parent, options.interfaceName)
		return []status.View{view}, err
	}
	names, err := statedir.Interfaces(options.state.parent)
	if err != nil {
		return nil, err
	}
	views := []status.View{} // Never null in JSON.
	var unreadable []error
	for _, name := range names {
		view, err := readView(options.state.parent, name)
		if err != nil {
			unreadable = append(unreadable, fmt.Errorf("%s: %w", name, err))
			continue
		}
		views = append(views, view)
	}
	if slices.ContainsFunc(views, isRunning) {
		views = slices.DeleteFunc(views, func(view status.View) bool {
			endedInOrder := view.State == nil || view.State.Stopped
			return !view.Running && endedInOrder && view.NotRestored == nil
		})
	}
	return views, errors.Join(unreadable...)
}

func readView(parent, name string) (status.View, error) {
	directory := statedir.New(parent, name)
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
	view.Interface, view.Credentials = name, credentials
	return view, nil
}

func printViews(stdout io.Writer, views []status.View, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(status.Account{Schema: status.Schema, Agents: views})
	}
	texts := make([]string, len(views))
	for i, view := range views {
		texts[i] = view.Text()
		if len(views) > 1 && !view.Running {
			texts[i] = fmt.Sprintf("%-12s %s\n", "interface", view.Interface) + texts[i]
		}
	}
	if len(views) == 0 {
		texts = []string{status.View{}.Text()}
	}
	_, err := io.WriteString(stdout, strings.Join(texts, "\n"))
	return err
}
