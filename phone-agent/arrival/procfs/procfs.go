// SPDX-License-Identifier: Apache-2.0

// Package procfs makes TCP retransmit after an arrival by /proc/net/tcp_retransmit of a patched kernel.
//
// One write(2) is one transaction: lines of a selector and, if it is known, how many milliseconds ago the outage began.
// The file cannot be read, so what was done is counted by /proc/net/tcp and tcp6, before the write and after it.
package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"time"

	"github.com/airbound/airbound/phone-agent/arrival"
)

// Kernel is the interface of a patched kernel.
type Kernel interface {
	// Request writes one transaction with one write(2).
	Request(transaction []byte) error
	// Probe returns an error if the kernel has no such file, or if it cannot be written to. Nothing is requested.
	Probe() error
	// Tables are the texts of /proc/net/tcp and tcp6; a kernel without IPv6 has one.
	Tables() ([][]byte, error)
}

// BackEnd is the arrival.BackEnd of a patched kernel.
type BackEnd struct{ kernel Kernel }

var _ arrival.BackEnd = (*BackEnd)(nil)

// Open finds out whether the kernel has the interface. The error wraps arrival.ErrNotSupported if it does not.
func Open(kernel Kernel) (*BackEnd, error) {
	err := kernel.Probe()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("the kernel is not patched: %w: %w", arrival.ErrNotSupported, err)
	case err != nil:
		return nil, fmt.Errorf("probe the kernel for requests to retransmit: %w", err)
	}
	return &BackEnd{kernel}, nil
}

// outageMax is the longest that the kernel accepts: TCP gives up after a quarter of that.
const outageMax = time.Hour

// FormatRequest returns the transaction that makes all connections retransmit that wait.
func FormatRequest(outage time.Duration) []byte {
	text := []byte("all")
	if milliseconds := min(outage, outageMax).Milliseconds(); milliseconds > 0 {
		text = append(text, ' ')
		text = strconv.AppendInt(text, milliseconds, 10)
	}
	return append(text, '\n')
}

// Retransmit implements arrival.BackEnd. The kernel makes no more than 256 connections retransmit at once, so the
// transaction is repeated until none is left, as often as the kernel allows.
//
// Errors: the kernel refuses the request, or what was done could not be counted, which does not hinder it.
func (b *BackEnd) Retransmit(outage time.Duration) (arrival.Outcome, error) {
	before, uncounted := b.waiting()
	if uncounted != nil {
		return arrival.Outcome{}, errors.Join(b.kernel.Request(FormatRequest(outage)), uncounted)
	}
	outcome := arrival.Outcome{Unanswered: uint64(len(before))}
	for range writesMax {
		if len(before) == 0 {
			break
		}
		if err := b.kernel.Request(FormatRequest(outage)); err != nil {
			return outcome, fmt.Errorf("request to retransmit: %w", err)
		}
		after, err := b.waiting()
		if err != nil {
			return outcome, err
		}
		sent := removeSent(before, after)
		outcome.AtOnce += sent
		if sent == 0 {
			break
		}
	}
	return outcome, nil
}

// writesMax is how many writes the kernel allows at once.
const writesMax = 10

func (b *BackEnd) waiting() (map[ends]timer, error) {
	tables, err := b.kernel.Tables()
	if err != nil {
		return nil, fmt.Errorf("count the connections that wait: %w", err)
	}
	found := map[ends]timer{}
	for _, table := range tables {
		if err := parse(table, found); err != nil {
			return nil, fmt.Errorf("count the connections that wait: %w", err)
		}
	}
	return found, nil
}

// removeSent removes the connections from waiting that have sent since, and returns their number: their timers were set
// anew, or they were acknowledged or closed.
func removeSent(waiting, after map[ends]timer) (sent uint64) {
	for connection, was := range waiting {
		is, waits := after[connection]
		if !waits || is.retransmits != was.retransmits || is.rto != was.rto || is.remaining > was.remaining {
			delete(waiting, connection)
			sent++
		}
	}
	return sent
}

// Name implements arrival.BackEnd.
func (*BackEnd) Name() string { return arrival.Requests }

// Close implements arrival.BackEnd: nothing stays open.
func (*BackEnd) Close() error { return nil }
