// SPDX-License-Identifier: Apache-2.0

package nl80211test

import (
	"fmt"
	"slices"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/nl80211"
)

// widthsMHz is indexed by NL80211_CHAN_WIDTH_*; 0 stands for those that are read as the width of another one.
var widthsMHz = []uint32{0, 20, 40, 80, 0, 160, 5, 10, 1, 2, 4, 8, 16, 320}

func encodeInterface(in nl80211.Interface) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	out.Uint32(unix.NL80211_ATTR_IFINDEX, in.Index)
	out.String(unix.NL80211_ATTR_IFNAME, in.Name)
	out.Uint32(unix.NL80211_ATTR_IFTYPE, in.Type)
	out.Uint32(unix.NL80211_ATTR_WIPHY, in.Wiphy)
	if in.FourAddress {
		out.Uint8(unix.NL80211_ATTR_4ADDR, 1)
	}
	out.Bytes(unix.NL80211_ATTR_MAC, in.MAC[:])
	if len(in.SSID) > 0 {
		out.Bytes(unix.NL80211_ATTR_SSID, in.SSID)
	}
	if err := encodeChannel(out, in.Channel()); err != nil {
		return nil, fmt.Errorf("interface %s: %w", in.Name, err)
	}
	if len(in.Links) > 0 {
		out.Nested(unix.NL80211_ATTR_MLO_LINKS, func(list *netlink.AttributeEncoder) error {
			for _, link := range in.Links {
				list.Nested(uint16(link.ID)+1, func(out *netlink.AttributeEncoder) error {
					out.Uint8(unix.NL80211_ATTR_MLO_LINK_ID, link.ID)
					out.Bytes(unix.NL80211_ATTR_MAC, link.MAC[:])
					return encodeChannel(out, link.Channel)
				})
			}
			return nil
		})
	}
	return encode(out)
}

func encodeChannel(out *netlink.AttributeEncoder, in nl80211.Channel) error {
	if in.FrequencyMHz == 0 {
		return nil
	}
	width := slices.Index(widthsMHz, in.WidthMHz)
	if in.SecondCenterFrequencyMHz != 0 {
		width = unix.NL80211_CHAN_WIDTH_80P80
	}
	if width < 0 {
		return fmt.Errorf("no channel is %d MHz wide", in.WidthMHz)
	}
	out.Uint32(unix.NL80211_ATTR_WIPHY_FREQ, in.FrequencyMHz)
	out.Uint32(unix.NL80211_ATTR_CHANNEL_WIDTH, uint32(width))
	out.Uint32(unix.NL80211_ATTR_CENTER_FREQ1, in.CenterFrequencyMHz)
	if in.SecondCenterFrequencyMHz != 0 {
		out.Uint32(unix.NL80211_ATTR_CENTER_FREQ2, in.SecondCenterFrequencyMHz)
	}
	return nil
}

func encodeSurvey(in nl80211.Survey) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	out.Nested(unix.NL80211_ATTR_SURVEY_INFO, func(info *netlink.AttributeEncoder) error {
		info.Uint32(unix.NL80211_SURVEY_INFO_FREQUENCY, in.FrequencyMHz)
		info.Flag(unix.NL80211_SURVEY_INFO_IN_USE, in.InUse)
		if in.ActiveMS != nil {
			info.Uint64(unix.NL80211_SURVEY_INFO_TIME, *in.ActiveMS)
			info.Uint64(unix.NL80211_SURVEY_INFO_TIME_BUSY, in.BusyMS)
			info.Uint64(unix.NL80211_SURVEY_INFO_TIME_RX, in.RXMS)
			info.Uint64(unix.NL80211_SURVEY_INFO_TIME_TX, in.TXMS)
		}
		return nil
	})
	return encode(out)
}

// EncodeStation returns what the kernel sends for a station, with 32-bit copies of its byte counters.
func EncodeStation(in nl80211.Station) ([]byte, error) {
	out := netlink.NewAttributeEncoder()
	out.Bytes(unix.NL80211_ATTR_MAC, in.MAC[:])
	out.Nested(unix.NL80211_ATTR_STA_INFO, stationInfo(in))
	switch {
	case in.MultiLink:
		out.Bytes(unix.NL80211_ATTR_MLD_ADDR, in.MAC[:])
		out.Nested(unix.NL80211_ATTR_MLO_LINKS, func(list *netlink.AttributeEncoder) error {
			for _, link := range in.Links {
				list.Nested(uint16(link.ID)+1, stationLink(link))
			}
			return nil
		})
	case len(in.Links) > 0:
		out.Uint8(unix.NL80211_ATTR_MLO_LINK_ID, in.Links[0].ID)
	}
	return encode(out)
}

