// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"context"
	"log/slog"
	"net"
	"time"
)

// WithKeepalive returns cfg with keepalive times of a test.
func WithKeepalive(cfg Config, interval, timeout time.Duration) Config {
	cfg.keepalive = keepaliveTimes{time: interval, timeout: timeout}
	return cfg
}

// WithDefaults is what Run makes of cfg.
func WithDefaults(cfg Config) (Config, error) { return cfg.withDefaults() }

// Keepalive returns the keepalive times of cfg.
func Keepalive(cfg Config) (interval, timeout time.Duration) {
	return cfg.keepalive.time, cfg.keepalive.timeout
}

// Dial is how a connection is opened outside of tests.
var Dial = dialWithDSCP

// WithDial returns cfg with another way to open connections.
func WithDial(cfg Config, dial func(context.Context, string) (net.Conn, error)) Config {
	cfg.dial = dial
	return cfg
}

// KeepNewest is keepNewest for the tests.
func KeepNewest[T any](
	ctx context.Context, in <-chan *T, merge func(older, newer *T),
) (newest <-chan *T, drop func(), stopped <-chan struct{}) {
	kept := keepNewest(ctx, in, merge)
	return kept.out, kept.drop, kept.stopped
}

// Causes is causes for the tests.
type Causes struct{ causes }

// Level is level.
func (c *Causes) Level(err error) slog.Level { return c.level(err) }

// Forget is forget.
func (c *Causes) Forget() { c.forget() }

// Connect is connect for the tests.
func Connect(ctx context.Context, controllers []string, dial func(context.Context, string) (net.Conn, error)) (
	net.Conn, error,
) {
	return connect(ctx, controllers, &lastAddress{}, dial)
}

// AnswerTimes is answerTimes for the tests.
type AnswerTimes struct{ answerTimes }

// Add is add.
func (t *AnswerTimes) Add(took time.Duration) { t.add(took) }

// Wait is wait.
func (t *AnswerTimes) Wait() time.Duration { return t.wait() }

// AnswersMetadata is what asks for answers.
func AnswersMetadata() (key, value string) { return answersKey, answersValue }
