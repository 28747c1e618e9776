// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"
)

// network is one in the test's memory, for bubbles of testing/synctest. It has one path, with a delay and outages, and
// streams that do as TCP does in an outage: what is sent is sent again after a time that doubles, and all behind it
// waits.
type network struct {
	mutex     sync.Mutex
	delay     time.Duration
	up        bool
	noUDP     bool
	listeners map[string]*listener
	packets   map[string]*packetConn
	streams   map[*stream]struct{}
	phone     netip.Addr
	ports     uint16
}

const (
	rtoMin = 200 * time.Millisecond
	rtoMax = 120 * time.Second
)

func newNetwork(t *testing.T, delay time.Duration) *network {
	t.Helper()
	n := &network{
		delay: delay, up: true, listeners: map[string]*listener{}, packets: map[string]*packetConn{},
		streams: map[*stream]struct{}{}, phone: netip.MustParseAddr("192.0.2.7"),
	}
	t.Cleanup(n.reset)
	return n
}

func (n *network) set(up bool) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.up = up
}

func (n *network) isUp() bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.up
}

// movePhone gives the phone another address, which it uses from now on.
func (n *network) movePhone(to string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	n.phone = netip.MustParseAddr(to)
}

// outage takes the path away for a while.
func (n *network) outage(length time.Duration) {
	n.set(false)
	time.Sleep(length)
	n.set(true)
}

// reset breaks all streams, as a NAT does that was started again.
func (n *network) reset() {
	n.mutex.Lock()
	streams := n.streams
	n.streams = map[*stream]struct{}{}
	n.mutex.Unlock()
	for s := range streams {
		s.fail(errors.New("connection reset"))
	}
}

func (n *network) address() netip.AddrPort {
	n.ports++
	return netip.AddrPortFrom(n.phone, 40000+n.ports)
}

func (n *network) dial(_ context.Context, kind, address string) (net.Conn, error) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if kind == "udp" {
		local := n.packet(n.address().String())
		return &connectedPackets{local, n.packets, netAddr(address), n}, nil
	}
	listening := n.listeners[address]
	if listening == nil {
		return nil, errors.New("connection refused")
	}
	up, down := newStream(n), newStream(n)
	n.streams[up], n.streams[down] = struct{}{}, struct{}{}
	local := n.address().String()
	server := &streamConn{up, down, netAddr(address), netAddr(local)}
	up.first = func() { // The SYN has arrived.
		select {
		case listening.accepted <- server:
		case <-listening.closed:
			up.fail(io.EOF)
			down.fail(errors.New("connection reset"))
		}
	}
	if err := up.send(nil); err != nil {
		return nil, err
	}
	return &streamConn{down, up, netAddr(local), netAddr(address)}, nil
}

type netAddr string

func (netAddr) Network() string  { return "memory" }
func (a netAddr) String() string { return string(a) }

type listener struct {
	network  *network
	address  string
	accepted chan net.Conn
	closed   chan struct{}
	once     sync.Once
}

func (n *network) listen(address string) *listener {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	l := &listener{network: n, address: address, accepted: make(chan net.Conn), closed: make(chan struct{})}
	n.listeners[address] = l
	return l
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.accepted:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Addr() net.Addr { return netAddr(l.address) }

func (l *listener) Close() error {
	l.once.Do(func() {
		close(l.closed)
		l.network.mutex.Lock()
		defer l.network.mutex.Unlock()
		if l.network.listeners[l.address] == l {
			delete(l.network.listeners, l.address)
		}
	})
	return nil
}

// stream is one direction of a connection.
type stream struct {
	network *network
	queue   chan chunk
	first   func()

	mutex   sync.Mutex
	arrived []byte
	failed  error
	changed chan struct{}
	gone    chan struct{}
}

type chunk struct {
	octets []byte
	sent   time.Time
	end    bool
}

func newStream(n *network) *stream {
	const chunksMax = 64 // A send buffer that fills stops the sender.
	s := &stream{
		network: n, queue: make(chan chunk, chunksMax), changed: make(chan struct{}), gone: make(chan struct{}),
	}
	go s.carry()
	return s
}

func (s *stream) carry() {
	for {
		var next chunk
		select {
		case next = <-s.queue:
		case <-s.gone:
			return
		}
		s.pause(time.Until(next.sent.Add(s.network.delay)))
		for rto := rtoMin; !s.network.isUp(); rto = min(2*rto, rtoMax) {
			s.pause(rto)
		}
		if s.first != nil {
			go s.first()
			s.first = nil
		}
		s.mutex.Lock()
		s.arrived = append(s.arrived, next.octets...)
		s.mutex.Unlock()
		if next.end {
			s.fail(io.EOF)
		}
		s.wake()
	}
}

func (s *stream) pause(length time.Duration) {
	if length <= 0 {
		return
	}
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.gone:
	}
}

