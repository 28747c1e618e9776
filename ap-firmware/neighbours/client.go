// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Client queries rtnetlink of the network namespace that it was made in. It is not safe for concurrent use.
type Client struct {
	conn      *netlink.Conn
	malformed func(error)
}

// Dial opens a socket. malformed is called with every message that had to be refused.
func Dial(malformed func(error)) (*Client, error) {
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink socket: %w", err)
	}
	return New(conn, malformed), nil
}

// New makes a client of a connection, which it closes with Close.
func New(conn *netlink.Conn, malformed func(error)) *Client {
	return &Client{conn: conn, malformed: malformed}
}

// Close closes the connection.
func (c *Client) Close() error {
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("close rtnetlink socket: %w", err)
	}
	return nil
}

// Table returns the neighbours on an interface, on others that belong to it, and on the bridges that they are ports of.
// Of the others one may be gone.
func (c *Client) Table(interfaceIndex uint32, others ...uint32) (Table, error) {
	var indexes []uint32
	for i, index := range append([]uint32{interfaceIndex}, others...) {
		master, err := c.master(index)
		if i > 0 && errors.Is(err, unix.ENODEV) {
			continue
		}
		if err != nil {
			return nil, err
		}
		indexes = append(indexes, index)
		if master != 0 {
			indexes = append(indexes, master)
		}
	}
	messages, err := c.execute(unix.RTM_GETNEIGH, netlink.Request|netlink.Dump, make([]byte, unix.SizeofNdMsg))
	if err != nil {
		return nil, fmt.Errorf("list neighbours: %w", err)
	}
	entries := make([]Neighbour, 0, len(messages))
	for _, message := range messages {
		entry, err := ParseNeighbour(message.Data)
		if err != nil {
			c.malformed(err)
			continue
		}
		entries = append(entries, entry)
	}
	return tableOf(entries, indexes...), nil
}

func (c *Client) master(interfaceIndex uint32) (uint32, error) {
	const indexAt = 4
	request := make([]byte, unix.SizeofIfInfomsg)
	binary.NativeEndian.PutUint32(request[indexAt:], interfaceIndex)
	messages, err := c.execute(unix.RTM_GETLINK, netlink.Request, request)
	if err != nil {
		return 0, fmt.Errorf("get link %d: %w", interfaceIndex, err)
	}
	if len(messages) != 1 {
		return 0, malformed("link", fmt.Errorf("%d messages, want 1", len(messages)))
	}
	return ParseMaster(messages[0].Data)
}

func (c *Client) execute(kind netlink.HeaderType, flags netlink.HeaderFlags, data []byte) ([]netlink.Message, error) {
	request := netlink.Message{Header: netlink.Header{Type: kind, Flags: flags}, Data: data}
	messages, err := c.conn.Execute(request)
	if err != nil {
		return nil, fmt.Errorf("query rtnetlink: %w", err)
	}
	return messages, nil
}
