// SPDX-License-Identifier: Apache-2.0

package applications

import (
	"strconv"
	"strings"
)

// dscpMax is the largest differentiated services code point: it has 6 bits (RFC 2474).
const dscpMax = 63

// dscpNames are code points with a name of their own: low-priority data (RFC 8622), and voice (RFC 3246, RFC 5865).
var dscpNames = map[string]uint8{"LE": 1, "EF": 46, "VA": 44}

// parseDSCP reads a code point as a number or by its name, in either case: CS1 to CS7 (RFC 2474), AF11 to AF43 (RFC
// 2597) or one of dscpNames. 0 is none: packets without a mark have it.
func parseDSCP(text string) (uint8, bool) {
	name := strings.ToUpper(text)
	if dscp, named := dscpNames[name]; named {
		return dscp, true
	}
	// Selectors are the upper three bits. Assured forwarding has four classes there, and three precedences of dropping
	// in the next two bits.
	const selector, precedence, classes, precedences = 8, 2, 4, 3
	if digits, found := strings.CutPrefix(name, "CS"); found {
		number, err := strconv.ParseUint(digits, 10, 3)
		return uint8(number * selector), err == nil && len(digits) == 1 && number > 0
	}
	if digits, found := strings.CutPrefix(name, "AF"); found {
		if len(digits) != 2 || digits[0] < '1' || digits[0] > '0'+classes ||
			digits[1] < '1' || digits[1] > '0'+precedences {
			return 0, false
		}
		return (digits[0]-'0')*selector + (digits[1]-'0')*precedence, true
	}
	number, err := strconv.ParseUint(text, 10, 8)
	return uint8(number), err == nil && number > 0 && number <= dscpMax
}
