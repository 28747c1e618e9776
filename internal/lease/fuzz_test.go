// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/airbound/airbound/internal/lease"
)

// FuzzLease: whatever the commands, the set in force is leased, and a refusal changes nothing.
func FuzzLease(f *testing.F) {
	// Enough seeds to make the plain test run a property test of its own.
	random := rand.New(rand.NewPCG(3, 5))
	for range 300 {
		script := make([]byte, random.IntN(600))
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		f.Add(script)
	}
	f.Fuzz(func(t *testing.T, script []byte) {
		next := func(most int) int {
			if len(script) == 0 {
				return 0
			}
			value := int(script[0]) % most
			script = script[1:]
			return value
		}
		// Most are legal, and few enough to collide.
		leases := []uint32{0, 999, lease.MinMS, 6_000, 20_000, lease.MaxMS, lease.MaxMS + 1, 1<<32 - 1}
		var l numbers
		var nowUS, prolongedUS int64
		for len(script) > 0 {
			nowUS += int64(next(20)) * second
			before := l.InForce()
			if before.DeadlineUS <= nowUS {
				before = inForce{}
			}
			var err error
			isChanged := true
			switch next(4) {
			case 0:
				l.Expire(nowUS)
				l.NewStream()
				isChanged = false
			case 1:
				generation := uint64(next(5))
				isChanged, err = l.Renew(nowUS, generation, leases[next(len(leases))])
				if isChanged && generation != before.Generation {
					t.Fatalf("renewed %d while %d was in force", generation, before.Generation)
				}
			default:
				generation, leaseMS := uint64(next(5)), leases[next(len(leases))]
				entries := make([]int, next(3))
				for i := range entries {
					entries[i] = next(3)
				}
				_, err = l.Set(nowUS, generation, leaseMS, entries)
			}
			after := l.InForce()
			if (err != nil || !isChanged) && !reflect.DeepEqual(after, before) {
				t.Fatalf("%+v, before %+v: %v", after, before, err)
			}
			if err == nil && isChanged {
				prolongedUS = nowUS
			}
			if after.Generation == 0 {
				if !reflect.DeepEqual(after, inForce{}) {
					t.Fatalf("generation 0 has %+v", after)
				}
				continue
			}
			if len(after.Entries) == 0 || after.DeadlineUS <= nowUS || after.DeadlineUS > prolongedUS+lease.MaxMS*1000 {
				t.Fatalf("%+v at %d, prolonged at %d", after, nowUS, prolongedUS)
			}
		}
		if l.Expire(prolongedUS + lease.MaxMS*1000); l.InForce().Generation != 0 {
			t.Fatalf("in force beyond the longest lease: %+v", l.InForce())
		}
	})
}
