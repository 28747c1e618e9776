// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"crypto/sha256"
	"slices"
)

// Sign returns a datagram with the right HMAC.
func Sign(octets []byte, key [sha256.Size]byte) []byte {
	return append(slices.Clone(octets[:datagramMACAt]), sum(octets[:datagramMACAt], key)...)
}
