// SPDX-License-Identifier: Apache-2.0

// Package arrival has TCP send again at once when the phone can send again.
//
// While a phone is between two access points everything that it sends is lost. TCP repeats what was not acknowledged
// after its retransmission timeout, then after twice that time, and so on (RFC 6298): after an outage of ten seconds
// the next attempt may be eight seconds away. The kernel cannot know that the path is back. The agent does, by the
// association.
//
// RFC 6069 has a way to tell it: a router's message that a host is unreachable, with the sequence number of the
// segment that was lost, shows that it was lost for lack of a path and not by congestion, and the kernel takes one
// doubling of its timeout back (tcp_ld_RTO_revert in net/ipv4/tcp_ipv4.c, Linux 2.6.32 and later). If so much time has
// passed already, it sends at once. Retransmit sends such messages to this machine itself, one for each doubling, until
// the kernel has sent.
package arrival

import (
	"fmt"
	"net/netip"
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
	// Revert takes one doubling of a connection's timeout back; the kernel retransmits if the timeout is over then.
	Revert(connection Connection) error
}

// Outcome is what Retransmit has done.
type Outcome struct {
	// Unanswered is how many connections waited for their timers, AtOnce how many of them have sent.
	Unanswered, AtOnce int
	// Messages is how often a doubling was taken back, or tried to be.
	Messages int
}

// stepsMax is more than the doublings between the shortest timeout of the kernel, 0.2 s, and the longest, 120 s.
const stepsMax = 12

type ends struct{ local, remote netip.AddrPort }

// Retransmit has every connection that waits for its retransmission timer send again: each once, at the most.
//
// A connection whose last attempt was less than the undoubled timeout ago still waits for what is left of that.
// Errors: the connections could not be listed, or a message could not be sent; Outcome is what happened until then.
func Retransmit(kernel Kernel) (Outcome, error) {
	waiting, err := kernel.Unanswered()
	if err != nil {
		return Outcome{}, fmt.Errorf("list the connections that wait: %w", err)
	}
	outcome := Outcome{Unanswered: len(waiting)}
	for range stepsMax {
		waiting = doubled(waiting)
		if len(waiting) == 0 {
			break
		}
		for _, connection := range waiting {
			if err := kernel.Revert(connection); err != nil {
				return outcome, fmt.Errorf("tell TCP of %s that the path is back: %w", connection.Local, err)
			}
			outcome.Messages++
		}
		after, err := kernel.Unanswered()
		if err != nil {
			return outcome, fmt.Errorf("list the connections that wait: %w", err)
		}
		var sent int
		waiting, sent = still(waiting, after)
		outcome.AtOnce += sent
	}
	return outcome, nil
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
func still(before, after []Connection) (waiting []Connection, sent int) {
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
