// SPDX-License-Identifier: Apache-2.0

package handover

import (
	"bufio"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// tcpLane is a connection of a session, after the handshake. It has a goroutine that reads and one that writes.
type tcpLane struct {
	number uint64
	role   wire.Role
	conn   net.Conn
	reader *bufio.Reader
	// greeting is written before all else.
	greeting []byte
	wake     chan struct{}
	once     sync.Once
	closed   chan struct{}
}

// readerBytes is small: a server has two of them for each phone.
const readerBytes = 4 << 10

func newLane(number uint64, role wire.Role, conn net.Conn, reader *bufio.Reader) *tcpLane {
	return &tcpLane{
		number: number, role: role, conn: conn, reader: reader,
		wake: make(chan struct{}, 1), closed: make(chan struct{}),
	}
}

func (l *tcpLane) kick() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// close does not wait: TLS writes an alert, for which a connection that is stuck has 5 seconds.
func (l *tcpLane) close() {
	l.once.Do(func() {
		close(l.closed)
		go func() { _ = l.conn.Close() }()
	})
}

// addLane begins to use a connection. The mutex is locked.
func (c *Conn) addLane(l *tcpLane) {
	c.lanes[l.number] = l
	go c.readLane(l)
	go c.writeLane(l)
}

// loseLane ends a connection and reports it.
func (c *Conn) loseLane(l *tcpLane) {
	l.close()
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if c.lanes[l.number] != l {
		return
	}
	delete(c.lanes, l.number)
	c.do(func(now time.Duration) { c.machine.Lost(now, l.number) })
}

func (c *Conn) readLane(l *tcpLane) {
	defer c.loseLane(l)
	if l.role == wire.RoleNotices {
		c.readNotices(l)
		return
	}
	for {
		if !c.awaitRoom(l) {
			return
		}
		frame, err := wire.Read(l.reader)
		if err != nil {
			if errors.Is(err, wire.ErrMalformed) {
				c.mutex.Lock()
				c.machine.Malformed()
				c.mutex.Unlock()
			}
			return
		}
		c.mutex.Lock()
		err = nil
		c.do(func(now time.Duration) { err = c.machine.Frame(now, l.number, frame) })
		c.mutex.Unlock()
		if err != nil {
			return
		}
	}
}

// awaitRoom waits until the application has taken enough. It returns false if the connection ended meanwhile.
func (c *Conn) awaitRoom(l *tcpLane) bool {
	for {
		c.mutex.Lock()
		full, changed := c.machine.Full(), c.changed
		c.mutex.Unlock()
		if !full {
			return true
		}
		select {
		case <-changed:
		case <-l.closed:
			return false
		}
	}
}

func (c *Conn) readNotices(l *tcpLane) {
	octets := make([]byte, wire.DatagramBytes)
	for {
		if _, err := io.ReadFull(l.reader, octets); err != nil {
			return
		}
		c.takeNotice(octets)
	}
}

func (c *Conn) writeLane(l *tcpLane) {
	const batchBytes = 16 << 10
	batch := l.greeting
	for {
		c.mutex.Lock()
		over := c.machine.Over()
		for len(batch) < batchBytes {
			if l.role == wire.RoleNotices {
				octets, found := c.machine.NextNotice(l.number)
				if !found {
					break
				}
				batch = append(batch, octets...)
				continue
			}
			frame, found := c.machine.NextFrame(l.number)
			if !found {
				break
			}
			batch = wire.Append(batch, frame)
		}
		c.mutex.Unlock()
		if len(batch) > 0 {
			if _, err := l.conn.Write(batch); err != nil {
				l.close()
				return
			}
			if cap(batch) > batchBytes*2 {
				batch = nil // After a large record.
			}
			batch = batch[:0]
			continue
		}
		if over {
			// Bye is written: the peer closes, and this end reads until then.
			if half, can := l.conn.(interface{ CloseWrite() error }); can {
				_ = half.CloseWrite()
			}
			return
		}
		select {
		case <-l.wake:
		case <-l.closed:
			return
		}
	}
}
