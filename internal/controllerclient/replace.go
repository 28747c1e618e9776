// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"context"
	"errors"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/airbound/airbound/internal/backoff"
)

// replaceWaitMax is the longest wait between two attempts to replace a connection that still works.
const replaceWaitMax = time.Minute

// replacement waits until the connection in use is to be replaced, and returns another one that is ready; nil if ctx
// ends before. Until then the stream stays where it is.
func replacement(ctx context.Context, cfg Config) *grpc.ClientConn {
	wait := backoff.Backoff{Min: cfg.BackoffMax, Max: max(replaceWaitMax, cfg.BackoffMax)}
	select {
	case <-ctx.Done():
		return nil
	case <-cfg.Replace:
	case <-cfg.Moved:
		wait.Min = cfg.BackoffMin // The connection in use may not work any more.
	}
	for ctx.Err() == nil {
		conn, err := dialUnlessMoved(ctx, cfg)
		if err == nil {
			return conn
		}
		if errors.Is(err, errMoved) {
			wait.Min = cfg.BackoffMin
			wait.Reset()
			continue
		}
		delay := wait.Next()
		if ctx.Err() == nil {
			cfg.Logger.Warn("cannot replace the connection to the controller", "error", err,
				"retry_in", delay.Round(time.Millisecond))
		}
		select {
		case <-ctx.Done():
		case <-time.After(delay):
		case <-cfg.Moved:
			wait.Min = cfg.BackoffMin
			wait.Reset()
		}
	}
	return nil
}

// dialUnlessMoved is dialReady, whose error is errMoved if the machine moves meanwhile.
func dialUnlessMoved(ctx context.Context, cfg Config) (*grpc.ClientConn, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stopWatching := watchMoves(cfg.Moved, cancel)
	conn, err := dialReady(ctx, cfg)
	if !stopWatching() {
		return conn, err
	}
	if conn != nil {
		return nil, errors.Join(errMoved, conn.Close())
	}
	return nil, errMoved
}

var errNotReady = errors.New("the new connection cannot be set up")

// dialReady returns a connection on which a stream can be opened at once.
func dialReady(ctx context.Context, cfg Config) (*grpc.ClientConn, error) {
	conn, err := dial(cfg)
	if err != nil {
		return nil, err
	}
	conn.Connect()
	for {
		state := conn.GetState()
		switch state { //nolint:exhaustive // the others pass
		case connectivity.Ready:
			return conn, nil
		case connectivity.TransientFailure, connectivity.Shutdown:
			return nil, errors.Join(errNotReady, conn.Close())
		}
		if !conn.WaitForStateChange(ctx, state) {
			return nil, errors.Join(ctx.Err(), conn.Close())
		}
	}
}
