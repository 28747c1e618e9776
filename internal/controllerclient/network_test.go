// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"

	"github.com/airbound/airbound/internal/controllerclient"
)

// network is one in the test's memory. With it a test that is about time runs in a bubble of testing/synctest, where
// the time passes when everything waits: nothing depends on how fast this machine is.
type network struct {
	mu        sync.Mutex
	listeners map[string]*bufconn.Listener
}

func newNetwork() *network {
	return &network{listeners: map[string]*bufconn.Listener{}}
}

// serve is like the function serve.
func (n *network) serve(t *testing.T, c *controller, address string, options ...grpc.ServerOption) func() {
	t.Helper()
	return serveOn(t, c, n.listen(address), options...)
}

func (n *network) listen(address string) net.Listener {
	const bufferBytes = 64 << 10
	listener := bufconn.Listen(bufferBytes)
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[address] = listener
	return listener
}

func (n *network) dial(ctx context.Context, address string) (net.Conn, error) {
	n.mu.Lock()
	listener := n.listeners[address]
	n.mu.Unlock()
	if listener == nil {
		return nil, errors.New("connection refused")
	}
	return listener.DialContext(ctx)
}

// of returns a configuration whose controllers are in the network.
func (n *network) of(cfg controllerclient.Config) controllerclient.Config {
	return controllerclient.WithDial(cfg, n.dial)
}

// frozen is a connection that can be lost: what is written to it then arrives nowhere, and nothing is closed.
type frozen struct {
	net.Conn
	lost *atomic.Bool
}

func (f frozen) Write(octets []byte) (int, error) {
	if f.lost.Load() {
		return len(octets), nil
	}
	return f.Conn.Write(octets)
}
