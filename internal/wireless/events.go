// SPDX-License-Identifier: Apache-2.0

// Package wireless is what both agents need to talk to nl80211: dumps, and the events of its group "mlme". What is in
// the messages, each agent parses itself: they need different parts.
package wireless

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mdlayher/genetlink"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/backoff"
)

// EventSource is a socket that has joined the group "mlme". Close ends a Receive that waits.
type EventSource interface {
	Receive() ([]genetlink.Message, []netlink.Message, error)
	Close() error
}

// DialEvents opens a socket for the events of all wireless interfaces of this network namespace. It needs no privilege.
func DialEvents() (EventSource, error) {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return nil, fmt.Errorf("open generic netlink socket: %w", err)
	}
	if err := joinMLME(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func joinMLME(conn *genetlink.Conn) error {
	family, err := conn.GetFamily(unix.NL80211_GENL_NAME)
	if err != nil {
		return fmt.Errorf("find nl80211 in the kernel: %w", err)
	}
	for _, group := range family.Groups {
		if group.Name == unix.NL80211_MULTICAST_GROUP_MLME {
			if err := conn.JoinGroup(group.ID); err != nil {
				return fmt.Errorf("join the group %s: %w", group.Name, err)
			}
			return nil
		}
	}
	return errors.New("nl80211 has no group " + unix.NL80211_MULTICAST_GROUP_MLME)
}

// Follower follows the events of the group "mlme". Every field but Again is needed.
type Follower struct {
	Dial func() (EventSource, error)
	// Deliver is called with each message.
	Deliver func(genetlink.Message)
	// Again is called when another socket is open after one that failed: what happened in between is not known.
	Again func()
	// WaitMin and WaitMax limit the wait before another socket is opened; it starts at WaitMin after a message.
	WaitMin, WaitMax time.Duration
	// Failed is called when a socket cannot be opened or has failed, unless the last one failed for the same reason.
	Failed func(error)
}

// Run follows events until ctx ends. After an error, such as that events were lost because too many waited (ENOBUFS),
// it opens another socket.
func (f *Follower) Run(ctx context.Context) {
	wait := backoff.Backoff{Min: f.WaitMin, Max: f.WaitMax}
	var lastCause string
	for again := false; ctx.Err() == nil; again = true {
		err := f.follow(ctx, again, wait.Reset)
		if ctx.Err() != nil {
			return
		}
		if cause := err.Error(); cause != lastCause {
			f.Failed(err)
			lastCause = cause
		}
		backoff.Sleep(ctx, wait.Next())
	}
}

// follow is one socket, until it fails or ctx ends.
func (f *Follower) follow(ctx context.Context, again bool, received func()) error {
	source, err := f.Dial()
	if err != nil {
		return err
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { closed <- source.Close() })
	if again && f.Again != nil {
		f.Again()
	}
	for {
		messages, _, err := source.Receive()
		if err != nil {
			if stop() {
				return errors.Join(fmt.Errorf("receive from nl80211: %w", err), source.Close())
			}
			return errors.Join(ctx.Err(), <-closed)
		}
		received()
		for _, message := range messages {
			f.Deliver(message)
		}
	}
}
