// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"crypto/tls"
	"errors"
	"fmt"
	"math"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/lab/load/cell"
	"github.com/airbound/airbound/lab/load/secure"
	"github.com/airbound/airbound/lab/load/stream"
)

// state of an agent's connection.
type state int

const (
	closed     state = iota
	connecting       // TCP
	securing         // TLS: the handshake
	opening          // HTTP/2: the server's settings are awaited
	open
)

// agent is one simulated agent: a terminal's or an access point's.
type agent struct {
	number int
	// One of these two.
	terminal *cell.Terminal
	cell     *cell.Cell
	// Number of the terminal among the fleet's, of the cell among the fleet's.
	index int

	state   state
	fd      int
	epoch   int32 // counts connections; events of earlier ones are ignored
	stream  *stream.Stream
	secure  *secure.Conn // nil in plain text
	unsent  []byte       // what the socket did not take
	retryUS int64
	tries   int
	place   int // in the queue of timers
	dueUS   int64
}

const (
	backOffMinUS = 100_000
	backOffMaxUS = 5_000_000
	// An agent that reconnects is away for this long, or longer.
	awayMinUS = 100_000
	// unsentMax bytes may wait; while more do, reports are dropped, as real agents do.
	unsentMax = 16 << 10
)

// nextUS is when the agent has something to do by itself.
func (a *agent) nextUS(saturate bool) int64 {
	switch a.state {
	case closed:
		if a.terminal != nil {
			return min(a.retryUS, a.terminal.NextUS())
		}
		return a.retryUS
	case connecting, securing, opening:
		return math.MaxInt64
	default:
	}
	if a.cell != nil {
		return min(a.cell.NextUS(), a.cell.Reconnects.NextUS())
	}
	next := min(a.terminal.Reconnects.NextUS(), a.terminal.Roams.NextUS())
	if saturate {
		return next // reports are sent whenever there is credit
	}
	return min(next, a.terminal.NextUS())
}

// connect starts a TCP connection.
func (f *Fleet) connect(a *agent) error {
	family := unix.AF_INET
	if f.cfg.Address.Addr().Is6() {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open socket: %w", err)
	}
	if err := f.start(a, fd); err != nil {
		_ = unix.Close(fd)
		return err
	}
	a.fd, a.state = fd, connecting
	a.epoch++
	event := unix.EpollEvent{
		Events: unix.EPOLLIN | unix.EPOLLOUT,
		Fd:     int32(a.number), //nolint:gosec // bounded
		Pad:    a.epoch,
	}
	if err := unix.EpollCtl(f.epoll, unix.EPOLL_CTL_ADD, fd, &event); err != nil {
		_ = unix.Close(fd)
		a.state = closed
		return fmt.Errorf("watch socket: %w", err)
	}
	return nil
}

func (f *Fleet) start(a *agent, fd int) error {
	if err := unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1); err != nil {
		return fmt.Errorf("set TCP_NODELAY: %w", err)
	}
	remote := f.cfg.Address.Addr()
	if remote.Is6() {
		return connectError(unix.Connect(fd, &unix.SockaddrInet6{Port: int(f.cfg.Address.Port()), Addr: remote.As16()}))
	}
	if !f.cfg.Cells.SharedAddress {
		source := a.source()
		// The port is chosen at connect, for the pair of addresses.
		if err := unix.SetsockoptInt(fd, unix.IPPROTO_IP, unix.IP_BIND_ADDRESS_NO_PORT, 1); err != nil {
			return fmt.Errorf("set IP_BIND_ADDRESS_NO_PORT: %w", err)
		}
		if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: source}); err != nil {
			return fmt.Errorf("bind to %v: %w", source, err)
		}
	}
	return connectError(unix.Connect(fd, &unix.SockaddrInet4{Port: int(f.cfg.Address.Port()), Addr: remote.As4()}))
}

func connectError(err error) error {
	if err == nil || errors.Is(err, unix.EINPROGRESS) {
		return nil
	}
	return fmt.Errorf("connect: %w", err)
}

func (a *agent) source() [4]byte {
	if a.cell != nil {
		return a.cell.Source.As4()
	}
	return a.terminal.Source.As4()
}

// writable goes on where the socket was full, or completes the connection.
func (f *Fleet) writable(a *agent) error {
	if a.state == connecting {
		code, err := unix.GetsockoptInt(a.fd, unix.SOL_SOCKET, unix.SO_ERROR)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		if code != 0 {
			return fmt.Errorf("connect: %w", unix.Errno(code))
		}
		a.unsent = nil
		if err := f.watch(a, unix.EPOLLIN); err != nil {
			return err
		}
		if f.cfg.Identities == nil {
			return f.open(a)
		}
		var hello []byte
		a.state = securing
		a.secure, hello = secure.Start(f.cipherBuffer[:0], f.cfg.Identities.Client(f.certificate(a)))
		return f.transmit(a, hello)
	}
	unsent := a.unsent
	a.unsent = nil
	if err := f.watch(a, unix.EPOLLIN); err != nil {
		return err
	}
	return f.transmit(a, unsent)
}

