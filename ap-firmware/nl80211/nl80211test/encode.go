// SPDX-License-Identifier: Apache-2.0

package nl80211test

import (
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"

	"github.com/airbound/airbound/ap-firmware/nl80211"
)

// widthsMHz is indexed by NL80211_CHAN_WIDTH_*; 0 takes no part, since 80+80 reads as 160.
var widthsMHz = []uint32{0, 20, 40, 80, 0, 160, 5, 10, 1, 2, 4, 8, 16, 320}

func encodeInterface(in nl80211.Interface) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	out.Uint32(3, in.Index)
	out.String(4, in.Name)
	out.Uint32(5, in.Type)
	out.Bytes(6, macOctets(in.MAC))
	if len(in.SSID) > 0 {
		out.Bytes(52, in.SSID)
	}
	if in.FrequencyMHz != 0 {
		width := slices.Index(widthsMHz, in.WidthMHz)
		if width < 0 {
			return nil, fmt.Errorf("interface %s: no channel is %d MHz wide", in.Name, in.WidthMHz)
		}
		out.Uint32(38, in.FrequencyMHz)
		out.Uint32(159, uint32(width)) //nolint:gosec // an index
		out.Uint32(160, in.CenterFrequencyMHz)
	}
	return encode(out)
}

func encodeSurvey(in nl80211.Survey) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	out.Nested(84, func(info *netlink.AttributeEncoder) error {
		info.Uint32(1, in.FrequencyMHz)
		info.Flag(3, in.InUse)
		if in.ActiveMS != nil {
			info.Uint64(4, *in.ActiveMS)
			info.Uint64(5, in.BusyMS)
			info.Uint64(7, in.RXMS)
			info.Uint64(8, in.TXMS)
		}
		return nil
	})
	return encode(out)
}

// EncodeStation is what the kernel sends for a station, with 32-bit copies of its byte counters.
func EncodeStation(in nl80211.Station) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	out.Bytes(6, macOctets(in.MAC))
	out.Nested(21, func(info *netlink.AttributeEncoder) error {
		info.Uint32(16, in.ConnectedSeconds)
		info.Uint32(2, uint32(in.RXBytes)) //nolint:gosec // the kernel cuts it as well
		info.Uint32(3, uint32(in.TXBytes)) //nolint:gosec // the kernel cuts it as well
		info.Uint64(23, in.RXBytes)
		info.Uint64(24, in.TXBytes)
		if in.SignalDBM != nil {
			info.Int8(7, *in.SignalDBM)
		}
		info.Nested(8, bitrate(in.TXBitrate))
		info.Nested(14, bitrate(in.RXBitrate))
		info.Uint32(9, in.RXPackets)
		info.Uint32(10, in.TXPackets)
		info.Uint32(11, in.TXRetries)
		info.Uint32(12, in.TXFailed)
		if in.RXAirtimeUS != nil {
			info.Uint64(32, *in.RXAirtimeUS)
		}
		if in.TXAirtimeUS != nil {
			info.Uint64(39, *in.TXAirtimeUS)
		}
		info.Bytes(17, stationFlags(in.Associated))
		return nil
	})
	return encode(out)
}

func bitrate(in nl80211.Bitrate) func(*netlink.AttributeEncoder) error {
	return func(rate *netlink.AttributeEncoder) error {
		rate.Uint32(5, in.Kbps/100)
		if in.Kbps/100 <= 0xffff {
			rate.Uint16(1, uint16(in.Kbps/100)) //nolint:gosec // fits
		}
		if in.Aggregated {
			rate.Uint8(2, 7)
		}
		return nil
	}
}

func encode(out *netlink.AttributeEncoder) ([]byte, error) {
	attributes, err := out.Encode()
	if err != nil {
		return nil, fmt.Errorf("encode attributes: %w", err)
	}
	return attributes, nil
}
