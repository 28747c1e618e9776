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
	"github.com/airbound/airbound/phone-agent/events"
	"github.com/airbound/airbound/phone-agent/events/follow"
	"github.com/airbound/airbound/phone-agent/handover"
)

type sendOptions struct {
	options

	to, events, eventsToken string
	waitForNotice           bool
	timeout                 time.Duration
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
			flags.StringVar(&o.credentials, "credentials-dir", "",
				"`DIR` of the agent's key and certificate; the server then needs a controller's certificate")
			flags.StringVar(&o.proxy, "proxy", "", "`ADDR:PORT` to listen at for other programs' connections")
			flags.StringVar(&o.events, "events", "", "`SOCKET` of the agent, or ADDR:PORT of loopback, for arrivals")
			flags.StringVar(&o.eventsToken, "events-token", "", "`TOKEN` for ADDR:PORT")
			flags.BoolVar(&o.waitForNotice, "wait-for-notice", false,
				"do not switch with an arrival alone: wait for the server's notice, as the paper does")
			flags.DurationVar(&o.timeout, "timeout", time.Minute, "`TIME` until the server must have answered")
		},
		Check: func() error {
			switch {
			case o.to == "":
				return errors.New("--to is missing")
			case o.eventsToken != "" && o.events == "":
				return errors.New("--events-token needs --events")
			case o.credentials != "" && (o.certificate != "" || o.authority != ""):
				return errors.New("--credentials-dir excludes --tls-certificate and --tls-authority")
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

// arrivals gives the agent's arrivals to each session.
type arrivals struct {
	// heard, unless nil, is called with each, by one goroutine.
	heard func(events.Event)

	mutex      sync.Mutex
	subscribed map[chan handover.Event]struct{}
}

func (a *arrivals) subscribe() chan handover.Event {
	channel := make(chan handover.Event, 1) // One that waits is as good as several.
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.subscribed[channel] = struct{}{}
	return channel
}

func (a *arrivals) unsubscribe(channel chan handover.Event) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	delete(a.subscribed, channel)
}

func (a *arrivals) publish(event handover.Event) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	for channel := range a.subscribed {
		select {
		case channel <- event:
		default:
		}
	}
}

// follow publishes what the agent's socket reports, and connects again when the agent was started again. The first
// connection must succeed.
func (a *arrivals) follow(ctx context.Context, socket, token string, stderr io.Writer) (stop func(), err error) {
	network := "unix"
	if token != "" {
		network = "tcp"
	}
	connection, err := follow.Dial(ctx, network, socket, token)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for ctx.Err() == nil {
			if connection != nil {
				stopClosing := context.AfterFunc(ctx, func() { _ = connection.Close() })
				a.read(connection)
				if stopClosing() {
					_ = connection.Close()
				}
			}
			const pause = time.Second
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			var err error
			if connection, err = follow.Dial(ctx, network, socket, token); err != nil {
				connection = nil
				fmt.Fprintf(stderr, "no arrivals: %v\n", err)
			}
		}
	}()
	return cancel, nil
}

// read publishes until the connection ends. The time is that of the report's arrival here, which is a moment later.
func (a *arrivals) read(connection *follow.Conn) {
	for {
		event, err := connection.Next()
		switch {
		case err == nil:
			if a.heard != nil {
				a.heard(event)
			}
			a.publish(handover.Event{Kind: string(event.Kind)})
		case errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed):
			return
		default:
			if _, isNet := errors.AsType[net.Error](err); isNet {
				return
			}
		}
	}
}
