// SPDX-License-Identifier: Apache-2.0

package uplink

import (
	"context"
	"time"
)

// WithKeepalive returns cfg with keepalive times of a test.
func WithKeepalive(cfg Config, interval, timeout time.Duration) Config {
	cfg.keepalive = keepaliveTimes{time: interval, timeout: timeout}
	return cfg
}

// KeepNewest is keepNewest for the tests.
func KeepNewest[T any](ctx context.Context, in <-chan *T) (newest <-chan *T, stopped <-chan struct{}) {
	return keepNewest(ctx, in)
}
