// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"crypto/tls"
	"net"
	"strings"
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
	for name, test := range map[string]struct {
		address string
		tls     *tls.Config
		want    string
	}{
		"plain text at TLS": {secure, nil, "TLS is spoken there: remove plain-text from the configuration"},
		"TLS at plain text": {plain, withTLS, "no TLS is spoken there: check the port, which is 50051"},
		"the wrong port":    {listener.Addr().String(), withTLS, "this is another port than the agents'"},
		"gone":              {gone.Addr().String(), withTLS, "start the controller, or check address and port"},
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
