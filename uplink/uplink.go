// SPDX-License-Identifier: Apache-2.0

// Package uplink keeps one bidirectional gRPC stream to the controller open for as long as an agent lives.
//
// Reports are cumulative, so the newest one replaces any that waits, and nothing is kept while the controller is away: a
// report from before the stream may tell of another network, by another address, than the agent is in now.
package uplink

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"google.golang.org/grpc"

	"github.com/airbound/airbound/uplink/backoff"
)

// Defaults of Config. A restarted controller finds its agents back within BackoffMaxDefault.
const (
	BackoffMinDefault = 100 * time.Millisecond
	BackoffMaxDefault = 5 * time.Second
)

// errClosedByController is the cause of a stream that the controller ended without an error.
var errClosedByController = errors.New("the controller closed the stream")

// Config says where the controller is and how to stay connected to it. Zero values take the defaults.
type Config struct {
	// Address is HOST:PORT. Proxies of the environment are not used.
	Address string
	// TLS is the client's configuration; nil connects in plain text.
	TLS *tls.Config
	// BackoffMin and BackoffMax are the first and the longest wait between two attempts.
	BackoffMin, BackoffMax time.Duration
	// Logger takes one line per change of state or of cause; nil takes slog.Default().
	Logger *slog.Logger
	// Dialed, unless nil, is told where each connection goes, before its stream opens and from any goroutine.
	Dialed func(remote netip.AddrPort)

	// keepalive is shorter in tests.
	keepalive keepaliveTimes
	// dial is watched in tests.
	dial dialer
}

func (cfg Config) withDefaults() (Config, error) {
	if cfg.Address == "" {
		return cfg, errors.New("controller address is empty")
	}
	if cfg.BackoffMin == 0 {
		cfg.BackoffMin = BackoffMinDefault
	}
	if cfg.BackoffMax == 0 {
		cfg.BackoffMax = max(BackoffMaxDefault, cfg.BackoffMin)
	}
	if cfg.BackoffMin < 0 || cfg.BackoffMax < cfg.BackoffMin {
		return cfg, fmt.Errorf("back-off from %v to %v is not a range", cfg.BackoffMin, cfg.BackoffMax)
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.Default()
	}
	if cfg.keepalive == (keepaliveTimes{}) {
		cfg.keepalive = keepaliveDefault
	}
	if cfg.dial == nil {
		cfg.dial = dialMarked
	}
	if cfg.Dialed != nil {
		cfg.dial = telling(cfg.dial, cfg.Dialed)
	}
	return cfg, nil
}

type dialer func(ctx context.Context, address string) (net.Conn, error)

func telling(dial dialer, dialed func(netip.AddrPort)) dialer {
	return func(ctx context.Context, address string) (net.Conn, error) {
		conn, err := dial(ctx, address)
		if err == nil {
			if remote, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
				dialed(remote.AddrPort())
			}
		}
		return conn, err
	}
}

// Run keeps a stream open until ctx ends and then returns nil; its only errors are those of cfg.
//
// Run receives from outgoing at all times, connected or not, so a send on it never blocks for long. While the stream does
// not take more, the newest message replaces the one that waits. What came before a stream was opened is not sent on it:
// onState(true) asks for a fresh message. handle gets the controller's messages one at a time. onState(true) follows each opening of a stream, onState(false) its end; neither
// callback is called after Run returned. A closed outgoing means that no more reports follow.
func Run[Req, Resp any](
	ctx context.Context,
	cfg Config,
	open func(context.Context, *grpc.ClientConn) (grpc.BidiStreamingClient[Req, Resp], error),
	outgoing <-chan *Req,
	handle func(*Resp),
	onState func(connected bool),
) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return fmt.Errorf("start uplink: %w", err)
	}
	waiting := keepNewest(ctx, outgoing)
	defer func() { <-waiting.stopped }()

	wait := backoff.Backoff{Min: cfg.BackoffMin, Max: cfg.BackoffMax}
	var lastCause string
	for ctx.Err() == nil {
		opened := time.Time{}
		err := session(ctx, cfg, open, waiting, handle, func(connected bool) {
			if connected {
				opened = time.Now()
				cfg.Logger.Info("connected to the controller", "controller", cfg.Address)
			}
			onState(connected)
		})
		if ctx.Err() != nil {
			break
		}
		// A controller that accepts a stream only to end it is no better than one that refuses the connection.
		if !opened.IsZero() && time.Since(opened) >= cfg.BackoffMax {
			wait.Reset()
		}
		delay := wait.Next()
		level := slog.LevelWarn
		if cause := err.Error(); cause == lastCause && opened.IsZero() {
			level = slog.LevelDebug
		} else {
			lastCause = cause
		}
		cfg.Logger.Log(ctx, level, "no stream to the controller", "controller", cfg.Address, "error", err,
			"retry_in", delay.Round(time.Millisecond))
		backoff.Sleep(ctx, delay)
	}
	return nil
}

// session opens one connection with one stream and lives as long as the stream does. It never returns nil.
func session[Req, Resp any](
	ctx context.Context,
	cfg Config,
	open func(context.Context, *grpc.ClientConn) (grpc.BidiStreamingClient[Req, Resp], error),
	waiting *newest[Req],
	handle func(*Resp),
	onState func(connected bool),
) (err error) {
	conn, err := dial(cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := open(ctx, conn)
	if err != nil {
		return fmt.Errorf("open stream: %w", err)
	}
	waiting.drop()
	onState(true)
	defer onState(false)

	sent := make(chan struct{})
	go func() {
		defer close(sent)
		send(ctx, stream, waiting.out)
	}()
	defer func() { <-sent }()
	defer cancel()
	for {
		message, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return errClosedByController
		}
		if err != nil {
			return fmt.Errorf("receive from stream: %w", err)
		}
		handle(message)
	}
}

// send writes what comes until the stream breaks. The cause of a break comes out of Recv, not of Send.
func send[Req, Resp any](ctx context.Context, stream grpc.BidiStreamingClient[Req, Resp], outgoing <-chan *Req) {
	for {
		select {
		case <-ctx.Done():
			return
		case message := <-outgoing:
			if stream.Send(message) != nil {
				return
			}
		}
	}
}
