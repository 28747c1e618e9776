// SPDX-License-Identifier: Apache-2.0

package blockio_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/airbound/airbound/phone-agent/blockio"
	"github.com/airbound/airbound/phone-agent/trace/ring"
)

// layer is a block layer that merges, splits, reorders, requeues, and completes in parts, by chance. No sector is used
// twice, so that each request can be found by its first.
type layer struct {
	random *rand.Rand
	kernel kernel
	nowNS  uint64
	next   uint64
	// waiting are bios, in flight are requests.
	waiting  []simulatedBio
	inFlight []*simulatedRequest
	requests map[uint64]*simulatedRequest
	events   []ring.Event
}

type simulatedBio struct {
	sector, sectors uint64
	tid             uint64
	upper           string
	queuedNS        uint64
}

// simulatedRequest is the truth about a request.
type simulatedRequest struct {
	sector, sectors, left uint64
	issuedNS              []uint64
	completedNS           uint64
	bios                  []simulatedBio
	requeued              bool
}

func newLayer(seed uint64, k kernel) *layer {
	return &layer{
		random: rand.New(rand.NewPCG(seed, 0)), kernel: k, next: 100_000, nowNS: 1,
		requests: map[uint64]*simulatedRequest{},
	}
}

func (l *layer) happen(name string, values map[string]any) {
	l.nowNS += 1 + l.random.Uint64N(100_000)
	values["rwbs"] = "WS"
	l.events = append(l.events, l.kernel.event(name, l.nowNS, values))
}

// submit queues a bio at the disk, at a partition or through the device mapper, next to the last one or not.
func (l *layer) submit() {
	if l.random.IntN(3) == 0 {
		l.next += 8
	}
	bio := simulatedBio{sector: l.next, sectors: 8 * (1 + l.random.Uint64N(8)), tid: 100 * (1 + l.random.Uint64N(5))}
	l.next += bio.sectors
	thread := func(values map[string]any) map[string]any {
		values["common_pid"], values["comm"], values["nr_sector"] = bio.tid, fmt.Sprintf("t%d", bio.tid), bio.sectors
		return values
	}
	device := uint64(disk)
	bio.upper = "sda"
	switch l.random.IntN(3) {
	case 0:
		device, bio.upper = first, "sda1"
	case 1:
		bio.upper = "dm-0"
		l.happen("block_bio_queue", thread(map[string]any{"dev": uint64(mapped), "sector": bio.sector - 5000}))
		bio.queuedNS = l.nowNS
		device = second
		l.happen("block_bio_remap", thread(map[string]any{
			"dev": device, "sector": bio.sector - 3000, "old_dev": uint64(mapped), "old_sector": bio.sector - 5000,
		}))
		l.happen("block_bio_remap", thread(map[string]any{
			"dev": device, "sector": bio.sector, "old_dev": device, "old_sector": bio.sector - 3000,
		}))
	}
	l.happen("block_bio_queue", thread(map[string]any{"dev": device, "sector": bio.sector}))
	if bio.queuedNS == 0 {
		bio.queuedNS = l.nowNS
	}
	l.waiting = append(l.waiting, bio)
}

// issue makes a request of the first part of a bio, or of a bio and its neighbours.
func (l *layer) issue() {
	if len(l.waiting) == 0 {
		return
	}
	at := l.random.IntN(len(l.waiting))
	bio := l.waiting[at]
	r := &simulatedRequest{sector: bio.sector}
	if bio.sectors > 8 && l.random.IntN(3) == 0 {
		r.sectors = 8 * (1 + l.random.Uint64N(bio.sectors/8-1))
		l.waiting[at].sector += r.sectors
		l.waiting[at].sectors -= r.sectors
		r.bios = []simulatedBio{bio}
	} else {
		for range 1 + l.random.IntN(5) {
			next := slices.IndexFunc(l.waiting, func(b simulatedBio) bool { return b.sector == r.sector+r.sectors })
			if next < 0 {
				break
			}
			r.bios = append(r.bios, l.waiting[next])
			r.sectors += l.waiting[next].sectors
			l.waiting = slices.Delete(l.waiting, next, next+1)
		}
	}
	r.left = r.sectors
	l.requests[r.sector] = r
	l.inFlight = append(l.inFlight, r)
	l.issueAgain(r)
}

func (l *layer) issueAgain(r *simulatedRequest) {
	l.happen("block_rq_issue", map[string]any{
		"dev": uint64(disk), "sector": r.sector, "nr_sector": r.sectors, "bytes": r.sectors * 512, "comm": "kworker",
		"common_pid": uint64(44),
	})
	r.issuedNS = append(r.issuedNS, l.nowNS)
	r.requeued = false
}

