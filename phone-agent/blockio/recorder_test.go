// SPDX-License-Identifier: Apache-2.0

package blockio_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/airbound/airbound/phone-agent/blockio"
	"github.com/airbound/airbound/phone-agent/trace/ring"
)

// brief is what the tests below compare of a record: times in ms.
func brief(r blockio.Record) string {
	if r.IsGap() {
		return fmt.Sprintf("%s %d", r.Event, r.Times)
	}
	text := fmt.Sprintf("%s %d+%d %s/%s", r.Kind, r.TimeNS/1e6, r.LatencyNS/1e6, r.Device, r.Upper)
	if r.Event == blockio.Request {
		text += fmt.Sprintf(" %d+%d q%d %s*%d", r.Sector, r.Bytes/512, r.QueuedNS/1e6, r.Command, r.Bios)
	} else {
		text += fmt.Sprintf(" #%d inode %d %s: %d, %d B, %d flushes", r.Sync, r.Inode, r.Command, r.Requests, r.Bytes,
			r.Flushes)
	}
	if r.Flags != "" {
		text += " " + r.Flags
	}
	if r.Event == blockio.Request && r.Sync != 0 {
		text += fmt.Sprintf(" for #%d/%d", r.Sync, r.SyncsWaiting)
	}
	if r.Seen != blockio.Whole {
		text += " " + r.Seen
	}
	if r.Requeues > 0 || r.Status != 0 {
		text += fmt.Sprintf(" requeued %d, status %d", r.Requeues, r.Status)
	}
	return text
}

