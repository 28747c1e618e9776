// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// connectTimeout limits TCP, and without TLS also HTTP/2 set-up, of one attempt.
	connectTimeout = 5 * time.Second
	// tlsConnectTimeout limits TCP, TLS and HTTP/2 set-up: three round trips, each over 2 s in a full cell without
	// bounds.
	tlsConnectTimeout = 10 * time.Second
	// bufferBytes is the socket read and write buffer; grpc-go's own is 32 KiB each. A report is 1 to 8 kB.
	bufferBytes = 4 << 10
	// messageBytesMax limits what a controller can make an agent allocate.
	messageBytesMax = 1 << 20
	// windowBytes is what HTTP/2 begins with. Commands need no more, and grpc-go looks for a larger one by pings:
	// frames that each need an access of their own to the air (docs/results.md, "What do agents cost?").
	windowBytes = 1 << 16
)

type keepaliveTimes struct{ time, timeout time.Duration }

// keepaliveDefault detects a controller that no longer responds. A ping is sent after 10 s without a byte from the
// controller (grpc-go accepts no less). grpc-go also makes the timeout the socket's TCP_USER_TIMEOUT, so an agent that
// reports every second notices after about 8 s. It is not shorter because a full cell without bounds has an RTT of over
// 2 s.
var keepaliveDefault = keepaliveTimes{time: 10 * time.Second, timeout: 8 * time.Second}

// NewConnection prepares a connection for single calls, as streams have it. It connects at the first call.
func NewConnection(cfg Config) (*grpc.ClientConn, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("connect to the controller: %w", err)
	}
	return dial(cfg)
}

// dial prepares a connection; grpc-go connects when the stream is opened. What an agent does not use is switched off:
// service config, retries, health checks, name resolution and proxies by grpc-go, idleness.
func dial(cfg Config) (*grpc.ClientConn, error) {
	transport, timeout := credentials.TransportCredentials(plainText{insecure.NewCredentials()}), connectTimeout
	if cfg.TLS != nil {
		transport, timeout = adviser{credentials.NewTLS(cfg.TLS)}, tlsConnectTimeout
	}
	// The address is what the controller's virtual host would be; connect takes any of them.
	conn, err := grpc.NewClient("passthrough:///"+cfg.Addresses[0],
		grpc.WithTransportCredentials(transport),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: cfg.keepalive.time, Timeout: cfg.keepalive.timeout,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: grpcbackoff.DefaultConfig, MinConnectTimeout: timeout,
		}),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
		grpc.WithStaticStreamWindowSize(windowBytes),
		grpc.WithStaticConnWindowSize(windowBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytesMax)),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithDisableHealthCheck(),
		grpc.WithNoProxy(),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return connect(ctx, cfg.Addresses, cfg.last, cfg.dial)
		}),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare connection to %s: %w", cfg.Addresses[0], err)
	}
	return conn, nil
}
