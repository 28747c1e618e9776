// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/airbound/airbound/internal/command"
	"github.com/airbound/airbound/phone-agent/handover"
)

type receiveOptions struct {
	options

	listen        string
	output, state string
	// step is for tests, see delivery.
	step func(done string) error
}

func receiveCommand() command.Command {
	var o receiveOptions
	return command.Command{
		Name:    "receive",
		Summary: "on the server: write one session's records to standard output, or connect each session with --proxy",
		Examples: []string{
			"airbound-handover receive --listen '[::]:7000' --tls-certificate cert.pem --tls-key key.pem > FILE",
			"airbound-handover receive --listen '[::]:7000' --plain-text --proxy 127.0.0.1:1935",
		},
		Notes: "It listens for TCP and for UDP on one port. Without --proxy it ends with its first session.\n" +
			"With --output and --state it may be killed and started again in a session: each record is in the\n" +
			"file once.",
		Flags: func(flags *flag.FlagSet) {
			o.flags(flags)
			flags.StringVar(&o.listen, "listen", "", "`ADDR:PORT` to listen at (required)")
			flags.StringVar(&o.proxy, "proxy", "", "`ADDR:PORT` that each session is connected with")
			flags.StringVar(&o.output, "output", "", "`FILE` for the records; needs --state")
			flags.StringVar(&o.state, "state", "", "`FILE` about what --output has; removed at the end of the session")
		},
		Check: func() error {
			switch {
			case o.listen == "":
				return errors.New("--listen is missing")
			case (o.output == "") != (o.state == ""):
				return errors.New("--output and --state go together")
			case o.output != "" && o.proxy != "":
				return errors.New("--proxy excludes --output and --state")
			case !o.plainText && o.certificate == "":
				return errors.New("--tls-certificate and --tls-key, or --plain-text, are missing")
			}
			return o.check()
		},
		Run: func(ctx context.Context, stdout, stderr io.Writer) (int, error) {
			if err := o.run(ctx, stdout, stderr); err != nil {
				return command.ExitError, err
			}
			return command.ExitOK, nil
		},
	}
}

func (o *receiveOptions) run(ctx context.Context, stdout, stderr io.Writer) error {
	cfg := o.config()
	var err error
	if cfg.TLS, err = o.serverTLS(); err != nil {
		return err
	}
	var to *delivery
	if o.output != "" {
		if to, err = openDelivery(o.output, o.state); err != nil {
			return err
		}
		defer func() { _ = to.output.Close() }()
		to.step, cfg.Origin = o.step, to.origin
	}
	listener, err := handover.Listen(o.listen, cfg) //nolint:contextcheck // connections end with the Listener
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }()
	fmt.Fprintf(stderr, "listening at %s\n", listener.Addr())
	if o.proxy == "" {
		return o.one(ctx, listener, stdout, to)
	}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		conn, err := listener.Accept(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		running.Go(func() {
			if err := o.connect(ctx, conn); err != nil {
				fmt.Fprintf(stderr, "session %s from %s: %v\n", conn.Name(), conn.RemoteAddr(), err)
			}
		})
	}
}

// one writes the first session's records, to a delivery if there is one.
func (o *receiveOptions) one(
	ctx context.Context, listener *handover.Listener, stdout io.Writer, to *delivery,
) error {
	conn, err := listener.Accept(ctx)
	if err != nil {
		return err
	}
	err = pumpOut(ctx, conn, func(record handover.Record) error {
		var text bytes.Buffer
		switch {
		case o.json:
			writeJSON(&text, map[string]any{
				"session": conn.Name(), "sequence": record.Sequence, "sent_unix_us": record.SentAt.UnixMicro(),
				"received_unix_us": time.Now().UnixMicro(), "data": record.Data,
			})
		case o.lines:
			text.Write(append(record.Data, '\n'))
		default:
			text.Write(record.Data)
		}
		if to != nil {
			return to.write(record.Sequence, text.Bytes())
		}
		_, err := stdout.Write(text.Bytes())
		return err
	})
	if err != nil && to != nil {
		return err // The session goes on with the next process.
	}
	if err != nil {
		return errors.Join(err, conn.Close())
	}
	// The sender ends the session when the last confirmation has arrived.
	const patience = 10 * time.Second
	ending, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err = conn.Shutdown(ending)
	if err == nil && to != nil {
		err = to.finish()
	}
	return err
}

func (o *receiveOptions) connect(ctx context.Context, conn *handover.Conn) error {
	local, err := (&net.Dialer{}).DialContext(ctx, "tcp", o.proxy)
	if err != nil {
		return errors.Join(fmt.Errorf("connect a session: %w", err), conn.Close())
	}
	defer func() { _ = local.Close() }()
	return pumpBoth(ctx, local, conn)
}
