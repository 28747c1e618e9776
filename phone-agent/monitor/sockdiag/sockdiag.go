// SPDX-License-Identifier: Apache-2.0

// Package sockdiag is the monitor.Source of any kernel: it asks for the connections by NETLINK_SOCK_DIAG, as ss(8)
// does.
//
// Against /proc/net/tcp_monitor a connection has no bounds (0), no latest RTT (0), and of the events only timeouts, and
// these only since Linux 6.7; the other counts are 0. It has one more difference: the uid of a connection that its
// process has closed is 0. And it has the DSCPs of connections, which tcp_monitor
// lacks. lab/tests/test_monitors_uml.py has both read the same connections: all else is equal.
package sockdiag

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/monitor"
)

const (
	// bufferBytes takes each datagram of a dump: the kernel makes none above 32 KiB.
	bufferBytes = 64 << 10
	// connectionsMax limits a snapshot, as monitor/procfs does.
	connectionsMax = 100_000
	// receiveTimeoutS ends waiting for a kernel that does not answer.
	receiveTimeoutS = 5

	requestBytes = 56 // struct inet_diag_req_v2
)

// Socket asks the kernel of the network namespace that it was opened in. It reuses its buffers and is for one
// goroutine.
type Socket struct {
	descriptor int
	sequence   uint32
	buffer     []byte
	clock      func() uint64
}

// Open opens a socket. clockUS is CLOCK_MONOTONIC in microseconds.
func Open(clockUS func() uint64) (*Socket, error) {
	descriptor, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, fmt.Errorf("open a socket of NETLINK_SOCK_DIAG: %w", err)
	}
	s := &Socket{descriptor: descriptor, buffer: make([]byte, bufferBytes), clock: clockUS}
	timeout := unix.Timeval{Sec: receiveTimeoutS}
	if err := unix.SetsockoptTimeval(descriptor, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		return nil, errors.Join(fmt.Errorf("open a socket of NETLINK_SOCK_DIAG: %w", err), s.Close())
	}
	return s, nil
}

// Close closes the socket.
func (s *Socket) Close() error { return unix.Close(s.descriptor) }

// Snapshot implements monitor.Source. IPv4 and IPv6 are two dumps, a moment apart.
func (s *Socket) Snapshot() (monitor.Snapshot, error) {
	var snapshot monitor.Snapshot
	for _, family := range []byte{unix.AF_INET, unix.AF_INET6} {
		if err := s.dump(&snapshot, family); err != nil {
			return monitor.Snapshot{}, fmt.Errorf("list TCP connections by sock_diag: %w", err)
		}
	}
	return snapshot, nil
}

func (s *Socket) dump(snapshot *monitor.Snapshot, family byte) error {
	s.sequence++
	if err := s.send(family); err != nil {
		return err
	}
	timeUS := s.clock()
	for {
		n, _, flags, from, err := unix.Recvmsg(s.descriptor, s.buffer, nil, 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return err
		case flags&unix.MSG_TRUNC != 0:
			return fmt.Errorf("%w: a datagram of more than %d bytes", monitor.ErrMalformed, len(s.buffer))
		}
		if sender, isNetlink := from.(*unix.SockaddrNetlink); !isNetlink || sender.Pid != 0 {
			continue // Not of the kernel.
		}
		if n >= headerBytes && order.Uint32(s.buffer[8:]) != s.sequence {
			continue // Of a dump that was given up.
		}
		last, err := Parse(snapshot, s.buffer[:n], timeUS)
		if err != nil || last {
			return explain(err)
		}
		if len(snapshot.Connections) > connectionsMax {
			return fmt.Errorf("more than %d connections", connectionsMax)
		}
	}
}

func (s *Socket) send(family byte) error {
	const info, states = 2, 4
	const wanted = 1<<(attributeInfo-1) | 1<<(attributeTOS-1) | 1<<(attributeClass-1)
	request := make([]byte, headerBytes+requestBytes)
	order.PutUint32(request, headerBytes+requestBytes)
	order.PutUint16(request[4:], typeDiag)
	order.PutUint16(request[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	order.PutUint32(request[8:], s.sequence)
	payload := request[headerBytes:]
	payload[0], payload[1], payload[info] = family, unix.IPPROTO_TCP, wanted
	order.PutUint32(payload[states:], statesMask())
	return unix.Sendto(s.descriptor, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
}

// explain adds the meaning of an error number of the kernel.
func explain(err error) error {
	number, isErrno := errors.AsType[Errno](err)
	switch {
	case !isErrno:
		return err
	case unix.Errno(number) == unix.ENOENT:
		return errors.New("the kernel has no tcp_diag (CONFIG_INET_TCP_DIAG)")
	default:
		return unix.Errno(number)
	}
}
