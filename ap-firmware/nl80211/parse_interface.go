// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// Interface is one wireless network interface.
type Interface struct {
	Index uint32
	Name  string
	// MAC is the BSSID if the interface is an access point.
	MAC mac.Address
	// SSID is empty while no BSS is up.
	SSID []byte
	// Wiphy is the radio.
	Wiphy uint32
	// FourAddress is set for the interface of a WDS peer, whose frames have four addresses: behind it are other hosts.
	FourAddress bool
	// Type is one of NL80211_IFTYPE_*.
	Type uint32
	// The channel's frequencies, see Channel; all 0 for a multi-link device, whose Links have one each.
	FrequencyMHz, CenterFrequencyMHz, SecondCenterFrequencyMHz, WidthMHz uint32
	// Links are those of a multi-link device, ascending; empty if the interface is none. MAC is then the device's
	// address.
	Links []Link
}

// ParseInterface parses the attributes of an NL80211_CMD_NEW_INTERFACE.
func ParseInterface(attributes []byte) (Interface, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return Interface{}, malformed("interface", err)
	}
	var (
		parsed  Interface
		channel channelAttributes
	)
	for decoder.Next() {
		switch decoder.Type() {
		case unix.NL80211_ATTR_IFINDEX:
			parsed.Index = decoder.Uint32()
		case unix.NL80211_ATTR_IFNAME:
			parsed.Name = decoder.String()
		case unix.NL80211_ATTR_MAC:
			decoder.Do(decodeMAC(&parsed.MAC))
		case unix.NL80211_ATTR_SSID:
			parsed.SSID = decoder.Bytes()
		case unix.NL80211_ATTR_WIPHY:
			parsed.Wiphy = decoder.Uint32()
		case unix.NL80211_ATTR_4ADDR:
			parsed.FourAddress = decoder.Uint8() != 0
		case unix.NL80211_ATTR_IFTYPE:
			parsed.Type = decoder.Uint32()
		case unix.NL80211_ATTR_MLO_LINKS:
			decoder.Nested(parsed.decodeLinks)
		default:
			channel.decode(decoder)
		}
	}
	if err := decoder.Err(); err != nil {
		return Interface{}, malformed("interface "+parsed.Name, err)
	}
	found, err := channel.channel()
	if err != nil {
		return Interface{}, malformed("interface "+parsed.Name, err)
	}
	parsed.FrequencyMHz, parsed.WidthMHz = found.FrequencyMHz, found.WidthMHz
	parsed.CenterFrequencyMHz = found.CenterFrequencyMHz
	parsed.SecondCenterFrequencyMHz = found.SecondCenterFrequencyMHz
	return parsed, nil
}

// Channel returns the channel; none for a multi-link device.
func (i *Interface) Channel() Channel {
	return Channel{i.FrequencyMHz, i.CenterFrequencyMHz, i.SecondCenterFrequencyMHz, i.WidthMHz}
}
