// SPDX-License-Identifier: Apache-2.0

package flows

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	// admittedMaxUSPerS is the whole air.
	admittedMaxUSPerS = 1_000_000
	// RateMinBPS passes one packet of an Ethernet's MTU in a second.
	RateMinBPS = 8 * 1500
	// RateMaxBPS is more than any Wi-Fi has; above it a packet's time is less than a nanosecond's fraction.
	RateMaxBPS = 100_000_000_000
	// noSocketUID is what the kernel has for a packet without a socket (kernel.overflowuid), such as a forwarded one.
	noSocketUID = 65534
	// uidEnd is above every user's.
	uidEnd = 1<<32 - 1
)

// flowsOf checks every flow and returns them sorted, or the error of the first that is wrong.
func flowsOf(messages []*airboundv1.Flow, capabilities Capabilities) ([]Flow, error) {
	if most := capabilities.Max(); uint64(len(messages)) > uint64(most) {
		if most == 0 {
			return nil, fmt.Errorf("this agent takes no flows: %s", capabilities.Refusal)
		}
		return nil, fmt.Errorf("%d flows are more than %d", len(messages), most)
	}
	flows := make([]Flow, 0, len(messages))
	first := make(map[Selector]int, len(messages))
	admitted := uint64(0)
	for i, message := range messages {
		flow, err := flowOf(message, capabilities)
		if err != nil {
			return nil, fmt.Errorf("flows[%d]: %w", i, err)
		}
		if before, repeated := first[flow.Selector]; repeated {
			return nil, fmt.Errorf("flows[%d]: repeats the selector of flows[%d], %s", i, before, flow.Selector)
		}
		first[flow.Selector] = i
		admitted += uint64(flow.AdmittedUSPerS)
		flows = append(flows, flow)
	}
	if admitted > admittedMaxUSPerS {
		return nil, fmt.Errorf("the sum of admitted_us_per_s, %d, is above %d", admitted, admittedMaxUSPerS)
	}
	slices.SortFunc(flows, func(a, b Flow) int { return compare(a.Selector, b.Selector) })
	return flows, nil
}

// compare orders selectors; that order means nothing.
func compare(a, b Selector) int {
	return cmp.Or(rank(a.HasUID)-rank(b.HasUID), cmp.Compare(a.UID, b.UID), a.Address.Compare(b.Address))
}

func rank(has bool) int {
	if has {
		return 1
	}
	return 0
}

func flowOf(message *airboundv1.Flow, capabilities Capabilities) (Flow, error) {
	var flow Flow
	if message == nil {
		return flow, errors.New("it is empty")
	}
	if message.Uid != nil {
		switch flow.Selector.HasUID, flow.Selector.UID = true, message.GetUid(); flow.Selector.UID {
		case uidEnd:
			return flow, fmt.Errorf("uid %d is no user's: the kernel's range ends below it", flow.Selector.UID)
		case noSocketUID:
			return flow, fmt.Errorf("uid %d is no user's: the kernel has it for packets without a socket",
				flow.Selector.UID)
		}
	}
	var err error
	if flow.Selector.Address, err = addressOf(message.GetAddress()); err != nil {
		return flow, fmt.Errorf("address: %w", err)
	}
	switch message.GetCategory() {
	case airboundv1.AccessCategory_ACCESS_CATEGORY_UNSPECIFIED:
	case airboundv1.AccessCategory_ACCESS_CATEGORY_VIDEO:
		flow.Video = true
	case airboundv1.AccessCategory_ACCESS_CATEGORY_BACKGROUND, airboundv1.AccessCategory_ACCESS_CATEGORY_BEST_EFFORT,
		airboundv1.AccessCategory_ACCESS_CATEGORY_VOICE:
		return flow, fmt.Errorf("category %s is not ACCESS_CATEGORY_VIDEO", message.GetCategory())
	default:
		return flow, fmt.Errorf("category %d is unknown", message.GetCategory())
	}
	flow.AdmittedUSPerS, flow.UDPBPS = message.GetAdmittedUsPerS(), message.GetUdpBps()
	switch {
	case flow.Video && !capabilities.CanMark:
		return flow, fmt.Errorf("this agent cannot give flows an access category: %s", capabilities.Refusal)
	case flow.AdmittedUSPerS > 0 && !flow.Video:
		return flow, fmt.Errorf("admitted_us_per_s %d without a category", flow.AdmittedUSPerS)
	case flow.AdmittedUSPerS > admittedMaxUSPerS:
		return flow, fmt.Errorf("admitted_us_per_s %d is above %d", flow.AdmittedUSPerS, admittedMaxUSPerS)
	}
	return flow, checkRate(flow.UDPBPS, capabilities)
}

func checkRate(bps uint64, capabilities Capabilities) error {
	switch {
	case bps == 0:
		return nil
	case !capabilities.CanPace:
		return fmt.Errorf("udp_bps %d: this agent cannot give UDP a rate: %s", bps, capabilities.Refusal)
	case bps < RateMinBPS:
		return fmt.Errorf("udp_bps %d is below %d, a packet of 1500 bytes a second", bps, RateMinBPS)
	case bps > RateMaxBPS:
		return fmt.Errorf("udp_bps %d is above %d", bps, uint64(RateMaxBPS))
	}
	return nil
}

func addressOf(octets []byte) (netip.Addr, error) {
	if len(octets) == 0 {
		return netip.Addr{}, nil
	}
	address, ok := netip.AddrFromSlice(octets)
	switch {
	case !ok:
		return netip.Addr{}, fmt.Errorf("%d octets; it must have 4 or 16, or none for every address", len(octets))
	case address.Is4In6():
		return netip.Addr{}, fmt.Errorf("%s is IPv4 in IPv6; it must be sent as 4 octets", address)
	case address.IsUnspecified():
		return netip.Addr{}, fmt.Errorf("%s is no destination; without one a flow is for every address", address)
	}
	return address, nil
}
