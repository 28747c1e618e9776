// SPDX-License-Identifier: Apache-2.0

package arrival

import (
	"encoding/binary"
	"math"
	"net/netip"
)

const (
	tcpHeader = 20
	// timestamps is the option of RFC 7323 with the padding before it that its appendix A recommends.
	timestamps             = 12
	optionNone, optionTime = 1, 8
	optionTimeOctets       = 10
	flagACK                = 1 << 4
	offsetOfSum            = 16
)

// acknowledgment is the IP packet in which the phone acknowledges once more what it has received: exactly what its
// kernel would send now, without the ranges of a selective acknowledgment.
func acknowledgment(download Download) []byte {
	octets := uint16(tcpHeader)
	words := byte(tcpHeader / 4)
	if download.HasTimestamps {
		octets, words = octets+timestamps, words+timestamps/4
	}
	text := make([]byte, 0, octets)
	text = binary.BigEndian.AppendUint16(text, download.Local.Port())
	text = binary.BigEndian.AppendUint16(text, download.Remote.Port())
	text = binary.BigEndian.AppendUint32(text, download.Sequence)
	text = binary.BigEndian.AppendUint32(text, download.Next)
	text = append(text, words<<4, flagACK)
	text = binary.BigEndian.AppendUint16(text, download.Window)
	text = append(text, 0, 0, 0, 0) // checksum, urgent pointer
	if download.HasTimestamps {
		text = append(text, optionNone, optionNone, optionTime, optionTimeOctets)
		text = binary.BigEndian.AppendUint32(text, download.Timestamp)
		text = binary.BigEndian.AppendUint32(text, download.Echo)
	}
	from, to := download.Local.Addr(), download.Remote.Addr()
	binary.BigEndian.PutUint16(text[offsetOfSum:], checksum(append(pseudoHeader(from, to, octets), text...)))
	return append(header(from, to, octets), text...)
}

// pseudoHeader is what the checksum of TCP covers beside its segment (RFC 9293, 3.1).
func pseudoHeader(from, to netip.Addr, octets uint16) []byte {
	text := append(from.AsSlice(), to.AsSlice()...)
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(text, tcpNumber), uint32(octets))
}

// window is the window field that announces so many octets. It is rounded up: a window must not become smaller, and
// the kernel announces multiples of its unit.
// More than 2^31 octets are less than none: sequence numbers wrap.
func window(octets uint32, shift uint8) uint16 {
	if octets > math.MaxInt32 {
		return 0
	}
	units := (octets + 1<<shift - 1) >> shift
	return uint16(min(units, math.MaxUint16))
}