func TestRecords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script string
		want   []string
	}{
		"a read": {
			`1 queue 8:0 RA 64+8 cat/100
			 3 issue 8:0 RA 64+8 cat/100
			 7 complete 8:0 RA 64+8 swapper/0`,
			[]string{"read 3+4 sda/sda 64+8 q2 cat*1 readahead"},
		},
		"a partition, issued by another thread, with an error": {
			`1 queue 8:1 W 1064+8 dd/100
			 3 issue 8:0 W 1064+8 kworker/44
			 7 complete 8:0 W 1064+8 0 -5`,
			[]string{"write 3+4 sda/sda1 1064+8 q2 dd*1 requeued 0, status -5"},
		},
		"neighbouring bios merged, of two threads": {
			`1 queue 8:0 W 72+8 b/200
			 2 queue 8:0 W 64+8 a/100
			 3 queue 8:0 W 80+8 b/200
			 4 issue 8:0 W 64+24 kworker/44
			 5 complete 8:0 W 64+24 0`,
			[]string{"write 4+1 sda/sda 64+24 q3 a*3"},
		},
		"a bio split in three, issued out of order": {
			`1 queue 8:0 W 0+30 a/100
			 2 issue 8:0 W 10+10 a/100
			 2 issue 8:0 W 20+10 a/100
			 3 issue 8:0 W 0+10 a/100
			 4 complete 8:0 W 10+10 0
			 5 complete 8:0 W 20+10 0
			 6 complete 8:0 W 0+10 0`,
			[]string{
				"write 2+2 sda/sda 10+10 q1 a*1", "write 2+3 sda/sda 20+10 q1 a*1", "write 3+3 sda/sda 0+10 q2 a*1",
			},
		},
		"completed in parts": {
			`1 queue 8:0 W 0+30 a/100
			 2 issue 8:0 W 0+30 a/100
			 3 complete 8:0 W 0+10 0
			 5 complete 8:0 W 10+20 0`,
			[]string{"write 2+3 sda/sda 0+30 q1 a*1"},
		},
		"requeued twice": {
			`1 queue 8:0 W 0+8 a/100
			 2 issue 8:0 W 0+8 a/100
			 3 requeue 8:0 W 0+8 44
			 4 issue 8:0 W 0+8 kworker/44
			 5 requeue 8:0 W 0+8 44
			 6 issue 8:0 W 0+8 kworker/44
			 9 complete 8:0 W 0+8 0`,
			[]string{"write 2+7 sda/sda 0+8 q1 a*1 requeued 2, status 0"},
		},
		"two reads of the same place": {
			`1 queue 8:0 R 0+8 a/100
			 2 issue 8:0 R 0+8 a/100
			 3 queue 8:0 R 0+8 b/200
			 4 issue 8:0 R 0+8 b/200
			 5 complete 8:0 R 0+8 0
			 7 complete 8:0 R 0+8 0`,
			[]string{"read 2+3 sda/sda 0+8 q1 a*1", "read 4+3 sda/sda 0+8 q1 b*1"},
		},
		"a discard, and a command of the driver's": {
			`1 queue 8:0 DS 0+1000 fstrim/100
			 2 issue 8:0 DS 0+1000 fstrim/100
			 3 issue 8:0 N 0+0 smartctl/200
			 4 complete 8:0 N -1+1 0
			 5 complete 8:0 DS 0+1000 0`,
			[]string{"other 3+1 sda/sda 0+0 q0 *0", "discard 2+3 sda/sda 0+1000 q1 fstrim*1 sync"},
		},
		"issue or completion missing": {
			`1 issue 8:0 R 0+8 a/100
			 2 complete 8:0 R 64+8 0
			 3 complete 8:0 FF -1+0 0`,
			[]string{
				"read 2+0 sda/sda 64+8 q0 *0 end", "flush 3+0 sda/sda 0+0 q0 *0 preflush end",
				"read 1+0 sda/sda 0+8 q0 *0 begin",
			},
		},
		"an fdatasync on ext4, with a journal that needs a flush before and after": {
			`1 enter 8:1 13 100 1
			 2 queue 8:1 WS 1064+8 sqlite3/100
			 3 issue 8:0 WS 1064+8 sqlite3/100
			 4 complete 8:0 WS 1064+8 0
			 5 queue 8:1 WSM 2000+2 jbd2/sda1-8/40
			 6 queue 8:1 WSM 2002+2 jbd2/sda1-8/40
			 7 issue 8:0 WSM 2000+4 jbd2/sda1-8/40
			 8 complete 8:0 WSM 2000+4 0
			 9 queue 8:1 FWFSM 2004+2 jbd2/sda1-8/40
			10 issue 8:0 FF 0+0 kworker/44
			11 complete 8:0 FF -1+0 0
			12 issue 8:0 WSM 2004+2 kworker/44
			13 complete 8:0 WSM 2004+2 0
			14 issue 8:0 FF 0+0 kworker/44
			15 complete 8:0 FF -1+0 0
			15 complete 8:0 WSM 2004+0 0
			16 leave 8:1 13 100
			17 queue 8:1 WSM 2006+2 jbd2/sda1-8/40
			18 issue 8:0 WSM 2006+2 jbd2/sda1-8/40
			19 complete 8:0 WSM 2006+2 0`,
			[]string{
				"write 3+1 sda/sda1 1064+8 q1 sqlite3*1 sync for #1/1",
				"write 7+1 sda/sda1 2000+4 q2 jbd2/sda1-8*2 sync+metadata for #1/1",
				"flush 10+1 sda/sda1 0+0 q1 jbd2/sda1-8*1 preflush for #1/1",
				"write 12+1 sda/sda1 2004+2 q3 jbd2/sda1-8*1 sync+metadata for #1/1",
				"flush 14+1 sda/sda1 0+0 q5 jbd2/sda1-8*1 preflush for #1/1",
				"fdatasync 1+15 sda/sda1 #1 inode 13 t100: 5, 7168 B, 2 flushes",
				"write 18+1 sda/sda1 2006+2 q1 jbd2/sda1-8*1 sync+metadata",
			},
		},
		"two fsyncs that wait for one journal, another device, another thread": {
			`1 enter 8:1 13 100
			 2 enter 8:2 99 300
			 3 enter 8:1 14 200
			 4 queue 8:1 WSM 2000+2 jbd2/sda1-8/40
			 5 queue 8:1 W 5000+2 kworker/u8:1/41
			 6 issue 8:0 WSM 2000+2 jbd2/sda1-8/40
			 6 issue 8:0 W 5000+2 kworker/44
			 7 complete 8:0 WSM 2000+2 0
			 7 complete 8:0 W 5000+2 0
			 8 leave 8:1 13 100 -5
			 9 leave 8:1 14 200`,
			[]string{
				"write 6+1 sda/sda1 2000+2 q2 jbd2/sda1-8*1 sync+metadata for #1/2",
				"write 6+1 sda/sda1 5000+2 q1 kworker/u8:1*1",
				"fsync 1+7 sda/sda1 #1 inode 13 t100: 1, 1024 B, 0 flushes requeued 0, status -5",
				"fsync 3+6 sda/sda1 #3 inode 14 t200: 0, 0 B, 0 flushes",
				"fsync 2+0 sda/sda2 #2 inode 99 t300: 0, 0 B, 0 flushes begin",
			},
		},
		"the device mapper on a partition: data and a flush of f2fs; the lower bio is a worker's": {
			`1 enter 254:0 7 100
			 2 queue 254:0 WS 50+8 app/100
			 3 remap 8:2 WS 60+8 45 from 254:0 50
			 3 remap 8:2 WS 100060+8 45 from 8:2 60
			 4 queue 8:2 WS 100060+8 kcryptd/45
			 5 issue 8:0 WS 100060+8 kworker/44
			 6 complete 8:0 WS 100060+8 0
			 7 queue 254:0 FWS 0+0 f2fs_flush-254:/41
			 7 remap 8:2 FWS 10+0 41 from 254:0 0
			 7 remap 8:2 FWS 100010+0 41 from 8:2 10
			 7 queue 8:2 FWS 100010+0 f2fs_flush-254:/41
			 8 issue 8:0 FF 0+0 kworker/44
			 9 complete 8:0 FF -1+0 0
			 9 complete 8:0 WS 0+0 0
			10 leave 254:0 7 100 0`,
			[]string{
				"write 5+1 sda/dm-0 100060+8 q3 app*1 sync for #1/1",
				"flush 8+1 sda/dm-0 0+0 q1 f2fs_flush-254:*1 preflush for #1/1",
				"fsync 1+9 dm-0/dm-0 #1 inode 7 t100: 2, 4096 B, 1 flushes",
			},
		},
		"a gap: what may be wrong is forgotten": {
			`1 enter 8:1 13 100
			 2 queue 8:1 WS 1064+8 a/100
			 3 queue 8:1 WS 1000+8 a/100
			 3 issue 8:0 WS 1000+8 a/100
			 lost 3
			 9 issue 8:0 WS 1064+8 b/200
			10 complete 8:0 WS 1064+8 0
			11 issue 8:0 WS 1000+8 b/200
			12 complete 8:0 WS 1000+8 0
			13 leave 8:1 13 100`,
			[]string{
				"fsync 1+0 sda/sda1 #1 inode 13 t100: 0, 0 B, 0 flushes begin", "lost 3",
				"write 9+1 sda/sda 1064+8 q0 *0 sync",
				"write 3+0 sda/sda1 1000+8 q0 a*1 sync for #1/1 begin", "write 11+1 sda/sda 1000+8 q0 *0 sync",
			},
		},
		"the clock goes back": {
			`5 queue 8:0 R 0+8 a/100
			 4 issue 8:0 R 0+8 a/100
			 3 complete 8:0 R 0+8 0`,
			[]string{"read 4+0 sda/sda 0+8 q0 a*1"},
		},
	}
	for name, test := range tests {
		for version, k := range kernels() {
			t.Run(name+", Linux "+version, func(t *testing.T) {
				t.Parallel()
				records, _ := recorded(t, k, test.script)
				got := make([]string, 0, len(records))
				for _, record := range records {
					got = append(got, brief(record))
				}
				if !slices.Equal(got, test.want) {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
				}
			})
		}
	}
}

