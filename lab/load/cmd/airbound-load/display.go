// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/lab/load/measure"
)

// progress writes a line each second to a terminal and every 10 s elsewhere.
type progress struct {
	out      *os.File
	terminal bool
	last     time.Time
	before   line
	beforeAt time.Time
}

// line is what progress shows.
type line struct {
	server, phase              string
	left                       time.Duration
	open                       int64
	agents                     int
	offered, handled, commands int64
	bounded                    int
	latency                    *measure.Percentiles
	missing                    int
}

func newProgress(out *os.File) *progress {
	_, err := unix.IoctlGetTermios(int(out.Fd()), unix.TCGETS)
	return &progress{out: out, terminal: err == nil}
}

// due reports whether it is time for a line.
func (p *progress) due() bool {
	interval := 10 * time.Second
	if p.terminal {
		interval = time.Second
	}
	const early = 50 * time.Millisecond
	return time.Since(p.last) >= interval-early
}

func (p *progress) show(l line) {
	now := time.Now()
	if p.before.server != l.server || l.offered < p.before.offered {
		p.before, p.beforeAt = line{server: l.server, offered: l.offered, handled: l.handled, commands: l.commands}, now
	}
	seconds := max(now.Sub(p.beforeAt).Seconds(), 0.001)
	rate := func(after, before int64) float64 { return float64(after-before) / seconds }
	text := fmt.Sprintf("%s, %s, %.0f s left: %d of %d streams, %.0f reports/s, %.0f handled/s, %.0f commands/s, "+
		"%d bounded", l.server, l.phase, max(0, l.left.Seconds()), l.open, l.agents,
		rate(l.offered, p.before.offered), rate(l.handled, p.before.handled), rate(l.commands, p.before.commands),
		l.bounded)
	if l.latency != nil {
		text += fmt.Sprintf(", latency p50 %.1f p99 %.1f ms, %d missing", l.latency.P50, l.latency.P99, l.missing)
	}
	p.last, p.before, p.beforeAt = now, l, now
	p.note(text)
}

func (p *progress) note(text string) { fmt.Fprintln(p.out, "airbound-load: "+text) }

// table prints a result for a person.
func table(out io.Writer, result *measure.Result) {
	writer := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(writer, "server\toffered/s\thandled/s\tcommands/s\tus/report\tcores\twaited\tKiB/terminal\t"+
		"p50 ms\tp95\tp99\tmax\tmissing\tbehind\t")
	for i := range result.Rounds {
		fmt.Fprintln(writer, row(&result.Rounds[i]))
	}
	_ = writer.Flush()
	fmt.Fprintln(out)
	if result.CPUUSPerReport != nil && result.RawCPUUSPerReport != nil {
		fmt.Fprintf(out, "The controller takes %.0f us of CPU per report, grpc.aio alone %.0f us: %.2f times that.\n",
			*result.CPUUSPerReport, *result.RawCPUUSPerReport, *result.CPUUSPerReport / *result.RawCPUUSPerReport)
	}
	for i := range result.Rounds {
		r := &result.Rounds[i]
		g := &r.Generator
		fmt.Fprintf(out, "generator beside %s: %.1f us per message, %.2f cores, %.1f KiB per connection",
			r.Server, g.CPUUSPerMessage, g.Cores, g.KiBPerConnection)
		if g.Lag != nil {
			fmt.Fprintf(out, ", late by p99 %.1f ms, max %.1f ms", g.Lag.P99, g.Lag.Max)
			const lateMS = 20
			if g.Lag.P99 > lateMS && !r.Saturate {
				fmt.Fprint(out, ": too late, it needs a core of its own; rate and latencies are partly its own")
			}
		}
		fmt.Fprintln(out)
	}
}

func row(r *measure.Round) string {
	cells := []string{
		r.Server, rounded(float64(r.OfferedReports)/r.Seconds, 0), rounded(float64(r.HandledReports)/r.Seconds, 0),
		rounded(float64(r.Commands)/r.Seconds, 0),
	}
	if r.CPUUS == nil || r.HandledReports == 0 {
		cells = append(cells, "-", "-", "-")
	} else {
		cells = append(cells, rounded(*r.CPUUS/float64(r.HandledReports), 0),
			rounded(*r.CPUUS/1e6/r.Seconds, 2), rounded(*r.WaitedRatio, 2))
	}
	if r.RSSAfterKiB == nil || r.RSSBeforeKiB == nil {
		cells = append(cells, "-")
	} else {
		cells = append(cells, rounded(float64(*r.RSSAfterKiB-*r.RSSBeforeKiB)/float64(r.Terminals), 1))
	}
	if r.Latency == nil {
		cells = append(cells, "-", "-", "-", "-")
	} else {
		cells = append(cells, rounded(r.Latency.P50, 1), rounded(r.Latency.P95, 1),
			rounded(r.Latency.P99, 1), rounded(r.Latency.Max, 1))
	}
	behind := "no"
	if r.Behind() {
		behind = "yes"
	}
	cells = append(cells, fmt.Sprintf("%d of %d", r.Missing, r.Missing+len(r.Samples)), behind)
	return strings.Join(cells, "\t") + "\t"
}

func rounded(value float64, digits int) string { return fmt.Sprintf("%.*f", digits, value) }
