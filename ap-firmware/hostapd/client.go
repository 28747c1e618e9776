// SPDX-License-Identifier: Apache-2.0

package hostapd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	// datagramBytesMax is beyond hostapd's own limit of 4096 for replies and events; what is longer is cut.
	datagramBytesMax = 8192
	// stationsMax ends a list that does not end. 802.11 has 2007 association identifiers.
	stationsMax = 2007
	// replyTimeout is long for a local socket; hostapd answers between two events of its loop.
	replyTimeout = 3 * time.Second
	// writeTimeout is how long hostapd's queue may stay full. It holds ten datagrams or more, and a hostapd that hangs
	// takes none of them: without a limit a write would never return.
	writeTimeout = 500 * time.Millisecond
)

var errClosed = errors.New("control socket is closed")

// Client is one connection to a control socket. It is not safe for concurrent use.
type Client struct {
	conn      *net.UnixConn
	directory string
	// datagrams closes when reading has failed, with the cause in failure.
	datagrams chan []byte
	failure   error
	closed    chan struct{}
	// pending holds the events that nobody has asked for yet.
	pending []Event
	// malformed is told of everything that had to be refused.
	malformed func(error)
}

// Dial connects to the control socket at path. hostapd answers to the address of a socket, so the client needs one of
// its own; it lives in a new directory below runDirectory (empty: the system's for temporary files) until Close.
func Dial(path, runDirectory string, malformed func(error)) (*Client, error) {
	directory, err := os.MkdirTemp(runDirectory, "airbound-ap-")
	if err != nil {
		return nil, fmt.Errorf("make directory for the client's socket: %w", err)
	}
	local := net.UnixAddr{Name: filepath.Join(directory, "client"), Net: "unixgram"}
	conn, err := net.DialUnix("unixgram", &local, &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to hostapd: %w", withoutAddresses(err)), removeDirectory(directory))
	}
	c := &Client{
		conn: conn, directory: directory, malformed: malformed,
		datagrams: make(chan []byte, 16), closed: make(chan struct{}),
	}
	go c.read()
	return c, nil
}

// Close ends the connection and removes the client's socket. It asks hostapd for no more events, without waiting for an
// answer: hostapd may be gone.
func (c *Client) Close() error {
	close(c.closed)
	detachErr := c.write("DETACH")
	if isGone(detachErr) || errors.Is(detachErr, os.ErrDeadlineExceeded) {
		detachErr = nil
	}
	closeErr := c.conn.Close()
	for range c.datagrams {
		// Until read has ended.
	}
	return errors.Join(detachErr, closeErr, removeDirectory(c.directory))
}

// isGone tells whether an error means no more than that hostapd closed its socket.
func isGone(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ENOTCONN) || errors.Is(err, syscall.ENOENT)
}

// withoutAddresses takes the name of the client's socket out of an error. It differs from attempt to attempt, and so
// would hide that the cause is still the same.
func withoutAddresses(err error) error {
	if operation, ok := errors.AsType[*net.OpError](err); ok {
		return operation.Err
	}
	return err
}

func removeDirectory(directory string) error {
	if err := os.RemoveAll(directory); err != nil {
		return fmt.Errorf("remove directory of the client's socket: %w", err)
	}
	return nil
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
			c.failure = errClosed
			return
		}
	}
}

// Attach asks for events.
func (c *Client) Attach(ctx context.Context) error { return c.expect(ctx, "ATTACH", "OK") }

// Ping asks whether hostapd is alive.
func (c *Client) Ping(ctx context.Context) error { return c.expect(ctx, "PING", "PONG") }

// Status asks which interfaces hostapd serves here.
func (c *Client) Status(ctx context.Context) (Status, error) {
	reply, err := c.command(ctx, "STATUS")
	if err != nil {
		return Status{}, err
	}
	return ParseStatus(reply)
}

// walksMax is how often a walk is begun anew when the station it stands on leaves.
const walksMax = 8

// errStationLeft ends a walk in the middle: of the stations behind this one hostapd has said nothing.
var errStationLeft = errors.New("the station that the walk stood on left")

// Stations walks hostapd's list, as a whole.
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
		if len(stations) > 0 && strings.TrimRight(string(reply), "\n") == "FAIL" {
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
		command = "STA-NEXT " + station.MAC
	}
	return nil, fmt.Errorf("more than %d: %w", stationsMax-1, ErrMalformed)
}

// unsolicited takes a datagram that came while no command waited for a reply.
func (c *Client) unsolicited(datagram []byte) {
	if IsEvent(datagram) {
		c.take(datagram)
		return
	}
	c.malformed(fmt.Errorf("reply %q without a command: %w", excerpt(string(datagram)), ErrMalformed))
}

// events returns the events that have come, oldest first, and forgets them.
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

// command sends a command and waits for its reply. After an error the connection is of no more use: a reply that comes
// late would be taken for that of the next command.
func (c *Client) command(ctx context.Context, command string) ([]byte, error) {
	if err := c.write(command); err != nil {
		return nil, fmt.Errorf("send %s to hostapd: %w", command, withoutAddresses(err))
	}
	timeout := time.NewTimer(replyTimeout)
	defer timeout.Stop()
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
		case <-timeout.C:
			return nil, fmt.Errorf("hostapd did not answer %s within %v", command, replyTimeout)
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for the answer to %s: %w", command, ctx.Err())
		}
	}
}
