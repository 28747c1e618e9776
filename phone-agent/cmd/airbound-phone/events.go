// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/events/follow"
)

// socketPlace is where the running agent's socket is.
type socketPlace struct{ stateDir, socket string }

func (p *socketPlace) register(flags *flag.FlagSet) {
	flags.StringVar(&p.stateDir, "state-dir", defaultStateDir, "`DIR` of the running agent's socket")
	flags.StringVar(&p.socket, "events-socket", "",
		"`PATH` of its socket for arrivals (default: "+socketName+" in --state-dir)")
}

func (p *socketPlace) dial(ctx context.Context) (*follow.Conn, error) {
	return follow.Dial(ctx, "unix", cmp.Or(p.socket, filepath.Join(p.stateDir, socketName)), "")
}

func eventsCommand() command.Command {
	var where socketPlace
	return command.Command{
		Name: "events", Summary: "print a line of JSON each time that the phone arrives somewhere, until it is stopped",
		Examples: []string{"airbound-phone events"},
		Flags:    where.register,
		Config:   configFile(),
		Run: func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
			conn, err := where.dial(ctx)
			if err != nil {
				return command.ExitError, err
			}
			fmt.Fprintln(stderr, "airbound-phone events: following")
			return printEvents(ctx, conn, stdout, stderr)
		},
	}
}

// printEvents ends in order if ctx ends, with an error if the agent does.
func printEvents(ctx context.Context, conn *follow.Conn, stdout, stderr io.Writer) (int, error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		if stop() {
			_ = conn.Close()
		}
	}()
	for {
		event, err := conn.Next()
		switch {
		case ctx.Err() != nil:
			return command.ExitOK, nil
		case errors.Is(err, events.ErrRefused):
			fmt.Fprintf(stderr, "airbound-phone events: %v\n", err)
			continue
		case err != nil:
			return command.ExitError, fmt.Errorf("the agent has closed the connection: %w", err)
		}
		if _, err := stdout.Write(event.Line()); err != nil {
			return command.ExitError, fmt.Errorf("print an arrival: %w", err)
		}
	}
}

// answerMax is how long the agent may take for an answer; it answers at once.
const answerMax = 5 * time.Second

func arrivedCommand() command.Command {
	var where socketPlace
	var report events.Report
	var kind string
	return command.Command{
		Name: "arrived", Summary: "report to the running agent that the phone can send again; prints its answer",
		Examples: []string{"airbound-phone arrived --place 440-10-1234-5678"},
		Flags: func(flags *flag.FlagSet) {
			where.register(flags)
			flags.StringVar(&kind, "kind", string(events.BaseStation),
				"`KIND` of arrival: association, link_up, address, base_station or first_datagram")
			flags.StringVar(&report.Interface, "link", "", "`INTERFACE` by which the phone can send")
			flags.StringVar(&report.Place, "place", "", "`ID` of the access point or base station")
		},
		Config: configFile(),
		Check: func() error {
			report.Kind = events.Kind(kind)
			return report.Check()
		},
		Run: func(ctx context.Context, stdout, _ io.Writer) (code int, err error) {
			ctx, cancel := context.WithTimeout(ctx, answerMax)
			defer cancel()
			conn, err := where.dial(ctx)
			if err != nil {
				return command.ExitError, err
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			defer func() {
				if stop() {
					_ = conn.Close()
				}
			}()
			outcome, err := conn.Report(report)
			if err != nil {
				return command.ExitError, err
			}
			fmt.Fprintln(stdout, outcome)
			return command.ExitOK, nil
		},
	}
}
