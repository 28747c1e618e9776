// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/core"
	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// PayloadBytesMax is the largest record.
const PayloadBytesMax = wire.PayloadBytesMax

// Record is a record that has arrived.
type Record struct {
	// Sequence is 1 for the first record of a session.
	Sequence uint64
	// SentAt is when the peer's application sent it, by the peer's clock as it was when the session began.
	SentAt time.Time
	Data   []byte

	generation uint64
}

// machine is a core.Phone or a core.Server.
type machine interface {
	Send(now time.Duration, data []byte) (uint64, error)
	End()
	Bye()
	Receive(now time.Duration) (core.Record, bool)
	Confirm(sequence, generation uint64) bool
	Complete() bool
	Settled() bool
	Over() bool
	Full() bool
	Unconfirmed() []core.Record
	Lost(now time.Duration, number uint64)
	Frame(now time.Duration, number uint64, frame wire.Frame) error
	NextFrame(number uint64) (wire.Frame, bool)
	NextNotice(number uint64) ([]byte, bool)
	Tick(now time.Duration)
	Deadline(now time.Duration) time.Duration
	Malformed()
	Effects() []core.Effect
	Stats() core.Stats
}

// Conn is one end of a session. Its methods may be called by several goroutines.
type Conn struct {
	name, identity string
	remote         net.Addr
	manualConfirm  bool
	started        time.Time
	perform        func(core.Effect) // called with the mutex locked
	takeNotice     func(octets []byte)
	// onEnd is called once, when the session is over or this end has closed.
	onEnd func()
	once  sync.Once

	mutex       sync.Mutex
	machine     machine
	peerStarted time.Time
	lanes       map[uint64]*tcpLane
	// changed is closed and replaced when an application may go on.
	changed chan struct{}
	failed  error
	// last is the record that Receive returned last.
	last  *core.Record
	timer chan struct{}
	// over is closed when the session is over or this end has closed, ended in the second case alone.
	over, ended chan struct{}
}

func newConn(name string, m machine) *Conn {
	return &Conn{
		name: name, machine: m, started: time.Now(), lanes: map[uint64]*tcpLane{},
		changed: make(chan struct{}), timer: make(chan struct{}, 1), ended: make(chan struct{}),
		over: make(chan struct{}),
	}
}

func (c *Conn) now() time.Duration { return time.Since(c.started) }

// do calls the machine, performs its effects and wakes all that may go on. The mutex is locked.
func (c *Conn) do(call func(now time.Duration)) {
	if c.failed != nil {
		return
	}
	call(c.now())
	c.settle()
}

func (c *Conn) settle() {
	for _, effect := range c.machine.Effects() {
		c.perform(effect)
	}
	if c.machine.Over() {
		c.end()
	}
	close(c.changed)
	c.changed = make(chan struct{})
	for _, l := range c.lanes {
		l.kick()
	}
	select {
	case c.timer <- struct{}{}:
	default:
	}
}

// run has the machine's timer, until the session ends at this end or is over.
func (c *Conn) run() {
	for {
		c.mutex.Lock()
		deadline, now := c.machine.Deadline(c.now()), c.now()
		c.mutex.Unlock()
		var due <-chan time.Time
		var timer *time.Timer
		if deadline != core.Never {
			timer = time.NewTimer(max(deadline-now, 0))
			due = timer.C
		}
		select {
		case <-c.over:
		case <-c.timer:
		case <-due:
			c.mutex.Lock()
			c.do(func(now time.Duration) { c.machine.Tick(now) })
			c.mutex.Unlock()
		}
		if timer != nil {
			timer.Stop()
		}
		select {
		case <-c.over:
			return
		default:
		}
	}
}

// Name is the session's: 32 hexadecimal digits that the phone drew.
func (c *Conn) Name() string { return c.name }

// Identity is the URI in the peer's certificate, or the SHA-256 of its public key; empty without a certificate.
func (c *Conn) Identity() string { return c.identity }

// RemoteAddr is the peer's address on the first connection.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// Send sends a record of at most PayloadBytesMax, and returns its sequence number. It waits while too many bytes are
// not confirmed.
func (c *Conn) Send(ctx context.Context, data []byte) (uint64, error) {
	data = bytes.Clone(data)
	for {
		c.mutex.Lock()
		if c.failed != nil {
			defer c.mutex.Unlock()
			return 0, c.failed
		}
		sequence, err := c.machine.Send(c.now(), data)
		if !errors.Is(err, core.ErrFull) {
			if err == nil {
				c.settle()
			}
			c.mutex.Unlock()
			return sequence, err
		}
		changed := c.changed
		c.mutex.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return 0, fmt.Errorf("send a record: %w: %w", core.ErrFull, ctx.Err())
		}
	}
}

