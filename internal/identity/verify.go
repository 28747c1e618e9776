// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"time"
)

// Verify returns why a certificate is not one that an authority signed directly, for this use, and that is valid at
// now. With several authorities one is enough.
//
// That a certificate is not valid yet is no error: an authority signs none for later, so the clock behind `now` is
// late. The end of a certificate counts.
func Verify(
	leaf *x509.Certificate, authorities []*x509.Certificate, use x509.ExtKeyUsage, now time.Time,
) error {
	if len(authorities) == 0 {
		return errors.New("there is no authority to trust")
	}
	var unknown, other error
	for _, authority := range authorities {
		roots := x509.NewCertPool()
		roots.AddCert(authority)
		_, err := leaf.Verify(x509.VerifyOptions{
			Roots: roots, Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{use},
			CurrentTime: Later(now, leaf.NotBefore, authority.NotBefore),
		})
		var isUnknown x509.UnknownAuthorityError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &isUnknown):
			unknown = err
		default:
			other = err
		}
	}
	if other != nil {
		return fmt.Errorf("verify the certificate: %w", other)
	}
	return fmt.Errorf("verify the certificate: %w", unknown)
}

// Later returns the latest of some times.
func Later(first time.Time, others ...time.Time) time.Time {
	for _, other := range others {
		if other.After(first) {
			first = other
		}
	}
	return first
}

// VerifyController returns who a controller is if its certificate is good for serving, and of the trust domain. An
// empty trust domain stands for any.
func VerifyController(
	leaf *x509.Certificate, authorities []*x509.Certificate, trustDomain string, now time.Time,
) (ID, error) {
	if err := Verify(leaf, authorities, x509.ExtKeyUsageServerAuth, now); err != nil {
		return ID{}, err
	}
	id, err := Of(leaf)
	if err != nil {
		return ID{}, err
	}
	if id.Role != RoleController {
		return ID{}, fmt.Errorf("the certificate is that of %s, not of a controller", id)
	}
	if trustDomain != "" && id.TrustDomain != trustDomain {
		return ID{}, fmt.Errorf("the certificate is that of %s, this device belongs to %s", id, trustDomain)
	}
	return id, nil
}
