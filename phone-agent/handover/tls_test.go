// SPDX-License-Identifier: Apache-2.0

package handover_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"math/big"
	"net"
	"net/url"
	"testing"
	"testing/synctest"
	"time"

	"github.com/airbound/airbound/phone-agent/handover"
	"github.com/airbound/airbound/phone-agent/handover/wire"
)

// authority signs certificates.
type authority struct {
	t    *testing.T
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t, key: newKey(t)}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign,
	}
	a.cert = a.sign(template, template, a.key)
	return a
}

func (a *authority) sign(template, parent *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	a.t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), a.key)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert
}

// issue makes a certificate for an address or, without one, for a name.
func (a *authority) issue(ip, name string) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if ip != "" {
		template.IPAddresses = []net.IP{net.ParseIP(ip)}
	}
	if name != "" {
		template.URIs = []*url.URL{{Scheme: "spiffe", Host: "example.org", Path: "/" + name}}
	}
	key := newKey(a.t)
	cert := a.sign(template, a.cert, key)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// server's configuration asks for certificates of the same authority.
func (a *authority) server(ip string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{a.issue(ip, "")},
		ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool(),
	}
}

func (a *authority) phone(certificates ...tls.Certificate) *tls.Config {
	return &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: a.pool(), Certificates: certificates}
}

func TestEveryConnectionOfASessionIsOfOneCertificate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		s := newSite(t, 25*time.Millisecond, handover.Config{TLS: a.server("192.0.2.1")})
		events := make(chan handover.Event, 1)
		phone, server := s.dial(t, handover.Config{TLS: a.phone(a.issue("", "phone-1")), Events: events})
		if got, want := server.Identity(), "spiffe://example.org/phone-1"; got != want {
			t.Errorf("identity %q, want %q", got, want)
		}
		up := run(t, phone, server, 150, func() {
			time.Sleep(3 * time.Second)
			s.outage(5 * time.Second)
			events <- handover.Event{Kind: "test"}
		})
		checkInOrder(t, up, 150)
		if stats := phone.Stats(); stats.SwitchesAtOnce == 0 {
			t.Errorf("no switch: %+v", stats)
		}
		if stats := s.listener.Stats(); stats.RefusedHandshakes+stats.RefusedKeys != 0 {
			t.Errorf("%+v", stats)
		}
	})
}

func TestPhonesWithoutACertificateOfTheAuthorityAreRefusedAndCounted(t *testing.T) {
	t.Parallel()
	for name, certificate := range map[string]func(a *authority) []tls.Certificate{
		"none": func(*authority) []tls.Certificate { return nil },
		"another authority": func(a *authority) []tls.Certificate {
			return []tls.Certificate{newAuthority(a.t).issue("", "phone-1")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority(t)
				s := newSite(t, time.Millisecond, handover.Config{TLS: a.server("192.0.2.1")})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				conn, err := handover.Dial(ctx, address, handover.Config{
					TLS: a.phone(certificate(a)...), DialContext: s.network.dial,
				})
				if err == nil {
					t.Errorf("session %s", conn.Name())
				}
				if stats := s.listener.Stats(); stats.RefusedHandshakes == 0 || stats.Sessions != 0 {
					t.Errorf("%+v", stats)
				}
			})
		})
	}
}

func TestAServerOfAnotherAuthorityOrAddressEndsDialAtOnce(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]func(a *authority) *tls.Config{
		"authority": func(a *authority) *tls.Config { return newAuthority(a.t).server("192.0.2.1") },
		"address":   func(a *authority) *tls.Config { return a.server("192.0.2.2") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newAuthority(t)
				s := newSite(t, time.Millisecond, handover.Config{TLS: server(a)})
				began := time.Now()
				_, err := handover.Dial(t.Context(), address, handover.Config{
					TLS: a.phone(a.issue("", "phone-1")), DialContext: s.network.dial,
				})
				if _, is := errors.AsType[*tls.CertificateVerificationError](err); !is {
					t.Errorf("%v", err)
				}
				if took := time.Since(began); took > time.Second {
					t.Errorf("after %v", took)
				}
			})
		})
	}
}

// The session's number is known to whoever reads a log; its key and its certificate are not.
func TestASessionOfAnotherCertificateIsRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAuthority(t)
		s := newSite(t, time.Millisecond, handover.Config{TLS: a.server("192.0.2.1")})
		phone, server := s.dial(t, handover.Config{TLS: a.phone(a.issue("", "phone-1"))})
		octets, err := hex.DecodeString(phone.Name())
		if err != nil {
			t.Fatal(err)
		}
		raw, err := s.network.dial(t.Context(), "tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		config := a.phone(a.issue("", "phone-2"))
		config.ServerName = "192.0.2.1"
		conn := tls.Client(raw, config)
		if err := conn.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		hello := wire.Hello{Role: wire.RoleRecords, Connection: 99, First: 1}
		copy(hello.Session[:], octets)
		if _, err := conn.Write(wire.Append(nil, hello)); err != nil {
			t.Fatal(err)
		}
		answer, err := wire.Read(bufio.NewReader(conn))
		if refused, is := answer.(wire.Refused); err != nil || !is || refused.Refusal != wire.RefusedKey {
			t.Errorf("%#v, %v", answer, err)
		}
		if stats := s.listener.Stats(); stats.RefusedKeys != 1 || stats.Sessions != 1 {
			t.Errorf("%+v", stats)
		}
		send(t, phone, 1, time.Millisecond)
		if _, err := server.Receive(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
