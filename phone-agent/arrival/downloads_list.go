// SPDX-License-Identifier: Apache-2.0

package arrival

import (
	"encoding/binary"
	"net/netip"
	"time"
)

const (
	// receivingBytes is the size of struct receiving in bpf/receiving.c.
	receivingBytes = 68
	// shiftMax is the largest window scale (RFC 7323, 2.3).
	shiftMax = 14
)

// parseReceiving reads what the program has written. Tick is the length of the kernel's jiffies. Connections of
// link-local addresses are left out, which need an interface, and those within the phone.
func parseReceiving(text []byte, tick time.Duration) ([]Download, error) {
	if len(text)%receivingBytes != 0 {
		return nil, errRecord
	}
	var found []Download
	for ; len(text) > 0; text = text[receivingBytes:] {
		family := binary.LittleEndian.Uint16(text[64:])
		local, remote := address(family, text[:16]), address(family, text[16:32])
		if remote.IsLoopback() || remote == local || local.IsLinkLocalUnicast() && local.Is6() {
			continue
		}
		number := func(index int) uint32 { return binary.LittleEndian.Uint32(text[32+4*index:]) }
		next, announcedAt, announced := number(1), number(2), number(3)
		found = append(found, Download{
			Local:    netip.AddrPortFrom(local, binary.LittleEndian.Uint16(text[60:])),
			Remote:   netip.AddrPortFrom(remote, binary.BigEndian.Uint16(text[62:])),
			Sequence: number(0), Next: next,
			Window:        window(announcedAt+announced-next, min(text[66], shiftMax)),
			HasTimestamps: text[67] != 0, Timestamp: number(4), Echo: number(5),
			Quiet: time.Duration(number(6)) * tick,
		})
	}
	return found, nil
}
