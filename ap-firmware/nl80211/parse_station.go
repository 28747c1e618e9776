// SPDX-License-Identifier: Apache-2.0

package nl80211

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/mdlayher/netlink"
)

// Station is one entry of the kernel's station table. Directions are the access point's: RX is uplink.
type Station struct {
	MAC string
	// Associated is false for a station that is only authenticated.
	Associated bool
	// SignalDBM is nil if the driver does not tell.
	SignalDBM            *int8
	RXBytes, TXBytes     uint64
	RXPackets, TXPackets uint32
	TXRetries, TXFailed  uint32
	RXBitrate, TXBitrate Bitrate
	// RXAirtimeUS and TXAirtimeUS are nil if the driver does not tell. mac80211 says 0 for a driver that does not know.
	RXAirtimeUS, TXAirtimeUS *uint64
	ConnectedSeconds         uint32
}

// Bitrate is that of the last frame; zero if the driver does not tell.
type Bitrate struct {
	Kbps uint32
	// Aggregated marks a rate of 802.11n or later, whose frames travel in aggregates.
	Aggregated bool
}

// NL80211_STA_INFO_*.
const (
	staRXBytes       = 2
	staTXBytes       = 3
	staSignal        = 7
	staTXBitrate     = 8
	staRXPackets     = 9
	staTXPackets     = 10
	staTXRetries     = 11
	staTXFailed      = 12
	staRXBitrate     = 14
	staConnectedTime = 16
	staFlags         = 17
	staRXBytes64     = 23
	staTXBytes64     = 24
	staRXDuration    = 32
	staTXDuration    = 39
)

// NL80211_RATE_INFO_*. A rate is in units of 100 kb/s.
const (
	rateBitrate   = 1
	rateMCS       = 2
	rateBitrate32 = 5
	rateVHTMCS    = 6
	rateHEMCS     = 13
	rateEHTMCS    = 19
	rateUnitKbps  = 100
)

// flagAssociated is the bit of NL80211_STA_FLAG_ASSOCIATED.
const flagAssociated = 1 << 7

// ParseStation parses the attributes of an NL80211_CMD_NEW_STATION.
func ParseStation(attributes []byte) (Station, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return Station{}, malformed("station", err)
	}
	// A driver that tells no flags lists none but associated stations.
	parsed := Station{Associated: true}
	for decoder.Next() {
		switch decoder.Type() {
		case attrMAC:
			decoder.Do(decodeMAC(&parsed.MAC))
		case attrStaInfo:
			decoder.Nested(nested(parsed.decode))
		}
	}
	if err := decoder.Err(); err != nil {
		return Station{}, malformed("station "+parsed.MAC, err)
	}
	if parsed.MAC == "" {
		return Station{}, malformed("station", errors.New("no MAC address"))
	}
	return parsed, nil
}

func (s *Station) decode(info *netlink.AttributeDecoder) {
	var has64 struct{ rx, tx bool }
	for info.Next() {
		switch info.Type() {
		case staRXBytes64:
			s.RXBytes, has64.rx = info.Uint64(), true
		case staTXBytes64:
			s.TXBytes, has64.tx = info.Uint64(), true
		case staRXBytes: // 32 bits: wraps after 4 GiB.
			if bytes := info.Uint32(); !has64.rx {
				s.RXBytes = uint64(bytes)
			}
		case staTXBytes:
			if bytes := info.Uint32(); !has64.tx {
				s.TXBytes = uint64(bytes)
			}
		case staRXPackets:
			s.RXPackets = info.Uint32()
		case staTXPackets:
			s.TXPackets = info.Uint32()
		case staTXRetries:
			s.TXRetries = info.Uint32()
		case staTXFailed:
			s.TXFailed = info.Uint32()
		case staSignal:
			signalDBM := info.Int8()
			s.SignalDBM = &signalDBM
		case staRXBitrate:
			info.Nested(nested(s.RXBitrate.decode))
		case staTXBitrate:
			info.Nested(nested(s.TXBitrate.decode))
		case staRXDuration:
			airtimeUS := info.Uint64()
			s.RXAirtimeUS = &airtimeUS
		case staTXDuration:
			airtimeUS := info.Uint64()
			s.TXAirtimeUS = &airtimeUS
		case staConnectedTime:
			s.ConnectedSeconds = info.Uint32()
		case staFlags:
			info.Do(s.decodeFlags)
		}
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
	return nil
}

func (b *Bitrate) decode(info *netlink.AttributeDecoder) {
	var units uint32
	for info.Next() {
		switch info.Type() {
		case rateBitrate: // 16 bits: absent above 6.5 Gb/s.
			units = max(units, uint32(info.Uint16()))
		case rateBitrate32:
			units = max(units, info.Uint32())
		case rateMCS, rateVHTMCS, rateHEMCS, rateEHTMCS:
			b.Aggregated = true
		}
	}
	b.Kbps = uint32(min(uint64(units)*rateUnitKbps, math.MaxUint32))
}
