// SPDX-License-Identifier: Apache-2.0

package stationflows

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/airbound/airbound/ap-firmware/mac"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// FlowsMax is the most entries of one set, and the size of the map of tcbpf/bpf/mark.c.
const FlowsMax = 512

// flowsOf checks every flow and returns them sorted, or the error of the first that is wrong.
func flowsOf(messages []*airboundv1.StationFlow) ([]Flow, error) {
	if len(messages) > FlowsMax {
		return nil, fmt.Errorf("%d flows are more than %d", len(messages), FlowsMax)
	}
	flows := make([]Flow, 0, len(messages))
	for i, message := range messages {
		flow, err := flowOf(message)
		if err != nil {
			return nil, fmt.Errorf("flows[%d]: %w", i, err)
		}
		flows = append(flows, flow)
	}
	slices.SortFunc(flows, compare)
	for i := 1; i < len(flows); i++ {
		if flows[i-1] == flows[i] {
			return nil, fmt.Errorf("flows: station %s and address %s are there twice", flows[i].Station,
				flows[i].Address)
		}
	}
	return flows, nil
}

func compare(a, b Flow) int {
	return cmp.Or(slices.Compare(a.Station[:], b.Station[:]), a.Address.Compare(b.Address))
}

func flowOf(message *airboundv1.StationFlow) (Flow, error) {
	station, err := mac.StationFromOctets(message.GetMac())
	if err != nil {
		return Flow{}, fmt.Errorf("mac: %w", err)
	}
	address, err := addressOf(message.GetAddress())
	if err != nil {
		return Flow{}, fmt.Errorf("address of %s: %w", station, err)
	}
	// Voice is for the station's calls and for management frames; to lower packets there is no need.
	if category := message.GetCategory(); category != airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO {
		return Flow{}, fmt.Errorf("category of %s and %s: %s is not %s", station, address, category,
			airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO)
	}
	return Flow{Station: station, Address: address}, nil
}

func addressOf(octets []byte) (netip.Addr, error) {
	address, ok := netip.AddrFromSlice(octets)
	switch {
	case !ok:
		return netip.Addr{}, fmt.Errorf("%d octets are no IP address", len(octets))
	case address.Is4In6():
		return netip.Addr{}, fmt.Errorf("%s is one of IPv4, which has 4 octets", address)
	case address.IsUnspecified():
		return netip.Addr{}, errors.New("it is unspecified")
	}
	return address, nil
}
