// SPDX-License-Identifier: Apache-2.0

package path_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/airbound/airbound/lab/handover/path"
)

const examples = 300

// some returns a description with all phases, or without some of them.
func some(random *rand.Rand) path.Description {
	upTo := func(most time.Duration) time.Duration {
		if random.IntN(3) == 0 {
			return 0
		}
		return time.Duration(random.Int64N(int64(most)))
	}
	lost := upTo(10 * time.Second)
	return path.Description{
		OneWay: upTo(200 * time.Millisecond), Jitter: upTo(20 * time.Millisecond),
		LossAt: 20*time.Second + upTo(2*time.Second), Lost: lost, Held: upTo(11 * time.Second),
		Before: upTo(5 * time.Second), After: upTo(20 * time.Second),
		DownShift: upTo(2*time.Second) - time.Second, Seed: random.Uint64(),
	}
}

type packet struct {
	sent, arrived time.Duration
	passed        bool
}

func send(description path.Description, direction path.Direction, every time.Duration) []packet {
	one := path.New(description)
	var packets []packet
	for at := time.Duration(0); at < description.Complete()+60*time.Second; at += every {
		arrived, passed := one.Send(at, direction)
		packets = append(packets, packet{at, arrived, passed})
	}
	return packets
}

func forAll(t *testing.T, check func(t *testing.T, description path.Description, direction path.Direction)) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	for range examples {
		description := some(random)
		if err := description.Check(); err != nil {
			t.Fatalf("%+v: %v", description, err)
		}
		check(t, description, path.Up)
		check(t, description, path.Down)
		if t.Failed() {
			t.Fatalf("with %+v", description)
		}
	}
}

func TestNothingOvertakesAndNothingIsEarly(t *testing.T) {
	forAll(t, func(t *testing.T, description path.Description, direction path.Direction) {
		t.Helper()
		last := time.Duration(0)
		for _, each := range send(description, direction, 37*time.Millisecond) {
			if !each.passed {
				continue
			}
			if each.arrived < last {
				t.Errorf("sent at %v: arrives at %v, an earlier one at %v", each.sent, each.arrived, last)
			}
			if each.arrived < each.sent+description.OneWay {
				t.Errorf("sent at %v: arrives at %v, too early", each.sent, each.arrived)
			}
			last = each.arrived
		}
	})
}

func TestLosesExactlyWhatIsSentInTheOutage(t *testing.T) {
	forAll(t, func(t *testing.T, description path.Description, direction path.Direction) {
		t.Helper()
		from, to := description.LossAt, description.LossAt+description.Lost
		if direction == path.Down {
			from += description.DownShift
		}
		for _, each := range send(description, direction, 37*time.Millisecond) {
			if lost := each.sent >= from && each.sent < to; lost == each.passed {
				t.Errorf("sent at %v: passed is %v, losses are from %v to %v", each.sent, each.passed, from, to)
			}
		}
	})
}

func TestHoldsUntilTheHandoverIsComplete(t *testing.T) {
	forAll(t, func(t *testing.T, description path.Description, direction path.Direction) {
		t.Helper()
		from, complete := description.LossAt+description.Lost, description.Complete()
		most := complete + description.OneWay + description.Jitter
		if direction == path.Up {
			most += description.After
		}
		for _, each := range send(description, direction, 37*time.Millisecond) {
			if each.sent < from || each.sent >= complete {
				continue
			}
			if each.arrived < complete+description.OneWay {
				t.Errorf("sent at %v: arrives at %v, complete at %v", each.sent, each.arrived, complete)
			}
			// What was queued before the handover arrives first.
			before := description.LossAt + description.Before + description.OneWay + description.Jitter
			if each.arrived > max(most, before) {
				t.Errorf("sent at %v: arrives at %v, later than %v", each.sent, each.arrived, most)
			}
		}
	})
}

func TestQueueGrowsBeforeAndDrainsAfter(t *testing.T) {
	description := path.Description{
		LossAt: 20 * time.Second, Lost: 3 * time.Second, Held: 11 * time.Second,
		Before: 4 * time.Second, After: 20 * time.Second,
	}
	for _, each := range []struct{ at, delay time.Duration }{
		{2 * time.Second, 0},
		{4500 * time.Millisecond, 2 * time.Second},
		{7 * time.Second, 4 * time.Second},
		{19 * time.Second, 4 * time.Second},
		{34 * time.Second, 20 * time.Second},
		{39 * time.Second, 20 * time.Second},
		{49 * time.Second, 15 * time.Second},
		{79 * time.Second, 0},
		{99 * time.Second, 0},
	} {
		if delay := description.Queue(each.at); delay != each.delay {
			t.Errorf("at %v: %v, expected %v", each.at, delay, each.delay)
		}
	}
}

func TestSameSeedIsTheSamePath(t *testing.T) {
	description := some(rand.New(rand.NewPCG(3, 4)))
	description.Jitter = 20 * time.Millisecond
	first, second := send(description, path.Up, time.Second/10), send(description, path.Up, time.Second/10)
	description.Seed++
	third := send(description, path.Up, time.Second/10)
	differs := false
	for i := range first {
		if first[i] != second[i] {
			t.Fatalf("%v and %v", first[i], second[i])
		}
		differs = differs || first[i] != third[i]
	}
	if !differs {
		t.Error("another seed has the same jitter")
	}
}

func TestTrafficOfItsOwnDoesNotChangeAPath(t *testing.T) {
	description := path.Description{OneWay: 25 * time.Millisecond, LossAt: 20 * time.Second, Lost: 3 * time.Second}
	alone, loaded := path.New(description), path.New(description)
	for at := time.Duration(0); at < 30*time.Second; at += time.Second {
		for range 50 {
			loaded.Send(at, path.Up)
		}
		first, passed := alone.Send(at, path.Up)
		if second, also := loaded.Send(at, path.Up); first != second || passed != also {
			t.Errorf("at %v: %v %v alone, %v %v with more", at, first, passed, second, also)
		}
	}
}

func TestIsOpenBeforeTimeZero(t *testing.T) {
	one := path.New(path.Description{OneWay: 25 * time.Millisecond, LossAt: 20 * time.Second, Before: 4 * time.Second})
	for _, at := range []time.Duration{-time.Minute, -time.Second, 0} {
		if arrived, passed := one.Send(at, path.Up); arrived != at+25*time.Millisecond || !passed {
			t.Errorf("sent at %v: arrives at %v, %v", at, arrived, passed)
		}
	}
}

func TestNamesWhatIsWrong(t *testing.T) {
	for wrong, description := range map[string]path.Description{
		"one_way_ns":    {OneWay: -1},
		"lost_ns":       {Lost: -time.Second},
		"before_ns":     {Before: 6 * time.Second},
		"down_shift_ns": {LossAt: time.Second, DownShift: -2 * time.Second},
	} {
		if err := description.Check(); err == nil || !strings.Contains(err.Error(), wrong) {
			t.Errorf("%+v: %v, expected one about %s", description, err, wrong)
		}
	}
}
