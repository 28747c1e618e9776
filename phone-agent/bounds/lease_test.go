// SPDX-License-Identifier: Apache-2.0

package bounds_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/lease"
	"github.com/airbound/airbound/phone-agent/bounds"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const secondUS = 1_000_000

func procfs() bounds.Capabilities {
	return bounds.Capabilities{
		Name:                 "procfs",
		CanSetMax:            true,
		CanSetMin:            true,
		CanSelectDestination: true,
		RulesMax:             256,
	}
}

// prefix takes what is valid; octets and lengthBits may be anything.
func prefix(text string, minSegs, maxSegs uint32) *airboundv1.Bound {
	parsed := netip.MustParsePrefix(text)
	return octets(parsed.Addr().AsSlice(), uint32(parsed.Bits()), minSegs, maxSegs)
}

func octets(address []byte, lengthBits, minSegs, maxSegs uint32) *airboundv1.Bound {
	return &airboundv1.Bound{
		Selector: &airboundv1.Bound_Destination{
			Destination: &airboundv1.Prefix{Address: address, LengthBits: lengthBits},
		},
		MinSegs: minSegs,
		MaxSegs: maxSegs,
	}
}

func all(value bool, minSegs, maxSegs uint32) *airboundv1.Bound {
	return &airboundv1.Bound{Selector: &airboundv1.Bound_All{All: value}, MinSegs: minSegs, MaxSegs: maxSegs}
}

func uid(id, minSegs, maxSegs uint32) *airboundv1.Bound {
	return &airboundv1.Bound{Selector: &airboundv1.Bound_Uid{Uid: id}, MinSegs: minSegs, MaxSegs: maxSegs}
}

func uidDestination(id uint32, text string, minSegs, maxSegs uint32) *airboundv1.Bound {
	destination := prefix(text, 0, 0).GetDestination()
	return &airboundv1.Bound{
		Selector: &airboundv1.Bound_UidDestination{
			UidDestination: &airboundv1.UidDestination{Uid: id, Destination: destination},
		},
		MinSegs: minSegs, MaxSegs: maxSegs,
	}
}

func set(generation uint64, leaseMS uint32, wanted ...*airboundv1.Bound) *airboundv1.SetBounds {
	return &airboundv1.SetBounds{Generation: generation, LeaseMs: leaseMS, Bounds: wanted}
}

func renewal(generation uint64, leaseMS uint32) *airboundv1.RenewLease {
	return &airboundv1.RenewLease{Generation: generation, LeaseMs: leaseMS}
}

// describe is the generation, the rules and the deadline in seconds.
func describe(inForce lease.InForce[bounds.Rule]) string {
	rules := make([]string, len(inForce.Entries))
	for i, rule := range inForce.Entries {
		rules[i] = fmt.Sprintf("%s %d %d", rule.Selector, rule.MinSegs, rule.MaxSegs)
	}
	return fmt.Sprintf("%d %v until %d", inForce.Generation, rules, inForce.DeadlineUS/secondUS)
}

func mustSet(t *testing.T, l *bounds.Lease, nowUS int64, command *airboundv1.SetBounds) {
	t.Helper()
	if err := l.Set(nowUS, command); err != nil {
		t.Fatal(err)
	}
}

func TestASetIsInForceWhileItIsRenewed(t *testing.T) {
	t.Parallel()
	l := bounds.NewLease(procfs())
	mustSet(t, l, 5*secondUS, set(3, 10_000, prefix("10.0.4.1/32", 4, 8), all(true, 2, 90)))
	if got := describe(l.InForce()); got != "3 [destination 10.0.4.1/32 4 8 all 2 90] until 15" {
		t.Errorf("in force: %s", got)
	}
	if renewed, err := l.Renew(14*secondUS, renewal(3, 2_000)); !renewed || err != nil {
		t.Error(renewed, err)
	}
	if renewed, err := l.Renew(14*secondUS, renewal(2, 2_000)); renewed || err != nil {
		t.Error(renewed, err)
	}
	_, err := l.Renew(14*secondUS, renewal(3, 999))
	if got := fmt.Sprint(err); got != "renew_lease: lease_ms 999 is not within 1000 to 60000" {
		t.Error(got)
	}
	if got := describe(l.InForce()); got != "3 [destination 10.0.4.1/32 4 8 all 2 90] until 16" {
		t.Errorf("in force: %s", got)
	}
	mustSet(t, l, 15*secondUS, set(4, 0))
	if got := describe(l.InForce()); got != "0 [] until 0" {
		t.Errorf("after an empty set: %s", got)
	}
}

func TestABadSetIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	good := prefix("10.0.9.9/32", 1, 2)
	noPrefix := &airboundv1.Bound{Selector: &airboundv1.Bound_Destination{}, MinSegs: 1, MaxSegs: 2}
	many := make([]*airboundv1.Bound, 257)
	for i := range many {
		many[i] = prefix(fmt.Sprintf("10.1.%d.%d/32", i/256, i%256), 1, 2)
	}
	long := make([]byte, 5000)
	mapped := netip.MustParseAddr("::ffff:10.0.4.1").AsSlice()
	tests := map[string]struct {
		command *airboundv1.SetBounds
		message string
	}{
		"nothing":      {nil, "generation is 0"},
		"generation 0": {set(0, 10_000, good), "generation is 0"},
		"no lease":     {set(9, 0, good), "lease_ms 0 is not within 1000 to 60000"},
		"lease short":  {set(9, 999, good), "lease_ms 999 is not within 1000 to 60000"},
		"endless lease": {
			set(9, 4294967295, good), "lease_ms 4294967295 is not within 1000 to 60000",
		},
		"too many": {set(9, 10_000, many...), "257 bounds are more than the 256 that back end procfs takes"},
		"min 0":    {set(9, 10_000, good, prefix("10.0.4.1/32", 0, 2)), "bounds[1]: min_segs 0 is below 1"},
		"max beyond": {
			set(9, 10_000, good, prefix("10.0.4.1/32", 1, 65536)),
			"bounds[1]: max_segs 65536 is above 65535",
		},
		"min above max": {
			set(9, 10_000, good, prefix("10.0.4.1/32", 3, 2)),
			"bounds[1]: min_segs 3 is above max_segs 2",
		},
		"all false":   {set(9, 10_000, all(false, 1, 2)), "bounds[0]: selector all is false; it must be true"},
		"no selector": {set(9, 10_000, &airboundv1.Bound{MinSegs: 1, MaxSegs: 2}), "bounds[0]: no selector"},
		"no bound":    {set(9, 10_000, nil), "bounds[0]: no selector"},
		"uid":         {set(9, 10_000, uid(10073, 1, 2)), "bounds[0]: back end procfs cannot select by uid"},
		"uid and destination": {
			set(9, 10_000, good, uidDestination(10073, "10.0.4.1/32", 1, 2)),
			"bounds[1]: back end procfs cannot select by uid and destination together",
		},
		"no prefix": {
			set(9, 10_000, noPrefix),
			"bounds[0]: destination: an address of 0 octets; it must have 4 or 16",
		},
		"five octets": {
			set(9, 10_000, octets(long[:5], 1, 1, 2)),
			"bounds[0]: destination: an address of 5 octets; it must have 4 or 16",
		},
		"many octets": {
			set(9, 10_000, octets(long, 1, 1, 2)),
			"bounds[0]: destination: an address of 5000 octets; it must have 4 or 16",
		},
		"IPv4 beyond": {
			set(9, 10_000, octets(long[:4], 33, 1, 2)),
			"bounds[0]: destination: length_bits 33 is above 32",
		},
		"IPv6 beyond": {
			set(9, 10_000, octets(long[:16], 129, 1, 2)),
			"bounds[0]: destination: length_bits 129 is above 128",
		},
		"far beyond": {
			set(9, 10_000, octets(long[:4], math.MaxUint32, 1, 2)),
			"bounds[0]: destination: length_bits 4294967295 is above 32",
		},
		"host bits": {
			set(9, 10_000, prefix("10.0.4.1/24", 1, 2)),
			"bounds[0]: destination: 10.0.4.1/24 has bits set beyond its length",
		},
		"IPv6 host bits": {
			set(9, 10_000, prefix("2001:db8::1/64", 1, 2)),
			"bounds[0]: destination: 2001:db8::1/64 has bits set beyond its length",
		},
		"IPv4 in IPv6": {
			set(9, 10_000, octets(mapped, 128, 1, 2)),
			"bounds[0]: destination: ::ffff:10.0.4.1 is IPv4 in IPv6; it must be sent as 4 octets",
		},
		"selector repeated": {
			set(9, 10_000, good, prefix("10.0.4.1/32", 1, 2), good),
			"bounds[2]: repeats the selector of bounds[0], destination 10.0.9.9/32",
		},
		"generation repeats": {set(7, 10_000, good), "generation 7 came before with other entries"},
		"generation before":  {set(6, 10_000, good), "generation 6 is below 7"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := bounds.NewLease(procfs())
			mustSet(t, l, 0, set(7, 10_000, prefix("10.0.4.1/32", 4, 8)))
			err := l.Set(secondUS, test.command)
			if want := "set_bounds: " + test.message; err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if got := describe(l.InForce()); got != "7 [destination 10.0.4.1/32 4 8] until 10" {
				t.Errorf("in force: %s", got)
			}
			// A generation that was refused may be sent again.
			mustSet(t, l, 2*secondUS, set(9, 10_000, good))
		})
	}
}

