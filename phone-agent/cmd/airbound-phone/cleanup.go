// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/flows/tcbpf"
	"github.com/airbound/airbound/phone-agent/statedir"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

// cleanupCommand reads no configuration, which may be wrong, and works even beside a running agent, which may hang: a
// phone must never be left clamped.
func cleanupCommand() command.Command {
	var where places
	return command.Command{
		Name: "cleanup", Summary: "restore the kernel's defaults, after an agent that could not",
		Examples: []string{"airbound-phone cleanup"}, Flags: where.register,
		Run: func(_ context.Context, stdout, stderr io.Writer) (int, error) {
			// The reader of the output may be gone before the kernel's defaults are restored.
			signal.Ignore(syscall.SIGPIPE)
			if err := errors.Join(
				restoreDefaults(where, stdout, stderr), tcbpf.CleanUp(), removeInstances(stdout),
			); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

func restoreDefaults(where places, stdout, stderr io.Writer) error {
	backEnd := where.newBackEnd(slog.New(slog.NewTextHandler(stderr, nil)))
	before, noBounds := backEnd.Live()
	if err := backEnd.CleanUp(); err != nil { // Of settings beside the bounds, too, where there are none.
		return err
	}
	if errors.Is(noBounds, apply.ErrNotSupported) {
		fmt.Fprintf(stdout, "No bounds to clean up: %v.\n", noBounds)
		return nil
	}
	fmt.Fprintf(stdout, "The kernel's defaults are in force. Rules removed: %d.\n", len(before.Rules))
	if running, err := statedir.New(where.stateDir).Running(); err == nil && running {
		fmt.Fprintln(stdout, "An agent is running: it will set bounds again when the controller sends new ones. "+
			"Stop it to prevent that.")
	}
	return nil
}

// removeInstances removes what agents and recordings that were killed left in the kernel. A kernel without tracing has
// none.
func removeInstances(stdout io.Writer) error {
	root, err := tracefs.Mounted(tracefs.Places, tracefs.RealKernel())
	if err != nil {
		return nil //nolint:nilerr // see above
	}
	removed, err := root.CleanUp(os.Getpid())
	if removed > 0 {
		fmt.Fprintf(stdout, "Instances of tracing left behind and removed: %d.\n", removed)
	}
	return err
}
