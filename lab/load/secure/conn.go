// SPDX-License-Identifier: Apache-2.0

// Package secure is the client's side of mutual TLS 1.3 for many connections in one event loop: bytes in and bytes out,
// without a goroutine that waits for each connection.
//
// crypto/tls wants a connection that blocks. During the handshake it runs in a coroutine, which is switched to when
// bytes have come. From then on it reads from memory: an error that counts as temporary ends a read without harm to the
// connection.
package secure

import (
	"crypto/tls"
	"errors"
	"fmt"
	"iter"
	"net"
	"time"
)

// Conn is one connection. It is not safe for use by several goroutines; the one that calls Start calls the other
// methods as well.
type Conn struct {
	tls       *tls.Conn
	wire      *wire
	resume    func() (struct{}, bool)
	stop      func()
	handshake error
	complete  bool
}

// Start begins a handshake and appends to out what is to be sent first.
func Start(out []byte, config *tls.Config) (*Conn, []byte) {
	c := &Conn{wire: &wire{}}
	c.tls = tls.Client(c.wire, config)
	c.resume, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.wire.wait = func() bool { return yield(struct{}{}) }
		c.handshake = c.tls.Handshake() //nolint:noctx // Close ends it
		c.wire.wait = nil
	})
	c.wire.out = out
	c.goOn()
	return c, c.sent()
}

// goOn has the handshake go on until it needs more bytes.
func (c *Conn) goOn() {
	if _, waits := c.resume(); !waits {
		c.complete = c.handshake == nil
	}
}

// Complete reports whether the handshake is over. The server may refuse the client's certificate after that: Receive
// then fails.
func (c *Conn) Complete() bool { return c.complete }

// Close ends a handshake that has not ended. It sends nothing.
func (c *Conn) Close() { c.stop() }

// Receive takes bytes from the server, appends what they contain to plain, and to out what must be sent in answer.
// After an error the connection is of no use; what is in out then is to be sent all the same.
func (c *Conn) Receive(plain, out, received []byte) (plainAfter, outAfter []byte, err error) {
	c.wire.in, c.wire.out = received, out
	if !c.complete {
		c.goOn()
		if c.handshake != nil {
			return plain, c.sent(), fmt.Errorf("TLS handshake: %w", c.handshake)
		}
	}
	for c.complete {
		const least = 4096
		plain = grown(plain, least)
		n, err := c.tls.Read(plain[len(plain):cap(plain)])
		plain = plain[:len(plain)+n]
		if errors.Is(err, errNothingThere) {
			break
		}
		if err != nil {
			return plain, c.sent(), fmt.Errorf("read of TLS: %w", err)
		}
	}
	return plain, c.sent(), nil
}

// Send encrypts plain and appends what is to be sent to out.
func (c *Conn) Send(out, plain []byte) ([]byte, error) {
	c.wire.out = out
	if _, err := c.tls.Write(plain); err != nil {
		return c.sent(), fmt.Errorf("write of TLS: %w", err)
	}
	return c.sent(), nil
}

// sent takes what was written. The buffer is the caller's again.
func (c *Conn) sent() []byte {
	out := c.wire.out
	c.wire.out = nil
	return out
}

// grown has capacity for so many bytes more.
func grown(buffer []byte, more int) []byte {
	if cap(buffer)-len(buffer) >= more {
		return buffer
	}
	larger := make([]byte, len(buffer), 2*cap(buffer)+more)
	copy(larger, buffer)
	return larger
}

// wire is the connection below TLS, in memory.
type wire struct {
	in, out []byte
	// wait returns when there may be more in, false if the connection was closed; nil after the handshake.
	wait func() bool
}

// Read takes from what was received.
func (w *wire) Read(p []byte) (int, error) {
	for len(w.in) == 0 {
		if w.wait == nil {
			return 0, errNothingThere
		}
		if !w.wait() {
			return 0, net.ErrClosed
		}
	}
	n := copy(p, w.in)
	w.in = w.in[n:]
	return n, nil
}

// Write keeps what is to be sent.
func (w *wire) Write(p []byte) (int, error) {
	w.out = append(w.out, p...)
	return len(p), nil
}

// The rest of net.Conn, which crypto/tls does not need here.

func (*wire) Close() error                     { return nil }
func (*wire) LocalAddr() net.Addr              { return nil }
func (*wire) RemoteAddr() net.Addr             { return nil }
func (*wire) SetDeadline(time.Time) error      { return nil }
func (*wire) SetReadDeadline(time.Time) error  { return nil }
func (*wire) SetWriteDeadline(time.Time) error { return nil }

// errNothingThere is the end of what was received so far. crypto/tls keeps an error of the connection for ever, unless
// it is a net.Error that counts as temporary.
var errNothingThere error = nothingThereError{}

type nothingThereError struct{}

func (nothingThereError) Error() string   { return "nothing more was received" }
func (nothingThereError) Timeout() bool   { return false }
func (nothingThereError) Temporary() bool { return true }
