// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/core"
	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// dialer is the phone's side of a Conn.
type dialer struct {
	*Conn
	cfg     Config
	address string
	phone   *core.Phone
	// ctx ends with the session.
	ctx     context.Context //nolint:containedctx // it is the session's life
	stop    context.CancelFunc
	dialing map[uint64]context.CancelFunc
	// answered is closed with the first Welcome, or when none can come.
	answered chan struct{}
	// lastError is why the last connection could not be opened.
	lastError error
	side      sideChannel
}

// Dial begins a session with a server at HOST:PORT, and returns when the server has answered. The context is for Dial
// alone.
func Dial(ctx context.Context, address string, cfg Config) (*Conn, error) {
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("dial %s: %w", address, err)
	}
	if cfg.DialContext == nil {
		cfg.DialContext = defaultDial
	}
	var session wire.Session
	var key wire.Key
	_, _ = rand.Read(session[:]) // It does not fail.
	_, _ = rand.Read(key[:])
	phone := core.NewPhone(cfg.settings(), session, key, time.Now().UnixMicro())
	d := &dialer{
		Conn: newConn(sessionName(session), phone), cfg: cfg, address: address, phone: phone,
		dialing: map[uint64]context.CancelFunc{}, answered: make(chan struct{}),
	}
	d.ctx, d.stop = context.WithCancel(context.Background()) //nolint:gosec // stop is onEnd
	d.manualConfirm = cfg.ManualConfirm
	d.perform, d.takeNotice, d.onEnd = d.performEffect, d.datagram, d.stop
	d.side.init(d)
	d.mutex.Lock()
	d.do(func(time.Duration) {})
	d.mutex.Unlock()
	go d.run()
	select {
	case <-d.answered:
	case <-d.ended:
	case <-ctx.Done():
	}
	d.mutex.Lock()
	defer d.mutex.Unlock()
	if d.failed == nil && d.peerStarted.IsZero() {
		d.failLocked(errors.Join(context.Cause(ctx), d.lastError))
	}
	if d.failed != nil {
		return nil, fmt.Errorf("begin a session with %s: %w", address, d.failed)
	}
	if cfg.Events != nil {
		go d.readEvents()
	}
	return d.Conn, nil
}

func (d *dialer) readEvents() {
	for {
		select {
		case event, open := <-d.cfg.Events:
			if !open {
				return
			}
			d.arrived(event)
		case <-d.ctx.Done():
			return
		}
	}
}

// arrived converts the event's time to that of the session. A time without a monotonic reading is one of the time of
// day, and that may have been corrected since: it counts only if it is recent.
func (d *dialer) arrived(event Event) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.do(func(now time.Duration) {
		at := now
		if ago := time.Since(event.At); !event.At.IsZero() && 0 < ago && ago < now {
			at = now - ago
		}
		d.phone.Arrived(now, at)
	})
}

func (d *dialer) performEffect(effect core.Effect) {
	switch effect := effect.(type) {
	case core.Dial:
		timeout := orDefault(d.cfg.HandshakeTimeout, phoneHandshakeTimeout)
		ctx, cancel := context.WithTimeout(d.ctx, timeout)
		d.dialing[effect.Number] = cancel
		go d.open(ctx, effect.Number, effect.Role)
	case core.Hangup:
		if cancel := d.dialing[effect.Number]; cancel != nil {
			cancel()
			delete(d.dialing, effect.Number)
		}
		if l := d.lanes[effect.Number]; l != nil {
			delete(d.lanes, effect.Number)
			l.close()
		}
	case core.SendDatagram:
		d.side.send(effect.Octets)
	case core.RenewSocket:
		d.side.renew()
	}
	d.reportSwitches()
}

// phoneHandshakeTimeout is long: the paper has seen 23 s for each packet.
const phoneHandshakeTimeout = time.Minute

func (d *dialer) reportSwitches() {
	for _, s := range d.phone.Switched() {
		if d.cfg.Switched == nil {
			continue
		}
		names := map[core.Reason]string{
			core.ByNotice: "notice", core.AtOnce: "event", core.BySilence: "silence", core.Failover: "lost",
		}
		d.cfg.Switched(SwitchInfo{d.started.Add(s.At), names[s.Reason], s.SinceArrival})
	}
}

