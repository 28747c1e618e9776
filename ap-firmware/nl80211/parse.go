// SPDX-License-Identifier: Apache-2.0

// Package nl80211 reads an access point's stations and channel from the kernel over generic netlink.
//
// The files parse*.go are pure: the attributes of one message in, one value out. Names of commands and attributes are
// those of Linux's include/uapi/linux/nl80211.h. (github.com/mdlayher/wifi reads neither the station flags nor the
// durations, and does not check the length of an attribute.)
package nl80211

import (
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// ErrMalformed is wrapped by every error about a message that the kernel sent.
var ErrMalformed = errors.New("malformed nl80211 message")

func malformed(what string, err error) error {
	return fmt.Errorf("parse %s: %w: %w", what, ErrMalformed, err)
}

// decodeMAC stores six octets.
func decodeMAC(address *mac.Address) func([]byte) error {
	return func(octets []byte) (err error) {
		*address, err = mac.FromOctets(octets)
		return err
	}
}

// nested adapts a function that walks attributes to what the decoder of the level above calls.
func nested(walk func(*netlink.AttributeDecoder)) func(*netlink.AttributeDecoder) error {
	return func(decoder *netlink.AttributeDecoder) error {
		walk(decoder)
		return nil
	}
}
