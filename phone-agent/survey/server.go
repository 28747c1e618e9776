// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Server is the end of surveys that stands still.
type Server struct {
	// TLS, unless nil, is for the TCP connections. It should ask for the phones' certificates.
	TLS *tls.Config
	// Interval is between two datagrams to a phone; 0 is the paper's 100 ms.
	Interval time.Duration
	// SessionsMax is how many surveys there may be at a time; 0 is 16.
	SessionsMax int
	// Ended, unless nil, is called when a survey has ended.
	Ended func(name string)

	mutex    sync.Mutex
	clock    wallClock
	sessions map[Session]*session
	// open limits connections, whether or not they have a session yet.
	open  chan struct{}
	stats Stats
}

// Stats count what a server has refused or left out.
type Stats struct {
	// Connections began without a valid hello, or were too many; Datagrams are malformed, of no survey, or not
	// authentic.
	Connections, Datagrams uint64
	// Receipts were left out since a phone took none: its table has these packets as lost.
	Receipts uint64
}

// Stats returns the counters.
func (s *Server) Stats() Stats {
	return Stats{
		atomic.LoadUint64(&s.stats.Connections), atomic.LoadUint64(&s.stats.Datagrams),
		atomic.LoadUint64(&s.stats.Receipts),
	}
}

const (
	// DefaultInterval is the paper's.
	DefaultInterval = 100 * time.Millisecond

	sessionsMax      = 16
	handshakeTimeout = 20 * time.Second
	// receiptsMax of a phone that takes none are those of half an hour.
	receiptsMax = 36_000
	// writeTimeout ends the survey of a phone that takes no receipts.
	writeTimeout = 30 * time.Minute
	// receiptsPause is between two transmissions of receipts: what is surveyed is not to be full of them.
	receiptsPause = time.Second
)

// session is one survey.
type session struct {
	key      Key
	keys     Keys
	hasData  bool
	receipts []Receipt
	// over is closed with the control connection.
	over chan struct{}

	// Where the newest datagram of the phone's came from, which one it was and when it came.
	phone    net.Addr
	last     uint64
	lastAtUS int64
	sequence uint32
}

// Serve accepts surveys until the context ends, and closes the sockets then.
func (s *Server) Serve(ctx context.Context, listener net.Listener, datagrams net.PacketConn) error {
	if s.Interval == 0 {
		s.Interval = DefaultInterval
	}
	if s.SessionsMax == 0 {
		s.SessionsMax = sessionsMax
	}
	s.clock, s.sessions = startWallClock(), map[Session]*session{}
	s.open = make(chan struct{}, 4*s.SessionsMax) // Two for each survey, and as many that begin.
	var running sync.WaitGroup
	defer running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(ctx, func() { _, _ = listener.Close(), datagrams.Close() })
	running.Go(func() { s.receive(ctx, datagrams) })
	port := portOf(datagrams.LocalAddr())
	for {
		conn, err := listener.Accept()
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("accept a survey: %w", err)
		case err != nil: // Too many open files, for instance, and for a moment.
			const pause = 50 * time.Millisecond
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			continue
		}
		select {
		case s.open <- struct{}{}:
			running.Go(func() {
				defer func() { <-s.open }()
				s.connection(ctx, conn, datagrams, port)
			})
		default:
			atomic.AddUint64(&s.stats.Connections, 1)
			_ = conn.Close()
		}
	}
}

func portOf(address net.Addr) uint16 {
	parsed, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return 0
	}
	return parsed.Port()
}

// connection serves one TCP connection until it ends.
func (s *Server) connection(ctx context.Context, raw net.Conn, datagrams net.PacketConn, port uint16) {
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer func() {
		if stop() {
			_ = raw.Close()
		}
	}()
	conn, hello, err := s.hello(ctx, raw)
	if err != nil {
		atomic.AddUint64(&s.stats.Connections, 1)
		return
	}
	defer func() { _ = conn.Close() }() // With TLS this sends that it is the end.
	one := s.attach(hello)
	answer := Answer{hello.Role, port}
	if one == nil {
		atomic.AddUint64(&s.stats.Connections, 1)
		answer.Role = Refused
	}
	if hello.Role == Control && one != nil {
		defer s.remove(hello.Session)
	}
	if _, err := conn.Write(answer.Append(nil)); err != nil || one == nil {
		return
	}
	if hello.Role == Data {
		ended := make(chan struct{})
		defer close(ended)
		go func() {
			select {
			case <-one.over:
				_ = raw.Close()
			case <-ended:
			}
		}()
		s.records(conn, one)
		return
	}
	var sending sync.WaitGroup
	sending.Go(func() { s.send(one, hello.Session, datagrams) })
	s.control(conn, one)
	close(one.over)
	sending.Wait()
}

