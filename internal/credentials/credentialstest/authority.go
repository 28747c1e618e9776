// SPDX-License-Identifier: Apache-2.0

// Package credentialstest is the controller's side of enrolment and renewal, for tests: real keys, real certificates,
// real TLS on loopback.
package credentialstest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"math/big"
	"net/url"
	"testing"
	"time"
)

// TrustDomain is that of the controller's own certificate and of those that it issues.
const TrustDomain = "test.example"

// Authority signs certificates.
type Authority struct {
	t testing.TB

	Certificate *x509.Certificate
	key         crypto.Signer
}

// NewAuthority makes an authority that is valid for ten years.
func NewAuthority(tb testing.TB, name string) *Authority {
	tb.Helper()
	key := newKey(tb)
	template := &x509.Certificate{
		SerialNumber: serial(tb), Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true,
		MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(10, 0, 0),
	}
	return &Authority{tb, sign(tb, template, template, key.Public(), key), key}
}

// Leaf is what a certificate contains.
type Leaf struct {
	URIs                []string
	Usage               x509.ExtKeyUsage
	NotBefore, NotAfter time.Time
	Public              crypto.PublicKey
}

// Issue signs a certificate.
func (a *Authority) Issue(leaf Leaf) *x509.Certificate {
	a.t.Helper()
	template := &x509.Certificate{
		SerialNumber: serial(a.t), NotBefore: leaf.NotBefore, NotAfter: leaf.NotAfter, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{leaf.Usage},
	}
	for _, text := range leaf.URIs {
		uri, err := url.Parse(text)
		if err != nil {
			a.t.Error(err)
			continue
		}
		template.URIs = append(template.URIs, uri)
	}
	return sign(a.t, template, a.Certificate, leaf.Public, a.key)
}

// ControllerLeaf is what a controller's certificate contains, but for the key.
func ControllerLeaf() Leaf {
	return Leaf{
		URIs: []string{"spiffe://" + TrustDomain + "/controller/c1"}, Usage: x509.ExtKeyUsageServerAuth,
		NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(time.Hour),
	}
}

// Server makes a server's certificate, with a new key and with the authority in its chain.
func (a *Authority) Server(leaf Leaf) *tls.Certificate {
	a.t.Helper()
	key := newKey(a.t)
	leaf.Public = key.Public()
	return &tls.Certificate{Certificate: [][]byte{a.Issue(leaf).Raw, a.Certificate.Raw}, PrivateKey: key}
}

// Token makes a token that names the authority.
func (a *Authority) Token() string {
	a.t.Helper()
	const randomBytes = 16
	octets := make([]byte, 1+randomBytes, 1+randomBytes+sha256.Size)
	if _, err := rand.Read(octets[1:]); err != nil {
		a.t.Error(err)
	}
	octets[0] = 1
	fingerprint := sha256.Sum256(a.Certificate.Raw)
	return base64.RawURLEncoding.EncodeToString(append(octets, fingerprint[:]...))
}

func newKey(tb testing.TB) *ecdsa.PrivateKey {
	tb.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Error(err)
	}
	return key
}

func serial(tb testing.TB) *big.Int {
	tb.Helper()
	const bits = 64
	number, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), bits))
	if err != nil {
		tb.Error(err)
	}
	return number
}

func sign(
	tb testing.TB, template, parent *x509.Certificate, public crypto.PublicKey, key crypto.Signer,
) *x509.Certificate {
	tb.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, key)
	if err != nil {
		tb.Error(err)
		return &x509.Certificate{}
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		tb.Error(err)
	}
	return certificate
}
