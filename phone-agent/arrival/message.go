// SPDX-License-Identifier: Apache-2.0

package arrival

import (
	"encoding/binary"
	"net/netip"
)

// Types and codes of the messages that the kernel takes for a lost path: of IPv4 host unreachable (RFC 792), of IPv6 no
// route to the destination (RFC 4443).
const (
	unreachable4, hostUnreachable = 3, 1
	unreachable6, noRoute         = 1, 0
)

const (
	icmpHeader, ipv4Header, ipv6Header = 8, 20, 40
	// tcpPart is what is quoted of the segment: ports and sequence number. RFC 792 asks for no more.
	tcpPart   = 8
	tcpNumber = 6
	hops      = 64
)

// message is the ICMP message about the segment at Una, with its checksum if it is of IPv4: of IPv6 the kernel adds it.
func message(connection Connection) []byte {
	local, remote := connection.Local.Addr(), connection.Remote.Addr()
	text := make([]byte, icmpHeader, icmpHeader+ipv6Header+tcpPart)
	text[0], text[1] = unreachable6, noRoute
	if local.Is4() {
		text[0], text[1] = unreachable4, hostUnreachable
	}
	text = append(text, header(local, remote, tcpPart)...)
	text = binary.BigEndian.AppendUint16(text, connection.Local.Port())
	text = binary.BigEndian.AppendUint16(text, connection.Remote.Port())
	text = binary.BigEndian.AppendUint32(text, connection.Una)
	if local.Is4() {
		binary.BigEndian.PutUint16(text[2:], checksum(text))
	}
	return text
}

// header is the IP header of so many octets of TCP.
func header(from, to netip.Addr, octets uint16) []byte {
	if from.Is4() {
		text := make([]byte, ipv4Header)
		text[0] = 4<<4 | ipv4Header/4
		binary.BigEndian.PutUint16(text[2:], ipv4Header+octets)
		text[8], text[9] = hops, tcpNumber
		copy(text[12:], from.AsSlice())
		copy(text[16:], to.AsSlice())
		binary.BigEndian.PutUint16(text[10:], checksum(text))
		return text
	}
	text := make([]byte, ipv6Header)
	text[0] = 6 << 4
	binary.BigEndian.PutUint16(text[4:], octets)
	text[6], text[7] = tcpNumber, hops
	copy(text[8:], from.AsSlice())
	copy(text[24:], to.AsSlice())
	return text
}

// checksum is the Internet's (RFC 1071), of an even number of octets.
func checksum(text []byte) uint16 {
	var sum uint32
	for i := 0; i+1 < len(text); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(text[i:]))
	}
	for sum > 0xffff {
		sum = sum>>16 + sum&0xffff
	}
	return ^uint16(sum)
}
