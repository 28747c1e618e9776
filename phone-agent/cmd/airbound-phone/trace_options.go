// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/netip"
	"strconv"

	"github.com/airbound/airbound/phone-agent/trace"
	"github.com/airbound/airbound/phone-agent/trace/tracefs"
)

// traceOptions are the flags of `trace`.
type traceOptions struct {
	procRoot  string
	tracefs   string
	seconds   float64
	remote    netip.Prefix
	uid       *uint32
	asJSON    bool
	asCSV     bool
	out       string
	bufferKiB uint
	readAtEnd bool
}

const traceNotes = `Records the history of this network namespace's TCP connections: one record for each change of the
congestion window, ssthresh or bounds, and for each counted event, until the time is over or it is
stopped (SIGINT, SIGTERM, SIGHUP). Time stamps are CLOCK_MONOTONIC, as time_us of /proc/net/tcp_monitor.`

var traceExamples = []string{
	"airbound-phone trace",
	"airbound-phone trace --seconds 30 --remote 192.0.2.7 --csv --out history.csv",
	`airbound-phone trace --uid 10073 --remote 2001:db8::/32 --json | jq 'select(.event == "timeout")'`,
}

// Limits of the buffer: the kernel rounds up to two pages, and more than a gigabyte is too much for a phone.
const (
	bufferKiBMin     = 8
	bufferKiBMax     = 1 << 20
	bufferKiBDefault = 1024
	secondsMax       = 366 * 24 * 3600
)

func (o *traceOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.procRoot, "proc-root", "/proc", "`DIR` where the proc file system is")
	registerTracefs(flags, &o.tracefs)
	flags.Float64Var(&o.seconds, "seconds", 0, "stop after so many seconds (default: when stopped by a signal)")
	flags.Func("remote", "only connections to this address or `PREFIX`", o.setRemote)
	flags.Func("uid", "only connections of this `UID`", o.setUID)
	flags.BoolVar(&o.asJSON, "json", false, "write one JSON object a line")
	flags.BoolVar(&o.asCSV, "csv", false, "write CSV")
	flags.StringVar(&o.out, "out", "", "write to `FILE` instead of standard output")
	flags.UintVar(&o.bufferKiB, "buffer-kib", bufferKiBDefault,
		"size of the kernel's buffer for each processor; 1024 are enough for some 6000 records")
	flags.BoolVar(
		&o.readAtEnd,
		"read-at-end",
		false,
		"read the kernel's buffer only at the end: nothing wakes up before; what does not fit is lost, oldest first",
	)
}

func registerTracefs(flags *flag.FlagSet, directory *string) {
	flags.StringVar(directory, "tracefs", "",
		"`DIR` where tracefs is mounted (default "+tracefs.Places[0]+", or "+tracefs.Places[1]+")")
}

func (o *traceOptions) setRemote(text string) error {
	if address, err := netip.ParseAddr(text); err == nil && address.Zone() == "" {
		o.remote = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())
		return nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return errors.New("not an address or prefix")
	}
	if prefix != prefix.Masked() {
		return fmt.Errorf("bits beyond the prefix length; did you mean %s?", prefix.Masked())
	}
	o.remote = prefix
	return nil
}

func (o *traceOptions) setUID(text string) error {
	uid, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return errors.New("not a user id")
	}
	number := uint32(uid)
	o.uid = &number
	return nil
}

func (o *traceOptions) check() error {
	if math.IsNaN(o.seconds) || o.seconds < 0 || o.seconds > secondsMax {
		return fmt.Errorf("--seconds %v is not within 0 and %d", o.seconds, secondsMax)
	}
	if o.asJSON && o.asCSV {
		return errors.New("--json and --csv exclude each other")
	}
	if o.bufferKiB < bufferKiBMin || o.bufferKiB > bufferKiBMax {
		return fmt.Errorf("--buffer-kib %d is not within %d and %d", o.bufferKiB, bufferKiBMin, bufferKiBMax)
	}
	return nil
}

func (o *traceOptions) writer(to *bufio.Writer) (trace.Writer, error) {
	switch {
	case o.asJSON:
		return trace.NewJSON(to), nil
	case o.asCSV:
		return trace.NewCSV(to)
	}
	return trace.NewText(to), nil
}
