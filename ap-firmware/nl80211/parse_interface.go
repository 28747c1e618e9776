// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"fmt"

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
	// FrequencyMHz is the primary channel's; 0 while there is none.
	FrequencyMHz uint32
	// CenterFrequencyMHz is the whole channel's; it differs from FrequencyMHz from 40 MHz of width on.
	CenterFrequencyMHz uint32
	WidthMHz           uint32
}

// widthsMHz is indexed by NL80211_CHAN_WIDTH_*. For 80+80 MHz both halves count.
var widthsMHz = [...]uint32{
	unix.NL80211_CHAN_WIDTH_20_NOHT: 20, unix.NL80211_CHAN_WIDTH_20: 20, unix.NL80211_CHAN_WIDTH_40: 40,
	unix.NL80211_CHAN_WIDTH_80: 80, unix.NL80211_CHAN_WIDTH_80P80: 160, unix.NL80211_CHAN_WIDTH_160: 160,
	unix.NL80211_CHAN_WIDTH_5: 5, unix.NL80211_CHAN_WIDTH_10: 10, unix.NL80211_CHAN_WIDTH_1: 1,
	unix.NL80211_CHAN_WIDTH_2: 2, unix.NL80211_CHAN_WIDTH_4: 4, unix.NL80211_CHAN_WIDTH_8: 8,
	unix.NL80211_CHAN_WIDTH_16: 16, unix.NL80211_CHAN_WIDTH_320: 320,
}

// ParseInterface parses the attributes of an NL80211_CMD_NEW_INTERFACE.
func ParseInterface(attributes []byte) (Interface, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return Interface{}, malformed("interface", err)
	}
	var (
		parsed Interface
		width  uint32
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
		case unix.NL80211_ATTR_WIPHY_FREQ:
			parsed.FrequencyMHz = decoder.Uint32()
		case unix.NL80211_ATTR_CENTER_FREQ1:
			parsed.CenterFrequencyMHz = decoder.Uint32()
		case unix.NL80211_ATTR_CHANNEL_WIDTH:
			width = decoder.Uint32()
		}
	}
	if err := decoder.Err(); err != nil {
		return Interface{}, malformed("interface "+parsed.Name, err)
	}
	if parsed.FrequencyMHz == 0 {
		return parsed, nil
	}
	if width >= uint32(len(widthsMHz)) {
		return Interface{}, malformed("interface "+parsed.Name, fmt.Errorf("channel width %d is unknown", width))
	}
	parsed.WidthMHz = widthsMHz[width]
	if parsed.CenterFrequencyMHz == 0 {
		parsed.CenterFrequencyMHz = parsed.FrequencyMHz
	}
	return parsed, nil
}
