// SPDX-License-Identifier: Apache-2.0

package hostapd

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"
)

const (
	// datagramBytesMax is beyond hostapd's own limit of 4096 for replies and events; what is longer is truncated.
	datagramBytesMax = 8192
	// stationsMax ends a list that does not end. 802.11 has 2007 association identifiers.
	stationsMax = 2007
	// replyTimeout is long for a local socket: hostapd replies from its event loop, within milliseconds.
	replyTimeout = 3 * time.Second
	// writeTimeout is how long hostapd's receive queue may stay full. The queue takes ten datagrams or more; a hostapd
	// that hangs empties it never, and without a timeout a write would not return.
	writeTimeout = 500 * time.Millisecond
)

// Client is one connection to a control socket. It is not safe for concurrent use.
type Client struct {
	conn *net.UnixConn
	// datagrams closes when reading has failed, with the cause in failure.
	datagrams chan []byte
	failure   error
	closed    chan struct{}
	// pending are the events that were received and not fetched yet.
	pending []Event
	// malformed is called with everything that had to be refused.
	malformed func(error)
}

// Dial connects to the control socket at path. hostapd replies to the sender's address, so the client's socket needs
// one. It is an abstract one (unix(7)): hostapd often runs as another user (network on OpenWrt) and may not write to a
// socket file of root, or in a jail with another /tmp; an abstract address has no file and no permissions. Nobody else
// can use it either: the client's socket is connected, and the kernel takes datagrams for it from hostapd's socket
// only.
func Dial(path string, malformed func(error)) (*Client, error) {
	local := net.UnixAddr{Name: "@airbound-ap-" + rand.Text(), Net: "unixgram"}
	conn, err := net.DialUnix("unixgram", &local, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("connect to hostapd: %w", withoutAddresses(err))
	}
	c := &Client{conn: conn, malformed: malformed, datagrams: make(chan []byte, 16), closed: make(chan struct{})}
	go c.read()
	return c, nil
}

// Close ends the connection; the client is of no use afterwards. It sends DETACH without waiting for the reply: hostapd
// may be gone.
func (c *Client) Close() error {
	close(c.closed)
	detachErr := c.write("DETACH")
	if isGone(detachErr) || errors.Is(detachErr, os.ErrDeadlineExceeded) {
		detachErr = nil
	}
	return errors.Join(detachErr, c.conn.Close())
}

// isGone reports whether an error only means that hostapd closed its socket: the first write fails with the one, later
// ones with the other.
func isGone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTCONN)
}

// withoutAddresses removes the name of the client's socket from an error: it is another one at every attempt, and the
// watcher compares causes.
func withoutAddresses(err error) error {
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		return operation.Err
	}
	return err
}

func (c *Client) read() {
	defer close(c.datagrams)
	buffer := make([]byte, datagramBytesMax)
	for {
		n, err := c.conn.Read(buffer)
		if err != nil {
			c.failure = fmt.Errorf("read from hostapd: %w", withoutAddresses(err))
			return
		}
		select {
		case c.datagrams <- bytes.Clone(buffer[:n]):
		case <-c.closed:
			return
		}
	}
}

// Attach subscribes to events.
func (c *Client) Attach(ctx context.Context) error { return c.expect(ctx, "ATTACH", "OK") }

// Ping checks that hostapd responds.
func (c *Client) Ping(ctx context.Context) error { return c.expect(ctx, "PING", "PONG") }

// Status returns which interfaces hostapd serves on this socket.
func (c *Client) Status(ctx context.Context) (Status, error) {
	reply, err := c.command(ctx, "STATUS")
	if err != nil {
		return Status{}, err
	}
	return ParseStatus(reply)
}

// ErrNoList means that hostapd was built without CONFIG_CTRL_IFACE_MIB, as OpenWrt's wpad-basic packages are: it has no
// commands that list stations. Its events are as those of others.
var ErrNoList = errors.New("this hostapd lists no stations")

// walksMax is how often the list is read again because its current station left.
const walksMax = 8

// errStationLeft ends a walk in the middle: the stations after this one are not known.
var errStationLeft = errors.New("the current station of the list left")

// Stations returns hostapd's whole list; ErrNoList if it has none.
func (c *Client) Stations(ctx context.Context) ([]Station, error) {
	var stations []Station
	err := errStationLeft
	for walk := 0; errors.Is(err, errStationLeft) && walk < walksMax; walk++ {
		stations, err = c.walk(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("list stations: %w", err)
	}
	return stations, nil
}

func (c *Client) walk(ctx context.Context) ([]Station, error) {
	var stations []Station
	for command := "STA-FIRST"; len(stations) < stationsMax; {
		reply, err := c.command(ctx, command)
		if err != nil {
			return nil, err
		}
		switch text := strings.TrimRight(string(reply), "\n"); {
		case text == "UNKNOWN COMMAND":
			return nil, ErrNoList
		case text == "FAIL" && len(stations) > 0:
			return nil, errStationLeft
		}
		station, ok, err := ParseStation(reply)
		if err != nil {
			return nil, err
		}
		if !ok {
			return stations, nil
		}
		stations = append(stations, station)
		command = "STA-NEXT " + station.MAC.String()
	}
	return nil, fmt.Errorf("more than %d: %w", stationsMax-1, ErrMalformed)
}

// unsolicited handles a datagram that arrived while no command was waiting for a reply.
func (c *Client) unsolicited(datagram []byte) {
	if IsEvent(datagram) {
		c.take(datagram)
		return
	}
	c.malformed(fmt.Errorf("reply %q without a command: %w", excerpt(string(datagram)), ErrMalformed))
}

// events returns the events received since the last call, oldest first.
func (c *Client) events() []Event {
	events := c.pending
	c.pending = nil
	return events
}

func (c *Client) take(datagram []byte) {
	event, err := ParseEvent(datagram)
	if err != nil {
		c.malformed(err)
		return
	}
	c.pending = append(c.pending, event)
}

func (c *Client) expect(ctx context.Context, command, want string) error {
	reply, err := c.command(ctx, command)
	if err != nil {
		return err
	}
	if got := strings.TrimRight(string(reply), "\n"); got != want {
		return fmt.Errorf("hostapd answered %s with %q: %w", command, excerpt(got), ErrMalformed)
	}
	return nil
}

func (c *Client) write(command string) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	_, err := c.conn.Write([]byte(command))
	return err
}

// command sends a command and waits for its reply. After an error the connection must be closed: a late reply would be
// taken for that of the next command.
func (c *Client) command(ctx context.Context, command string) ([]byte, error) {
	if err := c.write(command); err != nil {
		return nil, fmt.Errorf("send %s to hostapd: %w", command, withoutAddresses(err))
	}
	timeout := time.After(replyTimeout)
	for {
		select {
		case datagram, open := <-c.datagrams:
			if !open {
				return nil, c.failure
			}
			if !IsEvent(datagram) {
				return datagram, nil
			}
			c.take(datagram)
		case <-timeout:
			return nil, fmt.Errorf("hostapd did not answer %s within %v", command, replyTimeout)
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the answer to %s: %w", command, ctx.Err())
		}
	}
}
