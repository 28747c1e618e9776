// SPDX-License-Identifier: Apache-2.0

// Package link carries TCP connections over one stream of bytes that is reliable and in order.
//
// Each connection is a CONNECT request of HTTP/2 (RFC 9113, section 8.5): flow control, half-closed connections and
// resets are HTTP/2's. What is carried is not looked at, so TLS is end to end. The lab's guest is connected to a
// controller in this way: it has no network device to the outside, only files (OpenDirectory).
package link

import (
	"net"
	"net/http"
	"sync"
)

func overStream() *http.Protocols {
	protocols := &http.Protocols{}
	protocols.SetUnencryptedHTTP2(true)
	return protocols
}

// single is a listener with one connection, which waits for its end afterwards.
type single struct {
	conn   net.Conn
	first  sync.Once
	closed chan struct{}
	close  sync.Once
}

func newSingle(conn net.Conn) *single {
	return &single{conn: conn, closed: make(chan struct{})}
}

// take returns the connection once; net.ErrClosed after that.
func (s *single) take() (net.Conn, error) {
	var conn net.Conn
	s.first.Do(func() { conn = &closing{s.conn, s} })
	if conn == nil {
		return nil, net.ErrClosed
	}
	return conn, nil
}

func (s *single) Accept() (net.Conn, error) {
	if conn, err := s.take(); err == nil {
		return conn, nil
	}
	<-s.closed
	return nil, net.ErrClosed
}

func (s *single) Close() error {
	s.close.Do(func() { close(s.closed) })
	return nil
}

func (s *single) Addr() net.Addr { return s.conn.LocalAddr() }

// closing ends its listener with itself.
type closing struct {
	net.Conn

	listener *single
}

func (c *closing) Close() error {
	_ = c.listener.Close()
	return c.Conn.Close() //nolint:wrapcheck // it is the connection's own error
}
