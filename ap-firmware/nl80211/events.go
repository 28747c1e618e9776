// SPDX-License-Identifier: Apache-2.0

package nl80211

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
	family, err := conn.GetFamily("nl80211")
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
	eventsRetryMin = 100 * time.Millisecond
	eventsRetryMax = time.Minute
)

// Follow delivers changes of the kernel's station tables until ctx ends. After an error, such as that events were lost
// because too many waited (ENOBUFS), it opens another socket; what was lost, a dump shows. malformed is called with
// every message that had to be refused.
func Follow(
	ctx context.Context, dial func() (EventSource, error), deliver func(StationEvent), malformed func(error),
	logger *slog.Logger,
) {
	wait := backoff.Backoff{Min: eventsRetryMin, Max: eventsRetryMax}
	var lastCause string
	for ctx.Err() == nil {
		err := follow(ctx, dial, deliver, malformed, wait.Reset)
		if ctx.Err() != nil {
			return
		}
		if cause := err.Error(); cause != lastCause {
			logger.Warn("no events of stations from the kernel", "error", err)
			lastCause = cause
		}
		backoff.Sleep(ctx, wait.Next())
	}
}

// follow is one socket, until it fails or ctx ends.
func follow(
	ctx context.Context, dial func() (EventSource, error), deliver func(StationEvent), malformed func(error),
	received func(),
) error {
	source, err := dial()
	if err != nil {
		return err
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { closed <- source.Close() })
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
			event, ok, err := ParseStationEvent(message.Header.Command, message.Data)
			if err != nil {
				malformed(err)
			} else if ok {
				deliver(event)
			}
		}
	}
}
