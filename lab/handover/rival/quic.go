// SPDX-License-Identifier: Apache-2.0

package rival

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/airbound/airbound/lab/internal/selfsigned"
)

const (
	protocolOfQUIC = "records"
	// idleTimeout is longer than any case: a connection that is silent is not to end.
	idleTimeout = 5 * time.Minute
)

// overQUIC sends all records over one stream of QUIC. With `migrates` it goes to another local port when the path is
// back: QUIC then starts with a new estimate of the round trip, and a timer that is not doubled (RFC 9000, 9.4).
type overQUIC struct {
	migrates bool

	ctx   context.Context //nolint:containedctx // of the whole run; Returned has none
	env   *Env
	conn  *quic.Conn
	queue *queue
}

// Start makes the connection.
func (q *overQUIC) Start(ctx context.Context, env *Env) error {
	q.ctx, q.env, q.queue = ctx, env, newQueue()
	config := &quic.Config{MaxIdleTimeout: idleTimeout}
	if err := serveQUIC(ctx, env, config); err != nil {
		return err
	}
	transport, err := q.transport()
	if err != nil {
		return err
	}
	//nolint:gosec // who the server is does not matter in the guest
	client := &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocolOfQUIC}, MinVersion: tls.VersionTLS13}
	if q.conn, err = transport.Dial(ctx, net.UDPAddrFromAddrPort(env.Remote), client, config); err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	stream, err := q.conn.OpenStreamSync(ctx)
	if err != nil {
		return fmt.Errorf("open a stream: %w", err)
	}
	go func() {
		for {
			data := q.queue.take()
			if _, err := stream.Write(data); err != nil {
				env.Failed(fmt.Errorf("write a record: %w", err))
				return
			}
			env.Written(data)
		}
	}()
	return nil
}

// transport opens a socket of the phone on a port of its own.
func (q *overQUIC) transport() (*quic.Transport, error) {
	socket, err := listenUDP(q.env.Phone, &net.UDPAddr{IP: q.env.Local.AsSlice()})
	if err != nil {
		return nil, err
	}
	return &quic.Transport{Conn: socket}, nil
}

// Send queues a record.
func (q *overQUIC) Send(data []byte) { q.queue.put(data) }

// Returned migrates.
func (q *overQUIC) Returned() {
	if !q.migrates {
		return
	}
	if err := q.migrate(); err != nil {
		q.env.Failed(err)
		return
	}
	q.env.Note(switched + "migrated")
}

func (q *overQUIC) migrate() error {
	transport, err := q.transport()
	if err != nil {
		return err
	}
	path, err := q.conn.AddPath(transport)
	if err != nil {
		return fmt.Errorf("add a path: %w", err)
	}
	if err := path.Probe(q.ctx); err != nil {
		return fmt.Errorf("probe a path: %w", err)
	}
	if err := path.Switch(); err != nil {
		return fmt.Errorf("switch to a path: %w", err)
	}
	return nil
}

func serveQUIC(ctx context.Context, env *Env, config *quic.Config) error {
	own, err := selfsigned.Certificate()
	if err != nil {
		return err
	}
	socket, err := listenUDP(env.Server, net.UDPAddrFromAddrPort(env.Remote))
	if err != nil {
		return err
	}
	server := &tls.Config{
		Certificates: []tls.Certificate{own}, NextProtos: []string{protocolOfQUIC}, MinVersion: tls.VersionTLS13,
	}
	listener, err := (&quic.Transport{Conn: socket}).Listen(server, config)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	go func() {
		if err := acceptQUIC(ctx, env, listener); err != nil && !errors.Is(err, context.Canceled) {
			env.Failed(err)
		}
	}()
	return nil
}

func acceptQUIC(ctx context.Context, env *Env, listener *quic.Listener) error {
	conn, err := listener.Accept(ctx)
	if err != nil {
		return fmt.Errorf("accept: %w", err)
	}
	stream, err := conn.AcceptStream(ctx)
	if err != nil {
		return fmt.Errorf("accept a stream: %w", err)
	}
	return deliver(env, stream)
}
