// SPDX-License-Identifier: Apache-2.0

package edca_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/airbound/airbound/ap-firmware/edca"
	"github.com/airbound/airbound/internal/lease"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// commands reads a command out of fuzz bytes.
type commands struct{ rest []byte }

func (c *commands) number(most uint32) uint32 {
	const size = 4
	if len(c.rest) < size {
		c.rest = nil
		return 0
	}
	n := binary.LittleEndian.Uint32(c.rest)
	c.rest = c.rest[size:]
	// Small numbers are what collides and what is legal; large ones must come too.
	if n%8 == 0 {
		return n
	}
	return n % most
}

func (c *commands) window() uint32 { return 1<<(c.number(12)%32) - 1 + c.number(30)/29 }

func (c *commands) queue() *airboundv1.Edca {
	return &airboundv1.Edca{
		Category: airboundv1.AccessCategory(c.number(6)%7) - 1, Aifsn: c.number(9),
		CwMin: c.window(), CwMax: c.window(), TxopLimit: c.number(100), Admission: c.number(8) > 5,
	}
}

// FuzzSet: whatever the command, the set in force is within its limits.
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
		command := &airboundv1.SetEdca{Generation: 1, LeaseMs: 6_000}
		for range c.number(4) % 4 {
			command.Queues = append(command.Queues, c.queue())
		}
		for range c.number(4) % 4 {
			command.Stations = append(command.Stations, c.queue())
		}
		var l edca.Lease
		outcome, err := l.Set(0, command, present)
		isEmpty := len(command.GetQueues())+len(command.GetStations()) == 0
		if (err == nil && outcome == lease.Emptied) != isEmpty {
			t.Fatalf("%v: %v, %v", command, outcome, err)
		}
		if queues := l.Queues(); err == nil && len(queues) != len(command.GetQueues()) ||
			!areWithin(queues, limits{aifsnMax: 7, cwLeast: 1, cwMinMax: 63, cwMaxLeast: 1}) {
			t.Fatalf("%v of %v", queues, command)
		}
		announced := l.Announced()
		if err == nil && len(announced) != len(command.GetStations()) {
			t.Fatalf("%v of %v", announced, command)
		}
		bestEffort, ordinary := present.With(announced)[edca.BestEffort], 0
		for _, queue := range announced {
			if queue.Category <= edca.BestEffort {
				ordinary++
				continue
			}
			now := present[queue.Category]
			now.Admission = true
			if queue.Parameters != now && (queue.AIFSN < bestEffort.AIFSN || queue.CWMin < bestEffort.CWMin ||
				queue.CWMax < bestEffort.CWMax || queue.TXOPLimit > bestEffort.TXOPLimit) {
				t.Fatalf("%v of %v", queue, command)
			}
		}
		if !areWithin(announced[:ordinary], limits{aifsnMax: 15, cwLeast: 3, cwMinMax: 1023, cwMaxLeast: 63}) {
			t.Fatalf("%v of %v", announced, command)
		}
	})
}

type limits struct {
	aifsnMax                      uint8
	cwLeast, cwMinMax, cwMaxLeast uint16
}

// areWithin reports whether queues are within their limits, and in order.
func areWithin(queues []edca.Queue, within limits) bool {
	last := edca.Category(-1)
	for _, queue := range queues {
		isWindow := edca.IsCW(int(queue.CWMin)) && edca.IsCW(int(queue.CWMax))
		if queue.Admission || queue.Category <= last || queue.Category > edca.BestEffort || !isWindow ||
			queue.AIFSN < 2 || queue.AIFSN > within.aifsnMax || queue.CWMin < within.cwLeast ||
			queue.CWMin > within.cwMinMax || queue.CWMax < within.cwMaxLeast || queue.CWMax > 1023 ||
			queue.CWMin > queue.CWMax || queue.TXOPLimit > 94 {
			return false
		}
		last = queue.Category
	}
	return true
}
