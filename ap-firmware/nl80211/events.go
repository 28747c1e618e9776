// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"context"
	"log/slog"
	"time"

	"github.com/mdlayher/genetlink"

	"github.com/airbound/airbound/internal/wireless"
)

const (
	eventsRetryMin = 100 * time.Millisecond
	eventsRetryMax = time.Minute
)

// Follow delivers changes of the kernel's station tables until ctx ends. What is lost while a socket fails, a dump
// shows. malformed is called with every message that had to be refused.
func Follow(
	ctx context.Context, dial func() (wireless.EventSource, error), deliver func(StationEvent), malformed func(error),
	logger *slog.Logger,
) {
	follower := wireless.Follower{
		Dial: dial, WaitMin: eventsRetryMin, WaitMax: eventsRetryMax,
		Deliver: func(message genetlink.Message) {
			event, ok, err := ParseStationEvent(message.Header.Command, message.Data)
			if err != nil {
				malformed(err)
			} else if ok {
				deliver(event)
			}
		},
		Failed: func(err error) { logger.Warn("no events of stations from the kernel", "error", err) },
	}
	follower.Run(ctx)
}
