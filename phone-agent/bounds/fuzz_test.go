// SPDX-License-Identifier: Apache-2.0

package bounds_test

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/airbound/airbound/phone-agent/bounds"
)

// commands reads a sequence of commands out of fuzz bytes.
type commands struct{ rest []byte }

func (c *commands) number(most uint32) uint32 {
	if len(c.rest) < 4 {
		c.rest = nil
		return 0
	}
	n := binary.LittleEndian.Uint32(c.rest)
	c.rest = c.rest[4:]
	// Small numbers are what collides and what is legal; large ones must come too.
	if n%8 == 0 {
		return n
	}
	return n % most
}

func (c *commands) bound() bounds.Bound {
	prefixes := []string{
		"10.0.4.1/32", "10.0.4.2/32", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/48", "10.0.4.1/8", "10.0.4.1/99", "", "::ffff:10.0.0.0/104",
	}
	return bounds.Bound{
		Kind: bounds.SelectorKind(c.number(5)), All: c.number(4) > 0, Prefix: prefixes[c.number(1000)%9], UID: c.number(3),
		MinSegs: c.number(100), MaxSegs: c.number(70_000),
	}
}

// FuzzLease: whatever the commands, what holds is sound and leased, and a refusal changes nothing.
func FuzzLease(f *testing.F) {
	// Enough seeds to make the plain test run a property test of its own.
	random := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		script := make([]byte, random.IntN(2000))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		c := &commands{rest: script}
		can := procfs()
		can.RulesMax, can.CanSelectUID = c.number(6), c.number(2) == 1
		lease := bounds.NewLease(can)
		var nowUS int64
		var renewedAtUS int64
		for len(c.rest) > 0 {
			nowUS += int64(c.number(20_000)) * 1000
			lease.Expire(nowUS)
			before := lease.Held()
			var err error
			switch c.number(4) {
			case 0:
				lease.NewStream()
			case 1:
				var renewed bool
				generation := uint64(c.number(10))
				renewed, err = lease.Renew(nowUS, generation, c.number(70_000))
				if renewed {
					renewedAtUS = nowUS
					if generation != before.Generation {
						t.Fatalf("renewed %d while %d held", generation, before.Generation)
					}
				} else if !reflect.DeepEqual(lease.Held(), before) {
					t.Fatal("a renewal that did not renew changed what holds")
				}
			default:
				command := bounds.Set{Generation: uint64(c.number(10)), LeaseMS: c.number(70_000)}
				for range c.number(7) % 7 {
					command.Bounds = append(command.Bounds, c.bound())
				}
				if err = lease.Set(nowUS, command); err == nil {
					renewedAtUS = nowUS
				}
			}
			if err != nil && !reflect.DeepEqual(lease.Held(), before) {
				t.Fatalf("refused (%v) and yet changed: %+v, before %+v", err, lease.Held(), before)
			}
			check(t, lease.Held(), can, nowUS, renewedAtUS)
		}
		if held := lease.Held(); held.Generation != 0 {
			lease.Expire(renewedAtUS + int64(bounds.LeaseMaxMS)*1000)
			if lease.Held().Generation != 0 {
				t.Fatalf("clamped beyond the longest lease: %+v", held)
			}
		}
	})
}

func check(t *testing.T, held bounds.Held, can bounds.Capabilities, nowUS, renewedAtUS int64) {
	t.Helper()
	if held.Generation == 0 {
		if !reflect.DeepEqual(held, bounds.Held{}) {
			t.Fatalf("generation 0 holds %+v", held)
		}
		return
	}
	if len(held.Rules) == 0 || (can.RulesMax > 0 && len(held.Rules) > int(can.RulesMax)) {
		t.Fatalf("%d rules of at most %d", len(held.Rules), can.RulesMax)
	}
	if held.DeadlineUS <= nowUS || held.DeadlineUS > renewedAtUS+bounds.LeaseMaxMS*1000 {
		t.Fatalf("deadline %d, now %d, renewed at %d", held.DeadlineUS, nowUS, renewedAtUS)
	}
	seen := map[bounds.Selector]bool{}
	for _, rule := range held.Rules {
		if rule.MinSegs < 1 || rule.MinSegs > rule.MaxSegs || rule.MaxSegs > 65535 || seen[rule.Selector] {
			t.Fatalf("rule %v of %v", rule, held.Rules)
		}
		seen[rule.Selector] = true
		switch rule.Selector.Kind {
		case bounds.All:
		case bounds.Destination:
			if !rule.Selector.Prefix.IsValid() || rule.Selector.Prefix != rule.Selector.Prefix.Masked() {
				t.Fatalf("rule %v", rule)
			}
		case bounds.UID:
			if !can.CanSelectUID {
				t.Fatalf("rule %v", rule)
			}
		default:
			t.Fatalf("rule %v", rule)
		}
	}
}
