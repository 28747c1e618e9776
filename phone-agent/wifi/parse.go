// SPDX-License-Identifier: Apache-2.0

// Package wifi finds out from nl80211 which interface connects the phone to a Wi-Fi network, with which MAC address,
// and through which access point. Nothing in it needs a privilege.
//
// This file is pure: the attributes of one message in, one value out. Names of commands and attributes are those of
// Linux's include/uapi/linux/nl80211.h. (ap-firmware/nl80211 reads the same messages as an access point needs them.)
package wifi

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ErrMalformed is wrapped by every error about a message that the kernel sent.
var ErrMalformed = errors.New("malformed nl80211 message")

func malformed(what string, err error) error {
	return fmt.Errorf("parse %s: %w: %w", what, ErrMalformed, err)
}

// Address is an EUI-48; the zero value stands for none.
type Address [6]byte

// String returns the address in lower case with colons; empty if there is none.
func (a Address) String() string {
	if a == (Address{}) {
		return ""
	}
	return fmt.Sprintf("%02x:%02x:%02x:%02x:%02x:%02x", a[0], a[1], a[2], a[3], a[4], a[5])
}

func (a *Address) decode(octets []byte) error {
	if len(octets) != len(a) {
		return fmt.Errorf("%d octets are not a MAC address", len(octets))
	}
	copy(a[:], octets)
	return nil
}

// Interface is one wireless network interface.
type Interface struct {
	Index uint32
	Name  string
	MAC   Address
	// Station is set if the interface connects to networks; access points, Wi-Fi Direct and monitors do not.
	Station bool
	// SSID is that of the network, empty while there is none.
	SSID []byte
}

// ParseInterface parses the attributes of an NL80211_CMD_NEW_INTERFACE. A Wi-Fi Direct device, which is no
// network interface, has no name.
func ParseInterface(attributes []byte) (Interface, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return Interface{}, malformed("interface", err)
	}
	var parsed Interface
	for decoder.Next() {
		switch decoder.Type() {
		case unix.NL80211_ATTR_IFINDEX:
			parsed.Index = decoder.Uint32()
		case unix.NL80211_ATTR_IFNAME:
			parsed.Name = decoder.String()
		case unix.NL80211_ATTR_MAC:
			decoder.Do(parsed.MAC.decode)
		case unix.NL80211_ATTR_IFTYPE:
			parsed.Station = decoder.Uint32() == unix.NL80211_IFTYPE_STATION
		case unix.NL80211_ATTR_SSID:
			parsed.SSID = decoder.Bytes()
		}
	}
	if err := decoder.Err(); err != nil {
		return Interface{}, malformed("interface "+parsed.Name, err)
	}
	return parsed, nil
}

// Peer is one entry of the station table of an interface in station mode: the access point, or a phone beside it.
type Peer struct {
	MAC Address
	// AccessPoint is set if the interface is associated with it.
	AccessPoint bool
	// WMM is set if frames to it have access categories, or if the driver does not say.
	WMM bool
}

// ParsePeer parses the attributes of an NL80211_CMD_NEW_STATION.
func ParsePeer(attributes []byte) (Peer, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return Peer{}, malformed("station", err)
	}
	// A driver that reports no flags lists the access point that it is associated with.
	parsed := Peer{AccessPoint: true, WMM: true}
	for decoder.Next() {
		switch decoder.Type() {
		case unix.NL80211_ATTR_MAC:
			decoder.Do(parsed.MAC.decode)
		case unix.NL80211_ATTR_STA_INFO:
			decoder.Nested(func(info *netlink.AttributeDecoder) error {
				for info.Next() {
					if info.Type() == unix.NL80211_STA_INFO_STA_FLAGS {
						info.Do(parsed.decodeFlags)
					}
				}
				return nil
			})
		}
	}
	if err := decoder.Err(); err != nil {
		return Peer{}, malformed("station "+parsed.MAC.String(), err)
	}
	if parsed.MAC == (Address{}) {
		return Peer{}, malformed("station", errors.New("no MAC address"))
	}
	return parsed, nil
}

// decodeFlags takes struct nl80211_sta_flag_update: a mask of the known bits, then the set ones, 32 bits each.
func (p *Peer) decodeFlags(flags []byte) error {
	const (
		size       = 8
		associated = 1 << unix.NL80211_STA_FLAG_ASSOCIATED
		direct     = 1 << unix.NL80211_STA_FLAG_TDLS_PEER
		wmm        = 1 << unix.NL80211_STA_FLAG_WME
	)
	if len(flags) != size {
		return fmt.Errorf("station flags have %d bytes, want %d", len(flags), size)
	}
	known, set := binary.NativeEndian.Uint32(flags), binary.NativeEndian.Uint32(flags[4:])
	p.WMM = known&wmm == 0 || set&wmm != 0
	p.AccessPoint = (known&associated == 0 || set&associated != 0) && known&set&direct == 0
	return nil
}

// ParseAdmission parses a part of an NL80211_CMD_NEW_WIPHY, and returns whether it says that the driver can be given
// admitted time.
func ParseAdmission(attributes []byte) (bool, error) {
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return false, malformed("radio", err)
	}
	can := false
	for decoder.Next() {
		if decoder.Type() == unix.NL80211_ATTR_FEATURE_FLAGS {
			can = decoder.Uint32()&unix.NL80211_FEATURE_SUPPORTS_WMM_ADMISSION != 0
		}
	}
	if err := decoder.Err(); err != nil {
		return false, malformed("radio", err)
	}
	return can, nil
}

// ParseEvent parses a message of the group "mlme". It returns the index of the interface that was connected, roamed or
// was disconnected; 0 for messages about anything else.
func ParseEvent(command uint8, attributes []byte) (index uint32, err error) {
	switch command {
	case unix.NL80211_CMD_CONNECT, unix.NL80211_CMD_ROAM, unix.NL80211_CMD_DISCONNECT:
	default:
		return 0, nil
	}
	decoder, err := netlink.NewAttributeDecoder(attributes)
	if err != nil {
		return 0, malformed("event", err)
	}
	for decoder.Next() {
		if decoder.Type() == unix.NL80211_ATTR_IFINDEX {
			index = decoder.Uint32()
		}
	}
	if err := decoder.Err(); err != nil {
		return 0, malformed("event", err)
	}
	if index == 0 {
		return 0, malformed("event", errors.New("no interface"))
	}
	return index, nil
}
