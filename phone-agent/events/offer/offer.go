// SPDX-License-Identifier: Apache-2.0

// Package offer has the sockets at which the agent offers arrivals to other programs, and at which they report some: a
// Unix socket, and a loopback port for Android's apps, which may not connect to a root's Unix socket.
//
// Every connection receives an answer when it is ready, and a line for each arrival from then on. Each line that it
// sends is a report, and is answered. A loopback connection sends the token first. Limits: connections for each socket,
// octets of a line, lines that wait for a slow reader. A connection that is beyond one of them, or sends garbage, is
// closed.
package offer

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/airbound/airbound/internal/backoff"
	"github.com/airbound/airbound/phone-agent/events"
)

const (
	// ConnectionsMax is for each socket.
	ConnectionsMax = 32
	// WaitingMax is how many lines wait for a reader.
	WaitingMax = 16
	// writeMax is how long a reader may take for one line.
	writeMax = 10 * time.Second
	// tokenMax is how long a connection may be without its token.
	tokenMax = 5 * time.Second
)

// ErrSlow is of a reader that does not read.
var ErrSlow = errors.New("closed the connection of a slow reader")

var (
	errToken = fmt.Errorf("%w: wrong token", events.ErrRefused)
	errLong  = fmt.Errorf("%w: a line is longer than %d bytes", events.ErrRefused, events.LineOctetsMax)
	errMany  = fmt.Errorf("more than %d connections", ConnectionsMax)
)

// Server has any number of sockets. New makes one.
type Server struct {
	report  func(events.Source, events.Report) events.Outcome
	refused func(error)

	mutex     sync.Mutex
	followers map[*follower]struct{}
}

// New makes a server. It calls report with each report of a program, and refused with each connection or line that is
// refused; both from several goroutines.
func New(report func(events.Source, events.Report) events.Outcome, refused func(error)) *Server {
	return &Server{report: report, refused: refused, followers: make(map[*follower]struct{})}
}

// follower is a connection.
type follower struct {
	conn    net.Conn
	waiting chan []byte
	// Closed when nothing is written any more.
	written chan struct{}
}

// Publish has an event written to every connection. It never waits.
func (s *Server) Publish(event events.Event) {
	line := event.Line()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for each := range s.followers {
		if !each.offer(line) {
			delete(s.followers, each)
			s.refused(ErrSlow)
			_ = each.conn.Close()
		}
	}
}

func (f *follower) offer(line []byte) bool {
	select {
	case f.waiting <- line:
		return true
	default:
		return false
	}
}

// Serve accepts connections until ctx ends, then closes them and the listener, and returns when all is closed. What
// comes in is of the source. Token is what connections must begin with; empty: nothing.
func (s *Server) Serve(ctx context.Context, listener net.Listener, source events.Source, token string) {
	var group sync.WaitGroup
	defer group.Wait()
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	free := make(chan struct{}, ConnectionsMax)
	wait := backoff.Backoff{Min: 10 * time.Millisecond, Max: time.Second}
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = conn.Close()
			}
			return
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // Too many open files, for instance.
			s.refused(fmt.Errorf("accept a connection: %w", err))
			backoff.Sleep(ctx, wait.Next())
			continue
		}
		wait.Reset()
		select {
		case free <- struct{}{}:
		default:
			s.refused(errMany)
			_ = conn.Close()
			continue
		}
		group.Go(func() {
			defer func() { <-free }()
			s.connection(ctx, conn, source, token)
		})
	}
}

// connection is one, until it is closed by either side or ctx ends.
func (s *Server) connection(ctx context.Context, conn net.Conn, source events.Source, token string) {
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer func() {
		stop()
		_ = conn.Close() // A second time, at worst.
	}()
	lines := bufio.NewReaderSize(conn, events.LineOctetsMax)
	if token != "" {
		_ = conn.SetReadDeadline(time.Now().Add(tokenMax)) // Without a deadline it waits for the peer.
		if err := checkToken(lines, token); err != nil {
			s.refused(err)
			return
		}
		_ = conn.SetReadDeadline(time.Time{})
	}
	made := &follower{conn: conn, waiting: make(chan []byte, WaitingMax), written: make(chan struct{})}
	s.mutex.Lock()
	s.followers[made] = struct{}{}
	made.offer(events.Answer{Outcome: events.Following}.Line())
	s.mutex.Unlock()
	go made.write()
	err := s.read(lines, made, source)
	s.mutex.Lock()
	delete(s.followers, made)
	s.mutex.Unlock()
	if err != nil && ctx.Err() == nil {
		s.refused(err)
		made.offer(events.Answer{Refused: err.Error()}.Line())
	}
	close(made.waiting)
	<-made.written
}

func checkToken(lines *bufio.Reader, token string) error {
	line, err := readLine(lines)
	if err != nil {
		return errToken
	}
	shown, err := events.ParseTokenLine(line)
	if err != nil {
		return err
	}
	if subtle.ConstantTimeCompare([]byte(shown), []byte(token)) != 1 {
		return errToken
	}
	return nil
}

// read reads reports until the peer closes the connection, which is no error, or sends something else.
func (s *Server) read(lines *bufio.Reader, from *follower, source events.Source) error {
	for {
		line, err := readLine(lines)
		if errors.Is(err, errLong) {
			return err
		}
		if err != nil {
			return nil //nolint:nilerr // the peer has closed the connection, or is gone
		}
		report, err := events.ParseReport(line)
		if err != nil {
			return err
		}
		if !from.offer(events.Answer{Outcome: s.report(source, report).String()}.Line()) {
			return ErrSlow
		}
	}
}

// readLine returns a line that is valid until the next call. One without its end counts for nothing.
func readLine(lines *bufio.Reader) ([]byte, error) {
	line, err := lines.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		return nil, errLong
	}
	if err != nil {
		return nil, io.EOF
	}
	return line, nil
}

// write writes what waits, until that is closed. After a failure it closes the connection, which ends the reader.
func (f *follower) write() {
	defer close(f.written)
	for line := range f.waiting {
		if f.conn.SetWriteDeadline(time.Now().Add(writeMax)) != nil {
			continue
		}
		if _, err := f.conn.Write(line); err != nil {
			_ = f.conn.Close()
		}
	}
}
