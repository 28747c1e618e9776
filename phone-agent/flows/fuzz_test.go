// SPDX-License-Identifier: Apache-2.0

package flows_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/airbound/airbound/phone-agent/flows"
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

func (c *commands) flow() *airboundv1.Flow {
	message := &airboundv1.Flow{}
	switch c.number(5) {
	case 0:
		message.Address = make([]byte, c.number(20)%20)
	case 1:
		message.Address = []byte{192, 0, 2, byte(c.number(3))}
	case 2:
		message.Address = append(make([]byte, 15), byte(c.number(3)))
	}
	if c.number(2) == 1 {
		uid := c.number(3)
		message.Uid = &uid
	}
	if c.number(4) > 0 {
		message.Category = video
	} else {
		message.Category = airboundv1.AccessCategory(c.number(7))
	}
	message.AdmittedUsPerS, message.UdpBps = c.number(700_000), uint64(c.number(50_000))
	return message
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
		can := flows.Capabilities{CanMark: c.number(4) > 0, CanPace: c.number(4) > 0}
		command := set(1, 6_000)
		for range c.number(7) % 7 {
			command.Flows = append(command.Flows, c.flow())
		}
		l := flows.NewLease(can)
		_, err := l.Set(0, command)
		entries := l.InForce().Entries
		if (err == nil && len(entries) != len(command.GetFlows())) || (err != nil && len(entries) != 0) {
			t.Fatalf("%v of %v: %v", entries, command, err)
		}
		check(t, entries, can)
	})
}

func check(t *testing.T, entries []flows.Flow, can flows.Capabilities) {
	t.Helper()
	seen := map[flows.Selector]bool{}
	for _, entry := range entries {
		address := entry.Selector.Address
		if seen[entry.Selector] || address.Is4In6() || address.IsValid() && address.IsUnspecified() ||
			entry.Video && !can.CanMark || entry.AdmittedUSPerS > 0 && !entry.Video ||
			entry.UDPBPS > 0 && (!can.CanPace || entry.UDPBPS < flows.RateMinBPS) {
			t.Fatalf("flow %v of %v", entry, entries)
		}
		seen[entry.Selector] = true
	}
	if sum := flows.AdmittedUSPerS(entries); sum > 1_000_000 {
		t.Fatalf("%d us/s", sum)
	}
}

// FuzzSelector: text that is accepted comes back the same.
func FuzzSelector(f *testing.F) {
	f.Add("all")
	f.Add("to 2001:db8::1")
	f.Add("uid 10073")
	f.Add("uid 10073 to 192.0.2.1")
	f.Fuzz(func(t *testing.T, text string) {
		var selector, again flows.Selector
		if selector.UnmarshalText([]byte(text)) != nil {
			return
		}
		if err := again.UnmarshalText([]byte(selector.String())); err != nil || again != selector {
			t.Errorf("%q became %q: %v", text, selector, err)
		}
	})
}
