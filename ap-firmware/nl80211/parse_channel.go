// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// Channel is what a BSS or a link is on; its zero value is none.
type Channel struct {
	// FrequencyMHz is the primary channel's; 0 while there is none.
	FrequencyMHz uint32
	// CenterFrequencyMHz is the whole channel's; it differs from FrequencyMHz from 40 MHz of width on. Of an 80+80 MHz
	// channel it is that of the half with the primary channel, and SecondCenterFrequencyMHz that of the other; 0 for
	// any other width.
	CenterFrequencyMHz, SecondCenterFrequencyMHz uint32
	WidthMHz                                     uint32
}

// widthsMHz is indexed by NL80211_CHAN_WIDTH_*. For 80+80 MHz both halves count.
var widthsMHz = [...]uint32{
	unix.NL80211_CHAN_WIDTH_20_NOHT: 20, unix.NL80211_CHAN_WIDTH_20: 20, unix.NL80211_CHAN_WIDTH_40: 40,
	unix.NL80211_CHAN_WIDTH_80: 80, unix.NL80211_CHAN_WIDTH_80P80: 160, unix.NL80211_CHAN_WIDTH_160: 160,
	unix.NL80211_CHAN_WIDTH_5: 5, unix.NL80211_CHAN_WIDTH_10: 10, unix.NL80211_CHAN_WIDTH_1: 1,
	unix.NL80211_CHAN_WIDTH_2: 2, unix.NL80211_CHAN_WIDTH_4: 4, unix.NL80211_CHAN_WIDTH_8: 8,
	unix.NL80211_CHAN_WIDTH_16: 16, unix.NL80211_CHAN_WIDTH_320: 320,
}

// channelAttributes are those of one channel, of an interface or of a link.
type channelAttributes struct{ frequencyMHz, center1MHz, center2MHz, width uint32 }

func (c *channelAttributes) decode(attribute *netlink.AttributeDecoder) {
	switch attribute.Type() {
	case unix.NL80211_ATTR_WIPHY_FREQ:
		c.frequencyMHz = attribute.Uint32()
	case unix.NL80211_ATTR_CENTER_FREQ1:
		c.center1MHz = attribute.Uint32()
	case unix.NL80211_ATTR_CENTER_FREQ2:
		c.center2MHz = attribute.Uint32()
	case unix.NL80211_ATTR_CHANNEL_WIDTH:
		c.width = attribute.Uint32()
	}
}

func (c *channelAttributes) channel() (Channel, error) {
	if c.frequencyMHz == 0 {
		return Channel{}, nil
	}
	if c.width >= uint32(len(widthsMHz)) {
		return Channel{}, fmt.Errorf("channel width %d is unknown", c.width)
	}
	parsed := Channel{
		FrequencyMHz: c.frequencyMHz, CenterFrequencyMHz: c.center1MHz, WidthMHz: widthsMHz[c.width],
	}
	if parsed.CenterFrequencyMHz == 0 {
		parsed.CenterFrequencyMHz = parsed.FrequencyMHz
	}
	if c.width == unix.NL80211_CHAN_WIDTH_80P80 {
		parsed.SecondCenterFrequencyMHz = c.center2MHz
	}
	return parsed, nil
}
