// SPDX-License-Identifier: Apache-2.0

package blockio

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/airbound/airbound/phone-agent/trace/rows"
)

// latencies is a histogram: its steps are an eighth of a power of two, so a percentile is at most an eighth too large.
type latencies struct {
	counts [64 << stepBits]uint32
	total  uint64
	maxNS  uint64
}

const stepBits = 3

func (l *latencies) add(ns uint64) {
	l.counts[stepOf(ns)]++
	l.total++
	l.maxNS = max(l.maxNS, ns)
}

// stepOf is the power of two and the next three bits.
func stepOf(ns uint64) int {
	if ns < 1<<stepBits {
		return int(ns)
	}
	power := bits.Len64(ns) - 1
	return (power-stepBits+1)<<stepBits + int(ns>>(power-stepBits)&(1<<stepBits-1))
}

// topOf is the largest value of a step.
func topOf(step int) uint64 {
	if step < 1<<stepBits {
		return uint64(step) //nolint:gosec // positive
	}
	power := step>>stepBits + stepBits - 1
	low := uint64(step&(1<<stepBits-1)) + 1<<stepBits
	return (low+1)<<(power-stepBits) - 1
}

// atMost is the time that a part of the requests took at most.
func (l *latencies) atMost(part float64) uint64 {
	rank, seen := uint64(part*float64(l.total)), uint64(0)
	for step, count := range l.counts {
		seen += uint64(count)
		if seen > rank {
			return min(topOf(step), l.maxNS)
		}
	}
	return l.maxNS
}

// sum is what is added up of requests.
type sum struct {
	requests, bytes, reads, writes, flushes uint64
}

func (s *sum) add(r *Record) {
	s.requests++
	s.bytes += r.Bytes
	switch r.Kind {
	case Read:
		s.reads++
	case Write:
		s.writes++
	case Flush:
		s.flushes++
	}
}

// Totals adds records up. It is a rows.Writer.
type Totals struct {
	disks     map[[2]string]*disk
	processes map[string]*sum
	syncs     map[syncKey]*syncs
	missing   map[string]uint64
}

type disk struct {
	sum
	latencies latencies
}

type syncKey struct {
	process string
	mount   string
	inode   uint64
}

type syncs struct {
	calls, requests, flushes, bytes, ns, maxNS uint64
}

// keysMax bounds the memory: what comes after so many processes or files is one line, named others.
const keysMax = 512

const others = "(others)"

// NewTotals begins at nothing.
func NewTotals() *Totals {
	return &Totals{
		disks: map[[2]string]*disk{}, processes: map[string]*sum{}, syncs: map[syncKey]*syncs{},
		missing: map[string]uint64{},
	}
}

// Write adds a record.
func (t *Totals) Write(row rows.Row) error {
	r, is := row.(*Record)
	switch {
	case !is:
	case r.IsGap():
		t.missing[r.Event] += r.Times
	case r.Event == Fsync:
		t.addSync(r)
	default:
		t.addRequest(r)
	}
	return nil
}

func (t *Totals) addRequest(r *Record) {
	on := kept(t.disks, [2]string{r.Device, r.Kind}, [2]string{others, r.Kind})
	on.add(r)
	if r.Seen == Whole {
		on.latencies.add(r.LatencyNS)
	}
	by := nameOf(r.Process, r.Command)
	if r.Sync != 0 {
		by = nameOf(r.SyncProcess, r.SyncCommand)
	}
	kept(t.processes, by, others).add(r)
}

func (t *Totals) addSync(r *Record) {
	s := kept(t.syncs, syncKey{nameOf(r.Process, r.Command), r.Mount, r.Inode}, syncKey{process: others})
	s.calls++
	s.requests += uint64(r.Requests)
	s.flushes += uint64(r.Flushes)
	s.bytes += r.Bytes
	s.ns += r.LatencyNS
	s.maxNS = max(s.maxNS, r.LatencyNS)
}

func nameOf(process, command string) string { return cmp.Or(process, command, "(unknown)") }

// kept is a map's value at a key, or at the key of all others if there are too many.
func kept[Key comparable, Value any](all map[Key]*Value, key, rest Key) *Value {
	if _, is := all[key]; !is && len(all) >= keysMax {
		key = rest
	}
	if all[key] == nil {
		all[key] = new(Value)
	}
	return all[key]
}

// Print writes tables for people: devices, processes and files, the largest first, at most so many of each; 0: all.
func (t *Totals) Print(to io.Writer, most int) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "device\tkind\trequests\tbytes\tmedian ms\t99 % ms\tmost ms\t")
	for _, key := range slices.SortedFunc(maps.Keys(t.disks), func(a, b [2]string) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	}) {
		d := t.disks[key]
		l := &d.latencies
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\t%s\t%s\t\n", key[0], key[1], d.requests, d.bytes,
			ms(l.atMost(0.5)), ms(l.atMost(0.99)), ms(l.maxNS))
	}
	fmt.Fprintln(table, "\t\t\t\t\t\t\t\nprocess, or whose fsync\trequests\treads\twrites\tflushes\tbytes\t")
	for _, by := range largest(t.processes, most, func(s *sum) uint64 { return s.requests }) {
		s := t.processes[by]
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t\n", by, s.requests, s.reads, s.writes, s.flushes, s.bytes)
	}
	if len(t.syncs) > 0 {
		fmt.Fprintln(table, "\t\t\t\t\t\t\t\nfsyncs of\ton\tinode\tcalls\trequests\tflushes\tbytes\tmean ms\tmost ms\t")
	}
	for _, key := range largest(t.syncs, most, func(s *syncs) uint64 { return s.requests }) {
		s := t.syncs[key]
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%d\t%d\t%d\t%s\t%s\t\n", key.process, key.mount, key.inode, s.calls,
			s.requests, s.flushes, s.bytes, ms(s.ns/s.calls), ms(s.maxNS))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(t.missing)) {
		fmt.Fprintf(&text, "--- missing: %d %s\n", t.missing[kind], kind)
	}
	_, err := io.WriteString(to, text.String())
	return err
}

// largest are the keys by the size of their values.
func largest[Key comparable, Value any](all map[Key]*Value, most int, size func(*Value) uint64) []Key {
	keys := slices.Collect(maps.Keys(all))
	slices.SortFunc(keys, func(a, b Key) int {
		return cmp.Or(cmp.Compare(size(all[b]), size(all[a])), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	if most > 0 && len(keys) > most {
		keys = keys[:most]
	}
	return keys
}

func ms(ns uint64) string { return fmt.Sprintf("%.3f", float64(ns)/nsPerMS) }

// Live prints totals of an interval each time that one has passed. It is a rows.Writer; Tick is for Recorder.Tick.
type Live struct {
	to      io.Writer
	everyNS uint64
	nextNS  uint64
	*Totals
}

// liveLines is how many processes and files there are on a screen.
const liveLines = 12

// clearScreen moves to the upper left and clears what is below (ECMA-48).
const clearScreen = "\x1b[H\x1b[J"

// NewLive prints to a terminal.
func NewLive(to io.Writer, everyNS uint64) *Live {
	return &Live{to: to, everyNS: everyNS, Totals: NewTotals()}
}

// Tick prints when it is time.
func (l *Live) Tick(nowNS uint64) error {
	if l.nextNS == 0 {
		l.nextNS = nowNS + l.everyNS
	}
	if nowNS < l.nextNS {
		return nil
	}
	l.nextNS = nowNS + l.everyNS
	if _, err := fmt.Fprintf(l.to, "%sstorage, last %.1f s\n\n", clearScreen, float64(l.everyNS)/1e9); err != nil {
		return err
	}
	err := l.Print(l.to, liveLines)
	l.Totals = NewTotals()
	return err
}
