// SPDX-License-Identifier: Apache-2.0

// Package nl80211 reads what the kernel knows of an access point's stations and channel over generic netlink.
//
// The files parse*.go are pure: the attributes of one message in, one value out. Names of commands and attributes are
// those of Linux's include/uapi/linux/nl80211.h. (github.com/mdlayher/wifi reads neither RX_DURATION nor TX_DURATION.)
package nl80211

import (
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
)

// ErrMalformed is wrapped by every error about a message that the kernel sent.
var ErrMalformed = errors.New("malformed nl80211 message")

// NL80211_ATTR_*.
const (
	attrIfindex      = 3
	attrIfname       = 4
	attrIftype       = 5
	attrMAC          = 6
	attrStaInfo      = 21
	attrWiphyFreq    = 38
	attrSSID         = 52
	attrSurveyInfo   = 84
	attrChannelWidth = 159
	attrCenterFreq1  = 160
)

func malformed(what string, err error) error {
	return fmt.Errorf("parse %s: %w: %w", what, ErrMalformed, err)
}

// decodeMAC stores six octets as text, lower case with colons.
func decodeMAC(mac *string) func([]byte) error {
	return func(octets []byte) error {
		if len(octets) != 6 {
			return fmt.Errorf("MAC address has %d octets", len(octets))
		}
		*mac = fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x",
			octets[0], octets[1], octets[2], octets[3], octets[4], octets[5])
		return nil
	}
}

// nested adapts a function that walks attributes to what the decoder of the level above calls.
func nested(walk func(*netlink.AttributeDecoder)) func(*netlink.AttributeDecoder) error {
	return func(decoder *netlink.AttributeDecoder) error {
		walk(decoder)
		return nil
	}
}
