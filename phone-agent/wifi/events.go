// SPDX-License-Identifier: Apache-2.0

package wifi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
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

// DialEvents opens a socket for the events of this network namespace.
func DialEvents() (EventSource, error) {
	conn, err := genetlink.Dial(nil)
	if err != nil {
		return nil, fmt.Errorf("open generic netlink socket: %w", err)
	}
	if err := join(conn); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func join(conn *genetlink.Conn) error {
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

const (
	retryMin = time.Second
	retryMax = 10 * time.Minute
)

// Follow calls changed when an interface has been connected, has roamed or has been disconnected, until ctx ends. After
// an error, such as that events were lost because too many waited (ENOBUFS), it opens another socket and calls changed,
// since anything may have happened in between.
func Follow(ctx context.Context, dial func() (EventSource, error), changed func(), logger *slog.Logger) {
	wait := backoff.Backoff{Min: retryMin, Max: retryMax}
	var lastCause string
	for again := false; ctx.Err() == nil; again = true {
		opened := func() {
			if again {
				changed()
			}
		}
		err := follow(ctx, dial, opened, func() {
			wait.Reset()
			changed()
		})
		if ctx.Err() != nil {
			return
		}
		// A kernel without nl80211 stays without, so this is no warning.
		if cause := err.Error(); cause != lastCause {
			logger.Info("no events of Wi-Fi connections from the kernel", "error", err)
			lastCause = cause
		}
		backoff.Sleep(ctx, wait.Next())
	}
}

// follow is one socket, until it fails or ctx ends.
func follow(ctx context.Context, dial func() (EventSource, error), opened, changed func()) error {
	source, err := dial()
	if err != nil {
		return err
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { closed <- source.Close() })
	opened()
	for {
		messages, _, err := source.Receive()
		if err != nil {
			if stop() {
				return errors.Join(fmt.Errorf("receive from nl80211: %w", err), source.Close())
			}
			return errors.Join(ctx.Err(), <-closed)
		}
		for _, message := range messages {
			// What cannot be read may have been a change.
			if index, err := ParseEvent(message.Header.Command, message.Data); err != nil || index != 0 {
				changed()
			}
		}
	}
}
