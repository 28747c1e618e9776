// SPDX-License-Identifier: Apache-2.0

// Package controllerclient keeps one bidirectional gRPC stream to the controller open while an agent runs.
//
// Reports are cumulative, so the newest one replaces any that is waiting to be sent. Nothing is kept while there is no
// stream: a report from before it may be about another network, with another address, than the agent is in now.
package controllerclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/airbound/airbound/internal/backoff"
)

// Defaults of Config. BackoffMaxDefault follows from the lease of bounds on a phone: it is 6 s and renewed every 2 s,
// so at least 4 s of it are left when a controller goes. An agent that tries again every 2 s finds a restarted
// controller in time for the controller to renew the lease.
const (
	BackoffMinDefault = 100 * time.Millisecond
	BackoffMaxDefault = 2 * time.Second
)

// The waits after a controller has denied the agent the stream: at each attempt the controller verifies a certificate,
// and it is an operator who changes what comes of it.
const (
	deniedWaitMin = 2 * time.Second
	deniedWaitMax = 30 * time.Second
)

// acceptedAfter is how long a controller may take to deny a stream that is open.
const acceptedAfter = time.Second

// errClosedByController is the cause of a stream that the controller ended without an error.
var errClosedByController = errors.New("the controller closed the stream")

// Config is where the controller is and how to stay connected to it. Zero values stand for the defaults.
type Config struct {
	// Addresses are where controllers are, HOST:PORT. Each attempt to connect resolves all of them and takes the IP
	// addresses in random order, that of the attempt before last. Proxies of the environment are not used.
	Addresses []string
	// TLS is the client's configuration; nil connects in plain text.
	TLS *tls.Config
	// Replace, unless nil, makes a new connection take the place of the one in use whenever it receives. The stream
	// moves when the new connection is ready, and the old one ends when the controller has answered on the new one.
	// Without one, the next attempt is made at once.
	Replace <-chan struct{}
	// Moved, unless nil, receives when the machine has come to another network or access point. What was on its way is
	// lost, and TCP sends it again the later the longer the machine was away: a new connection takes the place of the
	// one in use, and an attempt that is under way is made anew at once.
	Moved <-chan struct{}
	// BackoffMin and BackoffMax are the first and the longest wait between two attempts.
	BackoffMin, BackoffMax time.Duration
	// Logger takes one line per change of state or of cause; nil takes slog.Default().
	Logger *slog.Logger
	// Dialed, unless nil, is called with the remote address of each connection before its stream opens, from any
	// goroutine.
	Dialed func(remote netip.AddrPort)
	// Denied, unless nil, is called with the error if a controller refused the agent itself, and with nil when it has
	// accepted the stream.
	Denied func(error)
	// Failed, unless nil, is called with why a stream could not be opened or ended, before the next attempt.
	Failed func(error)
	// Hopeless, unless nil, reports whether the next attempt will hardly succeed. The wait before it is a long one.
	Hopeless func() bool

	// keepalive is shorter in some tests.
	keepalive keepaliveTimes
	// last is where the last attempt led.
	last *lastAddress
	// dial is observed in tests.
	dial dialer
}

func (cfg Config) withDefaults() (Config, error) {
	if len(cfg.Addresses) == 0 {
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
	if cfg.Denied == nil {
		cfg.Denied = func(error) {}
	}
	if cfg.Failed == nil {
		cfg.Failed = func(error) {}
	}
	if cfg.Hopeless == nil {
		cfg.Hopeless = func() bool { return false }
	}
	if cfg.dial == nil {
		cfg.dial = dialWithDSCP
	}
	if cfg.last == nil {
		cfg.last = &lastAddress{}
	}
	if cfg.Dialed != nil {
		cfg.dial = reporting(cfg.dial, cfg.Dialed)
	}
	return cfg, nil
}

type dialer func(ctx context.Context, address string) (net.Conn, error)

func reporting(dial dialer, dialed func(netip.AddrPort)) dialer {
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

// Stream is what an agent sends and receives.
type Stream[Req, Resp any] struct {
	// Open opens the stream on a connection.
	Open func(context.Context, *grpc.ClientConn) (grpc.BidiStreamingClient[Req, Resp], error)
	// Outgoing is received from at all times, connected or not, so that a send on it never blocks for long. If it is
	// closed, nothing more is sent.
	Outgoing <-chan *Req
	// Merge, unless nil, is called when newer replaces older, which was not sent. It copies into newer what must not be
	// lost.
	Merge func(older, newer *Req)
	// IsAnswer, unless nil, reports whether a message only answers a report. Those are not handled, and a controller
	// that has sent one is given up when it no longer answers. Without it no answers are asked for.
	IsAnswer func(*Resp) bool
	// Answered, unless nil, gets those that only answer, as Handle gets the others.
	Answered func(*Resp)
	// Handle gets the controller's messages one at a time.
	Handle func(*Resp)
	// OnState(true) follows each opening of a stream, OnState(false) its end. What came through Outgoing before
	// OnState(true) is not sent on the stream.
	OnState func(connected bool)
}

// Run keeps a stream open until ctx ends and then returns nil; its only errors are those of cfg. No callback is called
// after it returned.
func Run[Req, Resp any](ctx context.Context, cfg Config, stream Stream[Req, Resp]) error {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return fmt.Errorf("connect to the controller: %w", err)
	}
	waiting := keepNewest(ctx, stream.Outgoing, stream.Merge)
	defer func() { <-waiting.stopped }()

	wait := backoff.Backoff{Min: cfg.BackoffMin, Max: cfg.BackoffMax}
	denied := backoff.Backoff{Min: deniedWaitMin, Max: deniedWaitMax}
	var log causes
	var times answerTimes
	var from *succession
	controller := strings.Join(cfg.Addresses, " ")
	for ctx.Err() == nil {
		opened := time.Time{}
		next, err := session(ctx, cfg, &stream, waiting, from, &times, func() {
			opened = time.Now()
			cfg.Logger.Info("connected to the controller", "controller", controller)
		})
		if from = next; from != nil || ctx.Err() != nil || errors.Is(err, errMoved) {
			continue
		}
		// A controller that ends a stream as soon as it has accepted it is treated as one that refuses the connection.
		if !opened.IsZero() && time.Since(opened) >= cfg.BackoffMax {
			wait.Reset()
			log.forget()
		}
		delay := wait.Next()
		cfg.Failed(err)
		isDenied := isDenied(err)
		if isDenied {
			cfg.Denied(err)
		}
		if isDenied || cfg.Hopeless() {
			delay = max(delay, denied.Next())
		} else {
			denied.Reset()
		}
		cfg.Logger.Log(ctx, log.level(err), "no stream to the controller", "controller", controller, "error", err,
			"retry_in", delay.Round(time.Millisecond))
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		case <-cfg.Replace: // The next attempt has a reason to succeed.
		case <-cfg.Moved:
		}
	}
	if from != nil {
		from.endBefore()
		_ = from.conn.Close()
	}
	return nil
}

// isDenied reports whether the controller refused the agent itself, as it does with a revoked certificate.
func isDenied(err error) bool {
	code := status.Code(err)
	return code == codes.PermissionDenied || code == codes.Unauthenticated
}
