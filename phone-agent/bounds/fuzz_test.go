// SPDX-License-Identifier: Apache-2.0

package bounds_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/airbound/airbound/phone-agent/bounds"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// commands reads a command out of fuzz bytes.
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
	kind, chosen := c.number(7), c.number(1000)
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
	case 4:
		return uidDestination(chosen%3, prefixes[chosen%uint32(len(prefixes))], minSegs, maxSegs)
	default:
		return prefix(prefixes[chosen%uint32(len(prefixes))], minSegs, maxSegs)
	}
}

// FuzzSet: whatever the command, the set in force is valid, and what was refused is not in force.
func FuzzSet(f *testing.F) {
	// Enough seeds to make the plain test run a property test of its own.
	random := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		script := make([]byte, random.IntN(200))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		c := &commands{rest: script}
		can := procfs()
		can.RulesMax, can.CanSelectUID = c.number(6), c.number(2) == 1
		can.CanSelectUIDDestination = c.number(2) == 1
		command := set(1, 6_000)
		for range c.number(7) % 7 {
			command.Bounds = append(command.Bounds, c.bound())
		}
		l := bounds.NewLease(can)
		err := l.Set(0, command)
		rules := l.InForce().Entries
		if (err == nil && len(rules) != len(command.GetBounds())) || (err != nil && len(rules) != 0) {
			t.Fatalf("%v of %v: %v", rules, command, err)
		}
		check(t, rules, can)
	})
}

func check(t *testing.T, rules []bounds.Rule, can bounds.Capabilities) {
	t.Helper()
	if can.RulesMax > 0 && len(rules) > int(can.RulesMax) {
		t.Fatalf("%d rules of at most %d", len(rules), can.RulesMax)
	}
	seen := map[bounds.Selector]bool{}
	for _, rule := range rules {
		if rule.MinSegs < 1 || rule.MinSegs > rule.MaxSegs || rule.MaxSegs > 65535 || seen[rule.Selector] {
			t.Fatalf("rule %v of %v", rule, rules)
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
		case bounds.UIDDestination:
			if !can.CanSelectUIDDestination || rule.Selector.Prefix != rule.Selector.Prefix.Masked() {
				t.Fatalf("rule %v", rule)
			}
		default:
			t.Fatalf("rule %v", rule)
		}
	}
}
