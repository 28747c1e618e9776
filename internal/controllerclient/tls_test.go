// SPDX-License-Identifier: Apache-2.0

package controllerclient_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/airbound/airbound/internal/controllerclient"
)

func TestTLS(t *testing.T) {
	certificate, roots := selfSigned(t)
	c := newController()
	address, _ := serve(t, c, "127.0.0.1:0", grpc.Creds(credentials.NewServerTLSFromCert(&certificate)))

	trusted := startAgent(t, controllerclient.Config{Addresses: []string{address}, TLS: &tls.Config{RootCAs: roots}})
	expect(t, "state", trusted.states, true)
	trusted.outgoing <- report(7)
	expect(t, "sequence", c.sequences, 7)

	refused := map[string]struct {
		client *tls.Config
		cause  string
	}{
		"unknown authority": {&tls.Config{RootCAs: x509.NewCertPool()}, "unknown authority"},
		"plain text":        {nil, "error reading server preface"},
	}
	for name, test := range refused {
		t.Run(name, func(t *testing.T) {
			log := make(lines, 1000)
			a := startAgent(t, controllerclient.Config{
				Addresses: []string{address}, TLS: test.client, Logger: slog.New(slog.NewTextHandler(log, nil)),
			})
			for !strings.Contains(next(t, "line with "+test.cause, log), test.cause) {
				continue
			}
			if len(a.states) > 0 {
				t.Fatal("connected")
			}
		})
	}
}

// lines delivers each line that is logged.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

func selfSigned(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, roots
}
