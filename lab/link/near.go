// SPDX-License-Identifier: Apache-2.0

package link

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// Listener is where the near end accepts connections, and the target that they go to.
type Listener struct {
	net.Listener

	Target string
}

// Forward is the near end of a link: it sends each connection that a listener accepts to its target until the stream
// or the context ends. It closes the listeners. The error is nil if the context ended it.
func Forward(ctx context.Context, stream net.Conn, listeners []Listener, log *slog.Logger) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watched := &watched{Conn: stream, ended: func(err error) { cancel(fmt.Errorf("the link ended: %w", err)) }}
	single := newSingle(watched)
	near := &near{log: log, transport: &http.Transport{
		Protocols:          overStream(),
		DisableCompression: true,
		DialContext:        func(context.Context, string, string) (net.Conn, error) { return single.take() },
	}}
	defer func() { _ = watched.Close() }()

	var wait sync.WaitGroup
	for _, listener := range listeners {
		wait.Go(func() { cancel(near.accept(ctx, listener)) })
	}
	<-ctx.Done()
	for _, listener := range listeners {
		_ = listener.Close()
	}
	wait.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

type near struct {
	log       *slog.Logger
	transport *http.Transport
}

func (n *near) accept(ctx context.Context, listener Listener) error {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return fmt.Errorf("accept connections for %s: %w", listener.Target, err)
		}
		go func() {
			defer func() { _ = conn.Close() }()
			if err := n.carry(ctx, conn, listener.Target); err != nil {
				n.log.Warn("a connection ended", "target", listener.Target, "error", err)
			}
		}()
	}
}

// carry sends one connection through the link.
func (n *near) carry(ctx context.Context, conn net.Conn, target string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, up := io.Pipe()
	request := (&http.Request{
		Method: http.MethodConnect,
		// One host, so that all targets share the one stream; Host is the target.
		URL:    &url.URL{Scheme: "http", Host: "link"},
		Host:   target,
		Header: http.Header{},
		Body:   body,
	}).WithContext(ctx)
	response, err := n.transport.RoundTrip(request)
	if err != nil {
		return fmt.Errorf("ask for the connection: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return fmt.Errorf("the other end refused: %s: %s", response.Status, why)
	}
	go func() {
		_, err := io.Copy(up, conn)
		// Without an error the body ends, and the other end closes its direction too; with one the stream is reset.
		_ = up.CloseWithError(err)
	}()
	_, _ = io.Copy(conn, response.Body)
	return nil
}

// watched reports the end of a stream.
type watched struct {
	net.Conn

	ended func(err error)
}

func (w *watched) Read(data []byte) (int, error) {
	n, err := w.Conn.Read(data)
	if err != nil {
		w.ended(err)
	}
	return n, err
}
