// SPDX-License-Identifier: Apache-2.0

// Package feed makes a feed for OpenWrt: what opkg and apk read to find packages, with signatures that both verify. It
// takes bytes and returns bytes; the same packages and keys give the same bytes.
package feed

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// ErrKey is returned for what is no secret key.
var ErrKey = errors.New("not a secret key")

const (
	algorithm        = "Ed"
	keyDerivation    = "BK" // bcrypt's, with no rounds here: such a key has no passphrase
	fingerprintBytes = 8
	roundsBytes      = 4
	saltBytes        = 16
	checksumBytes    = 8
	commentPrefix    = "untrusted comment: "
	secretKeyBytes   = len(algorithm) + len(keyDerivation) + roundsBytes + saltBytes + checksumBytes +
		fingerprintBytes + ed25519.PrivateKeySize
)

// UsignKey signs as OpenWrt's usign does, whose format is that of OpenBSD's signify: opkg has one verify.
type UsignKey struct {
	fingerprint [fingerprintBytes]byte
	key         ed25519.PrivateKey
}

// NewUsignKey makes a key of random bytes, of which the first 8 name it.
func NewUsignKey(random [fingerprintBytes + ed25519.SeedSize]byte) UsignKey {
	made := UsignKey{key: ed25519.NewKeyFromSeed(random[fingerprintBytes:])}
	copy(made.fingerprint[:], random[:])
	return made
}

// ParseUsignKey reads the file of a secret key, as Secret or `usign -G -s` writes it.
func ParseUsignKey(text []byte) (UsignKey, error) {
	_, encoded, _ := bytes.Cut(text, []byte("\n"))
	decoded, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(encoded)))
	if err != nil {
		return UsignKey{}, fmt.Errorf("%w: %w", ErrKey, err)
	}
	if len(decoded) != secretKeyBytes || !bytes.HasPrefix(decoded, []byte(algorithm+keyDerivation)) {
		return UsignKey{}, fmt.Errorf("%w of usign's", ErrKey)
	}
	rest := decoded[len(algorithm)+len(keyDerivation):]
	if !bytes.Equal(rest[:roundsBytes], make([]byte, roundsBytes)) {
		return UsignKey{}, fmt.Errorf("%w without a passphrase", ErrKey)
	}
	rest = rest[roundsBytes+saltBytes:]
	secret := rest[checksumBytes+fingerprintBytes:]
	sum := sha512.Sum512(secret)
	if !bytes.Equal(rest[:checksumBytes], sum[:checksumBytes]) {
		return UsignKey{}, fmt.Errorf("%w: its checksum is wrong", ErrKey)
	}
	made := UsignKey{key: ed25519.NewKeyFromSeed(secret[:ed25519.SeedSize])}
	copy(made.fingerprint[:], rest[checksumBytes:])
	return made, nil
}

// Fingerprint is the name of the file that opkg finds the public key by, in /etc/opkg/keys.
func (k UsignKey) Fingerprint() string { return hex.EncodeToString(k.fingerprint[:]) }

// Secret is the content of the secret key's file.
func (k UsignKey) Secret() []byte {
	sum := sha512.Sum512(k.key)
	content := make([]byte, roundsBytes+saltBytes, secretKeyBytes)
	content = append(content, sum[:checksumBytes]...)
	content = append(append(content, k.fingerprint[:]...), k.key...)
	return k.file("private key", []byte(algorithm+keyDerivation), content)
}

// Public is the content of the public key's file.
func (k UsignKey) Public() []byte {
	return k.file("public key", []byte(algorithm), k.fingerprint[:], k.key[ed25519.SeedSize:])
}

// Sign returns the content of the signature's file.
func (k UsignKey) Sign(message []byte) []byte {
	return k.file("signed by key", []byte(algorithm), k.fingerprint[:], ed25519.Sign(k.key, message))
}

func (k UsignKey) file(what string, parts ...[]byte) []byte {
	encoded := base64.StdEncoding.EncodeToString(bytes.Join(parts, nil))
	return []byte(strings.Join([]string{commentPrefix + what + " " + k.Fingerprint(), encoded, ""}, "\n"))
}
