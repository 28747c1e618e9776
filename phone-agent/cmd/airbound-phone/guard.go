// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/guard"
)

// guardName is the command that the agent runs while a stock kernel has bounds.
const guardName = "restore-when-orphaned"

func (p places) guardArguments() []string {
	return []string{
		guardName, "--proc-root", p.procRoot, "--state-dir", p.stateDir, "--back-end", p.backEnd.name,
		"--cgroup", p.backEnd.cgroup,
	}
}

// guardCommand reads from the pipe that is its standard input, and writes to the one that is its standard output. A
// signal does not end it: a supervisor that stops the agent sends one to every process of its group, and the agent then
// ends the guard itself.
func guardCommand() command.Command {
	var where places
	return command.Command{
		Name: guardName, Hidden: true, Summary: "lift maxima of a stock kernel when the agent ends; the agent runs it",
		Flags: where.register, Check: where.backEnd.check,
		Run: func(_ context.Context, _, stderr io.Writer) (int, error) {
			signal.Ignore(syscall.SIGPIPE) // The reader of the log may be gone.
			if err := watchAgent(where, slog.New(slog.NewTextHandler(stderr, nil))); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

func watchAgent(where places, logger *slog.Logger) error {
	backEnd := where.newEBPF(nil, logger)
	// What the agent has attached would go with the agent.
	held, err := backEnd.Hold(os.Getppid())
	if err != nil {
		return err
	}
	defer held.Close()
	restore := func(agentLives bool) error {
		logger.Warn("the agent ended or hangs, restoring the kernel's defaults")
		// A cgroup that was removed with the agent has no process left whose connections could be restored.
		if err := backEnd.CleanUp(); (err != nil && !held.CgroupIsGone()) || agentLives {
			return err
		}
		return held.Finish()
	}
	return guard.Watch(os.Stdin, os.Stdout, bootTimeUS, restore, logger)
}
