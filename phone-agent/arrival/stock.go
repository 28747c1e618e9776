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
	icmp     sockets
	budget   Budget
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
	made := &Stock{icmp: noSockets, budget: NewBudget(messagesAtOnce, messagesPerSecond)}
	if err := loadUnansweredObjects(&made.programs, nil); err != nil {
		return nil, fmt.Errorf("load the program that lists connections: %w", err)
	}
	var err error
	if made.iterator, err = link.AttachIter(link.IterOptions{Program: made.programs.AirboundUnanswered}); err != nil {
		return nil, errors.Join(fmt.Errorf("attach the program that lists connections: %w", err), made.Close())
	}
	if made.icmp, err = openSockets(unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6); err != nil {
		return nil, errors.Join(err, made.Close())
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
	text, err := read(s.iterator)
	if err != nil {
		return nil, err
	}
	return parse(text)
}

// Revert implements Kernel.
func (s *Stock) Revert(connection Connection) error {
	own := connection.Local.Addr()
	return s.icmp.send(own, own, message(connection))
}

// Close ends what OpenStock has opened.
func (s *Stock) Close() error {
	var errs []error
	if s.iterator != nil {
		errs = append(errs, s.iterator.Close())
	}
	return errors.Join(append(errs, s.icmp.close(), s.programs.Close())...)
}

// read is all that a program lists.
func read(iterator *link.Iter) ([]byte, error) {
	reader, err := iterator.Open()
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(reader)
	return text, errors.Join(err, reader.Close())
}
