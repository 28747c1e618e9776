// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package arrival

import (
	"errors"
	"fmt"
	"time"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"
)

// StockServers is the Servers of a phone with Linux 5.8 or later and its BTF.
type StockServers struct {
	programs  receivingObjects
	iterator  *link.Iter
	icmp, tcp sockets
	tick      time.Duration
}

var _ Servers = (*StockServers)(nil)

// OpenStockServers loads the program that lists connections, and opens the sockets that messages are sent by. They are
// of the network namespace of the thread that calls. Errors are as those of OpenStock.
func OpenStockServers() (*StockServers, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, fmt.Errorf("lift the limit of locked memory: %w", err)
	}
	made := &StockServers{icmp: noSockets, tcp: noSockets}
	var coarse unix.Timespec
	// The resolution of the coarse clock is the kernel's tick, whose number the program reads.
	if err := unix.ClockGetres(unix.CLOCK_MONOTONIC_COARSE, &coarse); err != nil {
		return nil, fmt.Errorf("ask for the kernel's tick: %w", err)
	}
	made.tick = time.Duration(coarse.Nano())
	if err := loadReceivingObjects(&made.programs, nil); err != nil {
		return nil, fmt.Errorf("load the program that lists connections: %w", err)
	}
	var err error
	if made.iterator, err = link.AttachIter(link.IterOptions{Program: made.programs.AirboundReceiving}); err != nil {
		return nil, errors.Join(fmt.Errorf("attach the program that lists connections: %w", err), made.Close())
	}
	if made.icmp, err = openSockets(unix.IPPROTO_ICMP, unix.IPPROTO_ICMPV6); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	// Not IPPROTO_TCP: such a socket is given a copy of each segment that comes.
	if made.tcp, err = openSockets(unix.IPPROTO_RAW, unix.IPPROTO_RAW); err != nil {
		return nil, errors.Join(err, made.Close())
	}
	return made, nil
}

// Receiving implements Servers.
func (s *StockServers) Receiving() ([]Download, error) {
	text, err := read(s.iterator)
	if err != nil {
		return nil, err
	}
	return parseReceiving(text, s.tick)
}

// Acknowledge implements Servers.
func (s *StockServers) Acknowledge(download Download) error {
	return s.tcp.send(download.Local.Addr(), download.Remote.Addr(), acknowledgment(download))
}

// Unreachable implements Servers.
func (s *StockServers) Unreachable(download Download) error {
	about := Connection{Local: download.Remote, Remote: download.Local, Una: download.Next}
	return s.icmp.send(download.Local.Addr(), download.Remote.Addr(), message(about))
}

// Close ends what OpenStockServers has opened.
func (s *StockServers) Close() error {
	var errs []error
	if s.iterator != nil {
		errs = append(errs, s.iterator.Close())
	}
	return errors.Join(append(errs, s.icmp.close(), s.tcp.close(), s.programs.Close())...)
}
