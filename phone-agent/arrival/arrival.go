// SPDX-License-Identifier: Apache-2.0

// Package arrival makes TCP retransmit at once when the phone can send again.
//
// While a phone is between two access points everything that it sends is lost. TCP repeats what was not acknowledged
// after its retransmission timeout, then after twice that time, and so on (RFC 6298): after an outage of ten seconds
// the next attempt may be eight seconds away. The kernel cannot know that the path is back. The agent does, by the
// association.
//
// BackEnd is the interface of the ways to make it retransmit: Stock, here, for kernels without patches, and
// arrival/procfs for the patched ones.
//
// RFC 6069 has a remedy for the former: a router's ICMP message that a host is unreachable, which quotes the sequence
// number of the lost segment, shows that it was lost for lack of a path and not by congestion, and the kernel reverts
// one doubling of its timeout (tcp_ld_RTO_revert in net/ipv4/tcp_ipv4.c, Linux 2.6.32 and later). If so much time has
// passed already, it retransmits at once. Retransmit sends such messages to this machine itself, one for each doubling,
// until the kernel has retransmitted.
package arrival

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"time"
)

// ErrNotSupported is wrapped by errors about a kernel that does not have what a back end needs.
var ErrNotSupported = errors.New("the kernel does not support it")

// BackEnd is one way to make a kernel's TCP retransmit. It is not safe for use by several goroutines.
type BackEnd interface {
	// Retransmit makes every connection that waits for its retransmission timer retransmit: each once, at the most.
	// Outage is how long ago the path may have been lost, or 0 if that is not known: a kernel that can takes losses
	// since then for no congestion. After an error, Outcome is what happened until then.
	Retransmit(outage time.Duration) (Outcome, error)
	// Name is Requests or Messages.
	Name() string
	// Close ends what the back end has opened.
	Close() error
}

// The names of back ends.
const (
	// Requests is the patched kernel's file.
	Requests = "requests"
	// Messages are ICMP messages of this machine to itself.
	Messages = "messages"
)

// Connection is one whose retransmission timer has expired since the last acknowledgement.
type Connection struct {
	Local, Remote netip.AddrPort
	// Una is the first sequence number that is not acknowledged.
	Una uint32
	// Retransmits is how often the timer has expired since then, Backoff how often its timeout is doubled now.
	Retransmits, Backoff uint8
}

// Kernel is the TCP of a network namespace.
type Kernel interface {
	// Unanswered lists the connections whose retransmission timer has expired.
	Unanswered() ([]Connection, error)
	// Revert reverts one doubling of a connection's timeout; the kernel retransmits if the timeout is over then. The
	// error is ErrAddressGone if the connection's own address is no longer one of the phone's.
	Revert(connection Connection) error
}

// ErrAddressGone is of a connection that can never send again: the phone has another address now.
var ErrAddressGone = errors.New("the phone no longer has this address")

// Outcome is what Retransmit has done.
type Outcome struct {
	// Unanswered is how many connections waited for their timers, AtOnce how many of them have sent.
	Unanswered, AtOnce uint64
	// Messages is how many messages were sent; the patched kernel needs none. Refused is how many the kernel refused to
	// send, Unsent how many connections were left to their timers because there were too many.
	Messages, Refused, Unsent uint64
}

// stepsMax is more than the doublings between the shortest timeout of the kernel, 0.2 s, and the longest, 120 s.
const stepsMax = 12

type ends struct{ local, remote netip.AddrPort }

// Retransmit makes every connection that waits for its retransmission timer retransmit: each once, at the most. It
// sends at most messagesMax messages.
//
// A connection whose last attempt was less than the undoubled timeout ago still waits for what is left of that.
// Errors: the connections could not be listed, and Outcome is what happened until then; or messages could not be sent,
// which the other connections do not notice: the first such error, and how many there were.
func Retransmit(kernel Kernel, messagesMax uint64) (Outcome, error) {
	waiting, err := kernel.Unanswered()
	if err != nil {
		return Outcome{}, fmt.Errorf("list the connections that wait: %w", err)
	}
	outcome := Outcome{Unanswered: uint64(len(waiting))}
	var refused failures
	for range stepsMax {
		waiting = doubled(waiting)
		if left := messagesMax - outcome.Messages - outcome.Refused; uint64(len(waiting)) > left {
			outcome.Unsent += uint64(len(waiting)) - left
			waiting = waiting[:left]
		}
		waiting = refused.without(waiting, kernel.Revert)
		outcome.Messages += uint64(len(waiting))
		outcome.Refused = refused.count
		if len(waiting) == 0 {
			break
		}
		after, err := kernel.Unanswered()
		if err != nil {
			return outcome, fmt.Errorf("list the connections that wait: %w", err)
		}
		var sent uint64
		waiting, sent = still(waiting, after)
		outcome.AtOnce += sent
	}
	return outcome, refused.err()
}

// failures are messages that could not be sent.
type failures struct {
	first error
	count uint64
}

// without sends a message for each connection and returns those for which that was possible.
func (f *failures) without(connections []Connection, send func(Connection) error) []Connection {
	var sent []Connection
	for _, connection := range connections {
		err := send(connection)
		switch {
		case err == nil:
			sent = append(sent, connection)
		case errors.Is(err, ErrAddressGone):
		default:
			f.add(fmt.Errorf("send a message about the connection from %s: %w", connection.Local, err))
		}
	}
	return sent
}

func (f *failures) add(err error) {
	f.count++
	f.first = cmp.Or(f.first, err)
}

func (f *failures) err() error {
	if f.count > 1 {
		return fmt.Errorf("%w (the first of %d)", f.first, f.count)
	}
	return f.first
}

// doubled are those whose timeout is doubled at least once.
func doubled(connections []Connection) []Connection {
	var found []Connection
	for _, connection := range connections {
		if connection.Backoff > 0 {
			found = append(found, connection)
		}
	}
	return found
}

// still are those that have not sent since, as they are now; and how many have. One that has gone from the list was
// acknowledged, or closed.
func still(before, after []Connection) (waiting []Connection, sent uint64) {
	now := make(map[ends]Connection, len(after))
	for _, connection := range after {
		now[ends{connection.Local, connection.Remote}] = connection
	}
	for _, was := range before {
		is, listed := now[ends{was.Local, was.Remote}]
		switch {
		case !listed || is.Una != was.Una || is.Retransmits != was.Retransmits:
			sent++
		default:
			waiting = append(waiting, is)
		}
	}
	return waiting, sent
}
