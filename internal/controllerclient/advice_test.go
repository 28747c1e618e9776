// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/airbound/airbound/internal/controllerclient"
)

// Whatever an agent finds at the address of its controller, why there is no stream names the next step. It is in the
// log, in the status, and in LuCI.
func TestWhyThereIsNoStreamNamesTheNextStep(t *testing.T) {
	certificate, roots := selfSigned(t)
	withTLS := &tls.Config{RootCAs: roots}
	secure, _ := serve(t, newController(), "127.0.0.1:0", grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	plain, _ := serve(t, newController(), "127.0.0.1:0")
	// Another server of the controller's, such as that of enrolment: it has not the agents' service.
	other := grpc.NewServer(grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = other.Serve(listener) }()
	t.Cleanup(other.Stop)
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = gone.Close()
	proxy := closing(t)
	for name, test := range map[string]struct {
		address string
		tls     *tls.Config
		want    string
	}{
		"plain text at TLS": {secure, nil, "TLS is spoken there: remove plain-text from the configuration"},
		"TLS at plain text": {plain, withTLS, "no TLS is spoken there: check the port, which is 50051"},
		"the wrong port":    {listener.Addr().String(), withTLS, "this is another port than the agents'"},
		"gone":              {gone.Addr().String(), withTLS, "start the controller, or check address and port"},
		"a proxy alone":     {proxy, withTLS, "(a proxy without one closes connections)"},
		"without TLS":       {proxy, nil, "without an answer: no controller runs there, or TLS is spoken there"},
		"no such name":      {"no..name:1", withTLS, "check the name, and that this device has a DNS server"},
	} {
		t.Run(name, func(t *testing.T) {
			failed := make(chan error, 1)
			startAgent(t, controllerclient.Config{
				Addresses: []string{test.address}, TLS: test.tls, Failed: func(err error) {
					select {
					case failed <- err:
					default:
					}
				},
			})
			if err := next(t, "failure", failed); !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v", err)
			}
		})
	}
}

// closing is a server that closes each connection, as a proxy without a server behind it does.
func closing(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 1<<14))
			_ = conn.Close()
		}
	}()
	return listener.Addr().String()
}

// An end proves nothing about TLS, however it looks.
func TestAHandshakeThatIsCutOffNamesTheNextStep(t *testing.T) {
	for err, want := range map[error]string{
		os.ErrDeadlineExceeded:   "try again later",
		context.DeadlineExceeded: "try again later",
		syscall.ECONNRESET:       "check that a controller runs there",
		io.EOF:                   "check that a controller runs there",
		io.ErrUnexpectedEOF:      "check that a controller runs there",
	} {
		if got := controllerclient.Insecure(fmt.Errorf("read: %w", err)); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %s", err, got)
		}
	}
}

// failing is a connection whose reads fail.
type failing struct {
	net.Conn

	err error
}

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestPlainTextWithoutAnAnswer(t *testing.T) {
	for err, want := range map[error]string{
		io.EOF:                 "no controller runs there, or",
		syscall.ECONNRESET:     "no controller runs there, or",
		os.ErrDeadlineExceeded: os.ErrDeadlineExceeded.Error(),
	} {
		n, got := controllerclient.PlainText(failing{err: err}).Read(make([]byte, 9))
		if n != 0 || got == nil || !strings.Contains(got.Error(), want) {
			t.Errorf("%v: %d, %v", err, n, got)
		}
	}
}
