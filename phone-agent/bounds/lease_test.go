// SPDX-License-Identifier: Apache-2.0

package bounds_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/bounds"
)

const secondUS = 1_000_000

func procfs() bounds.Capabilities {
	return bounds.Capabilities{Name: "procfs", CanSetMax: true, CanSetMin: true, CanSelectDestination: true, RulesMax: 256}
}

func destination(prefix string, minSegs, maxSegs uint32) bounds.Bound {
	return bounds.Bound{Kind: bounds.Destination, Prefix: prefix, MinSegs: minSegs, MaxSegs: maxSegs}
}

func set(generation uint64, leaseMS uint32, wanted ...bounds.Bound) bounds.Set {
	return bounds.Set{Generation: generation, LeaseMS: leaseMS, Bounds: wanted, Reason: "test"}
}

// describe is the generation, the rules and the deadline in seconds.
func describe(held bounds.Held) string {
	return fmt.Sprintf("%d %v until %d", held.Generation, held.Rules, held.DeadlineUS/secondUS)
}

func mustSet(t *testing.T, lease *bounds.Lease, nowUS int64, command bounds.Set) {
	t.Helper()
	if err := lease.Set(nowUS, command); err != nil {
		t.Fatal(err)
	}
}

func TestASetHoldsUntilItsLeaseEnds(t *testing.T) {
	t.Parallel()
	lease := bounds.NewLease(procfs())
	if held := lease.Held(); held.Generation != 0 || len(held.Rules) != 0 {
		t.Errorf("at first %+v", held)
	}
	mustSet(t, lease, 5*secondUS, set(3, 10_000, destination("10.0.4.1/32", 4, 8), bounds.Bound{Kind: bounds.All, All: true, MinSegs: 2, MaxSegs: 90}))
	if got := describe(lease.Held()); got != "3 [dst 10.0.4.1/32 4 8 all 2 90] until 15" {
		t.Errorf("held %s", got)
	}
	if lease.Expire(15*secondUS-1) || lease.Held().Generation != 3 {
		t.Error("ended early")
	}
	if !lease.Expire(15*secondUS) || lease.Held().Generation != 0 || lease.Held().Rules != nil {
		t.Errorf("did not end: %+v", lease.Held())
	}
	if lease.Expire(16 * secondUS) {
		t.Error("ended twice")
	}
}

func TestASetReplacesTheLast(t *testing.T) {
	t.Parallel()
	lease := bounds.NewLease(procfs())
	mustSet(t, lease, 0, set(1, 10_000, destination("10.0.4.1/32", 4, 8)))
	mustSet(t, lease, secondUS, set(2, 2_000, destination("10.0.4.2/32", 5, 9)))
	if got := describe(lease.Held()); got != "2 [dst 10.0.4.2/32 5 9] until 3" {
		t.Errorf("held %s", got)
	}
	mustSet(t, lease, secondUS, set(3, 2_000))
	if got := describe(lease.Held()); got != "0 [] until 0" {
		t.Errorf("after an empty set: %s", got)
	}
}

func TestRenewals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		atUS       int64
		generation uint64
		leaseMS    uint32
		renewed    bool
		refused    string
		held       string
	}{
		"in time":            {9 * secondUS, 7, 10_000, true, "", "7 [all 1 2] until 19"},
		"shorter":            {secondUS, 7, 1_000, true, "", "7 [all 1 2] until 2"},
		"of an older set":    {9 * secondUS, 6, 10_000, false, "", "7 [all 1 2] until 10"},
		"of a later set":     {9 * secondUS, 8, 10_000, false, "", "7 [all 1 2] until 10"},
		"too late":           {10 * secondUS, 7, 10_000, false, "", "0 [] until 0"},
		"of no set":          {9 * secondUS, 0, 10_000, false, "renew_lease: generation is 0", "7 [all 1 2] until 10"},
		"lease too short":    {9 * secondUS, 7, 999, false, "renew_lease: lease_ms 999 is not within 1000 to 60000", "7 [all 1 2] until 10"},
		"lease too long":     {9 * secondUS, 7, 60_001, false, "renew_lease: lease_ms 60001 is not within 1000 to 60000", "7 [all 1 2] until 10"},
		"longest lease":      {9 * secondUS, 7, 60_000, true, "", "7 [all 1 2] until 69"},
		"refused after end":  {11 * secondUS, 7, 0, false, "renew_lease: lease_ms 0 is not within 1000 to 60000", "0 [] until 0"},
		"exactly before end": {10*secondUS - 1, 7, 1_000, true, "", "7 [all 1 2] until 10"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lease := bounds.NewLease(procfs())
			mustSet(t, lease, 0, set(7, 10_000, bounds.Bound{Kind: bounds.All, All: true, MinSegs: 1, MaxSegs: 2}))
			renewed, err := lease.Renew(test.atUS, test.generation, test.leaseMS)
			if renewed != test.renewed || (err == nil) != (test.refused == "") || (err != nil && err.Error() != test.refused) {
				t.Errorf("renewed %v, %v", renewed, err)
			}
			if got := describe(lease.Held()); got != test.held {
				t.Errorf("held %s, want %s", got, test.held)
			}
		})
	}
}

