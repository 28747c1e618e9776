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
	select {
	case <-ctx.Done():
		return nil
	case <-cfg.Replace:
	}
	wait := backoff.Backoff{Min: cfg.BackoffMax, Max: max(replaceWaitMax, cfg.BackoffMax)}
	for ctx.Err() == nil {
		conn, err := dialReady(ctx, cfg)
		if err == nil {
			return conn
		}
		delay := wait.Next()
		if ctx.Err() == nil {
			cfg.Logger.Warn("cannot replace the connection to the controller", "error", err,
				"retry_in", delay.Round(time.Millisecond))
		}
		backoff.Sleep(ctx, delay)
	}
	return nil
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
