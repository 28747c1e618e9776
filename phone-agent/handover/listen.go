// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/core"
	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// Listener accepts sessions.
type Listener struct {
	cfg        Config
	tcp        net.Listener
	udp        net.PacketConn
	accepted   chan *Conn
	ended      chan struct{}
	handshakes chan struct{}

	mutex    sync.Mutex
	sessions map[wire.Session]*served
	clients  map[string]int
	closed   bool
	open     map[net.Conn]struct{} // connections without a session

	counters ListenerStats
}

// ListenerStats counts what a Listener refused, sessions apart. They rise for ever.
type ListenerStats struct {
	// Sessions is the number of sessions now.
	Sessions int
	// RefusedHandshakes were malformed, of another version, failed in TLS or took too long; RefusedLimit were too many
	// connections or sessions; RefusedKeys had another key or identity than the session's; RefusedDatagrams belong to
	// no session.
	RefusedHandshakes, RefusedLimit, RefusedKeys, RefusedDatagrams uint64
}

// served is a session at the server.
type served struct {
	*Conn
	server *core.Server
	client string
	// phone is where the last datagram came from.
	phone net.Addr
}

// Listen listens on an address, HOST:PORT, for TCP and for UDP.
func Listen(address string, cfg Config) (*Listener, error) {
	tcp, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for sessions: %w", err)
	}
	if cfg.SideChannel != Automatic {
		return Serve(tcp, nil, cfg), nil
	}
	udp, err := (&net.ListenConfig{}).ListenPacket(context.Background(), "udp", tcp.Addr().String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen for datagrams: %w", err), tcp.Close())
	}
	return Serve(tcp, udp, cfg), nil
}

// Serve is Listen on sockets that are open already, which the Listener closes. Without one for datagrams the phones
// open a third connection.
func Serve(tcp net.Listener, udp net.PacketConn, cfg Config) *Listener {
	const sessionsMax, perClientMax, handshakesMax = 10_000, 16, 256
	cfg.SessionsMax = orDefault(cfg.SessionsMax, sessionsMax)
	cfg.SessionsPerClientMax = orDefault(cfg.SessionsPerClientMax, perClientMax)
	cfg.HandshakesMax = orDefault(cfg.HandshakesMax, handshakesMax)
	cfg.HandshakeTimeout = orDefault(cfg.HandshakeTimeout, serverHandshakeTimeout)
	cfg.SessionTimeout = orDefault(cfg.SessionTimeout, sessionTimeout)
	l := &Listener{
		cfg: cfg, tcp: tcp, udp: udp, accepted: make(chan *Conn, cfg.SessionsMax), ended: make(chan struct{}),
		handshakes: make(chan struct{}, cfg.HandshakesMax), sessions: map[wire.Session]*served{},
		clients: map[string]int{}, open: map[net.Conn]struct{}{},
	}
	go l.acceptConnections()
	if udp != nil {
		go l.readDatagrams()
	}
	return l
}

const (
	serverHandshakeTimeout = 20 * time.Second
	sessionTimeout         = 5 * time.Minute
)

// Addr is the address of the TCP socket.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Accept returns the next session.
func (l *Listener) Accept(ctx context.Context) (*Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.ended:
		return nil, fmt.Errorf("accept a session: %w", net.ErrClosed)
	case <-ctx.Done():
		return nil, fmt.Errorf("accept a session: %w", ctx.Err())
	}
}

// Stats returns the counters.
func (l *Listener) Stats() ListenerStats {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	stats := ListenerStats{
		RefusedHandshakes: atomic.LoadUint64(&l.counters.RefusedHandshakes),
		RefusedLimit:      atomic.LoadUint64(&l.counters.RefusedLimit),
		RefusedKeys:       atomic.LoadUint64(&l.counters.RefusedKeys),
		RefusedDatagrams:  atomic.LoadUint64(&l.counters.RefusedDatagrams),
	}
	stats.Sessions = len(l.sessions)
	return stats
}

// Close ends all sessions at this end, as the end of the process does: phones connect again.
func (l *Listener) Close() error {
	l.mutex.Lock()
	if l.closed {
		l.mutex.Unlock()
		return nil
	}
	l.closed = true
	close(l.ended)
	sessions := make([]*served, 0, len(l.sessions))
	for _, s := range l.sessions {
		sessions = append(sessions, s)
	}
	for conn := range l.open {
		go func() { _ = conn.Close() }()
	}
	l.mutex.Unlock()
	err := l.tcp.Close()
	if l.udp != nil {
		err = errors.Join(err, l.udp.Close())
	}
	for _, s := range sessions {
		s.fail(net.ErrClosed)
	}
	return err
}

