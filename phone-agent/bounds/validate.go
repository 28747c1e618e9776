// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"errors"
	"fmt"
	"math"
	"net/netip"

	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// rulesOf checks every bound and returns them as rules, or the error of the first that is wrong.
func rulesOf(bounds []*airboundv1.Bound, capabilities Capabilities) ([]Rule, error) {
	if most := capabilities.RulesMax; most > 0 && uint64(len(bounds)) > uint64(most) {
		return nil, fmt.Errorf(
			"%d bounds are more than the %d that back end %s takes",
			len(bounds),
			most,
			capabilities.Name,
		)
	}
	rules := make([]Rule, 0, len(bounds))
	first := make(map[Selector]int, len(bounds))
	for i, bound := range bounds {
		rule, err := ruleOf(bound, capabilities)
		if err != nil {
			return nil, fmt.Errorf("bounds[%d]: %w", i, err)
		}
		if before, repeated := first[rule.Selector]; repeated {
			return nil, fmt.Errorf("bounds[%d]: repeats the selector of bounds[%d], %s", i, before, rule.Selector)
		}
		first[rule.Selector] = i
		rules = append(rules, rule)
	}
	return rules, nil
}

func ruleOf(bound *airboundv1.Bound, capabilities Capabilities) (Rule, error) {
	selector, err := selectorOf(bound, capabilities)
	if err != nil {
		return Rule{}, err
	}
	lowest, highest := bound.GetMinSegs(), bound.GetMaxSegs()
	switch {
	case lowest < SegsMin:
		return Rule{}, fmt.Errorf("min_segs %d is below %d", lowest, SegsMin)
	case highest > SegsMax:
		return Rule{}, fmt.Errorf("max_segs %d is above %d", highest, SegsMax)
	case lowest > SegsMin && !capabilities.CanSetMin:
		return Rule{}, fmt.Errorf("back end %s cannot set a minimum, min_segs is %d", capabilities.Name, lowest)
	case highest < SegsMax && !capabilities.CanSetMax:
		return Rule{}, fmt.Errorf("back end %s cannot set a maximum, max_segs is %d", capabilities.Name, highest)
	case lowest > highest:
		return Rule{}, fmt.Errorf("min_segs %d is above max_segs %d", lowest, highest)
	}
	return Rule{Selector: selector, MinSegs: lowest, MaxSegs: highest}, nil
}

func selectorOf(bound *airboundv1.Bound, capabilities Capabilities) (Selector, error) {
	switch selector := bound.GetSelector().(type) {
	case *airboundv1.Bound_All:
		if !selector.All {
			return Selector{}, errors.New("selector all is false; it must be true")
		}
		return Selector{Kind: All}, nil
	case *airboundv1.Bound_Destination:
		if !capabilities.CanSelectDestination {
			return Selector{}, fmt.Errorf("back end %s cannot select by destination", capabilities.Name)
		}
		prefix, err := prefixOf(selector.Destination)
		return Selector{Kind: Destination, Prefix: prefix}, err
	case *airboundv1.Bound_Uid:
		if !capabilities.CanSelectUID {
			return Selector{}, fmt.Errorf("back end %s cannot select by uid", capabilities.Name)
		}
		return Selector{Kind: UID, UID: selector.Uid}, checkUID(selector.Uid)
	case *airboundv1.Bound_UidDestination:
		if !capabilities.CanSelectUIDDestination {
			return Selector{}, fmt.Errorf(
				"back end %s cannot select by uid and destination together",
				capabilities.Name,
			)
		}
		uid := selector.UidDestination.GetUid()
		if err := checkUID(uid); err != nil {
			return Selector{}, err
		}
		prefix, err := prefixOf(selector.UidDestination.GetDestination())
		return Selector{Kind: UIDDestination, UID: uid, Prefix: prefix}, err
	default:
		return Selector{}, errors.New("no selector")
	}
}

func checkUID(uid uint32) error {
	if uid == math.MaxUint32 {
		return fmt.Errorf("uid %d is no user's: the kernel's range ends below it", uid)
	}
	return nil
}

func prefixOf(message *airboundv1.Prefix) (netip.Prefix, error) {
	address, ok := netip.AddrFromSlice(message.GetAddress())
	if !ok {
		return netip.Prefix{}, fmt.Errorf(
			"destination: an address of %d octets; it must have 4 or 16",
			len(message.GetAddress()),
		)
	}
	if address.Is4In6() {
		return netip.Prefix{}, fmt.Errorf("destination: %s is IPv4 in IPv6; it must be sent as 4 octets", address)
	}
	if length := message.GetLengthBits(); length > uint32(address.BitLen()) { //nolint:gosec // 32 or 128
		return netip.Prefix{}, fmt.Errorf("destination: length_bits %d is above %d", length, address.BitLen())
	}
	prefix := netip.PrefixFrom(address, int(message.GetLengthBits()))
	if prefix != prefix.Masked() {
		return netip.Prefix{}, fmt.Errorf("destination: %s has bits set beyond its length", prefix)
	}
	return prefix, nil
}
