// SPDX-License-Identifier: Apache-2.0

package ring_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/trace/ring"
	"github.com/airbound/airbound/phone-agent/trace/ring/ringtest"
)

// issue is events/block/block_rq_issue/format of Linux 6.18, shortened at its end.
const issue = `name: block_rq_issue
ID: 2104
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:int common_pid;	offset:4;	size:4;	signed:1;

	field:dev_t dev;	offset:8;	size:4;	signed:0;
	field:char rwbs[10];	offset:34;	size:10;	signed:0;
	field:__data_loc char[] cmd;	offset:60;	size:4;	signed:0;

print fmt: "%d,%d %s %u (%s) %llu + %u", REC->dev
`

func TestParseFormat(t *testing.T) {
	t.Parallel()
	format, err := ring.ParseFormat(issue)
	if err != nil || format.Name != "block_rq_issue" || format.ID != 2104 || len(format.Fields) != 5 {
		t.Fatalf("%+v, %v", format, err)
	}
	rwbs := ring.Field{Name: "rwbs", Offset: 34, Size: 10}
	if field, err := format.Field("rwbs", 8, 10); err != nil || field != rwbs {
		t.Errorf("%+v, %v", field, err)
	}
	for want, call := range map[string]func() (ring.Field, error){
		"the kernel's event block_rq_issue has no field sector": func() (ring.Field, error) {
			return format.Field("sector", 8)
		},
		"the kernel's event block_rq_issue has a field dev of 4 bytes": func() (ring.Field, error) {
			return format.Field("dev", 8)
		},
	} {
		if _, err := call(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                   "it has no name or no ID",
		"name: x\n":                          "it has no name or no ID",
		"name: x\nID: 1e3":                   "is not a number of 16 bits",
		"field:int a;\n":                     "name, offset or size is missing",
		"field:;offset:1;":                   "name, offset or size is missing",
		"field:int a;offset:-1;size:4;":      `"-1" is no offset`,
		"field:int a;offset:1;size:1048577;": `"1048577" is no size`,
	} {
		if _, err := ring.ParseFormat(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func layout(t *testing.T) ring.Layout {
	t.Helper()
	l, err := ring.ParseLayout(ringtest.HeaderPage)
	if err != nil || l.PageBytes != 4096 {
		t.Fatalf("%+v, %v", l, err)
	}
	return l
}

func TestParseLayout(t *testing.T) {
	t.Parallel()
	layout(t)
	arm := strings.NewReplacer("commit;\toffset:8;\tsize:8", "commit;\toffset:8;\tsize:4",
		"data;\toffset:16;\tsize:4080", "data;\toffset:12;\tsize:4084").Replace(ringtest.HeaderPage)
	if l, err := ring.ParseLayout(arm); err != nil || l.PageBytes != 4096 {
		t.Errorf("32 bits: %+v, %v", l, err)
	}
	const elsewhere = "not where they are known to be"
	for text, want := range map[string]string{
		"":                           elsewhere,
		"field: int commit;offset:9": "name, offset or size is missing",
		strings.Replace(ringtest.HeaderPage, "offset:16", "offset:9", 1):                  elsewhere,
		strings.Replace(ringtest.HeaderPage, "size:8;\tsigned:1", "size:2;\tsigned:1", 1): elsewhere,
	} {
		if _, err := ring.ParseLayout(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// queues are the pages of each processor that have not been read.
type queues struct {
	pages [][][]byte
	err   error
}

func (q *queues) Next(cpu int, page []byte) (bool, error) {
	if len(q.pages[cpu]) == 0 {
		return false, q.err
	}
	clear(page)
	copy(page, q.pages[cpu][0])
	q.pages[cpu] = q.pages[cpu][1:]
	return true, nil
}

// copied are the events of a batch, which are valid only until the next.
func copied(events []ring.Event) []ring.Event {
	kept := slices.Clone(events)
	for i := range kept {
		kept[i].Data = bytes.Clone(kept[i].Data)
	}
	return kept
}

func all(t *testing.T, next func() ([]ring.Event, error)) []ring.Event {
	t.Helper()
	var events []ring.Event
	for {
		batch, err := next()
		if err != nil {
			t.Fatal(err)
		}
		if len(batch) == 0 {
			return events
		}
		events = append(events, copied(batch)...)
	}
}

func data(id uint16, length int) []byte {
	d := make([]byte, max(length, 2))
	binary.LittleEndian.PutUint16(d, id)
	return d
}

func TestEveryKindOfEntry(t *testing.T) {
	t.Parallel()
	const start = 1<<59 + 5
	page := ringtest.NewPage(start)
	page.Add(start+1, data(1, 4))
	page.Discard(start+9, 12)
	page.Add(start+10, data(2, 112))
	page.Add(start+10+1<<30, data(3, 113)) // long, with an extension
	page.Add(start+11+1<<30, data(4, 6))   // no multiple of a word
	page.Stamp(start + 1<<31)
	page.Add(start+1<<31+7, data(5, 8))
	q := &queues{pages: [][][]byte{{page.Bytes(0)}}}
	var got []string
	merger := ring.NewMerger(layout(t), 1, q)
	for _, event := range all(t, merger.Rest) {
		got = append(got, fmt.Sprintf("%d %d %d", event.ID, event.TimeNS-start, len(event.Data)))
	}
	want := []string{
		"1 1 4", "2 10 112", fmt.Sprintf("3 %d 113", uint64(10+1<<30)), fmt.Sprintf("4 %d 6", uint64(11+1<<30)),
		fmt.Sprintf("5 %d 8", uint64(7+1<<31)),
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestMerge: whatever is spread over the processors comes in the order of time, each event once, however often the
// buffers are looked into; and nothing comes before an older event that may still be written.
func TestMerge(t *testing.T) {
	t.Parallel()
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		cpus := 1 + random.IntN(4)
		q := &queues{pages: make([][][]byte, cpus)}
		merger := ring.NewMerger(layout(t), cpus, q)
		pages := make([]*ringtest.Page, cpus)
		var got []ring.Event
		var want []string
		nowNS := uint64(1000)
		id := uint16(0)
		flush := func(cpu int, lost uint64) {
			if pages[cpu] != nil {
				q.pages[cpu] = append(q.pages[cpu], pages[cpu].Bytes(lost))
				pages[cpu] = nil
			}
		}
		for range 300 {
			nowNS += uint64(random.IntN(1000)) * uint64(random.IntN(1000)) * uint64(random.IntN(1000))
			cpu := random.IntN(cpus)
			if pages[cpu] == nil {
				pages[cpu] = ringtest.NewPage(nowNS)
			}
			id++
			nowNS++
			event := data(id, 2+random.IntN(200))
			if !pages[cpu].Add(nowNS, event) {
				flush(cpu, 0)
				pages[cpu] = ringtest.NewPage(nowNS)
				pages[cpu].Add(nowNS, event)
			}
			want = append(want, fmt.Sprint(id, nowNS, len(event)))
			if random.IntN(10) == 0 { // The reader comes.
				for each := range cpus {
					flush(each, 0)
				}
				got = append(got, all(t, func() ([]ring.Event, error) { return merger.Batch(nowNS) })...)
				if len(got) != len(want) {
					t.Fatalf("seed %d: %d of %d events until now", seed, len(got), len(want))
				}
			}
		}
		for each := range cpus {
			flush(each, 0)
		}
		got = append(got, all(t, merger.Rest)...)
		var found []string
		for _, event := range got {
			found = append(found, fmt.Sprint(event.ID, event.TimeNS, len(event.Data)))
		}
		if !slices.Equal(found, want) {
			t.Fatalf("seed %d:\n%v\n%v", seed, found, want)
		}
	}
}

func TestAnEventWaitsForOlderOnesThatMayCome(t *testing.T) {
	t.Parallel()
	q := &queues{pages: make([][][]byte, 2)}
	merger := ring.NewMerger(layout(t), 2, q)
	page := ringtest.NewPage(100)
	page.Add(100, data(1, 4))
	page.Add(200, data(2, 4))
	q.pages[0] = [][]byte{page.Bytes(0)}
	if got := all(t, func() ([]ring.Event, error) { return merger.Batch(150) }); len(got) != 1 || got[0].ID != 1 {
		t.Fatalf("%+v", got)
	}
	late := ringtest.NewPage(160)
	late.Add(160, data(3, 4))
	q.pages[1] = [][]byte{late.Bytes(0)}
	got := all(t, func() ([]ring.Event, error) { return merger.Batch(300) })
	if len(got) != 2 || got[0].ID != 3 || got[1].ID != 2 || got[1].CPU != 0 {
		t.Fatalf("%+v", got)
	}
}

func TestLossesAreAtTheirPlaceAndWhatCannotBeReadIsAGap(t *testing.T) {
	t.Parallel()
	one, two, full := ringtest.NewPage(10), ringtest.NewPage(20), ringtest.NewPage(40)
	one.Add(10, data(1, 4))
	two.Add(21, data(2, 4))
	for full.Add(41, data(4, 4)) { // No room for the number of losses.
	}
	corrupt := ringtest.NewPage(30)
	corrupt.Add(30, data(3, 4))
	bad := corrupt.Bytes(0)
	binary.LittleEndian.PutUint64(bad[8:], 12)
	binary.LittleEndian.PutUint32(bad[16+8:], 28) // 28 words, but the page ends
	tooLong := make([]byte, 4096)
	binary.LittleEndian.PutUint64(tooLong[8:], 4081)
	q := &queues{pages: [][][]byte{{one.Bytes(0), two.Bytes(7), bad, full.Bytes(3), tooLong}}}
	merger := ring.NewMerger(layout(t), 1, q)
	var got []string
	for _, event := range all(t, merger.Rest) {
		if event.ID != 4 || event.Kind != ring.Data {
			got = append(got, fmt.Sprint(event.Kind, event.ID, event.Times))
		}
	}
	want := []string{
		fmt.Sprint(ring.Data, 1, 0), fmt.Sprint(ring.Lost, 0, 7), fmt.Sprint(ring.Data, 2, 0),
		fmt.Sprint(ring.Data, 3, 0),
		fmt.Sprint(ring.Refused, 0, 1), fmt.Sprint(ring.Lost, 0, 1), fmt.Sprint(ring.Refused, 0, 1),
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	q.err = errors.New("gone")
	if _, err := merger.Batch(1); !errors.Is(err, q.err) {
		t.Errorf("%v", err)
	}
}

// FuzzMerger: any page ends, its events are within it, and the batches are bounded.
func FuzzMerger(f *testing.F) {
	page := ringtest.NewPage(10)
	page.Add(11, data(1, 4))
	page.Discard(12, 8)
	page.Add(1<<40, data(2, 300))
	page.Stamp(1 << 41)
	f.Add(page.Bytes(0), false)
	f.Add(page.Bytes(9), true)
	f.Fuzz(func(t *testing.T, content []byte, narrow bool) {
		text := ringtest.HeaderPage
		if narrow {
			text = strings.Replace(text, "commit;\toffset:8;\tsize:8", "commit;\toffset:8;\tsize:4", 1)
		}
		layout, err := ring.ParseLayout(text)
		if err != nil {
			t.Fatal(err)
		}
		q := &queues{pages: [][][]byte{{content}, {content}}}
		merger := ring.NewMerger(layout, len(q.pages), q)
		total := 0
		for {
			batch, err := merger.Rest()
			if err != nil {
				t.Fatal(err)
			}
			if len(batch) == 0 {
				break
			}
			for _, event := range batch {
				total += len(event.Data)
				if event.Kind == ring.Data && len(event.Data) < 2 || event.Kind != ring.Data && event.Times == 0 {
					t.Fatalf("%+v", event)
				}
			}
		}
		if total > len(q.pages)*layout.PageBytes {
			t.Fatalf("%d bytes of events", total)
		}
	})
}

// FuzzParseFormat: what is accepted has its fields where an event may be.
func FuzzParseFormat(f *testing.F) {
	f.Add(issue)
	f.Fuzz(func(t *testing.T, text string) {
		format, err := ring.ParseFormat(text)
		if err != nil {
			return
		}
		if format.Name == "" {
			t.Fatalf("%+v", format)
		}
		for _, field := range format.Fields {
			if field.Name == "" || field.Offset < 0 || field.Size < 0 {
				t.Fatalf("%+v", field)
			}
		}
	})
}
