// SPDX-License-Identifier: Apache-2.0

package wifi

import (
	"context"
	"log/slog"
	"time"

	"github.com/mdlayher/genetlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/internal/wireless"
)

const (
	retryMin = time.Second
	retryMax = 10 * time.Minute
)

// Follow calls changed when an interface has been connected, has roamed or has been disconnected, until ctx ends. When
// another socket is open after one that failed it calls changed as well, since anything may have happened in between.
// Arrived is the index of the interface that has been connected or has roamed, or 0. It may have been in vain.
func Follow(
	ctx context.Context, dial func() (wireless.EventSource, error), changed func(arrived uint32), logger *slog.Logger,
) {
	follower := wireless.Follower{
		Dial: dial, Again: func() { changed(0) }, WaitMin: retryMin, WaitMax: retryMax,
		Deliver: func(message genetlink.Message) {
			index, err := ParseEvent(message.Header.Command, message.Data)
			switch {
			case err != nil: // What cannot be read may have been a change.
				changed(0)
			case index != 0 && message.Header.Command == unix.NL80211_CMD_DISCONNECT:
				changed(0)
			case index != 0:
				changed(index)
			}
		},
		// A kernel without nl80211 stays without, so this is no warning.
		Failed: func(err error) { logger.Info("no events of Wi-Fi connections from the kernel", "error", err) },
	}
	follower.Run(ctx)
}
