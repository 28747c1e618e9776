// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// Station is one entry of the kernel's station table. Directions are the access point's: RX is uplink.
type Station struct {
	MAC mac.Address
	// Associated is false for a station that is only authenticated.
	Associated bool
	// Authorized is false for a station that may not send data yet: in a protected network it has no keys.
	Authorized bool
	// WMM is whether the station and the access point agreed on WMM (802.11e) when it associated.
	WMM bool
	// SignalDBM is nil if the driver does not report it.
	SignalDBM            *int8
	RXBytes, TXBytes     uint64
	RXPackets, TXPackets uint32
	TXRetries, TXFailed  uint32
	// CountsTIDs is whether the driver counts by traffic identifier; then RXVideo and RXVoice are what came with those
	// of video, 4 and 5, and of voice, 6 and 7 (IEEE Std 802.11-2020, table 10-1): MSDUs.
	CountsTIDs           bool
	RXVideo, RXVoice     uint64
	RXBitrate, TXBitrate Bitrate
	// RXAirtimeUS and TXAirtimeUS are nil if the driver does not report them. mac80211 reports 0 for a driver that does
	// not measure.
	RXAirtimeUS, TXAirtimeUS *uint64
	ConnectedSeconds         uint32
	// VLAN is the interface that the station is on, if it is not the BSS's own; FourAddress is that interface's.
	VLAN        string
	FourAddress bool
	// MultiLink is whether the station is a multi-link device (802.11be): MAC is then the device's address.
	MultiLink bool
	// Links are those that the kernel names, ascending; of a station that is no such device, the one that it is on.
	Links []StationLink
}

// Bitrate is that of the last frame; zero if the driver does not report it.
type Bitrate struct {
	Kbps   uint32
	Format Format
}

// Aggregated returns whether frames at this rate may be aggregated.
func (b Bitrate) Aggregated() bool { return b.Format != FormatLegacy }

// Format is the PHY's of a rate.
type Format uint8

// Of the standards before 802.11n, or of no rate at all; of 802.11n, ac, ax and be.
const (
	FormatLegacy Format = iota
	FormatHT
	FormatVHT
	FormatHE
	FormatEHT
)

// rateUnitKbps is the unit of NL80211_RATE_INFO_BITRATE.
const rateUnitKbps = 100

// Bits of the station flags.
const (
	flagAuthorized = 1 << unix.NL80211_STA_FLAG_AUTHORIZED
	flagAssociated = 1 << unix.NL80211_STA_FLAG_ASSOCIATED
	flagWMM        = 1 << unix.NL80211_STA_FLAG_WME
)

// ParseStation parses the attributes of an NL80211_CMD_NEW_STATION.
func ParseStation(attributes []byte) (Station, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return Station{}, malformed("station", err)
	}
	// A driver that reports no flags lists only associated stations; whether they are authorized is not known then.
	parsed := Station{Associated: true, Authorized: true}
	var device mac.Address
	counted := false
	associatedOn := uint8(linksMax)
	for decoder.Next() {
		switch decoder.Type() {
		case unix.NL80211_ATTR_MAC:
			decoder.Do(decodeMAC(&parsed.MAC))
		case unix.NL80211_ATTR_STA_INFO:
			decoder.Nested(func(info *netlink.AttributeDecoder) error {
				counted = parsed.decode(info) || counted
				return nil
			})
		case unix.NL80211_ATTR_MLD_ADDR:
			decoder.Do(decodeMAC(&device))
		case unix.NL80211_ATTR_MLO_LINK_ID:
			associatedOn = decoder.Uint8()
		case unix.NL80211_ATTR_MLO_LINKS:
			parsed.MultiLink = true
			decoder.Nested(parsed.decodeLinks)
		}
	}
	if err := decoder.Err(); err != nil {
		return Station{}, malformed("station "+parsed.MAC.String(), err)
	}
	if parsed.MAC.IsZero() {
		return Station{}, malformed("station", errors.New("no MAC address"))
	}
	parsed.completeLinks(device, associatedOn)
	if !counted {
		parsed.sumLinks()
	}
	return parsed, nil
}

// completeLinks takes over the address of the device, and the link that the station associated on if no more is known.
func (s *Station) completeLinks(device mac.Address, associatedOn uint8) {
	s.MultiLink = s.MultiLink || !device.IsZero()
	if len(s.Links) == 0 && associatedOn < linksMax {
		s.Links = []StationLink{{ID: associatedOn}}
		if s.MultiLink && device != s.MAC {
			s.Links[0].MAC = s.MAC
		}
	}
	if !device.IsZero() {
		s.MAC = device
	}
}

