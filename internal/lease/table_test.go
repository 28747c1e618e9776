// SPDX-License-Identifier: Apache-2.0

package lease_test

import (
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/lease"
)

// The table in docs/leases.md is the specification: each of its rows is tried, and each event in each state has a row.

const second = int64(1_000_000)

type (
	numbers = lease.Lease[int]
	inForce = lease.InForce[int]
)

// What happens, in the table's words.
const (
	replaced  = "it replaces what is in force, and its lease begins"
	prolonged = "it is prolonged"
	nothing   = "nothing is in force"
	refused   = "refused"
	ignored   = "ignored"
)

// state has the entries of its last set, of generation 7, and ways into it. Its lease is of 10 s at the time 0.
type state struct {
	entries []int
	ways    []func(t *testing.T, l *numbers)
}

var states = map[string]state{
	"nothing yet": {nil, []func(*testing.T, *numbers){
		func(*testing.T, *numbers) {},
		func(t *testing.T, l *numbers) { t.Helper(); accept(t, l, 0, 7, 1, 2); l.Drop(); l.NewStream() },
	}},
	"in force": {[]int{1, 2}, []func(*testing.T, *numbers){
		func(t *testing.T, l *numbers) { t.Helper(); accept(t, l, 0, 7, 1, 2) },
		func(t *testing.T, l *numbers) { t.Helper(); accept(t, l, 0, 5, 1, 2); accept(t, l, 0, 7, 1, 2) },
	}},
	"carried over": {[]int{1, 2}, []func(*testing.T, *numbers){
		func(t *testing.T, l *numbers) { t.Helper(); accept(t, l, 0, 7, 1, 2); l.NewStream() },
	}},
	"ended": {[]int{1, 2}, []func(*testing.T, *numbers){
		func(t *testing.T, l *numbers) { t.Helper(); accept(t, l, -10*second, 7, 1, 2); l.Expire(0) },
		func(t *testing.T, l *numbers) { t.Helper(); accept(t, l, -10*second, 7, 1, 2) }, // Nobody called Expire.
		func(t *testing.T, l *numbers) { t.Helper(); accept(t, l, 0, 7, 1, 2); l.Drop() },
	}},
	"emptied": {nil, []func(*testing.T, *numbers){
		func(t *testing.T, l *numbers) { t.Helper(); accept(t, l, 0, 6, 1, 2); accept(t, l, 0, 7) },
	}},
}

func accept(t *testing.T, l *numbers, nowUS int64, generation uint64, entries ...int) {
	t.Helper()
	if _, err := l.Set(nowUS, generation, 10_000, entries); err != nil {
		t.Fatal(err)
	}
}

// event is what happens at 1 s, in some ways. Each returns, in the table's words, what follows.
type event []func(l *numbers, last []int) string

var events = map[string]event{
	"a set of a greater generation": {
		set(8, 6_000, 1, 2), set(8, 1_000, 3), set(math.MaxUint64, 60_000, 1),
	},
	"an empty set of a greater generation, with any `lease_ms`": {set(8, 0), set(8, 6_000), set(9, math.MaxUint32)},
	"a set of generation 0": {set(0, 6_000, 1, 2), set(0, 0)},
	"a set with a `lease_ms` below 1 s or above 60 s": {
		set(8, 0, 1), set(8, 999, 1), set(8, 60_001, 1), set(8, math.MaxUint32, 1),
	},
	"the last set again": {
		func(l *numbers, last []int) string { return set(7, 6_000, last...)(l, last) },
		func(l *numbers, last []int) string { return set(7, 1_000, last...)(l, last) },
	},
	"the last generation with other entries": {set(7, 6_000, 1), set(7, 6_000, 2, 1), set(7, 6_000, 1, 2, 3)},
	"a set of a lower generation":            {set(6, 6_000, 1, 2), set(1, 6_000, 3)},
	"a renewal of the last generation":       {renewal(7, 1_000), renewal(7, 6_000), renewal(7, 60_000)},
	"a renewal of another generation":        {renewal(6, 6_000), renewal(8, 6_000)},
	"a renewal of generation 0":              {renewal(0, 6_000)},
	"a renewal with a `lease_ms` below 1 s or above 60 s": {
		renewal(7, 0), renewal(7, 999), renewal(7, 60_001),
	},
	"a new stream begins": {newStream},
	"the lease ends":      {end},
	"the set cannot be applied, or the agent stops": {
		func(l *numbers, _ []int) string { l.Drop(); return told(l, inForce{}, nothing) },
	},
}

