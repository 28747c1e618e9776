// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package ebpf

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/bounds"
)

// The kernel's form of rules, see bpf/rules.h.
type (
	config    = iteratorConfig
	rule      = iteratorRule
	prefixKey = iteratorPrefixKey
	uidKey    = iteratorUidKey
	uidDstKey = iteratorUidDstKey
	visited   = iteratorVisited
)

const (
	slots  = 2
	noSlot = ^uint32(0)
	noRule = ^uint32(0)
	// keyBits is the part of a prefixKey before the address that always must match, uidDstKeyBits that of a uidDstKey.
	keyBits       = 32
	uidDstKeyBits = 64
)

// config returns a configuration without rules.
func (s scope) config() config {
	return config{
		Slot: noSlot, NetnsInum: s.netnsInum, NetnsCookie: s.netnsCookie, CgroupId: s.cgroupID,
		All: [slots]uint32{noRule, noRule},
	}
}

var errMinimum = errors.New("back end ebpf cannot set a minimum")

func checkMaximaOnly(rules []bounds.Rule) error {
	if len(rules) > rulesMax {
		return fmt.Errorf("%d rules are more than %d", len(rules), rulesMax)
	}
	for _, wanted := range rules {
		if wanted.MinSegs > bounds.SegsMin {
			return fmt.Errorf("%w: %s", errMinimum, wanted)
		}
	}
	return nil
}

// look is what the kernel looks up for a slot. The values are numbers of rules, counted from 0 in the slot.
type look struct {
	all      uint32
	prefixes map[netip.Prefix]uint32
	uids     map[uint32]uint32
	// By selectors of the kind UIDDestination.
	uidDsts map[bounds.Selector]uint32
}

// lookOf prepares the kernel's look-ups. The kernel finds the longest prefix that matches, but in force is the smallest
// maximum of all that match: so each prefix gets the smallest of its own and of those that contain it. Of prefixes for
// a uid the longest one is in force, as the kernel finds it.
func lookOf(rules []bounds.Rule) look {
	found := look{
		all: noRule, prefixes: map[netip.Prefix]uint32{}, uids: map[uint32]uint32{},
		uidDsts: map[bounds.Selector]uint32{},
	}
	for i, wanted := range rules {
		number := uint32(i)
		switch wanted.Selector.Kind {
		case bounds.All:
			found.all = number
		case bounds.UID:
			found.uids[wanted.Selector.UID] = number
		case bounds.Destination:
			found.prefixes[wanted.Selector.Prefix] = tightestAround(rules, wanted.Selector.Prefix)
		case bounds.UIDDestination:
			found.uidDsts[wanted.Selector] = number
		case bounds.None:
		}
	}
	return found
}

// tightestAround returns the rule with the smallest maximum of those whose prefix contains this one.
func tightestAround(rules []bounds.Rule, prefix netip.Prefix) uint32 {
	tightest := -1
	for i, other := range rules {
		around := other.Selector.Prefix
		if other.Selector.Kind != bounds.Destination || around.Bits() > prefix.Bits() || !around.Overlaps(prefix) {
			continue
		}
		if tightest < 0 || other.MaxSegs < rules[tightest].MaxSegs {
			tightest = i
		}
	}
	return uint32(tightest)
}

func prefixKeyOf(slot uint32, prefix netip.Prefix) prefixKey {
	key := prefixKey{
		LengthBits: keyBits + uint32(prefix.Bits()), //nolint:gosec // at most 128
		Slot:       uint16(slot),                    //nolint:gosec // 0 or 1
		Family:     family(prefix.Addr()),
	}
	copy(key.Address[:], prefix.Addr().AsSlice())
	return key
}

func uidDstKeyOf(slot uint32, selector bounds.Selector) uidDstKey {
	prefix := prefixKeyOf(slot, selector.Prefix)
	return uidDstKey{
		LengthBits: prefix.LengthBits - keyBits + uidDstKeyBits,
		Slot:       prefix.Slot, Family: prefix.Family, Uid: selector.UID, Address: prefix.Address,
	}
}

func family(address netip.Addr) uint16 {
	if address.Is4() {
		return unix.AF_INET
	}
	return unix.AF_INET6
}

func toKernel(wanted bounds.Rule, lowered uint64) rule {
	made := rule{
		Kind: uint32(wanted.Selector.Kind), //nolint:gosec // few
		Uid:  wanted.Selector.UID, MaxSegs: wanted.MaxSegs, Lowered: lowered,
	}
	if wanted.Selector.Prefix.IsValid() {
		prefix := wanted.Selector.Prefix
		made.Family = uint32(family(prefix.Addr()))
		made.LengthBits = uint32(prefix.Bits()) //nolint:gosec // at most 128
		copy(made.Address[:], prefix.Addr().AsSlice())
	}
	return made
}

func fromKernel(found rule) (bounds.Rule, error) {
	wanted := bounds.Rule{
		Selector: bounds.Selector{Kind: bounds.SelectorKind(found.Kind)},
		MinSegs:  bounds.SegsMin, MaxSegs: found.MaxSegs,
	}
	switch wanted.Selector.Kind {
	case bounds.All:
	case bounds.UID:
		wanted.Selector.UID = found.Uid
	case bounds.Destination, bounds.UIDDestination:
		const ipv4Bytes = 4
		address := netip.AddrFrom16(found.Address)
		if found.Family == unix.AF_INET {
			address, _ = netip.AddrFromSlice(found.Address[:ipv4Bytes])
		}
		prefix, err := address.Prefix(int(found.LengthBits))
		if err != nil {
			return bounds.Rule{}, err
		}
		// Of the kind Destination it is 0.
		wanted.Selector.Prefix, wanted.Selector.UID = prefix, found.Uid
	case bounds.None:
		return bounds.Rule{}, fmt.Errorf("a rule of kind %d", found.Kind)
	default:
		return bounds.Rule{}, fmt.Errorf("a rule of kind %d", found.Kind)
	}
	return wanted, nil
}

// sameRules compares two sets; the order of rules has no meaning.
func sameRules(a, b []bounds.Rule) bool { return maps.Equal(maximaOf(a), maximaOf(b)) }

func maximaOf(rules []bounds.Rule) map[bounds.Selector]uint32 {
	found := make(map[bounds.Selector]uint32, len(rules))
	for _, wanted := range rules {
		found[wanted.Selector] = wanted.MaxSegs
	}
	return found
}
