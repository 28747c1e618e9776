// SPDX-License-Identifier: Apache-2.0

// Package identity reads and verifies what certificates and enrolment tokens contain. It opens nothing and asks no
// clock.
package identity

import (
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
)

// Roles of certificates that agents meet.
const (
	RoleAccessPoint = "access-point"
	RoleTerminal    = "terminal"
	RoleController  = "controller"
)

// ID is who a certificate is for. As a URI it is a SPIFFE ID, spiffe://TRUST-DOMAIN/ROLE/NAME.
type ID struct {
	TrustDomain, Role, Name string
}

const (
	scheme = "spiffe://"
	// Longest URI and trust domain of the SPIFFE ID standard, 2.1 and 2.3, in octets.
	uriBytesMax         = 2048
	trustDomainBytesMax = 255
)

// ParseID reads the URI of a certificate.
func ParseID(uri string) (ID, error) {
	rest, found := strings.CutPrefix(uri, scheme)
	parts := strings.Split(rest, "/")
	if !found || len(uri) > uriBytesMax || len(parts) != 3 {
		return ID{}, fmt.Errorf("URI %.100q is not spiffe://TRUST-DOMAIN/ROLE/NAME", uri)
	}
	id := ID{parts[0], parts[1], parts[2]}
	if len(id.TrustDomain) > trustDomainBytesMax || !consistsOf(id.TrustDomain, inTrustDomain) {
		return ID{}, fmt.Errorf("URI %.100q has no trust domain of a-z, 0-9, '.', '-', '_'", uri)
	}
	for _, segment := range []string{id.Role, id.Name} {
		if !consistsOf(segment, inPath) || segment == "." || segment == ".." {
			return ID{}, fmt.Errorf("URI %.100q has a path of other characters than a-z, A-Z, 0-9, '.', '-', '_'", uri)
		}
	}
	return id, nil
}

func consistsOf(text string, allowed func(rune) bool) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool { return !allowed(r) })
}

func inTrustDomain(r rune) bool {
	return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '.' || r == '-' || r == '_'
}

func inPath(r rune) bool { return inTrustDomain(r) || 'A' <= r && r <= 'Z' }

// String is the URI.
func (id ID) String() string { return scheme + id.TrustDomain + "/" + id.Role + "/" + id.Name }

// Of returns who a certificate is for. It has exactly one URI.
func Of(certificate *x509.Certificate) (ID, error) {
	switch len(certificate.URIs) {
	case 0:
		return ID{}, errors.New("the certificate has no URI")
	case 1:
		id, err := ParseID(certificate.URIs[0].String())
		if err != nil {
			return ID{}, fmt.Errorf("read the certificate: %w", err)
		}
		return id, nil
	default:
		return ID{}, fmt.Errorf("the certificate has %d URIs, want one", len(certificate.URIs))
	}
}
