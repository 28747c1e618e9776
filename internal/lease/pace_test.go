// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/airbound/airbound/internal/lease"
)

func TestSetsAreTakenAtOnceWhileTheyAreFew(t *testing.T) {
	t.Parallel()
	var p lease.Pace
	for i := range int64(1000) {
		nowUS := i * lease.SetIntervalUS
		if dueUS := p.Take(nowUS); dueUS != nowUS {
			t.Fatalf("set %d is due at %d, not %d", i, dueUS, nowUS)
		}
	}
	p = lease.Pace{}
	for i := range lease.SetsAtOnce {
		if dueUS := p.Take(5); dueUS != 5 {
			t.Errorf("set %d of those that come at once is due at %d", i, dueUS)
		}
	}
	if dueUS := p.Take(5); dueUS != 5+lease.SetIntervalUS {
		t.Errorf("one more is due at %d", dueUS)
	}
}

func TestWhateverComesTheRateIsKeptAndNothingWaitsLongerThanAnInterval(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var p lease.Pace
	var nowUS int64
	taken := []int64{}
	for range 20_000 {
		nowUS += random.Int64N(lease.SetIntervalUS / 3)
		dueUS := p.Take(nowUS)
		if dueUS > nowUS+lease.SetIntervalUS {
			t.Fatalf("at %d it is to wait until %d", nowUS, dueUS)
		}
		if dueUS == nowUS {
			taken = append(taken, nowUS)
		}
	}
	for i := lease.SetsAtOnce; i < len(taken); i++ {
		if taken[i]-taken[i-lease.SetsAtOnce] < lease.SetIntervalUS {
			t.Fatalf("%d sets within %d us", lease.SetsAtOnce+1, taken[i]-taken[i-lease.SetsAtOnce])
		}
	}
	if rate := float64(len(taken)) / float64(nowUS) * 1e6; rate < 9.9 || rate > 10.1 {
		t.Errorf("%.2f sets a second", rate)
	}
}

func TestTheNewestOfTheCommandsThatComeTooFastIsExecuted(t *testing.T) {
	t.Parallel()
	var h lease.Held[int]
	commands := make([]int, 1000)
	executed := 0
	for i := range commands {
		commands[i] = i
		if h.Admit(int64(i), &commands[i], false) {
			executed++
		}
	}
	if executed != lease.SetsAtOnce || h.NextUS() != lease.SetIntervalUS {
		t.Errorf("%d at once, the next at %d", executed, h.NextUS())
	}
	if got := h.Due(h.NextUS() - 1); got != nil {
		t.Errorf("%d too early", *got)
	}
	if got := h.Due(h.NextUS()); got == nil || *got != 999 {
		t.Errorf("%v", got)
	}
	if got := h.Due(2 * lease.SetIntervalUS); got != nil || h.NextUS() != math.MaxInt64 {
		t.Errorf("%v once more", got)
	}
	if h.Admit(lease.SetIntervalUS, &commands[0], false) || !h.Admit(lease.SetIntervalUS, &commands[1], true) {
		t.Error("what removes waits, or what does not is executed")
	}
	if got := h.Due(10 * lease.SetIntervalUS); got != nil {
		t.Errorf("%d, though what came later was executed", *got)
	}
	for i := range commands {
		h.Admit(0, &commands[i], false)
	}
	h.Drop()
	if got := h.Due(math.MaxInt64 / 2); got != nil {
		t.Errorf("%d was dropped", *got)
	}
}
