// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/status"
)

func statusCommand(_ context.Context, arguments []string, stdout, _ io.Writer) (int, error) {
	var where places
	var asJSON bool
	flags := newFlags("status")
	where.register(flags)
	flags.BoolVar(&asJSON, "json", false, "print JSON")
	if err := parse(flags, arguments, stdout); err != nil {
		return exitUsage, err
	}
	directory := status.NewDirectory(where.stateDir)
	running, err := directory.Running()
	if err != nil {
		return exitError, err
	}
	state, err := directory.Load()
	if err != nil {
		return exitError, err
	}
	live, liveErr := liveRules(where.procRoot)
	view := status.NewView(running, state, live, liveErr, bootTimeUS())
	if err := printView(stdout, view, asJSON); err != nil {
		return exitError, fmt.Errorf("print the status: %w", err)
	}
	if !running {
		return exitNotRunning, nil
	}
	return exitOK, nil
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

func liveRules(procRoot string) ([]status.Rule, error) {
	text, err := apply.NewProcFile(procRoot).Read()
	if err != nil {
		return nil, err
	}
	rules, err := apply.ParseRules(text)
	if err != nil {
		return nil, fmt.Errorf("parse the kernel's rules: %w", err)
	}
	return status.Rules(rules), nil
}
