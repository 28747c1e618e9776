// SPDX-License-Identifier: Apache-2.0

// Package rtnetlink reports arrivals that the kernel's links and addresses show: a link that was down is up, or the
// phone has another address. It needs no privilege. A Wi-Fi roam without an interruption changes neither.
//
// This file is pure: one message in, one value out. Names are those of Linux's include/uapi/linux/rtnetlink.h,
// if_link.h and if_addr.h.
package rtnetlink

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// ErrMalformed is wrapped by every error about a message that the kernel sent.
var ErrMalformed = errors.New("malformed rtnetlink message")

func malformed(what string, err error) error {
	return fmt.Errorf("parse %s: %w: %w", what, ErrMalformed, err)
}

// Change is what one message says of a link or, if Address is valid, of one of its addresses.
type Change struct {
	Index uint32
	// Gone is set if the link or the address was removed.
	Gone bool

	// Name is empty in messages that do not have it.
	Name string
	// Kind is that of a link that is no device, such as "veth"; empty for devices.
	Kind string
	// Up is set if the link can carry data.
	Up       bool
	Loopback bool

	Address netip.Addr
	// Usable is set if the address can be used beyond its link, and the kernel does not yet look for duplicates.
	Usable bool
}

// Parse parses a message of the groups for links and addresses. It returns false for messages about anything else.
func Parse(kind netlink.HeaderType, data []byte) (Change, bool, error) {
	switch kind {
	case unix.RTM_NEWLINK, unix.RTM_DELLINK:
		return parseLink(data, kind == unix.RTM_DELLINK)
	case unix.RTM_NEWADDR, unix.RTM_DELADDR:
		return parseAddress(data, kind == unix.RTM_DELADDR)
	default:
		return Change{}, false, nil
	}
}

// parseLink parses a struct ifinfomsg and its attributes. Those of bridges about their ports are none of ours.
func parseLink(data []byte, isGone bool) (Change, bool, error) {
	const indexAt, flagsAt = 4, 8
	if len(data) < unix.SizeofIfInfomsg {
		return Change{}, false, malformed("link", fmt.Errorf("%d bytes are shorter than its header", len(data)))
	}
	if data[0] != unix.AF_UNSPEC {
		return Change{}, false, nil
	}
	const running = unix.IFF_UP | unix.IFF_RUNNING
	flags := binary.NativeEndian.Uint32(data[flagsAt:])
	parsed := Change{
		Index: binary.NativeEndian.Uint32(data[indexAt:]), Gone: isGone,
		Up: flags&running == running, Loopback: flags&unix.IFF_LOOPBACK != 0,
	}
	decoder, err := netlink.NewAttributeDecoder(data[unix.SizeofIfInfomsg:])
	if err != nil {
		return Change{}, false, malformed("link", err)
	}
	for decoder.Next() {
		switch decoder.Type() {
		case unix.IFLA_IFNAME:
			parsed.Name = decoder.String()
		case unix.IFLA_LINKINFO:
			decoder.Nested(func(info *netlink.AttributeDecoder) error {
				for info.Next() {
					if info.Type() == unix.IFLA_INFO_KIND {
						parsed.Kind = info.String()
					}
				}
				return nil
			})
		}
	}
	if err := decoder.Err(); err != nil {
		return Change{}, false, malformed("link", err)
	}
	if parsed.Index == 0 {
		return Change{}, false, malformed("link", errors.New("no index"))
	}
	return parsed, true, nil
}

// parseAddress parses a struct ifaddrmsg and its attributes. Of the two addresses of a link with two ends the local one
// counts.
func parseAddress(data []byte, isGone bool) (Change, bool, error) {
	const flagsAt, scopeAt, indexAt = 2, 3, 4
	if len(data) < unix.SizeofIfAddrmsg {
		return Change{}, false, malformed("address", fmt.Errorf("%d bytes are shorter than its header", len(data)))
	}
	flags, isWide := uint32(data[flagsAt]), data[scopeAt] == unix.RT_SCOPE_UNIVERSE
	parsed := Change{Index: binary.NativeEndian.Uint32(data[indexAt:]), Gone: isGone}
	decoder, err := netlink.NewAttributeDecoder(data[unix.SizeofIfAddrmsg:])
	if err != nil {
		return Change{}, false, malformed("address", err)
	}
	var local, address netip.Addr
	for decoder.Next() {
		switch decoder.Type() {
		case unix.IFA_LOCAL:
			decoder.Do(decodeAddress(&local))
		case unix.IFA_ADDRESS:
			decoder.Do(decodeAddress(&address))
		case unix.IFA_FLAGS:
			flags = decoder.Uint32()
		}
	}
	if err := decoder.Err(); err != nil {
		return Change{}, false, malformed("address", err)
	}
	parsed.Address = local
	if !local.IsValid() {
		parsed.Address = address
	}
	if parsed.Index == 0 || !parsed.Address.IsValid() {
		return Change{}, false, malformed("address", errors.New("no index or no address"))
	}
	parsed.Usable = isWide && flags&(unix.IFA_F_TENTATIVE|unix.IFA_F_DADFAILED) == 0
	return parsed, true, nil
}

func decodeAddress(into *netip.Addr) func([]byte) error {
	return func(octets []byte) error {
		var ok bool
		if *into, ok = netip.AddrFromSlice(octets); !ok {
			return fmt.Errorf("%d octets are not an address", len(octets))
		}
		return nil
	}
}
