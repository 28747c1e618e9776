// SPDX-License-Identifier: Apache-2.0

package nl80211test

import (
	"net"
	"sync"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/nl80211"
)

// Events are the sockets that have joined the group "mlme" of one kernel. Its methods are safe for concurrent use. What
// is sent while no socket is open is lost.
type Events struct {
	mu      sync.Mutex
	sources []*eventSource
	dialled int
}

// Dial opens a socket.
func (e *Events) Dial() (nl80211.EventSource, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	source := &eventSource{received: make(chan received, 1000), closed: make(chan struct{})}
	e.sources = append(e.sources, source)
	e.dialled++
	return source, nil
}

// Dialled counts the sockets so far.
func (e *Events) Dialled() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.dialled
}

// Station sends what the kernel does when it adds or removes a station.
func (e *Events) Station(event nl80211.StationEvent) error {
	attributes, err := EncodeStationEvent(event)
	if err != nil {
		return err
	}
	command := uint8(unix.NL80211_CMD_NEW_STATION)
	if event.Gone {
		command = unix.NL80211_CMD_DEL_STATION
	}
	e.Send(command, attributes)
	return nil
}

// EncodeStationEvent returns the attributes of an event, among them some that nobody asked for.
func EncodeStationEvent(event nl80211.StationEvent) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	out.Uint32(unix.NL80211_ATTR_IFINDEX, event.InterfaceIndex)
	out.Bytes(unix.NL80211_ATTR_MAC, event.MAC[:])
	out.Uint32(unix.NL80211_ATTR_GENERATION, 1)
	out.Nested(unix.NL80211_ATTR_STA_INFO, func(info *netlink.AttributeEncoder) error {
		info.Bytes(unix.NL80211_STA_INFO_STA_FLAGS, stationFlags(true, false, true))
		return nil
	})
	return encode(out)
}

// Send sends a message of any command.
func (e *Events) Send(command uint8, attributes []byte) {
	e.deliver(received{message: message(command, attributes)})
}

// Fail makes every socket fail; each must be closed and another opened.
func (e *Events) Fail(err error) { e.deliver(received{err: err}) }

func (e *Events) deliver(each received) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, source := range e.sources {
		select {
		case source.received <- each:
		default: // Full, or closed.
		}
	}
}

type received struct {
	message genetlink.Message
	err     error
}

type eventSource struct {
	received chan received
	closed   chan struct{}
}

// Receive implements nl80211.EventSource.
func (s *eventSource) Receive() ([]genetlink.Message, []netlink.Message, error) {
	select {
	case each := <-s.received:
		return []genetlink.Message{each.message}, nil, each.err
	case <-s.closed:
		return nil, nil, net.ErrClosed
	}
}

// Close implements nl80211.EventSource.
func (s *eventSource) Close() error {
	close(s.closed)
	return nil
}
