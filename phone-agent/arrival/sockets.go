// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package arrival

import (
	"errors"
	"fmt"
	"net/netip"

	"golang.org/x/sys/unix"
)

// sockets are raw ones; -1 where the kernel has none.
type sockets struct{ ipv4, ipv6 int }

var noSockets = sockets{-1, -1}

// openSockets opens those of one protocol number each, in the network namespace of the thread that calls.
func openSockets(ipv4, ipv6 int) (sockets, error) {
	made := noSockets
	var err error
	if made.ipv4, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, ipv4); err != nil {
		return noSockets, fmt.Errorf("open a raw socket: %w", err)
	}
	if made.ipv6, err = unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, ipv6); err != nil {
		made.ipv6 = -1 // A kernel without IPv6 has no such connections either.
	}
	for _, socket := range []int{made.ipv4, made.ipv6} {
		// Nothing is read: replies to others' messages would only fill the buffer.
		if socket >= 0 {
			_ = unix.SetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_RCVBUF, 0)
		}
	}
	return made, nil
}

// send sends a message from one of the phone's addresses. The socket is bound to it first, which the kernel refuses if
// the phone does not have the address: ErrAddressGone.
//
// It never waits: a link that takes nothing may fill the socket's buffer, and the error is EAGAIN then.
func (s sockets) send(from, to netip.Addr, text []byte) error {
	socket, source, destination := s.ipv6, inet6(from), inet6(to)
	if from.Is4() {
		socket, source, destination = s.ipv4, inet4(from), inet4(to)
	}
	if socket < 0 {
		return unix.EAFNOSUPPORT
	}
	if err := unix.Bind(socket, source); errors.Is(err, unix.EADDRNOTAVAIL) {
		return ErrAddressGone
	} else if err != nil {
		return err
	}
	return unix.Sendto(socket, text, unix.MSG_DONTWAIT, destination)
}

func inet4(address netip.Addr) unix.Sockaddr { return &unix.SockaddrInet4{Addr: address.As4()} }

func inet6(address netip.Addr) unix.Sockaddr { return &unix.SockaddrInet6{Addr: address.As16()} }

func (s sockets) close() error {
	var errs []error
	for _, socket := range []int{s.ipv4, s.ipv6} {
		if socket >= 0 {
			errs = append(errs, unix.Close(socket))
		}
	}
	return errors.Join(errs...)
}
