// SPDX-License-Identifier: Apache-2.0

package controllerclient

import (
	"fmt"
	"time"

	"google.golang.org/grpc"
	grpcbackoff "google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/keepalive"
)

const (
	// connectTimeout limits TCP, TLS and HTTP/2 set-up of one attempt.
	connectTimeout = 5 * time.Second
	// bufferBytes is the socket read and write buffer; grpc-go's own is 32 KiB each. A report is 1 to 8 kB.
	bufferBytes = 4 << 10
	// messageBytesMax limits what a controller can make an agent allocate.
	messageBytesMax = 1 << 20
)

type keepaliveTimes struct{ time, timeout time.Duration }

// keepaliveDefault detects a controller that no longer responds. A ping is sent after 10 s without a byte from the
// controller (grpc-go accepts no less). grpc-go also makes the timeout the socket's TCP_USER_TIMEOUT, so an agent that
// reports every second notices after about 8 s. It is not shorter because a full cell without bounds has an RTT of over
// 2 s.
var keepaliveDefault = keepaliveTimes{time: 10 * time.Second, timeout: 8 * time.Second}

// dial prepares a connection; grpc-go connects when the stream is opened. What an agent does not use is switched off:
// service config, retries, health checks, name resolution and proxies by grpc-go, idleness.
func dial(cfg Config) (*grpc.ClientConn, error) {
	transport := insecure.NewCredentials()
	if cfg.TLS != nil {
		transport = credentials.NewTLS(cfg.TLS)
	}
	conn, err := grpc.NewClient("passthrough:///"+cfg.Address,
		grpc.WithTransportCredentials(transport),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time: cfg.keepalive.time, Timeout: cfg.keepalive.timeout,
		}),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: grpcbackoff.DefaultConfig, MinConnectTimeout: connectTimeout,
		}),
		grpc.WithReadBufferSize(bufferBytes),
		grpc.WithWriteBufferSize(bufferBytes),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(messageBytesMax)),
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithDisableHealthCheck(),
		grpc.WithNoProxy(),
		grpc.WithContextDialer(cfg.dial),
		grpc.WithIdleTimeout(0),
	)
	if err != nil {
		return nil, fmt.Errorf("prepare connection to %s: %w", cfg.Address, err)
	}
	return conn, nil
}
