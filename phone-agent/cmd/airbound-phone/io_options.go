// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"flag"

	"github.com/airbound/airbound/phone-agent/blockio"
	"github.com/airbound/airbound/phone-agent/trace/rows"
)

// ioOptions are the flags of `io`.
type ioOptions struct {
	captureOptions
	procRoot string
	sysRoot  string
	device   string
	process  string
	summary  bool
	top      bool
}

const ioNotes = `Records each request to the block devices: when it was issued and completed, what it did and where,
which thread submitted it, and which fsync it belongs to; and each fsync (of ext4 and f2fs) with the number of its
requests. Until the time is over or it is stopped (SIGINT, SIGTERM, SIGHUP). Time stamps are CLOCK_MONOTONIC, in
nanoseconds.`

var ioExamples = []string{
	"airbound-phone io",
	"airbound-phone io --device /data --seconds 30 --csv --out requests.csv",
	"airbound-phone io --process com.example.app --summary --seconds 10",
	"airbound-phone io --top",
	"airbound-phone io --json | jq 'select(.event == \"fsync\" and .latency_ns > 50000000)'",
	"airbound-phone io --read-at-end --buffer-kib 16384 --seconds 60 --summary",
}

func (o *ioOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.procRoot, "proc-root", "/proc", "`DIR` where the proc file system is")
	flags.StringVar(&o.sysRoot, "sys-root", "/sys", "`DIR` where sysfs is")
	flags.StringVar(&o.device, "device", "",
		"only requests for this `DEVICE`: a name, a file below /dev, a number MAJOR:MINOR, or where it is mounted")
	flags.StringVar(&o.process, "process", "",
		"only requests that this `PROCESS` or thread submitted, and those of its fsyncs: a name or a number")
	flags.BoolVar(&o.summary, "summary", false, "write totals at the end, and no records")
	flags.BoolVar(&o.top, "top", false, "show the totals of each second, and no records")
	o.captureOptions.register(flags, "1024 are enough for some 5000 requests")
}

func (o *ioOptions) check() error {
	if o.summary && o.top || (o.summary || o.top) && (o.asJSON || o.asCSV) {
		return errors.New("--json, --csv, --summary and --top exclude each other")
	}
	if o.top && o.readAtEnd {
		return errors.New("--top and --read-at-end exclude each other")
	}
	return o.captureOptions.check()
}

// topEveryNS is the time between two pictures of --top.
const topEveryNS = 1_000_000_000

// sink is what records are written to; tick and end may be nil.
type sink struct {
	rows.Writer
	tick func(nowNS uint64) error
	end  func() error
}

func (o *ioOptions) sink(buffer *bufio.Writer) (sink, error) {
	switch {
	case o.summary:
		totals := blockio.NewTotals()
		return sink{Writer: totals, end: func() error { return totals.Print(buffer, 0) }}, nil
	case o.top:
		live := blockio.NewLive(buffer, topEveryNS)
		return sink{Writer: live, tick: live.Tick}, nil
	case o.asJSON:
		return sink{Writer: rows.NewJSON(buffer)}, nil
	case o.asCSV:
		writer, err := rows.NewCSV(buffer, blockio.Columns)
		return sink{Writer: writer}, err
	}
	return sink{Writer: rows.NewText(buffer)}, nil
}
