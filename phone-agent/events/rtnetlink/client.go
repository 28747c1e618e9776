// SPDX-License-Identifier: Apache-2.0

package rtnetlink

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/backoff"
	"github.com/airbound/airbound/phone-agent/events"
)

const (
	retryMin = time.Second
	retryMax = 10 * time.Minute
)

// Conn is a socket that has joined the groups for links and addresses. Close ends a Receive that waits.
type Conn interface {
	Receive() ([]netlink.Message, error)
	Close() error
}

// Client follows rtnetlink of the network namespace that its sockets are made in.
type Client struct {
	// Dial opens a socket that has joined the groups.
	Dial func() (Conn, error)
	// List returns the messages of all links and addresses that there are.
	List func() ([]netlink.Message, error)
}

var _ events.Follower = Client{}

// New makes a client of the kernel's.
func New() Client { return Client{Dial: dial, List: list} }

func dial() (Conn, error) {
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, &netlink.Config{
		Groups: unix.RTMGRP_LINK | unix.RTMGRP_IPV4_IFADDR | unix.RTMGRP_IPV6_IFADDR,
	})
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink socket: %w", err)
	}
	return conn, nil
}

// list needs a socket of its own: on one with groups, events come between the parts of a list.
func list() (all []netlink.Message, err error) {
	conn, err := netlink.Dial(unix.NETLINK_ROUTE, nil)
	if err != nil {
		return nil, fmt.Errorf("open rtnetlink socket: %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, query := range []struct {
		kind netlink.HeaderType
		size int
	}{{unix.RTM_GETLINK, unix.SizeofIfInfomsg}, {unix.RTM_GETADDR, unix.SizeofIfAddrmsg}} {
		messages, err := conn.Execute(netlink.Message{
			Header: netlink.Header{Type: query.kind, Flags: netlink.Request | netlink.Dump},
			Data:   make([]byte, query.size),
		})
		if err != nil {
			return nil, fmt.Errorf("list links and addresses: %w", err)
		}
		all = append(all, messages...)
	}
	return all, nil
}

// Follow implements events.Follower. After an error, such as that events were lost because too many waited (ENOBUFS),
// it opens another socket and compares what there is now with what there was.
func (c Client) Follow(ctx context.Context, report func(events.Report), refused func(error)) error {
	var tracker Tracker
	wait := backoff.Backoff{Min: retryMin, Max: retryMax}
	var lastCause string
	for {
		err := c.follow(ctx, &tracker, report, refused, wait.Reset)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the end that was asked for
		}
		if cause := err.Error(); cause != lastCause {
			refused(err)
			lastCause = cause
		}
		backoff.Sleep(ctx, wait.Next())
	}
}

// follow is one socket, until it fails or ctx ends.
func (c Client) follow(
	ctx context.Context, tracker *Tracker, report func(events.Report), refused func(error), received func(),
) error {
	conn, err := c.Dial()
	if err != nil {
		return err
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { closed <- conn.Close() })
	end := func(err error) error {
		if stop() {
			return errors.Join(err, conn.Close())
		}
		return errors.Join(ctx.Err(), <-closed)
	}
	all, err := c.List()
	if err != nil {
		return end(err)
	}
	reports, err := tracker.List(parseAll(all, refused))
	if err != nil {
		refused(err)
	}
	for _, each := range reports {
		report(each)
	}
	for {
		messages, err := conn.Receive()
		if err != nil {
			return end(fmt.Errorf("receive from rtnetlink: %w", err))
		}
		received()
		for _, change := range parseAll(messages, refused) {
			found, isArrival, err := tracker.Observe(change)
			if err != nil {
				refused(err)
			}
			if isArrival {
				report(found)
			}
		}
	}
}

// parseAll leaves out messages that cannot be read: a malformed one costs no other.
func parseAll(messages []netlink.Message, refused func(error)) []Change {
	changes := make([]Change, 0, len(messages))
	for _, message := range messages {
		change, isOurs, err := Parse(message.Header.Type, message.Data)
		if err != nil {
			refused(err)
		}
		if isOurs {
			changes = append(changes, change)
		}
	}
	return changes
}