// Receive returns the next record. It returns io.EOF after the peer's last, and io.ErrUnexpectedEOF if the session
// ended before that.
func (c *Conn) Receive(ctx context.Context) (Record, error) {
	for {
		record, changed, err := c.tryReceive()
		if changed == nil {
			return record, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return Record{}, fmt.Errorf("receive a record: %w", ctx.Err())
		}
	}
}

// tryReceive returns a record, an error, or a channel to wait for.
func (c *Conn) tryReceive() (Record, <-chan struct{}, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.last != nil && !c.manualConfirm {
		if c.machine.Confirm(c.last.Sequence, c.last.Generation) && c.failed == nil {
			c.settle()
		}
		c.last = nil
	}
	record, found := c.machine.Receive(c.now())
	switch {
	case found:
		c.last = &core.Record{Sequence: record.Sequence, Generation: record.Generation}
		if c.failed == nil {
			c.settle() // Connections may be read again.
		}
		return Record{
			Sequence: record.Sequence, SentAt: c.peerStarted.Add(record.SentAt), Data: record.Data,
			generation: record.Generation,
		}, nil, nil
	case c.machine.Complete():
		return Record{}, nil, io.EOF
	case c.machine.Over():
		return Record{}, nil, fmt.Errorf("receive a record: the session has ended: %w", io.ErrUnexpectedEOF)
	case c.failed != nil:
		return Record{}, nil, c.failed
	}
	return Record{}, c.changed, nil
}

// Confirm reports that this application is done with a record, if Config.ManualConfirm is set.
func (c *Conn) Confirm(record Record) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.machine.Confirm(record.Sequence, record.generation) && c.failed == nil {
		c.settle()
	}
}

// CloseWrite announces that no record follows. The peer's Receive returns io.EOF after the last.
func (c *Conn) CloseWrite() {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.do(func(time.Duration) { c.machine.End() })
}

// Unconfirmed returns the records that the peer's application has not confirmed.
func (c *Conn) Unconfirmed() []Record {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	unconfirmed := c.machine.Unconfirmed()
	records := make([]Record, 0, len(unconfirmed))
	for _, r := range unconfirmed {
		records = append(records, Record{Sequence: r.Sequence, SentAt: c.started.Add(r.SentAt), Data: r.Data})
	}
	return records
}

// Stats returns the counters.
func (c *Conn) Stats() Stats {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.machine.Stats()
}

// Shutdown announces the end, waits until the peer's application has confirmed all records, and closes. It returns
// an error if some were not confirmed.
func (c *Conn) Shutdown(ctx context.Context) error {
	c.CloseWrite()
	for {
		c.mutex.Lock()
		done := c.machine.Settled() || c.machine.Over() || c.failed != nil
		changed := c.changed
		c.mutex.Unlock()
		if done {
			return c.Close()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("wait for confirmations: %w", ctx.Err()), c.Close())
		}
	}
}

// byeTimeout is how long the end of a session may take to get to the peer.
const byeTimeout = 2 * time.Second

// Close ends the session. It returns an error if the peer's application has not confirmed all records.
func (c *Conn) Close() error {
	c.mutex.Lock()
	c.do(func(time.Duration) { c.machine.Bye() })
	number := len(c.machine.Unconfirmed())
	connected := len(c.lanes) > 0 && c.failed == nil
	c.mutex.Unlock()
	if connected {
		timer := time.NewTimer(byeTimeout)
		defer timer.Stop()
		for waiting := true; waiting; {
			c.mutex.Lock()
			waiting = len(c.lanes) > 0 && c.failed == nil
			changed := c.changed
			c.mutex.Unlock()
			if !waiting {
				break
			}
			select {
			case <-changed:
			case <-timer.C:
				waiting = false
			}
		}
	}
	c.fail(net.ErrClosed)
	if number > 0 {
		return &UnconfirmedError{number}
	}
	return nil
}

// UnconfirmedError is about a session that ended with records of which nothing is known.
type UnconfirmedError struct{ Number int }

func (e *UnconfirmedError) Error() string {
	return fmt.Sprintf("the session ended with %d records that the peer's application has not confirmed", e.Number)
}

// fail ends the session at this end.
func (c *Conn) fail(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.failLocked(err)
}

func (c *Conn) failLocked(err error) {
	if c.failed != nil {
		return
	}
	c.failed = err
	close(c.ended)
	for _, l := range c.lanes {
		l.close()
	}
	close(c.changed)
	c.changed = make(chan struct{})
	c.end()
}

func (c *Conn) end() {
	c.once.Do(func() {
		close(c.over)
		if c.onEnd != nil {
			go c.onEnd()
		}
	})
}

func sessionName(session wire.Session) string { return hex.EncodeToString(session[:]) }
