// SPDX-License-Identifier: Apache-2.0

// Package flows decides how packets leave a terminal: in which access category, and UDP at which rate. It is pure:
// commands and the time come in, the wanted set of flows and the moment it ends come out. Flows are a lease: without
// another set, or the same again, packets leave as they are.
package flows

import (
	"encoding"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Max is the most entries of one set: a phone has a few apps that send at once, to a few servers each.
const Max = 64

// Flow is what is done with the packets that its selector matches. It is comparable.
type Flow struct {
	Selector Selector `json:"selector"`
	// Video is whether the packets leave in the access category for video; else they keep their own.
	Video bool `json:"video"`
	// AdmittedUSPerS is how much of the air the flow may use in its category where the access point demands admission,
	// in microseconds of each second; 0 for no admission.
	AdmittedUSPerS uint32 `json:"admitted_us_per_s,omitempty"`
	// UDPBPS is the most that the packets of UDP among them may have, bits of IP packets a second; 0 as they come.
	UDPBPS uint64 `json:"udp_bps,omitempty"`
}

// String returns, for example, "uid 10073 to 192.0.2.7: as video, admitted for 100000 us/s, UDP at 2000000 b/s".
func (f Flow) String() string {
	var what []string
	if f.Video {
		what = append(what, "as video")
	}
	if f.AdmittedUSPerS > 0 {
		what = append(what, fmt.Sprintf("admitted for %d us/s", f.AdmittedUSPerS))
	}
	if f.UDPBPS > 0 {
		what = append(what, fmt.Sprintf("UDP at %d b/s", f.UDPBPS))
	}
	if what == nil {
		what = append(what, "as it is")
	}
	return f.Selector.String() + ": " + strings.Join(what, ", ")
}

// Selector is which packets a flow matches: those of an app, those to an address, those of the app to the address, or
// all. Of several that match a packet the most specific one decides, in this order: app and address, app, address, all.
// It is comparable.
type Selector struct {
	// HasUID is whether it is for the packets of one app.
	HasUID bool
	UID    uint32
	// Address is the destination, never an IPv4-mapped IPv6 address; the zero value stands for every one.
	Address netip.Addr
}

var (
	_ encoding.TextMarshaler   = Selector{}
	_ encoding.TextUnmarshaler = (*Selector)(nil)
)

// Words of a selector's text.
const (
	allWord = "all"
	uidWord = "uid"
	toWord  = "to"
)

// String returns "uid 10073 to 192.0.2.7", "uid 10073", "to 192.0.2.7" or "all".
func (s Selector) String() string {
	var words []string
	if s.HasUID {
		words = append(words, uidWord, strconv.FormatUint(uint64(s.UID), 10))
	}
	if s.Address.IsValid() {
		words = append(words, toWord, s.Address.String())
	}
	if words == nil {
		return allWord
	}
	return strings.Join(words, " ")
}

// MarshalText implements encoding.TextMarshaler with String.
func (s Selector) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Selector) UnmarshalText(text []byte) error {
	words := strings.Split(string(text), " ")
	if len(words) == 1 && words[0] == allWord {
		*s = Selector{}
		return nil
	}
	var found Selector
	if len(words) >= 2 && words[0] == uidWord {
		uid, err := strconv.ParseUint(words[1], 10, 32)
		if err != nil {
			return fmt.Errorf("parse selector: %w", err)
		}
		found.HasUID, found.UID, words = true, uint32(uid), words[2:]
	}
	if len(words) == 2 && words[0] == toWord {
		address, err := netip.ParseAddr(words[1])
		if err != nil {
			return fmt.Errorf("parse selector: %w", err)
		}
		found.Address, words = address, nil
	}
	if len(words) > 0 {
		return errors.New("parse selector: neither all, uid UID, to ADDRESS nor uid UID to ADDRESS")
	}
	*s = found
	return nil
}

// Capabilities is what an agent can do; the fields are those of airboundv1.Agent.
type Capabilities struct {
	CanMark  bool `json:"can_mark"`
	CanAdmit bool `json:"can_admit"`
	CanPace  bool `json:"can_pace"`
	// Refusal is why not, of the first of these that cannot be.
	Refusal string `json:"refusal,omitempty"`
}

// Max is the most entries of a set; 0 if the agent takes none.
func (c Capabilities) Max() uint32 {
	if c.CanMark || c.CanPace {
		return Max
	}
	return 0
}

// String lists what the agent can do, and why it cannot do the rest.
func (c Capabilities) String() string {
	var can []string
	for _, ability := range []struct {
		has  bool
		name string
	}{{c.CanMark, "access category"}, {c.CanAdmit, "admission"}, {c.CanPace, "rate of UDP"}} {
		if ability.has {
			can = append(can, ability.name)
		}
	}
	text := "none"
	if can != nil {
		text = strings.Join(can, ", ")
	}
	if c.Refusal != "" {
		text += "; " + c.Refusal
	}
	return text
}

// Counters are what the kernel's program has done since the agent started.
type Counters struct {
	// Marked is how many packets left in another access category than their own.
	Marked uint64 `json:"marked_packets_total"`
	// Paced is how many packets of UDP were held back for their flow's rate, Dropped those of them that were dropped.
	Paced   uint64 `json:"paced_packets_total"`
	Dropped uint64 `json:"dropped_packets_total"`
}

// AdmittedUSPerS is the sum over all flows: the driver knows one admitted time for a category.
func AdmittedUSPerS(flows []Flow) uint32 {
	sum := uint32(0)
	for _, flow := range flows {
		sum += flow.AdmittedUSPerS
	}
	return sum
}