func TestWhatTheKernelCountsIsCounted(t *testing.T) {
	t.Parallel()
	_, counts := recorded(t, newKernel(8), `
		1 issue 8:0 W 0+8 a/100
		2 requeue 8:0 W 0+8 44
		3 issue 8:0 W 0+8 a/100
		4 complete 8:0 W 0+4 0
		5 complete 8:0 W 4+4 0
		6 complete 8:0 W 4+0 0
		7 complete 8:0 R 4+4 0
		lost 5`)
	want := blockio.Counts{Requests: 2, Events: 7, Issues: 2, Completions: 3, FlushEnds: 1, Lost: 5}
	if counts != want {
		t.Errorf("%+v, want %+v", counts, want)
	}
}

func TestWhoAndWhere(t *testing.T) {
	t.Parallel()
	records, _ := recorded(t, newKernel(8), `
		1 enter 254:0 7 123
		2 queue 254:0 WS 50+8 app/123
		3 remap 8:2 WS 100050+8 45 from 254:0 50
		4 queue 8:2 WS 100050+8 kcryptd/45
		5 issue 8:0 WS 100050+8 kworker/44
		6 complete 8:0 WS 100050+8 0`)
	r := records[0]
	if r.TID != 123 || r.PID != 100 || r.Process != "app1" || r.Command != "app" || r.Mount != "/data" ||
		r.IssuerTID != 44 || r.Issuer != "kworker" || r.SyncTID != 123 || r.SyncCommand != "t123" ||
		r.SyncProcess != "app1" {
		t.Errorf("%+v", r)
	}
	const text = "     0.005000  sda      write         1.000 ms  4096 B at 100050  sync  by app[123]  " +
		"for fsync #1 of t123[123], inode 7  on dm-0 /data"
	if got := r.Text(); got != text {
		t.Errorf("got  %q\nwant %q", got, text)
	}
	if cells := r.AppendCells(nil); len(cells) != len(blockio.Columns) {
		t.Errorf("%d cells, %d columns", len(cells), len(blockio.Columns))
	}
}

func TestSelection(t *testing.T) {
	t.Parallel()
	const script = `
		1 queue 8:1 W 1000+8 a/123
		2 issue 8:0 W 1000+8 kworker/44
		3 complete 8:0 W 1000+8 0
		4 enter 8:1 13 123
		5 queue 8:1 W 2000+8 jbd2/sda1-8/40
		6 issue 8:0 W 2000+8 kworker/44
		7 complete 8:0 W 2000+8 0
		8 leave 8:1 13 123
		9 issue 8:0 R 3000+8 b/300
		10 complete 8:0 R 3000+8 0
		lost 1`
	for selection, want := range map[*blockio.Selection]uint64{
		{}:                                      4,
		{Process: "a"}:                          3,
		{Process: "app1"}:                       3,
		{Process: "123"}:                        3,
		{Process: "100"}:                        3,
		{Process: "jbd2/sda1-8"}:                1,
		{Process: "nobody"}:                     0,
		{Uppers: map[uint32]bool{first: true}}:  3,
		{Uppers: map[uint32]bool{mapped: true}}: 0,
	} {
		var out kept
		k := newKernel(8)
		recorder := blockio.NewRecorder(k.decoder(t), names{}, &out)
		recorder.Select = *selection
		if err := errors.Join(recorder.Feed(k.script(t, script)), recorder.Finish()); err != nil {
			t.Fatal(err)
		}
		counts := recorder.Counts
		if counts.Requests+counts.Fsyncs != want || counts.Skipped != 4-want || uint64(len(out.records)) != want+1 {
			t.Errorf("%+v: %+v, %d records, want %d", *selection, counts, len(out.records), want)
		}
	}
}

func TestAFormatThatIsNotKnown(t *testing.T) {
	t.Parallel()
	k := newKernel(8)
	var decoder blockio.Decoder
	format, err := ring.ParseFormat(strings.ReplaceAll(k["block_rq_issue"].Text, "nr_sector", "sectors"))
	if err != nil {
		t.Fatal(err)
	}
	err = decoder.Add(blockio.KernelEvents[0], format)
	if err == nil || err.Error() != "the kernel's event block_rq_issue has no field nr_sector" {
		t.Error(err)
	}
}

func TestWhatCannotBeReadIsAGap(t *testing.T) {
	t.Parallel()
	k := newKernel(8)
	var out kept
	recorder := blockio.NewRecorder(k.decoder(t), names{}, &out)
	short := k.script(t, "1 issue 8:0 W 0+8 a/100")[0]
	short.Data = short.Data[:20]
	err := recorder.Feed([]ring.Event{
		short, {ID: 7, Data: []byte{7, 0}}, {Kind: ring.Refused, Times: 1}, {Kind: ring.Now},
	})
	if err := errors.Join(err, recorder.Lose(0), recorder.Lose(3)); err != nil {
		t.Fatal(err)
	}
	if recorder.Counts.Refused != 3 || recorder.Counts.Lost != 3 || len(out.records) != 4 || !out.records[0].IsGap() {
		t.Errorf("%+v, %+v", recorder.Counts, out.records)
	}
	for i, want := range []string{
		"has 20 bytes, less than", "an event that was not enabled", "a page of the kernel's",
	} {
		if !strings.Contains(recorder.Refusals[i], want) {
			t.Errorf("%s, want %s", recorder.Refusals[i], want)
		}
	}
}

func TestAWritersErrorEndsTheRecording(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	k := newKernel(8)
	for _, script := range []string{
		"1 complete 8:0 R 0+8 0", "lost 3", "1 issue 8:0 R 0+8 a/100", "1 enter 8:1 13 123\n2 leave 8:1 13 123",
	} {
		out := kept{err: full}
		recorder := blockio.NewRecorder(k.decoder(t), names{}, &out)
		if err := errors.Join(recorder.Feed(k.script(t, script)), recorder.Finish()); !errors.Is(err, full) {
			t.Errorf("%s: %v", script, err)
		}
	}
}