func (s *stream) wake() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *stream) fail(err error) {
	s.mutex.Lock()
	if s.failed == nil {
		s.failed = err
		close(s.gone)
	}
	s.mutex.Unlock()
	s.wake()
}

func (s *stream) send(octets []byte) error {
	select {
	case s.queue <- chunk{append([]byte(nil), octets...), time.Now(), false}:
		return nil
	case <-s.gone:
		return io.ErrClosedPipe
	}
}

func (s *stream) receive(to []byte) (int, error) {
	for {
		s.mutex.Lock()
		if len(s.arrived) > 0 {
			n := copy(to, s.arrived)
			s.arrived = s.arrived[n:]
			s.mutex.Unlock()
			return n, nil
		}
		failed, changed := s.failed, s.changed
		s.mutex.Unlock()
		if failed != nil {
			return 0, failed
		}
		<-changed
	}
}

// streamConn is an end of a connection.
type streamConn struct {
	in, out       *stream
	local, remote netAddr
}

func (c *streamConn) Read(to []byte) (int, error) { return c.in.receive(to) }

func (c *streamConn) Write(octets []byte) (int, error) {
	if err := c.out.send(octets); err != nil {
		return 0, err
	}
	return len(octets), nil
}

func (c *streamConn) Close() error {
	c.in.fail(net.ErrClosed)
	_ = c.CloseWrite()
	return nil
}

func (c *streamConn) CloseWrite() error {
	select {
	case c.out.queue <- chunk{nil, time.Now(), true}:
	default:
		c.out.fail(io.EOF)
	}
	return nil
}

func (c *streamConn) LocalAddr() net.Addr              { return c.local }
func (c *streamConn) RemoteAddr() net.Addr             { return c.remote }
func (c *streamConn) SetDeadline(time.Time) error      { return nil }
func (c *streamConn) SetReadDeadline(time.Time) error  { return nil }
func (c *streamConn) SetWriteDeadline(time.Time) error { return nil }

// packetConn is a socket for datagrams.
type packetConn struct {
	network *network
	address string
	arrived chan packet
	closed  chan struct{}
	once    sync.Once
}

type packet struct {
	octets []byte
	from   netAddr
}

// packet opens a socket; the network's mutex is locked.
func (n *network) packet(address string) *packetConn {
	const packetsMax = 64
	p := &packetConn{network: n, address: address, arrived: make(chan packet, packetsMax), closed: make(chan struct{})}
	n.packets[address] = p
	return p
}

func (n *network) listenPacket(address string) *packetConn {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.packet(address)
}

func (p *packetConn) ReadFrom(to []byte) (int, net.Addr, error) {
	select {
	case next := <-p.arrived:
		return copy(to, next.octets), next.from, nil
	case <-p.closed:
		return 0, nil, net.ErrClosed
	}
}

func (p *packetConn) WriteTo(octets []byte, to net.Addr) (int, error) {
	n := p.network
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if n.up && !n.noUDP {
		sent := packet{append([]byte(nil), octets...), netAddr(p.address)}
		time.AfterFunc(n.delay, func() {
			n.mutex.Lock()
			defer n.mutex.Unlock()
			if other := n.packets[to.String()]; other != nil {
				select {
				case other.arrived <- sent:
				default:
				}
			}
		})
	}
	return len(octets), nil
}

func (p *packetConn) Close() error {
	p.once.Do(func() {
		close(p.closed)
		p.network.mutex.Lock()
		defer p.network.mutex.Unlock()
		if p.network.packets[p.address] == p {
			delete(p.network.packets, p.address)
		}
	})
	return nil
}

func (p *packetConn) LocalAddr() net.Addr              { return netAddr(p.address) }
func (p *packetConn) SetDeadline(time.Time) error      { return nil }
func (p *packetConn) SetReadDeadline(time.Time) error  { return nil }
func (p *packetConn) SetWriteDeadline(time.Time) error { return nil }

// connectedPackets is a socket for datagrams with one peer.
type connectedPackets struct {
	*packetConn
	all    map[string]*packetConn
	remote netAddr
	net    *network
}

func (c *connectedPackets) Read(to []byte) (int, error) {
	n, _, err := c.ReadFrom(to)
	return n, err
}
func (c *connectedPackets) Write(octets []byte) (int, error) { return c.WriteTo(octets, c.remote) }
func (c *connectedPackets) RemoteAddr() net.Addr             { return c.remote }

func (n *network) listening(address string) *listener {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.listeners[address]
}
