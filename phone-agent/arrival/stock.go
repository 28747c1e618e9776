// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package arrival

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// Stock is the Kernel of a phone without patches: Linux 5.8 and later with its BTF.
type Stock struct {
	programs unansweredObjects
	iterator *link.Iter
	// Raw sockets; -1 where the kernel has none.
	ipv4, ipv6 int
	budget     Budget
}

var (
	_ Kernel  = (*Stock)(nil)
	_ BackEnd = (*Stock)(nil)
)

// OpenStock loads the program that lists connections, and opens the sockets that messages are sent by. They are of the
// network namespace of the thread that calls.
//
// Errors: the kernel cannot do it, or this process may not (CAP_BPF and CAP_PERFMON, or CAP_SYS_ADMIN; CAP_NET_RAW).
func OpenStock() (*Stock, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("lift the limit of locked memory: %w", err)
	}
	made := &Stock{ipv4: -1, ipv6: -1}
	if err := loadUnansweredObjects(&made.programs, nil); err != nil {
		return nil, fmt.Errorf("load the program that lists connections: %w", err)
	}
	var err error
	if made.iterator, err = link.AttachIter(link.IterOptions{Program: made.programs.AirboundUnanswered}); err != nil {
		return nil, errors.Join(fmt.Errorf("attach the program that lists connections: %w", err), made.Close())
	}
	if made.ipv4, err = unix.Socket(unix.AF_INET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP); err != nil {
		made.ipv4 = -1
		return nil, errors.Join(fmt.Errorf("open a raw socket: %w", err), made.Close())
	}
	if made.ipv6, err = unix.Socket(unix.AF_INET6, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.IPPROTO_ICMPV6); err != nil {
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

// Retransmit implements BackEnd. The window stays as the losses have left it.
func (s *Stock) Retransmit(time.Duration) (Outcome, error) {
	outcome, err := Retransmit(s, s.budget.Left(time.Now()))
	s.budget.Spend(outcome.Messages + outcome.Refused)
	return outcome, err
}

// Name implements BackEnd.
func (*Stock) Name() string { return Messages }

// Unanswered implements Kernel.
func (s *Stock) Unanswered() ([]Connection, error) {
	reader, err := s.iterator.Open()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(reader)
	if err = errors.Join(err, reader.Close()); err != nil {
		return nil, err
	}
	return parse(text)
}

// Revert implements Kernel. A message to an address that is not the phone's own would leave the phone, so the socket is
// bound to it first, which the kernel refuses then.
func (s *Stock) Revert(connection Connection) error {
	local := connection.Local.Addr()
	socket, own := s.ipv6, unix.Sockaddr(&unix.SockaddrInet6{Addr: local.As16()})
	if local.Is4() {
		socket, own = s.ipv4, &unix.SockaddrInet4{Addr: local.As4()}
	}
	if socket < 0 {
		return unix.EAFNOSUPPORT
	}
	if err := unix.Bind(socket, own); errors.Is(err, unix.EADDRNOTAVAIL) {
		return ErrAddressGone
	} else if err != nil {
		return err
	}
	return unix.Sendto(socket, message(connection), 0, own)
}

// Close ends what OpenStock has opened.
func (s *Stock) Close() error {
	var errs []error
	if s.iterator != nil {
		errs = append(errs, s.iterator.Close())
	}
	for _, socket := range []int{s.ipv4, s.ipv6} {
		if socket >= 0 {
			errs = append(errs, unix.Close(socket))
		}
	}
	return errors.Join(append(errs, s.programs.Close())...)
}
