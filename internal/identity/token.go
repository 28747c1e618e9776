// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
)

// A token is one octet of version, 16 random octets, and the SHA-256 of the authority's certificate in DER.
const (
	tokenVersion     = 1
	tokenRandomBytes = 16
	tokenBytes       = 1 + tokenRandomBytes + sha256.Size
)

// Token lets a device enrol once. It is a secret until it has been used.
type Token struct {
	text        string
	fingerprint [sha256.Size]byte
}

// ParseToken reads a token as `airbound enroll` printed it: base64url without padding. White space around it, as a
// file has, is removed. Errors do not contain the token.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	encoding := base64.RawURLEncoding.Strict()
	if want := encoding.EncodedLen(tokenBytes); len(text) != want {
		return Token{}, fmt.Errorf("the token has %d characters, want %d", len(text), want)
	}
	octets, err := encoding.DecodeString(text)
	// The decoder skips line ends.
	if err != nil || len(octets) != tokenBytes {
		return Token{}, errors.New("the token is not base64url")
	}
	if octets[0] != tokenVersion {
		return Token{}, fmt.Errorf("the token has version %d, this program reads %d", octets[0], tokenVersion)
	}
	return Token{text, [sha256.Size]byte(octets[1+tokenRandomBytes:])}, nil
}

// Secret is the text of the token, for the controller alone.
func (t Token) Secret() string { return t.text }

// String stands for the token in a log.
func (t Token) String() string { return "(secret)" }

// ErrNotPinned means that a server is not certified by the authority that the token names.
var ErrNotPinned = errors.New("no certificate that the server sent has the fingerprint in the token: " +
	"this is another controller, or the token is of another one")

// FindAuthority returns the authority that the token names among the certificates that a server sent.
func (t Token) FindAuthority(sent []*x509.Certificate) (*x509.Certificate, error) {
	for _, certificate := range sent {
		fingerprint := sha256.Sum256(certificate.Raw)
		if bytes.Equal(fingerprint[:], t.fingerprint[:]) {
			return certificate, nil
		}
	}
	return nil, ErrNotPinned
}