// decode returns whether there is anything that counts bytes or packets.
func (s *Station) decode(info *netlink.AttributeDecoder) (counted bool) {
	var has64 struct{ rx, tx bool }
	for info.Next() {
		switch info.Type() {
		case unix.NL80211_STA_INFO_RX_BYTES64, unix.NL80211_STA_INFO_TX_BYTES64, unix.NL80211_STA_INFO_RX_BYTES,
			unix.NL80211_STA_INFO_TX_BYTES, unix.NL80211_STA_INFO_RX_PACKETS, unix.NL80211_STA_INFO_TX_PACKETS:
			counted = true
		}
		switch info.Type() {
		case unix.NL80211_STA_INFO_RX_BYTES64:
			s.RXBytes, has64.rx = info.Uint64(), true
		case unix.NL80211_STA_INFO_TX_BYTES64:
			s.TXBytes, has64.tx = info.Uint64(), true
		case unix.NL80211_STA_INFO_RX_BYTES: // 32 bits: wraps after 4 GiB.
			if bytes := decodeBytes(info); !has64.rx {
				s.RXBytes = bytes
			}
		case unix.NL80211_STA_INFO_TX_BYTES:
			if bytes := decodeBytes(info); !has64.tx {
				s.TXBytes = bytes
			}
		case unix.NL80211_STA_INFO_RX_PACKETS:
			s.RXPackets = info.Uint32()
		case unix.NL80211_STA_INFO_TX_PACKETS:
			s.TXPackets = info.Uint32()
		case unix.NL80211_STA_INFO_TX_RETRIES:
			s.TXRetries = info.Uint32()
		case unix.NL80211_STA_INFO_TX_FAILED:
			s.TXFailed = info.Uint32()
		case unix.NL80211_STA_INFO_SIGNAL:
			signalDBM := info.Int8()
			s.SignalDBM = &signalDBM
		case unix.NL80211_STA_INFO_RX_BITRATE:
			info.Nested(nested(s.RXBitrate.decode))
		case unix.NL80211_STA_INFO_TX_BITRATE:
			info.Nested(nested(s.TXBitrate.decode))
		case unix.NL80211_STA_INFO_RX_DURATION:
			airtimeUS := info.Uint64()
			s.RXAirtimeUS = &airtimeUS
		case unix.NL80211_STA_INFO_TX_DURATION:
			airtimeUS := info.Uint64()
			s.TXAirtimeUS = &airtimeUS
		case unix.NL80211_STA_INFO_TID_STATS:
			info.Nested(nested(s.decodeTIDs))
		case unix.NL80211_STA_INFO_CONNECTED_TIME:
			s.ConnectedSeconds = info.Uint32()
		case unix.NL80211_STA_INFO_STA_FLAGS:
			info.Do(s.decodeFlags)
		}
	}
	return counted
}

// decodeBytes takes 32 bits; the sums of a multi-link device have 64 under the same number.
func decodeBytes(info *netlink.AttributeDecoder) uint64 {
	if const64bits := 8; len(info.Bytes()) == const64bits {
		return info.Uint64()
	}
	return uint64(info.Uint32())
}

// decodeTIDs takes an attribute for each traffic identifier, whose number is one more; that for frames without one is
// the last.
func (s *Station) decodeTIDs(list *netlink.AttributeDecoder) {
	s.RXVideo, s.RXVoice = 0, 0
	for list.Next() {
		tid := int(list.Type()) - 1
		list.Nested(nested(func(counters *netlink.AttributeDecoder) {
			for counters.Next() {
				if counters.Type() == unix.NL80211_TID_STATS_RX_MSDU {
					s.CountsTIDs = true
					s.addReceived(tid, counters.Uint64())
				}
			}
		}))
	}
}

func (s *Station) addReceived(tid int, total uint64) {
	const firstOfVideo, firstOfVoice, lastOfVoice = 4, 6, 7
	switch {
	case tid < firstOfVideo || tid > lastOfVoice:
	case tid < firstOfVoice:
		s.RXVideo += total
	default:
		s.RXVoice += total
	}
}

// decodeFlags takes struct nl80211_sta_flag_update: a mask of the known bits, then the set ones, 32 bits each.
func (s *Station) decodeFlags(flags []byte) error {
	const size = 8
	if len(flags) != size {
		return fmt.Errorf("station flags have %d bytes, want %d", len(flags), size)
	}
	known, set := binary.NativeEndian.Uint32(flags), binary.NativeEndian.Uint32(flags[4:])
	s.Associated = known&flagAssociated == 0 || set&flagAssociated != 0
	s.Authorized = known&flagAuthorized == 0 || set&flagAuthorized != 0
	s.WMM = known&set&flagWMM != 0
	return nil
}

func (b *Bitrate) decode(info *netlink.AttributeDecoder) {
	var units uint32
	for info.Next() {
		switch info.Type() {
		case unix.NL80211_RATE_INFO_BITRATE: // 16 bits: absent above 6.5 Gb/s.
			units = max(units, uint32(info.Uint16()))
		case unix.NL80211_RATE_INFO_BITRATE32:
			units = max(units, info.Uint32())
		case unix.NL80211_RATE_INFO_MCS:
			b.Format = FormatHT
		case unix.NL80211_RATE_INFO_VHT_MCS:
			b.Format = FormatVHT
		case unix.NL80211_RATE_INFO_HE_MCS:
			b.Format = FormatHE
		case unix.NL80211_RATE_INFO_EHT_MCS:
			b.Format = FormatEHT
		}
	}
	b.Kbps = uint32(min(uint64(units)*rateUnitKbps, math.MaxUint32))
}
