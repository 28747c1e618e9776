// SPDX-License-Identifier: Apache-2.0

// Package wirelesstest is what fake kernels with nl80211 share: the family, its messages, and the sockets that have
// joined its group "mlme".
package wirelesstest

import (
	"errors"
	"net"
	"sync"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/wireless"
)

// Family returns nl80211, with the number that it has in fake kernels.
func Family() genetlink.Family {
	return genetlink.Family{ID: 0x1b, Name: unix.NL80211_GENL_NAME, Version: 1}
}

// Message makes a message of a command (NL80211_CMD_*).
func Message(command uint8, attributes []byte) genetlink.Message {
	return genetlink.Message{Header: genetlink.Header{Command: command, Version: Family().Version}, Data: attributes}
}

// Events are the sockets that have joined the group "mlme" of one kernel. Its methods are safe for concurrent use. What
// is sent while no socket is open is lost.
type Events struct {
	mu      sync.Mutex
	sources []*source
	dialled int
}

// Dial opens a socket.
func (e *Events) Dial() (wireless.EventSource, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	opened := &source{received: make(chan received, 1000), closed: make(chan struct{})}
	e.sources = append(e.sources, opened)
	e.dialled++
	return opened, nil
}

// Dialled counts the sockets so far.
func (e *Events) Dialled() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dialled
}

// Send sends a message of any command.
func (e *Events) Send(command uint8, attributes []byte) {
	e.deliver(received{message: Message(command, attributes)})
}

// Fail makes every socket fail; each must be closed and another opened.
func (e *Events) Fail(err error) { e.deliver(received{err: err}) }

func (e *Events) deliver(each received) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, opened := range e.sources {
		select {
		case opened.received <- each:
		default: // Full, or closed.
		}
	}
}

type received struct {
	message genetlink.Message
	err     error
}

type source struct {
	received chan received
	closed   chan struct{}
	once     sync.Once
}

// Receive implements wireless.EventSource.
func (s *source) Receive() ([]genetlink.Message, []netlink.Message, error) {
	select {
	case each := <-s.received:
		return []genetlink.Message{each.message}, nil, each.err
	case <-s.closed:
		return nil, nil, net.ErrClosed
	}
}

var errClosedTwice = errors.New("closed twice")

// Close implements wireless.EventSource.
func (s *source) Close() error {
	err := errClosedTwice
	s.once.Do(func() {
		close(s.closed)
		err = nil
	})
	return err
}
