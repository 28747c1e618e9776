// SPDX-License-Identifier: Apache-2.0

package identity_test

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/identity"
)

var pinned = &x509.Certificate{Raw: []byte("an authority")}

// encoded is a token of that version for the authority above.
func encoded(version byte) string {
	fingerprint := sha256.Sum256(pinned.Raw)
	octets := append([]byte{version}, bytes.Repeat([]byte{0xfb}, 16)...)
	return base64.RawURLEncoding.EncodeToString(append(octets, fingerprint[:]...))
}

func TestATokenNamesItsAuthority(t *testing.T) {
	t.Parallel()
	text := encoded(1)
	if len(text) != 66 || !strings.ContainsAny(text, "-_") {
		t.Fatalf("%q is no good example", text)
	}
	token, err := identity.ParseToken(" " + text + "\r\n")
	if err != nil || token.Secret() != text {
		t.Fatalf("%v, %v", token, err)
	}
	other := &x509.Certificate{Raw: []byte("another")}
	if found, err := token.FindAuthority([]*x509.Certificate{other, pinned}); err != nil || found != pinned {
		t.Errorf("%v, %v", found, err)
	}
	if _, err := token.FindAuthority([]*x509.Certificate{other}); !errors.Is(err, identity.ErrNotPinned) {
		t.Errorf("another authority: %v", err)
	}
	if _, err := token.FindAuthority(nil); !errors.Is(err, identity.ErrNotPinned) {
		t.Errorf("no certificate: %v", err)
	}
	if logged := fmt.Sprintf("%v %s", token, token); strings.Contains(logged, text) {
		t.Errorf("the log has the token: %s", logged)
	}
}

func TestWrongTokens(t *testing.T) {
	t.Parallel()
	good := encoded(1)
	for text, want := range map[string]string{
		"":                           "the token has 0 characters, want 66",
		good[1:]:                     "the token has 65 characters, want 66",
		good + "A":                   "the token has 67 characters, want 66",
		good[:30] + "+" + good[31:]:  "the token is not base64url",
		good[:30] + "\n" + good[31:]: "the token is not base64url",
		good[:65] + "=":              "the token is not base64url",
		// 66 characters have four bits more than 49 octets.
		good[:65] + "B": "the token is not base64url",
		encoded(2):      "the token has version 2, this program reads 1",
		encoded(0):      "the token has version 0, this program reads 1",
	} {
		_, err := identity.ParseToken(text)
		if err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(encoded(1))
	f.Add(encoded(2))
	f.Add(strings.Repeat("_", 66))
	f.Fuzz(func(t *testing.T, text string) {
		token, err := identity.ParseToken(text)
		if err != nil {
			if len(text) > 8 && strings.Contains(err.Error(), text) {
				t.Errorf("the error has the token: %v", err)
			}
			return
		}
		octets, err := base64.RawURLEncoding.DecodeString(token.Secret())
		if err != nil || len(octets) != 49 || octets[0] != 1 || strings.TrimSpace(text) != token.Secret() ||
			base64.RawURLEncoding.EncodeToString(octets) != token.Secret() {
			t.Errorf("%q was read as %q", text, token.Secret())
		}
	})
}
