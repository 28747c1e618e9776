// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/guard"
	"github.com/airbound/airbound/phone-agent/agent"
	"github.com/airbound/airbound/phone-agent/flows"
	"github.com/airbound/airbound/phone-agent/flows/tcbpf"
	"github.com/airbound/airbound/phone-agent/wifi"
)

// openFlows loads what changes how packets leave, if the owner permits it and the kernel can. Without it there are
// bounds and reports all the same.
func (o *runOptions) openFlows(interfaceName string, logger *slog.Logger) agent.Flows {
	kernel, can := o.loadFlows(interfaceName, tcbpf.Options{Guard: guard.New(detachName)})
	if kernel == nil {
		logger.Info("packets leave as they are", "reason", can.Refusal)
		return agent.Flows{Can: can}
	}
	if can.CanAdmit {
		return agent.Flows{Can: can, Kernel: kernel, Admission: wifi.RealKernel()}
	}
	logger.Info("packets can leave as video, where the access point demands no admission", "reason", can.Refusal)
	return agent.Flows{Can: can, Kernel: kernel}
}

// loadFlows returns no kernel if nothing can be changed.
func (o *runOptions) loadFlows(interfaceName string, options tcbpf.Options) (*tcbpf.Kernel, flows.Capabilities) {
	switch {
	case o.noFlows:
		return nil, flows.Capabilities{Refusal: "--no-flows"}
	case !o.looksForLinks():
		return nil, flows.Capabilities{Refusal: "the Wi-Fi interface is not known: --mac without --interface"}
	}
	kernel, err := tcbpf.Load(options)
	if err != nil {
		return nil, flows.Capabilities{Refusal: err.Error()}
	}
	can := flows.Capabilities{CanMark: true, CanPace: true}
	if err := wifi.RealKernel().Supported(interfaceName); err != nil {
		can.Refusal = err.Error()
	} else {
		can.CanAdmit = true
	}
	return kernel, can
}

// probeFlows finds out what can be changed, and changes nothing.
func (o *runOptions) probeFlows(interfaceName string) flows.Capabilities {
	kernel, can := o.loadFlows(interfaceName, tcbpf.Options{})
	if kernel != nil {
		_ = kernel.Close() // Nothing is attached.
	}
	return can
}

// cleanUpFlows removes what an earlier agent has left. What cannot be removed ends with its lease, in the kernel.
func cleanUpFlows(logger *slog.Logger) {
	if err := tcbpf.CleanUp(); err != nil {
		logger.Warn("cannot remove an earlier agent's flows", "error", err)
	}
}

// detachName is the command that the agent runs while its program is attached by clsact.
const detachName = "detach-when-orphaned"

// detachCommand is a guard as guardCommand is. It does nothing while the agent lives, hanging or not: flows end by
// themselves, in the kernel.
func detachCommand() command.Command {
	return command.Command{
		Name: detachName, Hidden: true, Summary: "remove the agent's program when it ends; the agent runs it",
		Flags: func(*flag.FlagSet) {},
		Run: func(_ context.Context, _, stderr io.Writer) (int, error) {
			signal.Ignore(syscall.SIGPIPE) // The reader of the log may be gone.
			restore := func(agentLives bool) error {
				if agentLives {
					return nil
				}
				return tcbpf.CleanUp()
			}
			logger := slog.New(slog.NewTextHandler(stderr, nil))
			if err := guard.Watch(os.Stdin, os.Stdout, bootTimeUS, restore, logger); err != nil {
				return command.ExitError, errors.Join(errors.New("remove the agent's program"), err)
			}
			return command.ExitOK, nil
		},
	}
}
