// SPDX-License-Identifier: Apache-2.0

// Package bounds decides which cwnd bounds a terminal holds. It is pure: commands and the time come in, the wanted set
// of rules and the moment it ends come out. Bounds are a lease: silence restores the kernel's defaults.
package bounds

import (
	"fmt"
	"net/netip"
)

// Rule is one cwnd range and the connections it is for.
type Rule struct {
	Selector Selector
	MinSegs  uint32
	MaxSegs  uint32
}

// String gives the rule in the grammar of /proc/net/tcp_cwnd_bounds.
func (r Rule) String() string { return fmt.Sprintf("%s %d %d", r.Selector, r.MinSegs, r.MaxSegs) }

// Selector says which connections a rule matches. It is comparable.
type Selector struct {
	Kind SelectorKind
	// For Destination: masked, never an IPv4-mapped IPv6 prefix.
	Prefix netip.Prefix
	// For UID.
	UID uint32
}

// SelectorKind is what a selector goes by.
type SelectorKind int

// The kinds of selector that the wire knows.
const (
	None SelectorKind = iota
	All
	Destination
	UID
)

// String gives the selector in the grammar of /proc/net/tcp_cwnd_bounds.
func (s Selector) String() string {
	switch s.Kind {
	case All:
		return "all"
	case Destination:
		return "dst " + s.Prefix.String()
	case UID:
		return fmt.Sprintf("uid %d", s.UID)
	case None:
	}
	return "none"
}

// Capabilities is what a back end can do; the fields are those of airboundv1.BackEnd.
type Capabilities struct {
	Name                 string
	CanSetMax            bool
	CanSetMin            bool
	CanSelectDestination bool
	CanSelectUID         bool
	// Most rules at once; 0 for no limit.
	RulesMax uint32
}

// Limits of a range, in segments. The kernel's cwnd is at least 1; 65535 is what the kernel contract allows.
const (
	SegsMin = 1
	SegsMax = 65535
)
