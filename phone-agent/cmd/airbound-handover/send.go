// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/handover"
)

type sendOptions struct {
	options

	to            string
	waitForNotice bool
	timeout       time.Duration
}

func sendCommand() command.Command {
	var o sendOptions
	return command.Command{
		Name: "send", Summary: "on the phone: carry standard input to the server, or connections with --proxy",
		Examples: []string{
			"airbound-handover send --to server.example:7000 --credentials-dir /var/lib/airbound-phone < FILE",
			"airbound-handover send --to server.example:7000 --proxy 127.0.0.1:1935 " +
				"--events /run/airbound-phone/events.sock",
		},
		Notes: "Without --events the phone switches only when a connection breaks. With --proxy each connection that " +
			"another\nprogram opens at that address is a session of its own, in both directions.",
		Flags: func(flags *flag.FlagSet) {
			o.flags(flags)
			flags.StringVar(&o.to, "to", "", "`ADDR:PORT` of `airbound-handover receive` (required)")
			o.agentFlags(flags)
			flags.StringVar(&o.proxy, "proxy", "", "`ADDR:PORT` to listen at for other programs' connections")
			flags.BoolVar(&o.waitForNotice, "wait-for-notice", false,
				"do not switch with an arrival alone: wait for the server's notice, as the paper does")
			flags.DurationVar(&o.timeout, "timeout", time.Minute, "`TIME` until the server must have answered")
		},
		Check: func() error {
			if o.to == "" {
				return errors.New("--to is missing")
			}
			if _, _, err := net.SplitHostPort(o.to); err != nil {
				return fmt.Errorf("--to %q is not ADDR:PORT", o.to)
			}
			return o.check()
		},
		Run: func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
			if err := o.run(ctx, os.Stdin, stdout, stderr); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

func (o *sendOptions) run(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) error {
	cfg := o.config()
	var err error
	if cfg.TLS, err = o.clientTLS(); err != nil {
		return err
	}
	cfg.WaitForNotice = o.waitForNotice
	arrivals := &arrivals{subscribed: map[chan handover.Event]struct{}{}}
	if o.events != "" {
		stop, err := arrivals.follow(ctx, o.events, o.eventsToken, stderr)
		if err != nil {
			return err
		}
		defer stop()
	}
	if o.proxy != "" {
		return o.serveProxy(ctx, cfg, arrivals, stdout, stderr)
	}
	conn, release, err := o.dial(ctx, cfg, arrivals, stdout)
	if err != nil {
		return err
	}
	defer release()
	if err := pumpIn(ctx, stdin, conn, o.lines); err != nil {
		return errors.Join(err, conn.Close())
	}
	err = conn.Shutdown(ctx)
	o.report(conn, stdout)
	return err
}

func (o *sendOptions) dial(
	ctx context.Context, cfg handover.Config, arrivals *arrivals, stdout io.Writer,
) (conn *handover.Conn, release func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	subscribed := arrivals.subscribe()
	cfg.Events = subscribed
	if o.json {
		cfg.Switched = func(s handover.SwitchInfo) {
			writeJSON(stdout, map[string]any{
				"switch": s.Reason, "at_unix_us": s.At.UnixMicro(), "since_arrival_us": s.SinceEvent.Microseconds(),
			})
		}
	}
	conn, err = handover.Dial(ctx, o.to, cfg)
	if err != nil {
		arrivals.unsubscribe(subscribed)
		return nil, nil, err
	}
	return conn, func() { arrivals.unsubscribe(subscribed) }, nil
}

func (o *sendOptions) report(conn *handover.Conn, stdout io.Writer) {
	if o.json {
		writeJSON(stdout, map[string]any{"session": conn.Name(), "stats": conn.Stats()})
	}
}

// serveProxy makes a session of each connection, until the context ends.
func (o *sendOptions) serveProxy(
	ctx context.Context, cfg handover.Config, arrivals *arrivals, stdout, stderr io.Writer,
) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.proxy)
	if err != nil {
		return fmt.Errorf("listen for connections: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	fmt.Fprintf(stderr, "listening at %s\n", listener.Addr())
	var running sync.WaitGroup
	defer running.Wait()
	for {
		local, err := listener.Accept()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("accept a connection: %w", err)
		}
		running.Go(func() {
			defer func() { _ = local.Close() }()
			conn, release, err := o.dial(ctx, cfg, arrivals, stdout)
			if err == nil {
				defer release()
				err = pumpBoth(ctx, local, conn)
				o.report(conn, stdout)
			}
			if err != nil {
				fmt.Fprintf(stderr, "connection from %s: %v\n", local.RemoteAddr(), err)
			}
		})
	}
}

func writeJSON(to io.Writer, value any) {
	line, err := json.Marshal(value)
	if err == nil {
		fmt.Fprintf(to, "%s\n", line)
	}
}
