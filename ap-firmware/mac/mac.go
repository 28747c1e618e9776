// SPDX-License-Identifier: Apache-2.0

// Package mac has MAC addresses as values that can be compared; net.HardwareAddr is a slice.
package mac

import (
	"errors"
	"fmt"
	"strings"
)

// octets is the length of an EUI-48.
const octets = 6

// Address is an EUI-48; the zero value stands for none.
type Address [octets]byte

// ErrMalformed is wrapped by every error about text or octets that are no address.
var ErrMalformed = errors.New("not a MAC address")

// FromOctets copies an address out of a message.
func FromOctets(from []byte) (Address, error) {
	var address Address
	if len(from) != octets {
		return address, fmt.Errorf("%d octets: %w", len(from), ErrMalformed)
	}
	copy(address[:], from)
	return address, nil
}

// StationFromOctets is FromOctets for the address of one station: neither none nor a group's.
func StationFromOctets(from []byte) (Address, error) {
	address, err := FromOctets(from)
	if err != nil {
		return address, err
	}
	if address.IsZero() || address[0]&1 != 0 {
		return Address{}, fmt.Errorf("%s is no station's", address)
	}
	return address, nil
}

// Parse reads six hexadecimal octets with colons, in lower or upper case.
func Parse(text string) (Address, error) {
	const form = "00:00:00:00:00:00"
	var address Address
	if len(text) != len(form) {
		return address, fmt.Errorf("%s: %w", excerpt(text), ErrMalformed)
	}
	for i := range len(form) {
		if form[i] == ':' {
			if text[i] != ':' {
				return Address{}, fmt.Errorf("%s: %w", excerpt(text), ErrMalformed)
			}
			continue
		}
		digit := strings.IndexByte("0123456789abcdef", lower(text[i]))
		if digit < 0 {
			return Address{}, fmt.Errorf("%s: %w", excerpt(text), ErrMalformed)
		}
		address[i/3] = address[i/3]<<4 | byte(digit) //nolint:gosec // 0 to 15
	}
	return address, nil
}

func lower(character byte) byte {
	if character >= 'A' && character <= 'Z' {
		return character + 'a' - 'A'
	}
	return character
}

// excerpt limits what garbage can put into a log.
func excerpt(text string) string {
	const lengthMax = 64
	if len(text) > lengthMax {
		return fmt.Sprintf("%q...", text[:lengthMax])
	}
	return fmt.Sprintf("%q", text)
}

// IsZero reports whether there is no address.
func (a Address) IsZero() bool { return a == Address{} }

// String returns the address in lower case with colons.
func (a Address) String() string {
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3], a[4], a[5])
}

// MarshalText implements encoding.TextMarshaler with String, for JSON logs.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }
