// SPDX-License-Identifier: Apache-2.0

package bounds_test

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/airbound/airbound/phone-agent/bounds"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
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

func (c *commands) bound() *airboundv1.Bound {
	prefixes := []string{
		"10.0.4.1/32", "10.0.4.2/32", "10.0.0.0/8", "0.0.0.0/0", "2001:db8::/48", "10.0.4.1/8", "::ffff:10.0.0.0/104",
	}
	kind, chosen := c.number(6), c.number(1000)
	minSegs, maxSegs := c.number(100), c.number(70_000)
	switch kind {
	case 0:
		return all(chosen > 100, minSegs, maxSegs)
	case 1:
		return uid(chosen%3, minSegs, maxSegs)
	case 2:
		return &airboundv1.Bound{MinSegs: minSegs, MaxSegs: maxSegs}
	case 3:
		return octets(make([]byte, chosen%20), c.number(200), minSegs, maxSegs)
	default:
		return prefix(prefixes[chosen%uint32(len(prefixes))], minSegs, maxSegs)
	}
}

// FuzzLease: whatever the commands, the set in force is valid and leased, and a refusal changes nothing.
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
			before := lease.InForce()
			var err error
			switch c.number(4) {
			case 0:
				lease.NewStream()
			case 1:
				var renewed bool
				generation := uint64(c.number(10))
				renewed, err = lease.Renew(nowUS, renewal(generation, c.number(70_000)))
				if renewed {
					renewedAtUS = nowUS
					if generation != before.Generation {
						t.Fatalf("renewed %d while %d was in force", generation, before.Generation)
					}
				} else if !reflect.DeepEqual(lease.InForce(), before) {
					t.Fatal("a renewal that did not renew changed the set in force")
				}
			default:
				command := set(uint64(c.number(10)), c.number(70_000))
				for range c.number(7) % 7 {
					command.Bounds = append(command.Bounds, c.bound())
				}
				if err = lease.Set(nowUS, command); err == nil {
					renewedAtUS = nowUS
				}
			}
			if err != nil && !reflect.DeepEqual(lease.InForce(), before) {
				t.Fatalf("refused (%v) and yet changed: %+v, before %+v", err, lease.InForce(), before)
			}
			check(t, lease.InForce(), can, nowUS, renewedAtUS)
		}
		if inForce := lease.InForce(); inForce.Generation != 0 {
			lease.Expire(renewedAtUS + int64(bounds.LeaseMaxMS)*1000)
			if lease.InForce().Generation != 0 {
				t.Fatalf("clamped beyond the longest lease: %+v", inForce)
			}
		}
	})
}

func check(t *testing.T, inForce bounds.InForce, can bounds.Capabilities, nowUS, renewedAtUS int64) {
	t.Helper()
	if inForce.Generation == 0 {
		if !reflect.DeepEqual(inForce, bounds.InForce{}) {
			t.Fatalf("generation 0 has %+v", inForce)
		}
		return
	}
	if len(inForce.Rules) == 0 || (can.RulesMax > 0 && len(inForce.Rules) > int(can.RulesMax)) {
		t.Fatalf("%d rules of at most %d", len(inForce.Rules), can.RulesMax)
	}
	if inForce.DeadlineUS <= nowUS || inForce.DeadlineUS > renewedAtUS+bounds.LeaseMaxMS*1000 {
		t.Fatalf("deadline %d, now %d, renewed at %d", inForce.DeadlineUS, nowUS, renewedAtUS)
	}
	seen := map[bounds.Selector]bool{}
	for _, rule := range inForce.Rules {
		if rule.MinSegs < 1 || rule.MinSegs > rule.MaxSegs || rule.MaxSegs > 65535 || seen[rule.Selector] {
			t.Fatalf("rule %v of %v", rule, inForce.Rules)
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
