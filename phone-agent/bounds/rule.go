// SPDX-License-Identifier: Apache-2.0

// Package bounds decides which cwnd bounds are in force on a terminal. It is pure: commands and the time come in, the
// wanted set of rules and the moment it ends come out. Bounds are a lease: without renewal the kernel's defaults
// return.
package bounds

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Rule is one cwnd range and the connections it is for.
type Rule struct {
	Selector Selector `json:"selector"`
	MinSegs  uint32   `json:"min_segs"`
	MaxSegs  uint32   `json:"max_segs"`
}

func (r Rule) String() string {
	return fmt.Sprintf("%s: %d to %d segments", r.Selector, r.MinSegs, r.MaxSegs)
}

// Selector is which connections a rule matches. It is comparable.
type Selector struct {
	Kind SelectorKind
	// For Destination and UIDDestination: masked, never an IPv4-mapped IPv6 prefix.
	Prefix netip.Prefix
	// For UID and UIDDestination.
	UID uint32
}

// SelectorKind is what a selector goes by.
type SelectorKind int

// The kinds of selector of the contract.
const (
	None SelectorKind = iota
	All
	Destination
	UID
	// UIDDestination is both together. If rules of this kind match a connection, the one with the longest prefix alone
	// is in force for it; otherwise, of all that match, the smallest maximum and the smallest minimum are.
	UIDDestination
)

// String returns "all", "destination 10.0.4.0/24", "uid 10073" or "uid 10073 destination 10.0.4.0/24".
func (s Selector) String() string {
	switch s.Kind {
	case All:
		return "all"
	case Destination:
		return "destination " + s.Prefix.String()
	case UID:
		return "uid " + strconv.FormatUint(uint64(s.UID), 10)
	case UIDDestination:
		return "uid " + strconv.FormatUint(uint64(s.UID), 10) + " destination " + s.Prefix.String()
	case None:
	}
	return "none"
}

// MarshalText implements encoding.TextMarshaler with String.
func (s Selector) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Selector) UnmarshalText(text []byte) error {
	kind, value, _ := strings.Cut(string(text), " ")
	switch kind {
	case "all":
		*s = Selector{Kind: All}
		return nil
	case "destination":
		prefix, err := netip.ParsePrefix(value)
		if err != nil {
			return fmt.Errorf("parse selector: %w", err)
		}
		*s = Selector{Kind: Destination, Prefix: prefix}
		return nil
	case "uid":
		number, destination, both := strings.Cut(value, " destination ")
		uid, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return fmt.Errorf("parse selector: %w", err)
		}
		selector := Selector{Kind: UID, UID: uint32(uid)}
		if both {
			selector.Kind = UIDDestination
			if selector.Prefix, err = netip.ParsePrefix(destination); err != nil {
				return fmt.Errorf("parse selector: %w", err)
			}
		}
		*s = selector
		return nil
	}
	return errors.New("parse selector: neither all, destination nor uid")
}

// Capabilities is what a back end can do; the fields are those of airboundv1.BackEnd.
type Capabilities struct {
	Name                 string `json:"name"`
	CanSetMax            bool   `json:"can_set_max"`
	CanSetMin            bool   `json:"can_set_min"`
	CanSelectDestination bool   `json:"can_select_destination"`
	CanSelectUID         bool   `json:"can_select_uid"`
	// Of an app to a destination.
	CanSelectUIDDestination bool `json:"can_select_uid_destination"`
	// Most rules at once; 0 for no limit.
	RulesMax uint32 `json:"rules_max"`
}

// String lists what the back end can do.
func (c Capabilities) String() string {
	var can []string
	for _, ability := range []struct {
		has  bool
		name string
	}{
		{c.CanSetMax, "max"},
		{c.CanSetMin, "min"},
		{c.CanSelectDestination, "destination"},
		{c.CanSelectUID, "uid"},
		{c.CanSelectUIDDestination, "uid with destination"},
	} {
		if ability.has {
			can = append(can, ability.name)
		}
	}
	text := fmt.Sprintf("%s (%s", c.Name, strings.Join(can, ", "))
	if c.RulesMax > 0 {
		text += fmt.Sprintf("; at most %d rules", c.RulesMax)
	}
	return text + ")"
}

// Limits of a range, in segments. The kernel's cwnd is at least 1; 65535 is the kernel's limit of a rule.
const (
	SegsMin = 1
	SegsMax = 65535
)