func (l *Listener) acceptConnections() {
	for {
		conn, err := l.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Too many open files, for instance, and for a moment.
			const pause = 50 * time.Millisecond
			select {
			case <-time.After(pause):
				continue
			case <-l.ended:
				return
			}
		}
		select {
		case l.handshakes <- struct{}{}:
			go l.handshake(conn)
		default:
			atomic.AddUint64(&l.counters.RefusedLimit, 1)
			_ = conn.Close()
		}
	}
}

// handshake takes a connection to its session.
func (l *Listener) handshake(raw net.Conn) {
	defer func() { <-l.handshakes }()
	l.mutex.Lock()
	if l.closed {
		l.mutex.Unlock()
		_ = raw.Close()
		return
	}
	l.open[raw] = struct{}{}
	l.mutex.Unlock()
	defer func() {
		l.mutex.Lock()
		delete(l.open, raw)
		l.mutex.Unlock()
	}()
	ctx, cancel := context.WithTimeout(context.Background(), l.cfg.HandshakeTimeout)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	conn, identity := raw, ""
	if l.cfg.TLS != nil {
		secure := tls.Server(raw, l.cfg.TLS)
		if err := secure.HandshakeContext(ctx); err != nil {
			l.refuse(raw)
			return
		}
		conn, identity = secure, identityOf(secure.ConnectionState())
	}
	reader := bufio.NewReaderSize(conn, readerBytes)
	frame, err := wire.Read(reader)
	hello, isHello := frame.(wire.Hello)
	if errors.Is(err, wire.ErrVersion) {
		_, _ = conn.Write(wire.Append(nil, wire.Refused{
			Refusal: wire.RefusedVersion, Text: fmt.Sprintf("the server has version %d of the protocol", wire.Version),
		}))
	}
	if err != nil || !isHello || !stop() {
		l.refuse(conn)
		return
	}
	if refused := l.attach(&hello, conn, reader, identity); refused != nil {
		l.countRefused(refused.Refusal)
		_, _ = conn.Write(wire.Append(nil, *refused))
		_ = conn.Close()
	}
}

func (l *Listener) refuse(conn net.Conn) {
	atomic.AddUint64(&l.counters.RefusedHandshakes, 1)
	_ = conn.Close()
}

func (l *Listener) countRefused(why wire.Refusal) {
	switch why {
	case wire.RefusedLimit:
		atomic.AddUint64(&l.counters.RefusedLimit, 1)
	case wire.RefusedKey, wire.RefusedOld:
		atomic.AddUint64(&l.counters.RefusedKeys, 1)
	default:
		atomic.AddUint64(&l.counters.RefusedHandshakes, 1)
	}
}

func identityOf(state tls.ConnectionState) string {
	if len(state.PeerCertificates) == 0 {
		return ""
	}
	leaf := state.PeerCertificates[0]
	if len(leaf.URIs) > 0 {
		return leaf.URIs[0].String()
	}
	hash := sha256.Sum256(leaf.RawSubjectPublicKeyInfo)
	return hex.EncodeToString(hash[:])
}

// clientOf is what a limit per client counts.
func clientOf(identity string, address net.Addr) string {
	if identity != "" {
		return identity
	}
	parsed, err := netip.ParseAddrPort(address.String())
	if err != nil {
		return address.String()
	}
	const ipv6SubscriberBits = 64
	ip := parsed.Addr().Unmap()
	if ip.Is4() {
		return ip.String()
	}
	prefix, _ := ip.WithZone("").Prefix(ipv6SubscriberBits)
	return prefix.String()
}

// attach gives a connection to its session, which begins with it if there is none.
func (l *Listener) attach(hello *wire.Hello, conn net.Conn, reader *bufio.Reader, identity string) *wire.Refused {
	s, refused := l.session(hello, conn, identity)
	if refused != nil {
		return refused
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.failed != nil || s.server.Over() {
		return &wire.Refused{Refusal: wire.RefusedClosing, Text: "the session is ending"}
	}
	var answer wire.Frame
	s.do(func(now time.Duration) { answer = s.server.Attach(now, hello) })
	if refusal, isRefused := answer.(wire.Refused); isRefused {
		return &refusal
	}
	lane := newLane(hello.Connection, hello.Role, conn, reader)
	lane.greeting = wire.Append(nil, answer)
	s.addLane(lane)
	return nil
}

func (l *Listener) session(hello *wire.Hello, conn net.Conn, identity string) (*served, *wire.Refused) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if s := l.sessions[hello.Session]; s != nil {
		if s.identity != identity {
			return nil, &wire.Refused{Refusal: wire.RefusedKey, Text: "the session is another client's"}
		}
		return s, nil
	}
	client := clientOf(identity, conn.RemoteAddr())
	switch {
	case l.closed:
		return nil, &wire.Refused{Refusal: wire.RefusedClosing, Text: "the server is ending"}
	case len(l.sessions) >= l.cfg.SessionsMax:
		return nil, &wire.Refused{Refusal: wire.RefusedLimit, Text: "too many sessions"}
	case l.clients[client] >= l.cfg.SessionsPerClientMax:
		return nil, &wire.Refused{Refusal: wire.RefusedLimit, Text: "too many sessions of this client"}
	}
	s, refused := l.newSession(hello, conn, identity, client)
	if refused != nil {
		return nil, refused
	}
	l.sessions[hello.Session] = s
	l.clients[client]++
	select {
	case l.accepted <- s.Conn:
	default: // Not accepted for so long that the sessions before have ended.
		go s.fail(errNotAccepted)
		return nil, &wire.Refused{Refusal: wire.RefusedLimit, Text: "the server's application accepts no sessions"}
	}
	return s, nil
}

