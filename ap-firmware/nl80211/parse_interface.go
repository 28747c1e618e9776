// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"fmt"

	"github.com/mdlayher/netlink"
)

// Interface is one wireless network interface.
type Interface struct {
	Index uint32
	Name  string
	// MAC is the BSSID if the interface is an access point.
	MAC string
	// SSID is empty while no BSS is up.
	SSID []byte
	// Type is NL80211_IFTYPE_*; see TypeAP.
	Type uint32
	// FrequencyMHz is the primary channel's; 0 while there is none.
	FrequencyMHz uint32
	// CenterFrequencyMHz is the whole channel's; it differs from FrequencyMHz from 40 MHz of width on.
	CenterFrequencyMHz uint32
	WidthMHz           uint32
}

// TypeAP is NL80211_IFTYPE_AP.
const TypeAP = 3

// widthsMHz is indexed by NL80211_CHAN_WIDTH_*. 80+80 MHz counts with both halves.
var widthsMHz = [...]uint32{20, 20, 40, 80, 160, 160, 5, 10, 1, 2, 4, 8, 16, 320}

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
		case attrIfindex:
			parsed.Index = decoder.Uint32()
		case attrIfname:
			parsed.Name = decoder.String()
		case attrMAC:
			decoder.Do(decodeMAC(&parsed.MAC))
		case attrSSID:
			parsed.SSID = decoder.Bytes()
		case attrIftype:
			parsed.Type = decoder.Uint32()
		case attrWiphyFreq:
			parsed.FrequencyMHz = decoder.Uint32()
		case attrCenterFreq1:
			parsed.CenterFrequencyMHz = decoder.Uint32()
		case attrChannelWidth:
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