// proceed requeues a request, issues it again, or completes it or a part of it.
func (l *layer) proceed() {
	if len(l.inFlight) == 0 {
		return
	}
	at := l.random.IntN(len(l.inFlight))
	r := l.inFlight[at]
	values := map[string]any{"dev": uint64(disk), "sector": r.sector + r.sectors - r.left, "nr_sector": r.left}
	switch {
	case r.requeued:
		l.issueAgain(r)
		return
	case r.left == r.sectors && l.random.IntN(8) == 0:
		l.happen("block_rq_requeue", values)
		r.requeued = true
		return
	case r.left > 8 && l.random.IntN(5) == 0:
		values["nr_sector"] = uint64(8)
		r.left -= 8
		l.happen("block_rq_complete", values)
		return
	}
	l.happen("block_rq_complete", values)
	r.completedNS = l.nowNS
	l.inFlight = slices.Delete(l.inFlight, at, at+1)
}

func (l *layer) run(steps int) {
	for range steps {
		switch l.random.IntN(3) {
		case 0:
			l.submit()
		case 1:
			l.issue()
		default:
			l.proceed()
		}
	}
	for len(l.waiting) > 0 {
		l.issue()
	}
	for len(l.inFlight) > 0 {
		l.proceed()
	}
}

// TestEachRequestIsOneRecord: without losses every record is true, to the nanosecond and the submitter.
func TestEachRequestIsOneRecord(t *testing.T) {
	t.Parallel()
	for _, k := range kernels() {
		for seed := range uint64(100) {
			l := newLayer(seed, k)
			l.run(400)
			var out kept
			recorder := blockio.NewRecorder(k.decoder(t), names{}, &out)
			if err := recorder.Feed(l.events); err != nil {
				t.Fatal(err)
			}
			if len(out.records) != len(l.requests) || len(out.records) < 50 {
				t.Fatalf("seed %d: %d records, %d requests", seed, len(out.records), len(l.requests))
			}
			for _, got := range out.records {
				truth := l.requests[got.Sector]
				first := truth.bios[0]
				queuedNS := first.queuedNS
				for _, bio := range truth.bios {
					queuedNS = min(queuedNS, bio.queuedNS)
				}
				want := blockio.Record{
					TimeNS: truth.issuedNS[0], Event: blockio.Request, Times: 1, Seen: blockio.Whole,
					LatencyNS: truth.completedNS - truth.issuedNS[0], QueuedNS: truth.issuedNS[0] - queuedNS,
					Device: "sda", Upper: first.upper, Kind: blockio.Write, Flags: "sync", Sector: truth.sector,
					Bytes: truth.sectors * 512, Requeues: uint32(len(truth.issuedNS) - 1), TID: uint32(first.tid),
					Command: fmt.Sprintf("t%d", first.tid), PID: uint32(first.tid),
					Process: fmt.Sprintf("app%d", first.tid/100), Bios: uint32(len(truth.bios)), IssuerTID: 44,
					Issuer: "kworker",
				}
				want.Mount = map[string]string{"dm-0": "/data", "sda1": "/"}[want.Upper]
				if cells, wanted := got.AppendCells(nil), want.AppendCells(nil); !slices.Equal(cells, wanted) {
					t.Fatalf("seed %d:\n%v\n%v", seed, cells, wanted)
				}
			}
		}
	}
}

// TestAfterLossesNothingIsInvented: whatever is lost, a record that is whole is true, but for a submitter that is not
// known; and each event is in a record, in a total, or was lost.
func TestAfterLossesNothingIsInvented(t *testing.T) {
	t.Parallel()
	k := newKernel(8)
	whole := 0
	for seed := range uint64(300) {
		l := newLayer(seed, k)
		l.run(400)
		var left []ring.Event
		random := rand.New(rand.NewPCG(seed, 1))
		for at := 0; at < len(l.events); {
			if lost := random.IntN(12); random.IntN(20) == 0 && lost > 0 && at+lost < len(l.events) {
				left = append(left, ring.Event{Kind: ring.Lost, Times: uint64(lost)})
				at += lost
				continue
			}
			left = append(left, l.events[at])
			at++
		}
		var out kept
		recorder := blockio.NewRecorder(k.decoder(t), names{}, &out)
		if err := recorder.Feed(left); err != nil {
			t.Fatal(err)
		}
		if err := recorder.Finish(); err != nil {
			t.Fatal(err)
		}
		requests := uint64(0)
		for _, got := range out.records {
			if got.IsGap() {
				continue
			}
			requests++
			if got.Seen != blockio.Whole {
				continue
			}
			whole++
			truth := l.requests[got.Sector]
			if truth == nil || got.Bytes != truth.sectors*512 || !slices.Contains(truth.issuedNS, got.TimeNS) ||
				got.TimeNS+got.LatencyNS != truth.completedNS {
				t.Fatalf("seed %d: %+v is not %+v", seed, got, truth)
			}
			submitted := func(b simulatedBio) bool { return b.tid == uint64(got.TID) }
			if got.TID != 0 && !slices.ContainsFunc(truth.bios, submitted) {
				t.Fatalf("seed %d: thread %d submitted none of %+v", seed, got.TID, truth.bios)
			}
		}
		counts := recorder.Counts
		if counts.Requests != requests || counts.Forgotten != 0 || counts.Lost == 0 {
			t.Fatalf("seed %d: %+v", seed, counts)
		}
	}
	if whole < 10_000 {
		t.Errorf("only %d whole records", whole)
	}
}