func (s *Server) hello(ctx context.Context, raw net.Conn) (net.Conn, Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, handshakeTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	defer stop()
	conn := raw
	if s.TLS != nil {
		secure := tls.Server(raw, s.TLS)
		if err := secure.HandshakeContext(ctx); err != nil {
			return nil, Hello{}, err
		}
		conn = secure
	}
	octets := make([]byte, helloBytes)
	if _, err := io.ReadFull(conn, octets); err != nil {
		return nil, Hello{}, err
	}
	hello, err := ParseHello(octets)
	return conn, hello, err
}

// attach returns the survey of a connection, nil if it is refused. The control connection comes first.
func (s *Server) attach(hello Hello) *session {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	one := s.sessions[hello.Session]
	if hello.Role == Data {
		if one == nil || one.hasData || subtle.ConstantTimeCompare(one.key[:], hello.Key[:]) == 0 {
			return nil
		}
		one.hasData = true
		return one
	}
	if one != nil || len(s.sessions) >= s.SessionsMax {
		return nil
	}
	one = &session{key: hello.Key, keys: NewKeys(hello.Key), over: make(chan struct{})}
	s.sessions[hello.Session] = one
	return one
}

func (s *Server) remove(name Session) {
	s.mutex.Lock()
	delete(s.sessions, name)
	s.mutex.Unlock()
	if s.Ended != nil {
		s.Ended(hex.EncodeToString(name[:]))
	}
}

// records takes the records until their end.
func (s *Server) records(conn net.Conn, one *session) {
	record := make([]byte, RecordBytes)
	for {
		if _, err := io.ReadFull(conn, record); err != nil {
			return
		}
		s.note(one, Receipt{TCPUp, binary.BigEndian.Uint64(record), s.clock.nowUS()})
	}
}

func (s *Server) note(one *session, receipt Receipt) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.add(one, receipt)
}

// add is called with the mutex locked.
func (s *Server) add(one *session, receipt Receipt) {
	if len(one.receipts) >= receiptsMax {
		atomic.AddUint64(&s.stats.Receipts, 1)
		return
	}
	one.receipts = append(one.receipts, receipt)
}

// control sends receipts until the phone ends the survey, and the last of them then.
func (s *Server) control(conn net.Conn, one *session) {
	closing := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, conn)
		close(closing)
	}()
	for last := false; ; {
		s.mutex.Lock()
		receipts := one.receipts
		one.receipts = nil
		s.mutex.Unlock()
		var text []byte
		for _, each := range receipts {
			text = each.Append(text)
		}
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := conn.Write(text); err != nil || last {
			return
		}
		select {
		case <-closing:
			last = true
		case <-time.After(receiptsPause):
		}
	}
}

// send sends the datagrams to a phone until its survey is over.
func (s *Server) send(one *session, name Session, datagrams net.PacketConn) {
	ticker := time.NewTicker(s.Interval)
	defer ticker.Stop()
	for {
		select {
		case <-one.over:
			return
		case <-ticker.C:
		}
		s.mutex.Lock()
		phone, octets := one.next(name, s.clock.nowUS())
		s.mutex.Unlock()
		if phone != nil {
			_, _ = datagrams.WriteTo(octets, phone) // A lost one is what is surveyed.
		}
	}
}

// next is the next datagram to a phone, nil while it is not known where that is.
func (o *session) next(name Session, nowUS int64) (net.Addr, []byte) {
	if o.phone == nil {
		return nil, nil
	}
	o.sequence++
	heldUS := max(0, min(nowUS-o.lastAtUS, heldMaxUS))
	down := Down{Sequence: o.sequence, SentUS: nowUS}
	if heldUS < heldMaxUS {
		down.Echoed, down.HeldUS = uint32(o.last), uint32(heldUS) //nolint:gosec // limited
	}
	return o.phone, down.Append(nil, name, o.keys)
}

// heldMaxUS is more than what is exact enough to compare two clocks by.
const heldMaxUS = 10_000_000

// receive takes the phones' datagrams until the socket is closed.
func (s *Server) receive(ctx context.Context, datagrams net.PacketConn) {
	octets := make([]byte, UpBytes+1)
	for ctx.Err() == nil {
		n, from, err := datagrams.ReadFrom(octets)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // An ICMP error that an earlier datagram caused.
		}
		if !s.take(octets[:n], from, s.clock.nowUS()) {
			atomic.AddUint64(&s.stats.Datagrams, 1)
		}
	}
}

// take takes one datagram in, unless it is refused.
func (s *Server) take(octets []byte, from net.Addr, nowUS int64) bool {
	name, err := UpSession(octets)
	if err != nil {
		return false
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	one := s.sessions[name]
	if one == nil {
		return false
	}
	datagram, err := ParseUp(octets, one.keys)
	if err != nil || datagram.Sequence == 0 || datagram.Sequence > PacketsMax {
		return false
	}
	if datagram.Sequence > one.last { // One that comes again, or late, does not move the phone.
		one.phone, one.last, one.lastAtUS = from, datagram.Sequence, nowUS
	}
	s.add(one, Receipt{UDPUp, datagram.Sequence, nowUS})
	return true
}
