// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"airbound/phone-agent/apply"
	"airbound/phone-agent/status"
)

// cleanupCommand works even beside a running agent, which may hang: a phone must never be left clamped.
func cleanupCommand(_ context.Context, arguments []string, stdout, _ io.Writer) (int, error) {
	var where places
	flags := newFlags("cleanup")
	where.register(flags)
	if err := parse(flags, arguments, stdout); err != nil {
		return exitUsage, err
	}
	before, err := liveRules(where.procRoot)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(stdout, "Nothing to clean up: %v (the kernel is not patched).\n", err)
		return exitOK, nil
	}
	if err := apply.NewProcfs(apply.NewProcFile(where.procRoot)).CleanUp(); err != nil {
		return exitError, err
	}
	fmt.Fprintf(stdout, "The kernel's defaults hold. Rules removed: %d.\n", len(before))
	if running, err := status.NewDirectory(where.stateDir).Running(); err == nil && running {
		fmt.Fprintln(stdout, "An agent is running: it will set bounds again when the controller sends new ones. Stop it to prevent that.")
	}
	return exitOK, nil
}
