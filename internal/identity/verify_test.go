// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/internal/credentials/credentialstest"
	"github.com/airbound/airbound/internal/identity"
)

func TestControllersCertificates(t *testing.T) {
	t.Parallel()
	authority, other := credentialstest.NewAuthority(t, "one"), credentialstest.NewAuthority(t, "other")
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	good := credentialstest.ControllerLeaf()
	good.Public = key.Public()
	with := func(change func(*credentialstest.Leaf)) *x509.Certificate {
		leaf := good
		change(&leaf)
		return authority.Issue(leaf)
	}
	uris := func(uris ...string) *x509.Certificate {
		return with(func(leaf *credentialstest.Leaf) { leaf.URIs = uris })
	}
	const trustDomain = credentialstest.TrustDomain
	now := time.Now()
	one := []*x509.Certificate{authority.Certificate}
	both := []*x509.Certificate{other.Certificate, authority.Certificate}
	tests := map[string]struct {
		leaf        *x509.Certificate
		authorities []*x509.Certificate
		now         time.Time
		want        string // in the error
	}{
		"good":                 {authority.Issue(good), one, now, ""},
		"second of two":        {authority.Issue(good), both, now, ""},
		"first of two":         {authority.Issue(good), []*x509.Certificate{both[1], both[0]}, now, ""},
		"our clock is in 1970": {authority.Issue(good), one, time.Unix(0, 0), ""},
		"no authority":         {authority.Issue(good), nil, now, "no authority"},
		"unknown authority":    {authority.Issue(good), both[:1], now, "unknown authority"},
		"the authority itself": {
			authority.Certificate, one, now, "has no URI",
		},
		"not an authority": {
			authority.Issue(good),
			[]*x509.Certificate{uris("spiffe://test.example/controller/c2")},
			now,
			"unknown authority",
		},
		"expired": {
			with(func(leaf *credentialstest.Leaf) { leaf.NotAfter = now.Add(-time.Second) }),
			both, now, "expired",
		},
		"expired authority": {
			authority.Issue(good), one, now.AddDate(11, 0, 0), "expired",
		},
		"for clients": {
			with(func(leaf *credentialstest.Leaf) { leaf.Usage = x509.ExtKeyUsageClientAuth }), one, now,
			"incompatible key usage",
		},
		"a terminal": {
			uris("spiffe://test.example/terminal/x"), one, now,
			"is that of spiffe://test.example/terminal/x, not of a controller",
		},
		"another trust domain": {
			uris("spiffe://other.example/controller/x"), one, now,
			"this device belongs to test.example",
		},
		"no URI": {uris(), one, now, "has no URI"},
		"two URIs": {
			uris("spiffe://test.example/controller/x", "spiffe://test.example/controller/y"), one, now,
			"has 2 URIs",
		},
	}
	for name, test := range tests {
		id, err := identity.VerifyController(test.leaf, test.authorities, trustDomain, test.now)
		if test.want == "" {
			if err != nil || id.Role != identity.RoleController {
				t.Errorf("%s: %v, %v", name, id, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := identity.VerifyController(
		uris("spiffe://other.example/controller/x"), one, "", now,
	); err != nil {
		t.Errorf("any trust domain: %v", err)
	}
}
