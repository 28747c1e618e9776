// SPDX-License-Identifier: Apache-2.0

package arrival

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// Download is a connection that has received data.
type Download struct {
	Local, Remote netip.AddrPort
	// Next is the first sequence number that has not come, Sequence that of the next octet to be sent.
	Next, Sequence uint32
	// Window is what the phone can take from Next on, in the units of the connection.
	Window uint16
	// HasTimestamps is whether segments have timestamps (RFC 7323): Timestamp that of now, Echo the server's.
	HasTimestamps   bool
	Timestamp, Echo uint32
	// Quiet is how long ago data came for the last time.
	Quiet time.Duration
}

// Servers are reached by the network namespace of a phone.
type Servers interface {
	// Receiving lists the connections that have received data and can receive more.
	Receiving() ([]Download, error)
	// Acknowledge acknowledges once more what has come. Lost acknowledgments make a server repeat what the phone has,
	// and it ignores messages about anything else. The error is ErrAddressGone as that of Kernel.Revert.
	Acknowledge(download Download) error
	// Unreachable sends the server the message of RFC 6069 about the segment at Next.
	Unreachable(download Download) error
	// Close ends what was opened for it.
	Close() error
}

// DownloadsOutcome is what Downloads has done.
type DownloadsOutcome struct {
	// Silent is how many downloads an arrival has found that had stopped, Resumed from how many of them more has come
	// since, or the end.
	Silent, Resumed uint64
	// Messages is how many messages were sent, acknowledgments included. Refused is how many the kernel refused to
	// send, Unsent how many downloads were left to their servers' timers because there were too many.
	Messages, Refused, Unsent uint64
}

// Downloads makes servers retransmit after an arrival. It is not safe for use by several goroutines.
//
// The server's retransmission timer is backed off like the phone's, and only messages from the phone can end its wait.
// Each message of RFC 6069 reverts one doubling if it quotes the first segment that the server knows to be missing,
// and an acknowledgment before it makes that the first one which is missing indeed.
type Downloads struct {
	servers Servers
	budget  Budget
	// asked are the downloads whose servers were sent messages the last time.
	asked []Download
	// awaitsAgain is so after Arrived, until Again.
	awaitsAgain bool
}

// ToServers is the name of what Downloads does.
const ToServers = "messages to servers"

// These messages leave the phone. 73 downloads that were silent for ten seconds need as many: seven each.
const (
	toServersAtOnce    = 512
	toServersPerSecond = 64
)

// NewDownloads makes one.
func NewDownloads(servers Servers) *Downloads {
	return &Downloads{servers: servers, budget: NewBudget(toServersAtOnce, toServersPerSecond)}
}

// A download is taken for one that an outage has stopped if data came within receivedBefore of its beginning, which is
// not known exactly, and none for the shortest timeout: no timer has expired since.
const (
	receivedBefore  = 10 * time.Second
	shortestTimeout = 200 * time.Millisecond // Linux' TCP_RTO_MIN; RFC 6298 has a second
)

// Arrived sends messages to the servers whose data have stopped, the last to stop first. Outage is how long ago the
// path may have been lost.
//
// If Again has not run since the last Arrived, this one is in its place as well: what has resumed since is counted, and
// a download that has not is not counted as silent once more.
//
// Errors: the connections could not be listed, or messages could not be sent, which the other servers do not notice:
// the first such error, and how many there were.
func (d *Downloads) Arrived(now time.Time, outage time.Duration) (DownloadsOutcome, error) {
	found, err := d.servers.Receiving()
	if err != nil {
		d.asked, d.awaitsAgain = nil, false
		return DownloadsOutcome{}, fmt.Errorf("list the connections that receive: %w", err)
	}
	var outcome DownloadsOutcome
	var counted []Download
	if d.awaitsAgain {
		counted = d.stillSilent(found)
		outcome.Resumed = uint64(len(d.asked) - len(counted)) //nolint:gosec // a part of them
	}
	silent := slices.DeleteFunc(found, func(download Download) bool {
		return download.Quiet < shortestTimeout || download.Quiet > outage+receivedBefore
	})
	slices.SortStableFunc(silent, func(a, b Download) int { return cmp.Compare(a.Quiet, b.Quiet) })
	for _, download := range silent {
		if !slices.Contains(counted, download) {
			outcome.Silent++
		}
	}
	d.awaitsAgain = true
	err = d.ask(now, silent, &outcome)
	return outcome, err
}

// Again sends the messages of the last Arrived once more to those servers from which nothing has come since: the
// network behind the access point may not have known the phone's new place. Errors are as those of Arrived.
func (d *Downloads) Again(now time.Time) (DownloadsOutcome, error) {
	d.awaitsAgain = false
	if len(d.asked) == 0 {
		return DownloadsOutcome{}, nil
	}
	found, err := d.servers.Receiving()
	if err != nil {
		d.asked = nil
		return DownloadsOutcome{}, fmt.Errorf("list the connections that receive: %w", err)
	}
	silent := d.stillSilent(found)
	outcome := DownloadsOutcome{Resumed: uint64(len(d.asked) - len(silent))} //nolint:gosec // a part of them
	err = d.ask(now, silent, &outcome)
	return outcome, err
}

// stillSilent are those of the found downloads whose servers were asked and from which nothing has come since.
func (d *Downloads) stillSilent(found []Download) []Download {
	asked := make(map[ends]uint32, len(d.asked))
	for _, download := range d.asked {
		asked[ends{download.Local, download.Remote}] = download.Next
	}
	var silent []Download
	for _, download := range found {
		if next, isAsked := asked[ends{download.Local, download.Remote}]; isAsked && next == download.Next {
			silent = append(silent, download)
		}
	}
	return silent
}

// ask sends the messages and remembers whom.
func (d *Downloads) ask(now time.Time, silent []Download, outcome *DownloadsOutcome) error {
	d.asked = nil
	left := d.budget.Left(now)
	var refused failures
	for _, download := range silent {
		messages := 1 + doublings(download.Quiet)
		if messages > left {
			outcome.Unsent++
			continue
		}
		sent, err := d.askOne(download)
		outcome.Messages += sent
		if err != nil && !errors.Is(err, ErrAddressGone) {
			refused.add(fmt.Errorf("send a message to %s: %w", download.Remote.Addr(), err))
			sent++ // Attempts count.
		}
		left -= sent
		d.budget.Spend(sent)
		if err == nil {
			d.asked = append(d.asked, download)
		}
	}
	outcome.Refused = refused.count
	return refused.err()
}

func (d *Downloads) askOne(download Download) (sent uint64, err error) {
	if err := d.servers.Acknowledge(download); err != nil {
		return 0, err
	}
	sent++
	for range doublings(download.Quiet) {
		if err := d.servers.Unreachable(download); err != nil {
			return sent, err
		}
		sent++
	}
	return sent, nil
}

// doublings is how often a server may have doubled its timeout in that time, and one for the attempt that a message
// leads to: it expires after one, three, seven times the shortest one.
func doublings(quiet time.Duration) uint64 {
	count := uint64(1)
	for timeout := shortestTimeout; quiet >= timeout && count < stepsMax; timeout *= 2 {
		quiet -= timeout
		count++
	}
	return count
}

// Close ends what the messages need.
func (d *Downloads) Close() error { return d.servers.Close() }