func (f *Fleet) certificate(a *agent) *tls.Certificate {
	if a.cell != nil {
		return &f.cfg.Identities.AccessPoints[a.index]
	}
	return &f.cfg.Identities.Terminals[a.index]
}

// open begins with HTTP/2.
func (f *Fleet) open(a *agent) error {
	a.state, a.stream = opening, stream.New()
	if a.cell != nil {
		return f.write(a, f.accessPointOpening)
	}
	return f.write(a, f.terminalOpening)
}

func (f *Fleet) watch(a *agent, events uint32) error {
	event := unix.EpollEvent{Events: events, Fd: int32(a.number), Pad: a.epoch} //nolint:gosec // bounded
	if err := unix.EpollCtl(f.epoll, unix.EPOLL_CTL_MOD, a.fd, &event); err != nil {
		return fmt.Errorf("watch socket: %w", err)
	}
	return nil
}

// write sends bytes of HTTP/2.
func (f *Fleet) write(a *agent, data []byte) error {
	if len(data) == 0 || a.secure == nil {
		return f.transmit(a, data)
	}
	encrypted, err := a.secure.Send(f.cipherBuffer[:0], data)
	if err != nil {
		return err
	}
	return f.transmit(a, encrypted)
}

// transmit gives bytes to the socket, or keeps what it does not take.
func (f *Fleet) transmit(a *agent, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if len(a.unsent) > 0 {
		a.unsent = append(a.unsent, data...)
		return nil
	}
	n, err := unix.Write(a.fd, data)
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		return fmt.Errorf("write: %w", err)
	}
	if rest := data[max(0, n):]; len(rest) > 0 {
		a.unsent = append([]byte(nil), rest...)
		return f.watch(a, unix.EPOLLIN|unix.EPOLLOUT)
	}
	return nil
}

// readable reads what came and answers what HTTP/2 asks for.
func (f *Fleet) readable(a *agent) error {
	n, err := unix.Read(a.fd, f.readBuffer)
	switch {
	case errors.Is(err, unix.EAGAIN):
		return nil
	case err != nil:
		return fmt.Errorf("read: %w", err)
	case n == 0:
		return errors.New("the server closed the connection")
	}
	if a.secure == nil {
		return f.received(a, f.readBuffer[:n])
	}
	plain, out, err := a.secure.Receive(f.plainBuffer[:0], f.cipherBuffer[:0], f.readBuffer[:n])
	if transmitErr := f.transmit(a, out); err == nil {
		err = transmitErr
	}
	if a.state == securing && a.secure.Complete() && err == nil {
		err = f.open(a)
	}
	if a.stream != nil && len(plain) > 0 { // what came before an error counts, above all a status
		if receivedErr := f.received(a, plain); receivedErr != nil {
			return receivedErr
		}
	}
	return err
}

// received takes bytes of HTTP/2.
func (f *Fleet) received(a *agent, data []byte) error {
	nowUS := NowUS()
	out, err := a.stream.Receive(f.outBuffer[:0], data, func(message []byte) {
		f.deliver(a, message, nowUS)
	})
	if writeErr := f.write(a, out); err == nil {
		err = writeErr
	}
	if err != nil {
		return err
	}
	if a.state == opening && a.stream.Ready {
		f.opened(a, nowUS)
	}
	return nil
}

// close ends a connection; the agent comes back after waitUS.
func (f *Fleet) close(a *agent, waitUS int64) {
	if a.state == closed {
		return
	}
	if a.state == open {
		f.counts.Open.Add(-1)
		if a.cell != nil {
			a.cell.Disconnected()
		} else {
			a.terminal.Disconnected()
			f.expectations.Forget(a.index)
		}
	}
	_ = unix.Close(a.fd)
	if a.secure != nil {
		a.secure.Close()
	}
	a.state, a.stream, a.secure, a.unsent = closed, nil, nil, nil
	a.retryUS = NowUS() + waitUS
}

// broken closes a connection that failed.
func (f *Fleet) broken(a *agent, err error) {
	f.counts.Broken.Add(1)
	if len(f.causes) < causesMax || f.causes[err.Error()] > 0 {
		f.causes[err.Error()]++
	}
	wait := min(backOffMaxUS, int64(backOffMinUS)<<min(a.tries, 10))
	a.tries++
	f.close(a, wait/2+f.random.Int64N(wait))
}

// causesMax is how many different causes are kept.
const causesMax = 100

// epochStart makes the clock of this package a small number.
var epochStart = time.Now().Add(-time.Minute)

// NowUS is the fleet's clock: monotonic, microseconds.
func NowUS() int64 { return time.Since(epochStart).Microseconds() }