func TestGenerationsGrowWithinAStream(t *testing.T) {
	t.Parallel()
	lease := bounds.NewLease(procfs())
	mustSet(t, lease, 0, set(7, 10_000, destination("10.0.4.1/32", 4, 8)))
	for _, generation := range []uint64{7, 6, 1} {
		if err := lease.Set(secondUS, set(generation, 10_000)); err == nil {
			t.Errorf("generation %d after 7 was accepted", generation)
		}
	}
	mustSet(t, lease, secondUS, set(8, 10_000))
	if err := lease.Set(secondUS, set(8, 10_000, destination("10.0.4.1/32", 4, 8))); err == nil {
		t.Error("generation 8 was accepted after an empty set with it")
	}
	lease.NewStream()
	mustSet(t, lease, 2*secondUS, set(1, 10_000, destination("10.0.4.1/32", 5, 9)))
	if got := describe(lease.Held()); got != "1 [dst 10.0.4.1/32 5 9] until 12" {
		t.Errorf("held %s", got)
	}
}

func TestANewStreamLeavesWhatHolds(t *testing.T) {
	t.Parallel()
	lease := bounds.NewLease(procfs())
	mustSet(t, lease, 0, set(7, 10_000, destination("10.0.4.1/32", 4, 8)))
	lease.NewStream()
	if got := describe(lease.Held()); got != "7 [dst 10.0.4.1/32 4 8] until 10" {
		t.Errorf("held %s", got)
	}
	lease.Drop()
	if got := describe(lease.Held()); got != "0 [] until 0" {
		t.Errorf("after a drop: %s", got)
	}
}

