// SPDX-License-Identifier: Apache-2.0

package upload

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/quic-go/quic-go"

	"github.com/airbound/airbound/lab/internal/selfsigned"
)

// Receiver counts what arrives, by the address that it comes from.
type Receiver struct {
	name     string
	listener *quic.Listener

	lock  sync.Mutex
	bytes map[string]uint64
}

// received is a sample of a receiver; the bytes are cumulative.
type received struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	AtMS   int64  `json:"t_ms"`
	Source string `json:"source"`
	Bytes  uint64 `json:"bytes"`
}

// Listen listens at ADDRESS:PORT; name is that of the receiver in its samples.
func Listen(name, address string) (*Receiver, error) {
	own, err := selfsigned.Certificate()
	if err != nil {
		return nil, fmt.Errorf("make a certificate: %w", err)
	}
	server := &tls.Config{
		Certificates: []tls.Certificate{own}, NextProtos: []string{protocol}, MinVersion: tls.VersionTLS13,
	}
	listener, err := quic.ListenAddr(address, server, &quic.Config{MaxIdleTimeout: idleTimeout})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", address, err)
	}
	return &Receiver{name: name, listener: listener, bytes: map[string]uint64{}}, nil
}

// Address is where it listens.
func (r *Receiver) Address() string { return r.listener.Addr().String() }

// Receive takes all connections, and writes a sample for each source each second up to the last.
func (r *Receiver) Receive(ctx context.Context, clock Clock, last time.Duration, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go r.accept(ctx)
	err := clock.everySecond(last, func(at time.Duration) error {
		r.lock.Lock()
		defer r.lock.Unlock()
		for source, bytes := range r.bytes {
			if err := write(out, received{"recv", r.name, at.Milliseconds(), source, bytes}); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.listener.Close() //nolint:wrapcheck // it has all that is known
}

// accept ends with the listener.
func (r *Receiver) accept(ctx context.Context) {
	for {
		conn, err := r.listener.Accept(ctx)
		if err != nil {
			return
		}
		go r.count(ctx, conn)
	}
}

// count ends with the connection.
func (r *Receiver) count(ctx context.Context, conn *quic.Conn) {
	stream, err := conn.AcceptUniStream(ctx)
	if err != nil {
		return
	}
	source := conn.RemoteAddr().String()
	if host, _, err := net.SplitHostPort(source); err == nil {
		source = host
	}
	buffer := make([]byte, chunkBytes)
	for {
		n, err := stream.Read(buffer)
		r.lock.Lock()
		r.bytes[source] += uint64(n) //nolint:gosec // never negative
		r.lock.Unlock()
		if err != nil {
			return
		}
	}
}