func stationLink(in nl80211.StationLink) func(*netlink.AttributeEncoder) error {
	return func(out *netlink.AttributeEncoder) error {
		out.Uint8(unix.NL80211_ATTR_MLO_LINK_ID, in.ID)
		if !in.MAC.IsZero() {
			out.Bytes(unix.NL80211_ATTR_MAC, in.MAC[:])
		}
		if in.Info != nil {
			out.Nested(unix.NL80211_ATTR_STA_INFO, stationInfo(*in.Info))
		}
		return nil
	}
}

func stationInfo(in nl80211.Station) func(*netlink.AttributeEncoder) error {
	return func(info *netlink.AttributeEncoder) error {
		info.Uint32(unix.NL80211_STA_INFO_CONNECTED_TIME, in.ConnectedSeconds)
		info.Uint32(unix.NL80211_STA_INFO_RX_BYTES, truncated(in.RXBytes))
		info.Uint32(unix.NL80211_STA_INFO_TX_BYTES, truncated(in.TXBytes))
		info.Uint64(unix.NL80211_STA_INFO_RX_BYTES64, in.RXBytes)
		info.Uint64(unix.NL80211_STA_INFO_TX_BYTES64, in.TXBytes)
		if in.SignalDBM != nil {
			info.Int8(unix.NL80211_STA_INFO_SIGNAL, *in.SignalDBM)
		}
		info.Nested(unix.NL80211_STA_INFO_TX_BITRATE, bitrate(in.TXBitrate))
		info.Nested(unix.NL80211_STA_INFO_RX_BITRATE, bitrate(in.RXBitrate))
		info.Uint32(unix.NL80211_STA_INFO_RX_PACKETS, in.RXPackets)
		info.Uint32(unix.NL80211_STA_INFO_TX_PACKETS, in.TXPackets)
		info.Uint32(unix.NL80211_STA_INFO_TX_RETRIES, in.TXRetries)
		info.Uint32(unix.NL80211_STA_INFO_TX_FAILED, in.TXFailed)
		if in.CountsTIDs {
			info.Nested(unix.NL80211_STA_INFO_TID_STATS, tids(in))
		}
		if in.RXAirtimeUS != nil {
			info.Uint64(unix.NL80211_STA_INFO_RX_DURATION, *in.RXAirtimeUS)
		}
		if in.TXAirtimeUS != nil {
			info.Uint64(unix.NL80211_STA_INFO_TX_DURATION, *in.TXAirtimeUS)
		}
		info.Bytes(unix.NL80211_STA_INFO_STA_FLAGS, stationFlags(in.Associated, in.Authorized, in.WMM))
		return nil
	}
}

// tids are the counters of every traffic identifier and of frames without one. What came as video has the second of its
// two, and what came as voice the first.
func tids(in nl80211.Station) func(*netlink.AttributeEncoder) error {
	const total, video, voice = 17, 5, 6
	return func(list *netlink.AttributeEncoder) error {
		for tid := range total {
			list.Nested(uint16(tid)+1, func(counters *netlink.AttributeEncoder) error {
				received := map[int]uint64{video: in.RXVideo, voice: in.RXVoice}[tid]
				counters.Uint64(unix.NL80211_TID_STATS_RX_MSDU, received)
				counters.Uint64(unix.NL80211_TID_STATS_TX_MSDU, 1)
				return nil
			})
		}
		return nil
	}
}

// truncated is how the kernel makes 32 bits of a counter.
func truncated(bytes uint64) uint32 { return uint32(bytes) } //nolint:gosec // see above

func bitrate(in nl80211.Bitrate) func(*netlink.AttributeEncoder) error {
	return func(rate *netlink.AttributeEncoder) error {
		rate.Uint32(unix.NL80211_RATE_INFO_BITRATE32, in.Kbps/100)
		if in.Kbps/100 <= 0xffff {
			rate.Uint16(unix.NL80211_RATE_INFO_BITRATE, uint16(in.Kbps/100)) //nolint:gosec // fits
		}
		attributes := map[nl80211.Format]uint16{
			nl80211.FormatHT: unix.NL80211_RATE_INFO_MCS, nl80211.FormatVHT: unix.NL80211_RATE_INFO_VHT_MCS,
			nl80211.FormatHE: unix.NL80211_RATE_INFO_HE_MCS, nl80211.FormatEHT: unix.NL80211_RATE_INFO_EHT_MCS,
		}
		if attribute, ok := attributes[in.Format]; ok {
			rate.Uint8(attribute, 7)
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