func (l *Listener) newSession(hello *wire.Hello, conn net.Conn, identity, client string) (*served, *wire.Refused) {
	var origin Origin
	if l.cfg.Origin != nil {
		var err error
		if origin, err = l.cfg.Origin(sessionName(hello.Session), identity); err != nil {
			return nil, &wire.Refused{Refusal: wire.RefusedClosing, Text: "the server cannot read where it stopped"}
		}
	}
	var epoch wire.Epoch
	_, _ = rand.Read(epoch[:]) // It does not fail.
	server := core.NewServer(l.cfg.settings(), hello, epoch, time.Now().UnixMicro(), l.udpPort(), origin)
	s := &served{Conn: newConn(sessionName(hello.Session), server), server: server, client: client}
	s.identity, s.remote = identity, conn.RemoteAddr()
	s.manualConfirm = l.cfg.ManualConfirm
	s.peerStarted = time.UnixMicro(hello.StartedUnixUs)
	s.perform = s.performEffect(l)
	s.takeNotice = func(octets []byte) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		s.do(func(time.Duration) { s.server.Datagram(octets, false) })
	}
	s.onEnd = func() { l.forget(hello.Session, s) }
	go s.run()
	go s.expire(l.cfg.SessionTimeout)
	return s, nil
}

func (l *Listener) udpPort() uint16 {
	if l.udp == nil {
		return 0
	}
	parsed, err := netip.ParseAddrPort(l.udp.LocalAddr().String())
	if err != nil {
		return 0
	}
	return parsed.Port()
}

func (l *Listener) forget(session wire.Session, s *served) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.sessions[session] != s {
		return
	}
	delete(l.sessions, session)
	if l.clients[s.client]--; l.clients[s.client] <= 0 {
		delete(l.clients, s.client)
	}
}

// performEffect is called with the session's mutex locked.
func (s *served) performEffect(l *Listener) func(core.Effect) {
	return func(effect core.Effect) {
		switch effect := effect.(type) {
		case core.Hangup:
			if lane := s.lanes[effect.Number]; lane != nil {
				lane.close()
			}
		case core.SendDatagram:
			if l.udp != nil && s.phone != nil {
				_, _ = l.udp.WriteTo(effect.Octets, s.phone) // A lost one is sent again.
			}
		}
	}
}

var errNotAccepted = errors.New("the session was not accepted")

// errExpired ends a session that had no connection for too long.
var errExpired = errors.New("the peer did not come back")

// expire ends the session when it has been without any connection for too long.
func (s *served) expire(after time.Duration) {
	timer := time.NewTimer(after)
	defer timer.Stop()
	for {
		select {
		case <-s.over:
			return
		case <-timer.C:
		}
		s.mutex.Lock()
		left := after
		if since, empty := s.server.EmptySince(); empty {
			left = since + after - s.now()
		}
		s.mutex.Unlock()
		if left <= 0 {
			s.fail(errExpired)
			return
		}
		timer.Reset(left)
	}
}

func (l *Listener) readDatagrams() {
	octets := make([]byte, wire.DatagramBytes+1)
	for {
		n, from, err := l.udp.ReadFrom(octets)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // An ICMP error that an earlier datagram caused.
		}
		session, err := wire.DatagramSession(octets[:n])
		l.mutex.Lock()
		s := l.sessions[session]
		l.mutex.Unlock()
		if err != nil || s == nil {
			atomic.AddUint64(&l.counters.RefusedDatagrams, 1)
			continue
		}
		s.mutex.Lock()
		s.do(func(time.Duration) {
			if s.server.Datagram(octets[:n], true) {
				s.phone = from
			}
		})
		s.mutex.Unlock()
	}
}
