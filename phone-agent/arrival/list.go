// SPDX-License-Identifier: Apache-2.0

package arrival

import (
	"encoding/binary"
	"errors"
	"net/netip"
)

const (
	// recordBytes is the size of struct unanswered in bpf/unanswered.c.
	recordBytes = 44
	// familyIPv4 is the kernel's AF_INET.
	familyIPv4 = 2
)

var errRecord = errors.New("the kernel's list of connections is cut off")

// parse reads what the program has written. Connections whose addresses have a zone are left out: the kernel finds them
// by the interface that a message came in by, and ours come in by the loopback interface.
func parse(text []byte) ([]Connection, error) {
	if len(text)%recordBytes != 0 {
		return nil, errRecord
	}
	var found []Connection
	for ; len(text) > 0; text = text[recordBytes:] {
		family := binary.LittleEndian.Uint16(text[40:])
		local, remote := address(family, text[:16]), address(family, text[16:32])
		if local.IsLinkLocalUnicast() && local.Is6() {
			continue
		}
		found = append(found, Connection{
			Local:  netip.AddrPortFrom(local, binary.LittleEndian.Uint16(text[36:])),
			Remote: netip.AddrPortFrom(remote, binary.BigEndian.Uint16(text[38:])),
			Una:    binary.LittleEndian.Uint32(text[32:]), Retransmits: text[42], Backoff: text[43],
		})
	}
	return found, nil
}

func address(family uint16, octets []byte) netip.Addr {
	if family == familyIPv4 {
		return netip.AddrFrom4([4]byte(octets))
	}
	return netip.AddrFrom16([16]byte(octets)).Unmap()
}
