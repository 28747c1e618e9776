// SPDX-License-Identifier: Apache-2.0

package wifi

import (
	"context"
	"log/slog"
	"time"

	"github.com/mdlayher/genetlink"

	"github.com/airbound/airbound/internal/wireless"
)

const (
	retryMin = time.Second
	retryMax = 10 * time.Minute
)

// Follow calls changed when an interface has been connected, has roamed or has been disconnected, until ctx ends. When
// another socket is open after one that failed it calls changed as well, since anything may have happened in between.
func Follow(ctx context.Context, dial func() (wireless.EventSource, error), changed func(), logger *slog.Logger) {
	follower := wireless.Follower{
		Dial: dial, Again: changed, WaitMin: retryMin, WaitMax: retryMax,
		Deliver: func(message genetlink.Message) {
			// What cannot be read may have been a change.
			if index, err := ParseEvent(message.Header.Command, message.Data); err != nil || index != 0 {
				changed()
			}
		},
		// A kernel without nl80211 stays without, so this is no warning.
		Failed: func(err error) { logger.Info("no events of Wi-Fi connections from the kernel", "error", err) },
	}
	follower.Run(ctx)
}