// needsLast are the events that are about the last set.
var needsLast = []string{
	"the last set again", "the last generation with other entries", "a set of a lower generation",
	"a renewal of the last generation",
}

func set(generation uint64, leaseMS uint32, entries ...int) func(*numbers, []int) string {
	return func(l *numbers, _ []int) string {
		before := atOnce(l)
		outcome, err := l.Set(second, generation, leaseMS, entries)
		want := inForce{Generation: generation, Entries: entries, LeaseMS: leaseMS, DeadlineUS: endUS(leaseMS)}
		switch {
		case err != nil:
			return told(l, before, refused)
		case outcome == lease.Emptied:
			return told(l, inForce{}, nothing)
		case outcome == lease.Prolonged:
			return told(l, want, prolonged)
		}
		return told(l, want, replaced)
	}
}

func renewal(generation uint64, leaseMS uint32) func(*numbers, []int) string {
	return func(l *numbers, _ []int) string {
		want := atOnce(l)
		renewed, err := l.Renew(second, generation, leaseMS)
		switch {
		case err != nil:
			return told(l, want, refused)
		case !renewed:
			return told(l, want, ignored)
		}
		want.LeaseMS, want.DeadlineUS = leaseMS, endUS(leaseMS)
		return told(l, want, prolonged)
	}
}

func newStream(l *numbers, _ []int) string {
	l.Expire(second)
	before := l.InForce()
	l.NewStream()
	if next := *l; set(1, 6_000, 3)(&next, nil) != replaced {
		return "generations of the stream before count"
	}
	if before.Generation == 0 {
		return told(l, before, "nothing yet")
	}
	return told(l, before, "carried over")
}

func end(l *numbers, _ []int) string {
	l.Expire(second)
	before := l.InForce()
	isAny := before.Generation != 0
	if isEarly := l.Expire(before.DeadlineUS - 1); isEarly || told(l, before, "") != "" {
		return "it ends early"
	}
	if l.Expire(before.DeadlineUS) != isAny || l.Expire(before.DeadlineUS) {
		return "it does not end once"
	}
	return told(l, inForce{}, nothing)
}

func endUS(leaseMS uint32) int64 { return second + int64(leaseMS)*1000 }

// atOnce returns what is in force at 1 s. The lease itself does not know the time yet.
func atOnce(l *numbers) inForce {
	now := *l
	now.Expire(second)
	return now.InForce()
}

// told returns what happened if the set in force is what it should be then.
func told(l *numbers, want inForce, what string) string {
	if got := l.InForce(); !reflect.DeepEqual(got, want) {
		return what + ", but not so"
	}
	return what
}

func TestTheTableOfRules(t *testing.T) {
	t.Parallel()
	rowsOf := map[[2]string]int{}
	for _, row := range table(t) {
		names := strings.Split(row[0], ", ")
		if row[0] == "any" {
			names = slices.Collect(maps.Keys(states))
		}
		for _, name := range names {
			rowsOf[[2]string{name, row[1]}]++
			for i, way := range states[name].ways {
				for j, does := range events[row[1]] {
					l := new(numbers)
					way(t, l)
					if got := does(l, states[name].entries); got != row[2] {
						t.Errorf("%s (%d), %s (%d): %q, not %q", name, i, row[1], j, got, row[2])
					}
				}
			}
		}
	}
	for name := range states {
		for what := range events {
			key, want := [2]string{name, what}, 1
			if name == "nothing yet" && slices.Contains(needsLast, what) {
				want = 0
			}
			if got := rowsOf[key]; got != want {
				t.Errorf("%d rows of %q, %d wanted", got, key, want)
			}
			delete(rowsOf, key)
		}
	}
	for key := range rowsOf {
		t.Errorf("the test does not know %q", key)
	}
}

// table returns the rows of the rules.
func table(t *testing.T) [][]string {
	t.Helper()
	text, err := os.ReadFile("../../docs/leases.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "\n## In an agent\n")
	_, body, isThere := strings.Cut(section, "\n| state | event | what happens |\n|---|---|---|\n")
	if !isThere {
		t.Fatal("docs/leases.md has no table of rules")
	}
	var rows [][]string
	for line := range strings.Lines(body) {
		if !strings.HasPrefix(line, "|") {
			break
		}
		cells := strings.Split(strings.Trim(line, "| \n"), " | ")
		if len(cells) != 3 {
			t.Fatalf("not three columns: %s", line)
		}
		rows = append(rows, cells)
	}
	return rows
}
