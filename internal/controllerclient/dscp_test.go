// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"context"
	"crypto/tls"
	"net"
	"testing"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/airbound/airbound/internal/controllerclient"
)

func TestTheConnectionsSocketOptions(t *testing.T) {
	tests := map[string]struct {
		address       string
		level, option int
		tls           bool
	}{
		"IPv4":     {"127.0.0.1:0", unix.IPPROTO_IP, unix.IP_TOS, false},
		"IPv6":     {"[::1]:0", unix.IPPROTO_IPV6, unix.IPV6_TCLASS, false},
		"with TLS": {"127.0.0.1:0", unix.IPPROTO_IP, unix.IP_TOS, true},
	}
	certificate, roots := selfSigned(t)
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := newController()
			cfg, options := controllerclient.Config{}, []grpc.ServerOption{}
			if test.tls {
				cfg.TLS = &tls.Config{RootCAs: roots}
				options = append(options, grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
			}
			address, _ := serve(t, c, test.address, options...)
			cfg.Addresses = []string{address}
			dialled := make(chan *net.TCPConn, 1)
			dial := controllerclient.Dial
			observe := func(ctx context.Context, address string) (net.Conn, error) {
				conn, err := dial(ctx, address)
				if tcp, ok := conn.(*net.TCPConn); ok {
					dialled <- tcp
				}
				return conn, err
			}
			a := startAgent(t, controllerclient.WithDial(cfg, observe))
			expect(t, "state", a.states, true)
			socket := next(t, "connection", dialled)
			const classSelector6, interactive = 0xc0, 6
			if got := option(t, socket, test.level, test.option); got != classSelector6 {
				t.Errorf("traffic class is %#x, want %#x", got, classSelector6)
			}
			if got := option(t, socket, unix.SOL_SOCKET, unix.SO_PRIORITY); got != interactive {
				t.Errorf("priority is %d, want %d", got, interactive)
			}
			if got := option(t, socket, unix.SOL_SOCKET, unix.SO_KEEPALIVE); got != 0 {
				t.Error("the kernel's keepalive is on, beside that of grpc-go")
			}
			// The keepalive's timeout: longer, and a lease ends before a controller that is gone is noticed.
			const userTimeoutMS = 8000
			if got := option(t, socket, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT); got != userTimeoutMS {
				t.Errorf("user timeout is %d ms, want %d", got, userTimeoutMS)
			}
		})
	}
}

func option(t *testing.T, conn *net.TCPConn, level, name int) int {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var value int
	var optionErr error
	if err := raw.Control(func(descriptor uintptr) {
		value, optionErr = unix.GetsockoptInt(int(descriptor), level, name)
	}); err != nil || optionErr != nil {
		t.Fatal(err, optionErr)
	}
	return value
}
