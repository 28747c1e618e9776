// SPDX-License-Identifier: Apache-2.0

package bounds

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
)

// Set is a SetBounds command as the wire gave it: nothing in it is checked yet.
type Set struct {
	Generation uint64
	Bounds     []Bound
	LeaseMS    uint32
	Reason     string
}

// Bound is one bound as the wire gave it.
type Bound struct {
	Kind SelectorKind
	// For All; must be true.
	All bool
	// For Destination.
	Prefix string
	// For UID.
	UID     uint32
	MinSegs uint32
	MaxSegs uint32
}

// Limits of a lease.
const (
	LeaseMinMS = 1_000
	LeaseMaxMS = 60_000
)

// rules checks every bound and returns them as rules, or the error of the first that is wrong.
func (s Set) rules(capabilities Capabilities) ([]Rule, error) {
	if most := capabilities.RulesMax; most > 0 && uint64(len(s.Bounds)) > uint64(most) {
		return nil, fmt.Errorf("%d bounds are more than the %d that back end %s takes", len(s.Bounds), most, capabilities.Name)
	}
	rules := make([]Rule, 0, len(s.Bounds))
	first := make(map[Selector]int, len(s.Bounds))
	for i, bound := range s.Bounds {
		rule, err := bound.rule(capabilities)
		if err != nil {
			return nil, fmt.Errorf("bounds[%d]: %w", i, err)
		}
		if before, repeated := first[rule.Selector]; repeated {
			return nil, fmt.Errorf("bounds[%d]: repeats the selector %s of bounds[%d]", i, rule.Selector, before)
		}
		first[rule.Selector] = i
		rules = append(rules, rule)
	}
	return rules, nil
}

func (b Bound) rule(capabilities Capabilities) (Rule, error) {
	selector, err := b.selector(capabilities)
	if err != nil {
		return Rule{}, err
	}
	switch {
	case b.MinSegs < SegsMin:
		return Rule{}, fmt.Errorf("min_segs %d is below %d", b.MinSegs, SegsMin)
	case b.MaxSegs > SegsMax:
		return Rule{}, fmt.Errorf("max_segs %d is above %d", b.MaxSegs, SegsMax)
	case b.MinSegs > b.MaxSegs:
		return Rule{}, fmt.Errorf("min_segs %d is above max_segs %d", b.MinSegs, b.MaxSegs)
	}
	return Rule{Selector: selector, MinSegs: b.MinSegs, MaxSegs: b.MaxSegs}, nil
}

func (b Bound) selector(capabilities Capabilities) (Selector, error) {
	switch b.Kind {
	case All:
		if !b.All {
			return Selector{}, errors.New("selector all is false; it must be true")
		}
		return Selector{Kind: All}, nil
	case Destination:
		if !capabilities.CanSelectDestination {
			return Selector{}, fmt.Errorf("back end %s cannot select by destination", capabilities.Name)
		}
		prefix, err := parsePrefix(b.Prefix)
		return Selector{Kind: Destination, Prefix: prefix}, err
	case UID:
		if !capabilities.CanSelectUID {
			return Selector{}, fmt.Errorf("back end %s cannot select by uid", capabilities.Name)
		}
		if b.UID == math.MaxUint32 {
			return Selector{}, fmt.Errorf("uid %d is nobody's: the kernel's range ends below it", b.UID)
		}
		return Selector{Kind: UID, UID: b.UID}, nil
	case None:
	}
	return Selector{}, errors.New("no selector")
}

// textMax bounds what text of a command is kept or quoted.
const textMax = 256

func parsePrefix(text string) (netip.Prefix, error) {
	shown := strconv.Quote(text[:min(len(text), textMax)])
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return netip.Prefix{}, fmt.Errorf("destination_prefix %s is not an address and prefix length", shown)
	case prefix.Addr().Is4In6():
		return netip.Prefix{}, fmt.Errorf("destination_prefix %s is IPv4 in IPv6; write it as IPv4", shown)
	case prefix != prefix.Masked():
		return netip.Prefix{}, fmt.Errorf("destination_prefix %s has bits set beyond its length", shown)
	}
	return prefix, nil
}

func checkLease(leaseMS uint32) error {
	if leaseMS < LeaseMinMS || leaseMS > LeaseMaxMS {
		return fmt.Errorf("lease_ms %d is not within %d to %d", leaseMS, LeaseMinMS, LeaseMaxMS)
	}
	return nil
}

// oneLine makes text of the wire fit for a terminal: no control characters, and not long.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
	if len(text) > textMax {
		text = strings.ToValidUTF8(text[:textMax], "")
	}
	return strings.TrimSpace(text)
}
