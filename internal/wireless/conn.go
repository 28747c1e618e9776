// SPDX-License-Identifier: Apache-2.0

package wireless

import (
	"errors"
	"fmt"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Conn is a connection to nl80211 of the network namespace that it was made in. It is not safe for concurrent use.
type Conn struct {
	conn   *genetlink.Conn
	family genetlink.Family
}

// Dial opens a socket.
func Dial() (*Conn, error) {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return nil, fmt.Errorf("open generic netlink socket: %w", err)
	}
	c, err := New(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

// New makes a Conn of a generic netlink connection, which it closes with Close.
func New(conn *genetlink.Conn) (*Conn, error) {
	family, err := conn.GetFamily(unix.NL80211_GENL_NAME)
	if err != nil {
		return nil, fmt.Errorf("find nl80211 in the kernel: %w", err)
	}
	return &Conn{conn, family}, nil
}

// Close closes the connection.
func (c *Conn) Close() error {
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("close generic netlink socket: %w", err)
	}
	return nil
}

// Execute sends a request (NL80211_CMD_*) and returns the kernel's answer. Its errors are those of package netlink.
func (c *Conn) Execute(command uint8, attributes []byte, flags netlink.HeaderFlags) ([]genetlink.Message, error) {
	request := genetlink.Message{
		Header: genetlink.Header{Command: command, Version: c.family.Version}, Data: attributes,
	}
	return c.conn.Execute(request, c.family.ID, netlink.Request|flags)
}

// Dump requests the list of a command (NL80211_CMD_GET_*) for an interface, or for all if the index is 0. It parses
// each message by itself, so that a malformed one costs no other; refused is called with the error of each.
func Dump[T any](
	c *Conn, command uint8, interfaceIndex uint32, parse func([]byte) (T, error), refused func(error),
) ([]T, error) {
	var request []byte
	// A request for all interfaces has no attributes.
	if interfaceIndex != 0 {
		attributes := netlink.NewAttributeEncoder()
		attributes.Uint32(unix.NL80211_ATTR_IFINDEX, interfaceIndex)
		var err error
		if request, err = attributes.Encode(); err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
	}
	messages, err := c.Execute(command, request, netlink.Dump)
	if err != nil {
		return nil, fmt.Errorf("query the kernel: %w", err)
	}
	list := make([]T, 0, len(messages))
	for _, message := range messages {
		parsed, err := parse(message.Data)
		if err != nil {
			refused(err)
			continue
		}
		list = append(list, parsed)
	}
	return list, nil
}
