// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"errors"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// StationEvent is a change of the kernel's station table.
type StationEvent struct {
	InterfaceIndex uint32
	MAC            mac.Address
	// Gone is set if the station was removed. One that was added is associated, and not authorized yet: the kernel
	// reports no authorization.
	Gone bool
}

// ParseStationEvent parses a message of the group "mlme"; ok is false for all but NL80211_CMD_NEW_STATION and
// NL80211_CMD_DEL_STATION.
func ParseStationEvent(command uint8, attributes []byte) (event StationEvent, ok bool, err error) {
	if command != unix.NL80211_CMD_NEW_STATION && command != unix.NL80211_CMD_DEL_STATION {
		return StationEvent{}, false, nil
	}
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return StationEvent{}, false, malformed("station event", err)
	}
	parsed := StationEvent{Gone: command == unix.NL80211_CMD_DEL_STATION}
	for decoder.Next() {
		switch decoder.Type() {
		case unix.NL80211_ATTR_IFINDEX:
			parsed.InterfaceIndex = decoder.Uint32()
		case unix.NL80211_ATTR_MAC:
			decoder.Do(decodeMAC(&parsed.MAC))
		}
	}
	if err := decoder.Err(); err != nil {
		return StationEvent{}, false, malformed("station event", err)
	}
	if parsed.MAC.IsZero() || parsed.InterfaceIndex == 0 {
		return StationEvent{}, false, malformed("station event", errors.New("no MAC address or no interface"))
	}
	return parsed, true, nil
}
