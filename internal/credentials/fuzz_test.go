// SPDX-License-Identifier: Apache-2.0

package credentials_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials"
	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// seed is a set that is good.
type seed struct {
	authority, certificate []byte
	key                    *ecdsa.PrivateKey
}

func newSeed(tb testing.TB) seed {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	authority := credentialstest.NewAuthority(tb, "authority")
	leaf := authority.Issue(credentialstest.Leaf{
		URIs: []string{id}, Usage: x509.ExtKeyUsageClientAuth, NotBefore: time.Now().Add(-time.Minute),
		NotAfter: time.Now().Add(time.Hour), Public: key.Public(),
	})
	return seed{authority.Certificate.Raw, leaf.Raw, key}
}

// FuzzFiles reads files that anything may have written. What is read is a set that fits together; files that cannot be
// used are named.
func FuzzFiles(f *testing.F) {
	good := newSeed(f)
	key, err := x509.MarshalPKCS8PrivateKey(good.key)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(encode("PRIVATE KEY", key), encode("CERTIFICATE", good.certificate), encode("CERTIFICATE", good.authority))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\n"), []byte{}, encode("PRIVATE KEY", key))
	directory := filepath.Join(f.TempDir(), "credentials")
	if err := os.Mkdir(directory, 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, key, certificate, authorities []byte) {
		for name, content := range map[string][]byte{
			"key.pem": key, "certificate.pem": certificate, "authorities.pem": authorities,
		} {
			if err := os.WriteFile(filepath.Join(directory, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, err := credentials.Open(credentials.Config{
			Directory: directory, Role: identity.RoleTerminal, Logger: slog.New(slog.DiscardHandler),
		})
		if err == nil {
			if got := keyIn(t, directory); got == nil {
				t.Error("a set without a key")
			}
			return
		}
		if !strings.Contains(err.Error(), "enrol it: ") &&
			!strings.Contains(err.Error(), "certificate.pem is the certificate of ") {
			t.Errorf("%v", err)
		}
	})
}

// FuzzAnswer reads answers that any server may have sent. Only one for the device's own key, role and trust domain, by
// the token's authority, is taken.
func FuzzAnswer(f *testing.F) {
	good := newSeed(f)
	f.Add(good.certificate, good.authority)
	f.Add(good.authority, good.certificate)
	f.Add([]byte{}, []byte{})
	f.Fuzz(func(t *testing.T, certificate, authority []byte) {
		got, err := credentials.CheckAnswer(
			&airboundv1.Credentials{Certificate: certificate, Authorities: [][]byte{authority}}, good.key,
			identity.ID{TrustDomain: credentialstest.TrustDomain, Role: identity.RoleTerminal}, good.authority)
		isGood := bytes.Equal(certificate, good.certificate) && bytes.Equal(authority, good.authority)
		if isGood != (err == nil) || isGood && got.String() != id {
			t.Errorf("%v, %v", got, err)
		}
	})
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
