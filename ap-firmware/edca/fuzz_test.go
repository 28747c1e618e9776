// SPDX-License-Identifier: Apache-2.0

package edca_test

import (
	"encoding/binary"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/airbound/airbound/ap-firmware/edca"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

// commands reads a sequence of commands out of fuzz bytes.
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
		CwMin: c.window(), CwMax: c.window(), TxopLimit: c.number(100),
	}
}

// FuzzLease: whatever the commands, the set in force is within its limits and leased, and a refusal changes nothing.
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
		var lease edca.Lease
		var nowUS, acceptedUS int64
		for len(c.rest) > 0 {
			nowUS += int64(c.number(20_000)%100_000) * 1000
			lease.Expire(nowUS)
			before := lease.InForce()
			if c.number(8) == 0 {
				lease.NewStream()
				continue
			}
			command := &airboundv1.SetEdca{Generation: uint64(c.number(10)), LeaseMs: c.number(70_000)}
			for range c.number(4) % 4 {
				command.Queues = append(command.Queues, c.queue())
			}
			for range c.number(4) % 4 {
				command.Stations = append(command.Stations, c.queue())
			}
			outcome, err := lease.Set(nowUS, command)
			inForce := lease.InForce()
			switch {
			case err != nil:
				if !reflect.DeepEqual(inForce, before) {
					t.Fatalf("refused (%v) and yet changed: %+v, before %+v", err, inForce, before)
				}
				continue
			case outcome == edca.Emptied && inForce.Generation != 0:
				t.Fatalf("emptied: %+v", inForce)
			case outcome == edca.Prolonged && (!reflect.DeepEqual(inForce.Queues, before.Queues) ||
				!reflect.DeepEqual(inForce.Stations, before.Stations)):
				t.Fatalf("prolonged: %+v, before %+v", inForce, before)
			}
			acceptedUS = nowUS
			check(t, inForce, nowUS)
		}
		if lease.Expire(acceptedUS + edca.LeaseMaxMS*1000); lease.InForce().Generation != 0 {
			t.Fatalf("in force beyond the longest lease: %+v", lease.InForce())
		}
	})
}

func check(t *testing.T, inForce edca.InForce, nowUS int64) {
	t.Helper()
	if inForce.Generation == 0 {
		if !reflect.DeepEqual(inForce, edca.InForce{}) {
			t.Fatalf("generation 0 has %+v", inForce)
		}
		return
	}
	if inForce.DeadlineUS < nowUS+1_000_000 || inForce.DeadlineUS > nowUS+60_000_000 {
		t.Fatalf("deadline %d, now %d", inForce.DeadlineUS, nowUS)
	}
	last := edca.Category(-1)
	for _, queue := range inForce.Stations {
		isWindow := edca.IsCW(int(queue.CWMin)) && edca.IsCW(int(queue.CWMax))
		if queue.Category <= last || queue.Category > edca.BestEffort || !isWindow ||
			queue.AIFSN < 2 || queue.AIFSN > 15 || queue.CWMin < 3 || queue.CWMax < 63 || queue.CWMax > 1023 ||
			queue.CWMin > queue.CWMax || queue.TXOPLimit > 94 {
			t.Fatalf("%v of %v", queue, inForce.Stations)
		}
		last = queue.Category
	}
	last = edca.Category(-1)
	for _, queue := range inForce.Queues {
		isWindow := edca.IsCW(int(queue.CWMin)) && edca.IsCW(int(queue.CWMax))
		if queue.Category <= last || queue.Category > edca.BestEffort || !isWindow ||
			queue.AIFSN < 2 || queue.AIFSN > 7 || queue.CWMin > 63 || queue.CWMax > 1023 ||
			queue.CWMin > queue.CWMax || queue.TXOPLimit > 94 {
			t.Fatalf("%v of %v", queue, inForce.Queues)
		}
		last = queue.Category
	}
	if len(inForce.Queues) == 0 && len(inForce.Stations) == 0 {
		t.Fatal("an empty set has a generation")
	}
}
