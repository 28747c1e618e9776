// SPDX-License-Identifier: Apache-2.0

// Package neighbours reads from the kernel's neighbour table (ARP and NDP) which IP addresses a station has.
//
// This file is pure: one rtnetlink message in, one value out. The layouts are those of Linux's
// include/uapi/linux/neighbour.h (struct ndmsg) and rtnetlink.h (struct ifinfomsg).
package neighbours

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// ErrMalformed is wrapped by every error about a message that the kernel sent.
var ErrMalformed = errors.New("malformed rtnetlink message")

// Neighbour is one entry of the table.
type Neighbour struct {
	InterfaceIndex uint32
	// State is a set of NUD_*.
	State uint16
	// IP is invalid for an entry of another family than IPv4 and IPv6; never IPv4-mapped.
	IP netip.Addr
	// MAC is zero while the kernel does not know it, or if the link has addresses of another length.
	MAC mac.Address
}

// ParseNeighbour parses the payload of an RTM_NEWNEIGH.
func ParseNeighbour(message []byte) (Neighbour, error) {
	if len(message) < unix.SizeofNdMsg {
		return Neighbour{}, malformed("neighbour", fmt.Errorf("%d bytes are shorter than its header", len(message)))
	}
	const indexAt, stateAt = 4, 8
	parsed := Neighbour{
		InterfaceIndex: binary.NativeEndian.Uint32(message[indexAt:]),
		State:          binary.NativeEndian.Uint16(message[stateAt:]),
	}
	family := message[0]
	if family != unix.AF_INET && family != unix.AF_INET6 {
		return parsed, nil
	}
	decoder, err := netlink.NewAttributeDecoder(message[unix.SizeofNdMsg:])
	if err != nil {
		return Neighbour{}, malformed("neighbour", err)
	}
	for decoder.Next() {
		switch decoder.Type() {
		case unix.NDA_DST:
			decoder.Do(func(octets []byte) (err error) {
				parsed.IP, err = address(family, octets)
				return err
			})
		case unix.NDA_LLADDR:
			if octets := decoder.Bytes(); len(octets) == len(parsed.MAC) {
				parsed.MAC = mac.Address(octets)
			}
		}
	}
	if err := decoder.Err(); err != nil {
		return Neighbour{}, malformed("neighbour", err)
	}
	if !parsed.IP.IsValid() {
		return Neighbour{}, malformed("neighbour", errors.New("no address"))
	}
	return parsed, nil
}

func address(family byte, octets []byte) (netip.Addr, error) {
	parsed, ok := netip.AddrFromSlice(octets)
	if !ok || parsed.Is4() != (family == unix.AF_INET) {
		return netip.Addr{}, fmt.Errorf("an address of family %d has %d octets", family, len(octets))
	}
	return parsed.Unmap(), nil
}

// ParseMaster parses the payload of an RTM_NEWLINK: the index of the interface that this one is a port of, 0 for none.
func ParseMaster(message []byte) (uint32, error) {
	if len(message) < unix.SizeofIfInfomsg {
		return 0, malformed("link", fmt.Errorf("%d bytes are shorter than its header", len(message)))
	}
	decoder, err := netlink.NewAttributeDecoder(message[unix.SizeofIfInfomsg:])
	if err != nil {
		return 0, malformed("link", err)
	}
	var master uint32
	for decoder.Next() {
		if decoder.Type() == unix.IFLA_MASTER {
			master = decoder.Uint32()
		}
	}
	if err := decoder.Err(); err != nil {
		return 0, malformed("link", err)
	}
	return master, nil
}

func malformed(what string, err error) error {
	return fmt.Errorf("parse %s: %w: %w", what, ErrMalformed, err)
}
