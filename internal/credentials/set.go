// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/airbound/airbound/internal/identity"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// set is a key with its certificate, and the authorities that controllers must be certified by.
type set struct {
	id          identity.ID
	certificate *x509.Certificate
	authorities []*x509.Certificate
	tls         *tls.Certificate
}

func newSet(key crypto.Signer, certificate *x509.Certificate, authorities []*x509.Certificate) (*set, error) {
	id, err := identity.Of(certificate)
	if err != nil {
		return nil, err
	}
	return &set{
		id: id, certificate: certificate, authorities: authorities,
		tls: &tls.Certificate{Certificate: [][]byte{certificate.Raw}, PrivateKey: key, Leaf: certificate},
	}, nil
}

func (s *set) life() time.Duration { return s.certificate.NotAfter.Sub(s.certificate.NotBefore) }

// signingRequest is a PKCS#10 request in DER. Only its public key counts.
func signingRequest(key crypto.Signer) ([]byte, error) {
	request, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{}, key)
	if err != nil {
		return nil, fmt.Errorf("make the request for a certificate: %w", err)
	}
	return request, nil
}

// authoritiesMax is far more than any operator trusts at one time.
const authoritiesMax = 16

// expected is what an answer must contain.
type expected struct {
	key crypto.Signer
	// An empty name stands for any.
	id identity.ID
	// Must be among the authorities; nil stands for any.
	pinned *x509.Certificate
	now    time.Time
}

// checkAnswer returns what is in an answer if all of it is right.
func checkAnswer(answer *airboundv1.Credentials, want expected) (*set, error) {
	certificate, err := x509.ParseCertificate(answer.GetCertificate())
	if err != nil {
		return nil, fmt.Errorf("read the certificate in the answer: %w", err)
	}
	number := len(answer.GetAuthorities())
	if number > authoritiesMax {
		return nil, fmt.Errorf("the answer has %d authorities, more than %d", number, authoritiesMax)
	}
	authorities := make([]*x509.Certificate, number)
	for i, octets := range answer.GetAuthorities() {
		if authorities[i], err = x509.ParseCertificate(octets); err != nil {
			return nil, fmt.Errorf("read authority %d in the answer: %w", i+1, err)
		}
	}
	if !fits(want.key, certificate) {
		return nil, errors.New("the certificate in the answer is for another key")
	}
	if want.pinned != nil && !slices.ContainsFunc(authorities, want.pinned.Equal) {
		return nil, errors.New("the authority in the token is not among those in the answer")
	}
	if err := identity.Verify(certificate, authorities, x509.ExtKeyUsageClientAuth, want.now); err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	answered, err := newSet(want.key, certificate, authorities)
	if err != nil {
		return nil, fmt.Errorf("the answer: %w", err)
	}
	got := answered.id
	if want.id.Name == "" {
		got.Name = ""
	}
	if got != want.id {
		err := fmt.Errorf("the certificate in the answer is that of %s, want %s", answered.id, want.id)
		if want.pinned != nil && got.TrustDomain == want.id.TrustDomain {
			err = &failedError{identity.TokenOfAnotherRole, fmt.Errorf("the token is one for the role %s, not for "+
				"the role %s: %w", got.Role, want.id.Role, err)}
		}
		return nil, err
	}
	return answered, nil
}
