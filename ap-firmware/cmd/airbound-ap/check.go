// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/airbound/airbound/ap-firmware/statedir"
	"github.com/airbound/airbound/ap-firmware/status"
	"github.com/airbound/airbound/internal/command"
)

const checkNotes = `The controller carries it out: for ten minutes it observes and controls the cell in turn, 50 s each,
with the traffic that there is, and compares. Have two devices or more upload all the time. The mode is as before
afterwards. There is none while an operator has chosen observe, or a mode for a time, and one in an hour. This command
only asks; ` + "`airbound-ap status`" + ` shows how far the check is, and its result.`

// checkCommand leaves a request for the agent of each BSS. LuCI may run it without any argument.
func checkCommand() command.Command {
	var options statusOptions
	return command.Command{
		Name: "check", Summary: "ask the controller to find out what Airbound brings here", Notes: checkNotes,
		Examples: []string{"airbound-ap check", "airbound-ap check --interface wlan0"},
		Flags: func(flags *flag.FlagSet) {
			options.state.register(flags)
			flags.StringVar(&options.interfaceName, "interface", "", "`INTERFACE` of a BSS (default: all)")
		},
		Check: options.state.check,
		Run: func(_ context.Context, stdout, _ io.Writer) (int, error) {
			return askForChecks(options, stdout)
		},
	}
}

func askForChecks(options statusOptions, stdout io.Writer) (int, error) {
	views, err := readStatus(options)
	if err != nil {
		return command.ExitError, err
	}
	code, serves := command.ExitError, false
	for _, view := range views {
		if !view.Running {
			continue
		}
		serves = true
		answer := "asked for; `airbound-ap status` shows how far it is, and after ten minutes the result"
		if err := askForCheck(options.state.parent, view); err != nil {
			answer = "not asked for: " + err.Error()
		} else {
			code = command.ExitOK
		}
		if _, err := fmt.Fprintf(stdout, "%s: %s\n", view.Interface, answer); err != nil {
			return command.ExitError, fmt.Errorf("print the answer: %w", err)
		}
	}
	if !serves {
		return exitNotRunning, errors.New("no agent runs")
	}
	return code, nil
}

// askForCheck leaves a request for the agent of a BSS.
func askForCheck(parent string, view status.View) error {
	switch {
	case view.State == nil || !view.State.Connected:
		return errors.New("the agent is not connected to the controller")
	case view.State.Check.Runs():
		return fmt.Errorf("a check runs already: %s", view.State.Check.Progress())
	}
	request := status.CheckRequest{ID: rand.Text(), AskedUS: monotonicUS()}
	return statedir.New(parent, view.Interface).SaveCheckRequest(request)
}
