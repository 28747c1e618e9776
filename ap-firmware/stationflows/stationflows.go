// SPDX-License-Identifier: Apache-2.0

// Package stationflows is what an access point decides about the access category of the packets that it sends to its
// stations: which of them go as video, and until when.
//
// It is pure: commands come in, flows go out; the time is a parameter. Package tcbpf is its edge.
package stationflows

import (
	"net/netip"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// Flow is the packets from an address to a station, which go as video.
type Flow struct {
	Station mac.Address
	Address netip.Addr
}