func TestABadSetIsRefusedAsAWhole(t *testing.T) {
	t.Parallel()
	good := destination("10.0.9.9/32", 1, 2)
	many := make([]bounds.Bound, 257)
	for i := range many {
		many[i] = destination(fmt.Sprintf("10.1.%d.%d/32", i/256, i%256), 1, 2)
	}
	tests := map[string]struct {
		command bounds.Set
		message string
	}{
		"generation 0":       {set(0, 10_000, good), "set_bounds: generation is 0"},
		"no lease":           {set(9, 0, good), "set_bounds: lease_ms 0 is not within 1000 to 60000"},
		"endless lease":      {set(9, 4294967295, good), "set_bounds: lease_ms 4294967295 is not within 1000 to 60000"},
		"too many":           {set(9, 10_000, many...), "set_bounds: 257 bounds are more than the 256 that back end procfs takes"},
		"min 0":              {set(9, 10_000, good, destination("10.0.4.1/32", 0, 2)), "set_bounds: bounds[1]: min_segs 0 is below 1"},
		"max beyond":         {set(9, 10_000, good, destination("10.0.4.1/32", 1, 65536)), "set_bounds: bounds[1]: max_segs 65536 is above 65535"},
		"min above max":      {set(9, 10_000, good, destination("10.0.4.1/32", 3, 2)), "set_bounds: bounds[1]: min_segs 3 is above max_segs 2"},
		"all false":          {set(9, 10_000, bounds.Bound{Kind: bounds.All, MinSegs: 1, MaxSegs: 2}), "set_bounds: bounds[0]: selector all is false; it must be true"},
		"no selector":        {set(9, 10_000, bounds.Bound{MinSegs: 1, MaxSegs: 2}), "set_bounds: bounds[0]: no selector"},
		"uid":                {set(9, 10_000, bounds.Bound{Kind: bounds.UID, UID: 10073, MinSegs: 1, MaxSegs: 2}), "set_bounds: bounds[0]: back end procfs cannot select by uid"},
		"no length":          {set(9, 10_000, destination("10.0.4.1", 1, 2)), `set_bounds: bounds[0]: destination_prefix "10.0.4.1" is not an address and prefix length`},
		"length beyond":      {set(9, 10_000, destination("10.0.4.1/33", 1, 2)), `set_bounds: bounds[0]: destination_prefix "10.0.4.1/33" is not an address and prefix length`},
		"injected line":      {set(9, 10_000, destination("10.0.4.1/32\nflush", 1, 2)), `set_bounds: bounds[0]: destination_prefix "10.0.4.1/32\nflush" is not an address and prefix length`},
		"host bits":          {set(9, 10_000, destination("10.0.4.1/24", 1, 2)), `set_bounds: bounds[0]: destination_prefix "10.0.4.1/24" has bits set beyond its length`},
		"IPv4 in IPv6":       {set(9, 10_000, destination("::ffff:10.0.4.1/128", 1, 2)), `set_bounds: bounds[0]: destination_prefix "::ffff:10.0.4.1/128" is IPv4 in IPv6; write it as IPv4`},
		"zone":               {set(9, 10_000, destination("fe80::%wlan0/64", 1, 2)), `set_bounds: bounds[0]: destination_prefix "fe80::%wlan0/64" is not an address and prefix length`},
		"selector repeated":  {set(9, 10_000, good, destination("10.0.4.1/32", 1, 2), good), "set_bounds: bounds[2]: repeats the selector dst 10.0.9.9/32 of bounds[0]"},
		"long prefix":        {set(9, 10_000, destination(strings.Repeat("1", 5000), 1, 2)), `set_bounds: bounds[0]: destination_prefix "` + strings.Repeat("1", 256) + `" is not an address and prefix length`},
		"generation repeats": {set(7, 10_000, good), "set_bounds: generation 7 does not follow 7"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lease := bounds.NewLease(procfs())
			mustSet(t, lease, 0, set(7, 10_000, destination("10.0.4.1/32", 4, 8)))
			err := lease.Set(secondUS, test.command)
			if err == nil || err.Error() != test.message {
				t.Errorf("got  %v\nwant %s", err, test.message)
			}
			if got := describe(lease.Held()); got != "7 [dst 10.0.4.1/32 4 8] until 10" {
				t.Errorf("held %s", got)
			}
			// A refused generation may come again in good order.
			mustSet(t, lease, 2*secondUS, set(9, 10_000, good))
		})
	}
}

func TestEverySelectorThatTheBackEndCan(t *testing.T) {
	t.Parallel()
	can := procfs()
	can.CanSelectUID, can.RulesMax = true, 0
	lease := bounds.NewLease(can)
	mustSet(t, lease, 0, set(1, 1_000, destination("2001:db8::/48", 1, 65535), destination("0.0.0.0/0", 65535, 65535),
		bounds.Bound{Kind: bounds.UID, UID: 10073, MinSegs: 3, MaxSegs: 3}, bounds.Bound{Kind: bounds.All, All: true, MinSegs: 1, MaxSegs: 1}))
	const want = "1 [dst 2001:db8::/48 1 65535 dst 0.0.0.0/0 65535 65535 uid 10073 3 3 all 1 1] until 1"
	if got := describe(lease.Held()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	nobody := bounds.Bound{Kind: bounds.UID, UID: math.MaxUint32, MinSegs: 3, MaxSegs: 3}
	if err := lease.Set(0, set(2, 1_000, nobody)); err == nil || !strings.Contains(err.Error(), "bounds[0]: uid 4294967295 is nobody's") {
		t.Errorf("%v", err)
	}
	if got := describe(lease.Held()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	can.CanSelectDestination = false
	if err := bounds.NewLease(can).Set(0, set(1, 1_000, destination("10.0.4.1/32", 1, 2))); err == nil {
		t.Error("a destination was accepted")
	}
}

func TestReasonIsOneLine(t *testing.T) {
	t.Parallel()
	for reason, want := range map[string]string{
		"n 5, paper JB":                "n 5, paper JB",
		" two\nlines\t\x1b[31mred ":    "two lines  [31mred",
		"bad \xff byte":                "bad ? byte",
		strings.Repeat("x", 1000):      strings.Repeat("x", 256),
		strings.Repeat("x", 255) + "é": strings.Repeat("x", 255),
	} {
		lease := bounds.NewLease(procfs())
		command := set(1, 1_000, destination("10.0.4.1/32", 1, 2))
		command.Reason = reason
		mustSet(t, lease, 0, command)
		if got := lease.Held().Reason; got != want {
			t.Errorf("%q became %q, want %q", reason, got, want)
		}
	}
}
