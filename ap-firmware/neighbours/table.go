// SPDX-License-Identifier: Apache-2.0

package neighbours

import (
	"cmp"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/ap-firmware/mac"
)

// AddressesMax is the most addresses that a station has in a Table. A phone has an IPv4 address, a link-local one and a
// few of IPv6 privacy extensions; more than this is an attempt to fill memory.
const AddressesMax = 16

// Table has the IP addresses of each station, ascending.
type Table map[mac.Address][]netip.Addr

// usable are the states of entries whose MAC address was confirmed at some time. Not among them: incomplete and failed
// (no answer), noarp (not resolved).
const usable = unix.NUD_REACHABLE | unix.NUD_STALE | unix.NUD_DELAY | unix.NUD_PROBE | unix.NUD_PERMANENT

// tableOf sorts entries by station. Of more than AddressesMax addresses the stale ones are left out first.
func tableOf(entries []Neighbour, interfaceIndexes ...uint32) Table {
	found := map[mac.Address][]Neighbour{}
	for _, entry := range entries {
		if entry.State&usable != 0 && !entry.MAC.IsZero() && isUnicast(entry.IP) &&
			slices.Contains(interfaceIndexes, entry.InterfaceIndex) {
			found[entry.MAC] = append(found[entry.MAC], entry)
		}
	}
	table := make(Table, len(found))
	for station, entries := range found {
		slices.SortFunc(entries, func(x, y Neighbour) int {
			return cmp.Or(cmp.Compare(x.State&unix.NUD_STALE, y.State&unix.NUD_STALE), x.IP.Compare(y.IP))
		})
		addresses := make([]netip.Addr, 0, min(len(entries), AddressesMax))
		for _, entry := range entries {
			// The same address may be in the table of the interface and in that of its bridge.
			if len(addresses) < AddressesMax && !slices.Contains(addresses, entry.IP) {
				addresses = append(addresses, entry.IP)
			}
		}
		slices.SortFunc(addresses, netip.Addr.Compare)
		table[station] = addresses
	}
	return table
}

func isUnicast(ip netip.Addr) bool { return ip.IsGlobalUnicast() || ip.IsLinkLocalUnicast() }
