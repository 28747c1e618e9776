// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/airbound/airbound/ap-firmware/mac"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// LimitsMax is the most entries of one set: 128 stations with some destinations each.
const LimitsMax = 1024

// limitsOf checks every limit and returns them sorted, or the error of the first that is wrong.
func limitsOf(messages []*airboundv1.WindowLimit) ([]Limit, error) {
	if len(messages) > LimitsMax {
		return nil, fmt.Errorf("%d limits are more than %d", len(messages), LimitsMax)
	}
	limits := make([]Limit, 0, len(messages))
	for i, message := range messages {
		limit, err := limitOf(message)
		if err != nil {
			return nil, fmt.Errorf("limits[%d]: %w", i, err)
		}
		limits = append(limits, limit)
	}
	slices.SortFunc(limits, compareKeys)
	for i := 1; i < len(limits); i++ {
		if compareKeys(limits[i-1], limits[i]) == 0 {
			return nil, fmt.Errorf("limits: station %s and address %s are there twice",
				limits[i].Station, addressText(limits[i].Address))
		}
	}
	return limits, nil
}

func compareKeys(a, b Limit) int {
	return cmp.Or(slices.Compare(a.Station[:], b.Station[:]), a.Address.Compare(b.Address))
}

func addressText(address netip.Addr) string {
	if !address.IsValid() {
		return "any"
	}
	return address.String()
}

func limitOf(message *airboundv1.WindowLimit) (Limit, error) {
	station, err := mac.StationFromOctets(message.GetMac())
	if err != nil {
		return Limit{}, fmt.Errorf("mac: %w", err)
	}
	address, err := addressOf(message.GetAddress())
	if err != nil {
		return Limit{}, fmt.Errorf("address of %s: %w", station, err)
	}
	// The kernel's program makes of too small a limit one of two segments, whose size it knows.
	if message.GetMaxBytes() == 0 {
		return Limit{}, fmt.Errorf("max_bytes of %s is 0", station)
	}
	return Limit{Station: station, Address: address, MaxBytes: message.GetMaxBytes()}, nil
}

func addressOf(octets []byte) (netip.Addr, error) {
	if len(octets) == 0 {
		return netip.Addr{}, nil
	}
	address, ok := netip.AddrFromSlice(octets)
	switch {
	case !ok:
		return netip.Addr{}, fmt.Errorf("%d octets are no IP address", len(octets))
	case address.Is4In6():
		return netip.Addr{}, fmt.Errorf("%s is one of IPv4, which has 4 octets", address)
	case address.IsUnspecified():
		return netip.Addr{}, errors.New("it is unspecified; without one a limit is for every destination")
	}
	return address, nil
}
