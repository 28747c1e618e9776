// SPDX-License-Identifier: Apache-2.0

package nl80211test

import (
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/nl80211"
	"github.com/airbound/airbound/internal/wireless/wirelesstest"
)

// Events are the sockets that have joined the group "mlme" of one kernel.
type Events struct{ wirelesstest.Events }

// Station sends what the kernel does when it adds or removes a station.
func (e *Events) Station(event nl80211.StationEvent) error {
	attributes, err := EncodeStationEvent(event)
	if err != nil {
		return err
	}
	command := uint8(unix.NL80211_CMD_NEW_STATION)
	if event.Gone {
		command = unix.NL80211_CMD_DEL_STATION
	}
	e.Send(command, attributes)
	return nil
}

// EncodeStationEvent returns the attributes of an event, among them some that nobody asked for.
func EncodeStationEvent(event nl80211.StationEvent) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	out.Uint32(unix.NL80211_ATTR_IFINDEX, event.InterfaceIndex)
	out.Bytes(unix.NL80211_ATTR_MAC, event.MAC[:])
	out.Uint32(unix.NL80211_ATTR_GENERATION, 1)
	out.Nested(unix.NL80211_ATTR_STA_INFO, func(info *netlink.AttributeEncoder) error {
		info.Bytes(unix.NL80211_STA_INFO_STA_FLAGS, stationFlags(true, false, true))
		return nil
	})
	return encode(out)
}
