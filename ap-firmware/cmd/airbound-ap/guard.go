// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/ap-firmware/hostapd"
	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/ap-firmware/statedir"
	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/internal/guard"
)

// guardName is the command that the agent runs while EDCA parameters are set.
const guardName = "restore-when-orphaned"

type guardOptions struct {
	state         stateOptions
	interfaceName string
	agentName     string
	// control is the path of hostapd's control socket.
	control string
}

func (o *guardOptions) register(flags *flag.FlagSet) {
	o.state.register(flags)
	flags.StringVar(&o.interfaceName, "interface", "", "the agent's `INTERFACE`")
	flags.StringVar(&o.agentName, "agent", "", "`NAME` of the agent process")
	flags.StringVar(&o.control, "hostapd-control", "", "`PATH` of hostapd's control socket")
}

func (o *guardOptions) check() error {
	if o.interfaceName == "" || o.agentName == "" {
		return errors.New("--interface or --agent is missing; only airbound-ap itself runs this")
	}
	return o.state.check()
}

func guardArguments(options runOptions, interfaceName, agentName string) []string {
	return []string{
		guardName, "--state-dir", options.state.parent, "--interface", interfaceName, "--agent", agentName,
		"--hostapd-control", options.controlOf(interfaceName),
	}
}

// guardCommand reads from the pipe that is its standard input, and writes to the one that is its standard output. A
// signal does not end it: a supervisor that stops the agent sends one to every process of its group, and the agent then
// ends the guard itself.
func guardCommand(kernel sockets) command.Command {
	var options guardOptions
	return command.Command{
		Name: guardName, Hidden: true, Summary: "write own EDCA parameters back when the agent ends; the agent runs it",
		Flags: options.register, Check: options.check,
		Run: func(_ context.Context, _, stderr io.Writer) (int, error) {
			signal.Ignore(syscall.SIGPIPE) // The reader of the log may be gone.
			logger := slog.New(slog.NewTextHandler(stderr, nil)).With("guard_of", options.interfaceName)
			//nolint:contextcheck // what is written back does not end with the context
			restore := func(agentLives bool) error { return options.restore(kernel, logger, agentLives) }
			if err := guard.Watch(os.Stdin, os.Stdout, monotonicUS, restore, logger); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

// restore writes the own values of the agent's record back, and removes it if the agent has ended. A record of another
// agent is that agent's.
func (o guardOptions) restore(kernel sockets, logger *slog.Logger, agentLives bool) error {
	directory := statedir.New(o.state.parent, o.interfaceName)
	record, err := directory.LoadRecord()
	if err != nil || record == nil || record.Agent != o.agentName {
		return err
	}
	refuse := func(err error) { logger.Warn("refused malformed input", "error", err) }
	// What the stations use must return even if the kernel does not take the queues, and the other way round.
	err = errors.Join(o.restoreQueues(kernel, record.Own, refuse), o.restoreAnnounced(record, refuse))
	if err != nil {
		return err
	}
	logger.Warn("the agent ended or hangs, wrote the own EDCA parameters back", "own", fmt.Sprint(record.Own),
		"announced", fmt.Sprint(record.OwnStations))
	if agentLives {
		return nil
	}
	return directory.RemoveRecord()
}

func (o guardOptions) restoreQueues(kernel sockets, own []edca.Queue, refuse func(error)) error {
	if len(own) == 0 {
		return nil
	}
	client, err := kernel.wireless(refuse)
	if err != nil {
		return err
	}
	_, err = client.SetQueues(o.interfaceName, own)
	if errors.Is(err, nl80211.ErrNotUp) {
		err = nil // The kernel and hostapd set their own values when it comes up.
	}
	return errors.Join(err, client.Close())
}

func (o guardOptions) restoreAnnounced(record *edca.Record, refuse func(error)) error {
	if len(record.OwnStations) == 0 {
		return nil
	}
	before := edca.Values{}.With(record.Announced)
	_, err := hostapd.Announce(o.control, o.interfaceName, before, record.OwnStations, refuse)
	if hostapd.IsGone(err) {
		return nil // Its next start announces its own values.
	}
	return err
}