func TestABackEndIsAskedForNothingThatItCannotDo(t *testing.T) {
	t.Parallel()
	for want, able := range map[string]bounds.Capabilities{
		"set_bounds: bounds[0]: back end ebpf cannot set a minimum, min_segs is 2": {Name: "ebpf", CanSetMax: true},
		"set_bounds: bounds[0]: back end none cannot set a maximum, max_segs is 9": {Name: "none", CanSetMin: true},
		"": {Name: "procfs", CanSetMax: true, CanSetMin: true},
	} {
		bound := &airboundv1.Bound{Selector: &airboundv1.Bound_All{All: true}, MinSegs: 2, MaxSegs: 9}
		err := bounds.NewLease(able).Set(0, &airboundv1.SetBounds{
			Generation: 1, LeaseMs: 5_000, Bounds: []*airboundv1.Bound{bound},
		})
		if got := fmt.Sprint(err); (want == "") != (err == nil) || (want != "" && got != want) {
			t.Errorf("%s: %v", able.Name, err)
		}
	}
	// The widest range is no bound at all.
	bound := &airboundv1.Bound{Selector: &airboundv1.Bound_All{All: true}, MinSegs: 1, MaxSegs: 65535}
	err := bounds.NewLease(bounds.Capabilities{}).Set(0, &airboundv1.SetBounds{
		Generation: 1, LeaseMs: 5_000, Bounds: []*airboundv1.Bound{bound},
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCapabilitiesInWords(t *testing.T) {
	t.Parallel()
	can := procfs()
	can.CanSelectUID, can.CanSelectUIDDestination = true, true
	const want = "procfs (max, min, destination, uid, uid with destination; at most 256 rules)"
	if got := can.String(); got != want {
		t.Error(got)
	}
	if got := (bounds.Capabilities{Name: "ebpf", CanSetMax: true}).String(); got != "ebpf (max)" {
		t.Error(got)
	}
}

func TestEverySelectorThatTheBackEndCan(t *testing.T) {
	t.Parallel()
	can := procfs()
	can.CanSelectUID, can.RulesMax = true, 0
	l := bounds.NewLease(can)
	mustSet(t, l, 0, set(1, 1_000, prefix("2001:db8::/48", 1, 65535), prefix("0.0.0.0/0", 65535, 65535),
		uid(10073, 3, 3), all(true, 1, 1)))
	const want = "1 [destination 2001:db8::/48 1 65535 destination 0.0.0.0/0 65535 65535 uid 10073 3 3 all 1 1] until 1"
	if got := describe(l.InForce()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	err := l.Set(0, set(2, 1_000, uid(math.MaxUint32, 3, 3)))
	if err == nil || !strings.Contains(err.Error(), "bounds[0]: uid 4294967295 is no user's") {
		t.Errorf("%v", err)
	}
	if got := describe(l.InForce()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if err := l.Set(0, set(2, 1_000, uidDestination(10073, "10.0.4.1/32", 3, 3))); err == nil {
		t.Error("a uid and a destination were accepted together")
	}
	can.CanSelectDestination = false
	if err := bounds.NewLease(can).Set(0, set(1, 1_000, prefix("10.0.4.1/32", 1, 2))); err == nil {
		t.Error("a destination was accepted")
	}
}

func TestAUIDAndADestinationTogether(t *testing.T) {
	t.Parallel()
	can := procfs()
	can.CanSelectUIDDestination = true
	l := bounds.NewLease(can)
	mustSet(t, l, 0, set(1, 1_000,
		prefix("10.0.4.1/32", 1, 2), uidDestination(10073, "10.0.4.1/32", 3, 4),
		uidDestination(10074, "10.0.4.1/32", 5, 6), uidDestination(10073, "2001:db8::/48", 7, 8)))
	const want = "1 [destination 10.0.4.1/32 1 2 uid 10073 destination 10.0.4.1/32 3 4 " +
		"uid 10074 destination 10.0.4.1/32 5 6 uid 10073 destination 2001:db8::/48 7 8] until 1"
	if got := describe(l.InForce()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	empty := &airboundv1.Bound{Selector: &airboundv1.Bound_UidDestination{}, MinSegs: 1, MaxSegs: 2}
	for message, bound := range map[string]*airboundv1.Bound{
		"uid 4294967295 is no user's: the kernel's range ends below it": uidDestination(
			math.MaxUint32, "10.0.4.1/32", 3, 3,
		),
		"destination: 10.0.4.1/24 has bits set beyond its length":          uidDestination(1, "10.0.4.1/24", 3, 3),
		"destination: an address of 0 octets; it must have 4 or 16":        empty,
		"min_segs 4 is above max_segs 3":                                   uidDestination(1, "10.0.4.1/32", 4, 3),
		"repeats the selector of bounds[0], uid 1 destination 10.0.4.0/24": uidDestination(1, "10.0.4.0/24", 9, 9),
	} {
		err := l.Set(0, set(2, 1_000, uidDestination(1, "10.0.4.0/24", 1, 1), bound))
		if got := fmt.Sprint(err); got != "set_bounds: bounds[1]: "+message {
			t.Errorf("got  %s\nwant %s", got, message)
		}
	}
	if got := describe(l.InForce()); got != want {
		t.Errorf("afterwards: %s", got)
	}
}

func TestRulesInJSON(t *testing.T) {
	t.Parallel()
	rules := []bounds.Rule{
		{Selector: bounds.Selector{Kind: bounds.All}, MinSegs: 1, MaxSegs: 2},
		{
			Selector: bounds.Selector{Kind: bounds.Destination, Prefix: netip.MustParsePrefix("2001:db8::/48")},
			MaxSegs:  4,
		},
		{Selector: bounds.Selector{Kind: bounds.UID, UID: math.MaxUint32}, MinSegs: 5},
		{
			Selector: bounds.Selector{
				Kind: bounds.UIDDestination, UID: 10073, Prefix: netip.MustParsePrefix("10.0.9.1/32"),
			},
			MinSegs: 6,
		},
	}
	text, err := json.Marshal(rules)
	const want = `[{"selector":"all","min_segs":1,"max_segs":2},{"selector":"destination 2001:db8::/48","min_segs":0,` +
		`"max_segs":4},{"selector":"uid 4294967295","min_segs":5,"max_segs":0},` +
		`{"selector":"uid 10073 destination 10.0.9.1/32","min_segs":6,"max_segs":0}]`
	if err != nil || string(text) != want {
		t.Fatalf("%s, %v", text, err)
	}
	var again []bounds.Rule
	if err := json.Unmarshal(text, &again); err != nil || fmt.Sprint(again) != fmt.Sprint(rules) {
		t.Errorf("%v, %v", again, err)
	}
	for _, selector := range []string{
		"", "none", "dst 10.0.0.1/32", "destination 10.0.0.1", "uid x", "uid a", "uid 4294967296", "uid",
		"uid 7 destination", "uid 7 destination 10.0.0.1", "uid destination 10.0.0.1/32", "uid 7 dst 10.0.0.1/32",
		"uid x destination 10.0.0.1/32", "destination 10.0.0.1/32 uid 7", "uid 7  destination 10.0.0.1/32",
	} {
		if err := new(bounds.Selector).UnmarshalText([]byte(selector)); err == nil {
			t.Errorf("%q is a selector", selector)
		}
	}
}

// FuzzSelector: text that is accepted comes back the same.
func FuzzSelector(f *testing.F) {
	f.Add("all")
	f.Add("destination 2001:db8::/48")
	f.Add("uid 10073")
	f.Add("uid 10073 destination 10.0.9.1/32")
	f.Fuzz(func(t *testing.T, text string) {
		var selector, again bounds.Selector
		if selector.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(selector.String())); err != nil || again != selector {
			t.Fatalf("%q is %v, and that is %v, %v", text, selector, again, err)
		}
	})
}
