// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"crypto/x509"
	"net/url"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/identity"
)

func TestIDs(t *testing.T) {
	t.Parallel()
	want := identity.ID{TrustDomain: "air.example_1", Role: "terminal", Name: "Phone.7-a_b"}
	const uri = "spiffe://air.example_1/terminal/Phone.7-a_b"
	if got, err := identity.ParseID(uri); err != nil || got != want || got.String() != uri {
		t.Errorf("%v, %v", got, err)
	}
	for _, uri := range []string{
		"", "spiffe://", "spiffe://td", "spiffe://td/terminal", "spiffe://td/terminal/", "spiffe:///terminal/x",
		"spiffe://td/terminal/x/y", "spiffe://td//x", "https://td/terminal/x", "SPIFFE://td/terminal/x",
		"spiffe://TD/terminal/x", "spiffe://td:1/terminal/x", "spiffe://u@td/terminal/x", "spiffe://td/terminal/x?q",
		"spiffe://td/terminal/x#f", "spiffe://td/terminal/02:00", "spiffe://td/terminal/..", "spiffe://td/./x",
		"spiffe://td/terminal/%41", "spiffe://td/terminal/ä", "spiffe://" + strings.Repeat("a", 256) + "/terminal/x",
		"spiffe://td/terminal/" + strings.Repeat("a", 2048),
	} {
		if got, err := identity.ParseID(uri); err == nil {
			t.Errorf("%q was read as %v", uri, got)
		}
	}
}

func TestACertificateHasExactlyOneURI(t *testing.T) {
	t.Parallel()
	uri := func(path string) *url.URL { return &url.URL{Scheme: "spiffe", Host: "td", Path: path} }
	tests := map[string]struct {
		uris []*url.URL
		want string
	}{
		"none":  {nil, "the certificate has no URI"},
		"two":   {[]*url.URL{uri("/terminal/x"), uri("/terminal/x")}, "the certificate has 2 URIs, want one"},
		"wrong": {[]*url.URL{uri("/terminal")}, "is not spiffe://TRUST-DOMAIN/ROLE/NAME"},
		"one":   {[]*url.URL{uri("/terminal/x")}, ""},
	}
	for name, test := range tests {
		_, err := identity.Of(&x509.Certificate{URIs: test.uris})
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseID(f *testing.F) {
	f.Add("spiffe://td/terminal/x")
	f.Add("spiffe://td/terminal/..")
	f.Fuzz(func(t *testing.T, uri string) {
		if id, err := identity.ParseID(uri); err == nil && id.String() != uri {
			t.Errorf("%q was read as %q", uri, id)
		}
	})
}
