// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"syscall"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/status"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

// cleanupCommand works even beside a running agent, which may hang: a phone must never be left clamped.
func cleanupCommand(_ context.Context, arguments []string, stdout, _ io.Writer) (int, error) {
	var where places
	flags := newFlags("cleanup")
	where.register(flags)
	if err := parse(flags, arguments, stdout); err != nil {
		return exitUsage, err
	}
	// Whoever reads what it says may be gone before the phone is free.
	signal.Ignore(syscall.SIGPIPE)
	if err := errors.Join(freePhone(where, stdout), removeRecordings(stdout)); err != nil {
		return exitError, err
	}
	return exitOK, nil
}

func freePhone(where places, stdout io.Writer) error {
	before, err := liveRules(where.procRoot)
	if errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(stdout, "Nothing to clean up: %v (the kernel is not patched).\n", err)
		return nil
	}
	if err := apply.NewProcfs(apply.NewProcFile(where.procRoot)).CleanUp(); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "The kernel's defaults hold. Rules removed: %d.\n", len(before))
	if running, err := status.NewDirectory(where.stateDir).Running(); err == nil && running {
		fmt.Fprintln(stdout, "An agent is running: it will set bounds again when the controller sends new ones. Stop it to prevent that.")
	}
	return nil
}

// removeRecordings ends what recordings that were killed left in the kernel. One without tracing has none.
func removeRecordings(stdout io.Writer) error {
	root, err := tracefs.Find(tracefs.Places, tracefs.RealKernel())
	if err != nil {
		return nil //nolint:nilerr // as said above
	}
	removed, err := root.CleanUp(os.Getpid())
	if removed > 0 {
		fmt.Fprintf(stdout, "Recordings left behind and removed: %d.\n", removed)
	}
	return err
}
