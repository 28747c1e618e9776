// SPDX-License-Identifier: Apache-2.0

// Package securetest makes directories of identities for tests, laid out as `airbound-lab certificates` does.
package securetest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
)

// Directory makes identities of so many access points and terminals, signed by an authority.
func Directory(t *testing.T, by *credentialstest.Authority, accessPoints, terminals int, life time.Duration) string {
	t.Helper()
	directory := t.TempDir()
	if err := os.Mkdir(filepath.Join(directory, "operator"), 0o700); err != nil {
		t.Fatal(err)
	}
	write := func(name string, content []byte) {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("authorities.pem", certificatePEM(by.Certificate.Raw))
	key, certificate := identity(t, by, "operator", 0, life)
	write(filepath.Join("operator", "key.pem"), key)
	write(filepath.Join("operator", "certificate.pem"), certificate)
	for role, count := range map[string]int{"access-point": accessPoints, "terminal": terminals} {
		var all []byte
		for number := range count {
			key, certificate := identity(t, by, role, number, life)
			all = append(append(all, key...), certificate...)
		}
		write(role+"s.pem", all)
	}
	return directory
}

// Server is what a controller listens with that takes clients of an authority.
func Server(t *testing.T, server, clients *credentialstest.Authority) *tls.Config {
	t.Helper()
	trusted := x509.NewCertPool()
	trusted.AddCert(clients.Certificate)
	return &tls.Config{
		MinVersion: tls.VersionTLS13, NextProtos: []string{"h2"},
		Certificates: []tls.Certificate{*server.Server(credentialstest.ControllerLeaf())},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: trusted,
	}
}

func identity(
	t *testing.T, by *credentialstest.Authority, role string, number int, life time.Duration,
) (key, certificate []byte) {
	t.Helper()
	now := time.Now()
	leaf := credentialstest.Leaf{
		URIs:  []string{fmt.Sprintf("spiffe://%s/%s/load-%d", credentialstest.TrustDomain, role, number)},
		Usage: x509.ExtKeyUsageClientAuth, NotBefore: now.Add(-time.Hour), NotAfter: now.Add(life),
	}
	pair := by.Server(leaf)
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	key = pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	return key, certificatePEM(pair.Certificate[0])
}

func certificatePEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}
