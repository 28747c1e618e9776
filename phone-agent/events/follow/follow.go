// SPDX-License-Identifier: Apache-2.0

// Package follow is the client of the agent's sockets for arrivals (phone-agent/events/offer): for programs that want
// to know at once when the phone can send again, and for those that know it first.
package follow

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/airbound/airbound/phone-agent/events"
)

// Conn is a connection to an agent. It is not safe for concurrent use but for Close.
type Conn struct {
	conn  net.Conn
	lines *bufio.Reader
}

// Dial connects to an agent: network "unix" and the path of its socket, or "tcp", a loopback address and the token. No
// arrival is missed after it has returned. It fails if the agent does not take the token, or has too many connections.
func Dial(ctx context.Context, network, address, token string) (*Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect to the agent: %w", err)
	}
	if token != "" {
		if _, err := conn.Write(events.TokenLine(token)); err != nil {
			return nil, errors.Join(fmt.Errorf("send the token to the agent: %w", err), conn.Close())
		}
	}
	made, stop := New(conn), context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	if _, err := made.answer(); err != nil {
		return nil, errors.Join(fmt.Errorf("the agent takes no connection: %w", err), conn.Close())
	}
	return made, nil
}

// New makes a Conn of a connection that has sent the token, if one is needed.
func New(conn net.Conn) *Conn {
	return &Conn{conn: conn, lines: bufio.NewReaderSize(conn, events.LineOctetsMax)}
}

// Close ends a Next that waits.
func (c *Conn) Close() error { return c.conn.Close() }

// Next returns the next arrival; answers are skipped. After io.EOF the agent has ended, or has closed the connection. A
// line that is neither is an error that wraps events.ErrRefused; Next can be called again.
func (c *Conn) Next() (events.Event, error) {
	for {
		line, err := c.line()
		if err != nil {
			return events.Event{}, err
		}
		if _, isAnswer, err := events.ParseAnswer(line); err != nil || !isAnswer {
			return events.ParseLine(line)
		}
	}
}

// Report reports an arrival to the agent. It returns the agent's answer: "new", "merged" (the agent knew of this
// arrival already) or "too many". Arrivals that the agent writes meanwhile are skipped.
func (c *Conn) Report(report events.Report) (outcome string, err error) {
	line, err := json.Marshal(report)
	if err != nil {
		return "", fmt.Errorf("report an arrival: %w", err)
	}
	if _, err := c.conn.Write(append(line, '\n')); err != nil {
		return "", fmt.Errorf("report an arrival: %w", err)
	}
	outcome = events.Following
	for outcome == events.Following {
		if outcome, err = c.answer(); err != nil {
			return "", err
		}
	}
	return outcome, nil
}

// answer waits for the next answer.
func (c *Conn) answer() (outcome string, err error) {
	for {
		line, err := c.line()
		if err != nil {
			return "", err
		}
		answer, isAnswer, err := events.ParseAnswer(line)
		switch {
		case err != nil:
			return "", err
		case answer.Refused != "":
			return "", fmt.Errorf("the agent refused the report: %s", answer.Refused)
		case isAnswer:
			return answer.Outcome, nil
		}
	}
}

func (c *Conn) line() ([]byte, error) {
	line, err := c.lines.ReadSlice('\n')
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, net.ErrClosed):
		return nil, io.EOF
	case err != nil:
		return nil, fmt.Errorf("read from the agent: %w", err)
	}
	return line, nil
}