// open opens a connection, to its Welcome.
func (d *dialer) open(ctx context.Context, number uint64, role wire.Role) {
	conn, reader, answer, err := d.handshake(ctx, number)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	cancel := d.dialing[number]
	if cancel == nil || d.failed != nil {
		// Given up meanwhile.
		if conn != nil {
			go func() { _ = conn.Close() }()
		}
		return
	}
	cancel()
	delete(d.dialing, number)
	if err == nil {
		switch answer := answer.(type) {
		case wire.Welcome:
			d.peerStarted = time.UnixMicro(answer.StartedUnixUs)
			d.side.remote(conn.RemoteAddr(), answer.UDPPort)
			d.addLane(newLane(number, role, conn, reader))
			d.do(func(now time.Duration) { d.phone.Opened(now, number, answer) })
			d.reportSwitches()
			d.answer()
			return
		case wire.Refused:
			err = fmt.Errorf("refused: %q", answer.Text)
			var hopeless error
			d.do(func(now time.Duration) { hopeless = d.phone.Refused(now, number, answer) })
			if hopeless != nil {
				d.failLocked(hopeless)
			}
		default:
			err = fmt.Errorf("an answer of another kind: %w", core.ErrProtocol)
		}
	}
	if conn != nil {
		go func() { _ = conn.Close() }()
	}
	d.lastError = err
	var unverified *tls.CertificateVerificationError
	if errors.As(err, &unverified) && d.peerStarted.IsZero() {
		d.failLocked(err) // Dial says so at once. Later it may be a renewal that goes wrong.
		return
	}
	d.do(func(now time.Duration) { d.phone.Lost(now, number) })
}

func (d *dialer) answer() {
	select {
	case <-d.answered:
	default:
		close(d.answered)
	}
}

func (d *dialer) handshake(ctx context.Context, number uint64) (net.Conn, *bufio.Reader, wire.Frame, error) {
	conn, err := d.cfg.DialContext(ctx, "tcp", d.address)
	if err != nil {
		return nil, nil, nil, err
	}
	raw := conn
	stop := context.AfterFunc(ctx, func() { _ = raw.Close() })
	if d.cfg.TLS != nil {
		secure := tls.Client(conn, d.tlsConfig())
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = raw.Close()
			return nil, nil, nil, err
		}
		conn = secure
	}
	d.mutex.Lock()
	hello := d.phone.Hello(number)
	d.mutex.Unlock()
	reader := bufio.NewReaderSize(conn, readerBytes)
	if _, err := conn.Write(wire.Append(nil, hello)); err != nil {
		return conn, nil, nil, err
	}
	answer, err := wire.Read(reader)
	if err == nil && !stop() {
		err = ctx.Err()
	}
	return conn, reader, answer, err
}

// tlsConfig has the server's name from the address, as net/http does it.
func (d *dialer) tlsConfig() *tls.Config {
	config := d.cfg.TLS
	if config.ServerName == "" && !config.InsecureSkipVerify {
		host, _, _ := net.SplitHostPort(d.address)
		config = config.Clone()
		config.ServerName = host
	}
	return config
}

func (d *dialer) datagram(octets []byte) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	d.do(func(now time.Duration) { d.phone.Datagram(now, octets) })
	d.reportSwitches()
}

// sideChannel is the phone's sockets for datagrams. Its fields have the Conn's mutex.
type sideChannel struct {
	dialer  *dialer
	address string
	// sockets are the current one and the one before: what was sent to that may still be on its way.
	sockets [2]net.Conn
	opening bool
	queue   [][]byte
}

func (s *sideChannel) init(d *dialer) {
	s.dialer = d
	context.AfterFunc(d.ctx, func() {
		d.mutex.Lock()
		defer d.mutex.Unlock()
		for _, socket := range s.sockets {
			if socket != nil {
				_ = socket.Close()
			}
		}
	})
}

// remote takes over the server's address, which is that of the connection: a name may have several.
func (s *sideChannel) remote(tcp net.Addr, port uint16) {
	host, _, err := net.SplitHostPort(tcp.String())
	if err != nil || port == 0 {
		return
	}
	s.address = net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// queueMax is the number of datagrams that wait for a socket.
const queueMax = 4

func (s *sideChannel) send(octets []byte) {
	if socket := s.sockets[0]; socket != nil && !s.opening {
		_, _ = socket.Write(octets) // A lost one is sent again.
		return
	}
	if len(s.queue) < queueMax {
		s.queue = append(s.queue, octets)
	}
	s.renew()
}

// renew opens another socket.
func (s *sideChannel) renew() {
	if s.opening || s.address == "" {
		return
	}
	s.opening = true
	go s.open(s.address)
}

func (s *sideChannel) open(address string) {
	d := s.dialer
	socket, err := d.cfg.DialContext(d.ctx, "udp", address)
	d.mutex.Lock()
	defer d.mutex.Unlock()
	s.opening = false
	if err != nil {
		s.queue = nil
		return
	}
	if d.ctx.Err() != nil {
		_ = socket.Close()
		return
	}
	if before := s.sockets[1]; before != nil {
		_ = before.Close()
	}
	s.sockets = [2]net.Conn{socket, s.sockets[0]}
	for _, octets := range s.queue {
		_, _ = socket.Write(octets)
	}
	s.queue = nil
	go s.read(socket)
}

func (s *sideChannel) read(socket net.Conn) {
	const refusedMax = 100
	octets := make([]byte, wire.DatagramBytes+1)
	for refused := 0; refused < refusedMax; {
		n, err := socket.Read(octets)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			refused++ // Nobody listens there, for now; each is the answer to a datagram.
			continue
		}
		refused = 0
		s.dialer.datagram(octets[:n])
	}
}