// TestMemoryIsBounded: nothing ends, and what is too much is counted.
func TestMemoryIsBounded(t *testing.T) {
	t.Parallel()
	k := newKernel(8)
	var out discarding
	recorder := blockio.NewRecorder(k.decoder(t), names{}, &out)
	const many = 20_000
	feed := func(name string, i uint64, values map[string]any) {
		values["rwbs"], values["comm"], values["common_pid"] = "FWFS", strconv.FormatUint(i, 10), i
		if err := recorder.Feed([]ring.Event{k.event(name, i, values)}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range uint64(many) {
		disk := i << 20 % (1 << 32)
		feed("ext4_sync_file_enter", i, map[string]any{"dev": disk, "ino": i})
		feed("block_bio_queue", i, map[string]any{"dev": disk, "sector": i * 8, "nr_sector": uint64(8)})
		feed("block_bio_queue", i, map[string]any{"dev": uint64(mapped), "sector": i * 8, "nr_sector": uint64(8)})
		feed("block_bio_remap", i, map[string]any{
			"dev": disk, "sector": i * 8, "nr_sector": uint64(8), "old_dev": uint64(mapped), "old_sector": i * 8,
		})
		feed("block_rq_issue", i, map[string]any{"dev": disk, "sector": i*8 + 1<<40, "nr_sector": uint64(8)})
	}
	counts := recorder.Counts
	if counts.Forgotten < 3*many/2 || counts.Requests+counts.Fsyncs < 2*(many-8192) {
		t.Errorf("%+v", counts)
	}
	if err := recorder.Finish(); err != nil || recorder.Counts.Requests != many || recorder.Counts.Fsyncs != many {
		t.Errorf("%+v, %v", recorder.Counts, err)
	}
}

// FuzzRecorder: any events are records, totals or gaps.
func FuzzRecorder(f *testing.F) {
	k := newKernel(8)
	ids := map[string]byte{}
	for i, event := range blockio.KernelEvents {
		ids[event.Name] = byte(i)
	}
	f.Add([]byte{ids["block_bio_queue"], 8, 1, 2, ids["block_rq_issue"], 8, 1, 2, ids["block_rq_complete"], 8, 1, 2})
	f.Add([]byte{ids["ext4_sync_file_enter"], 8, 1, 2, 99, 8, 1, 2, ids["ext4_sync_file_exit"], 8, 1, 2, 98, 1, 1, 1})
	letters := []string{"W", "R", "FF", "FWFSM", "D", "N", "", "WS"}
	f.Fuzz(func(t *testing.T, script []byte) {
		var out kept
		recorder := blockio.NewRecorder(k.decoder(t), names{}, &out)
		fed := uint64(0)
		for code := range slices.Chunk(script, 4) {
			if len(code) < 4 {
				break
			}
			fed++
			event := ring.Event{Kind: ring.Lost, Times: 1}
			if int(code[0]) < len(blockio.KernelEvents) {
				event = k.event(blockio.KernelEvents[code[0]].Name, fed, map[string]any{
					"dev": uint64(code[1]%4)<<20 | uint64(code[1]>>6), "sector": uint64(code[2] % 16),
					"nr_sector": uint64(code[2] >> 4), "common_pid": uint64(code[3] % 4), "comm": "jbd2/x"[code[3]%6:],
					"rwbs": letters[code[3]>>5], "old_dev": uint64(mapped), "old_sector": uint64(code[3] % 16),
					"ino": uint64(1),
				})
			} else if code[0] == 255 {
				event = ring.Event{ID: 2000, Data: code}
			}
			if err := recorder.Feed([]ring.Event{event}); err != nil {
				t.Fatal(err)
			}
		}
		if err := recorder.Finish(); err != nil {
			t.Fatal(err)
		}
		counts := recorder.Counts
		gaps := uint64(0)
		for _, record := range out.records {
			if record.IsGap() {
				gaps++
			} else if record.Device == "" && record.Upper != "" || record.Kind == "" || record.Seen == "" {
				t.Fatalf("%+v", record)
			}
		}
		if counts.Requests+counts.Fsyncs+gaps != uint64(len(out.records)) || gaps != counts.Lost+counts.Refused {
			t.Fatalf("%+v, %d records", counts, len(out.records))
		}
		if counts.Requests > counts.Issues+counts.Completions {
			t.Fatalf("%+v", counts)
		}
	})
}
