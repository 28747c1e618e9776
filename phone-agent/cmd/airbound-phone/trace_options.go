// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/airbound/airbound/phone-agent/trace"
)

// traceOptions are the flags of `trace`.
type traceOptions struct {
	captureOptions
	procRoot string
	remote   netip.Prefix
	uid      *uint32
}

const traceNotes = `Records the history of this network namespace's TCP connections: one record for each change of the
congestion window, ssthresh or bounds, and for each counted event, until the time is over or it is
stopped (SIGINT, SIGTERM, SIGHUP). Time stamps are CLOCK_MONOTONIC, as time_us of /proc/net/tcp_monitor.`

var traceExamples = []string{
	"airbound-phone trace",
	"airbound-phone trace --seconds 30 --remote 192.0.2.7 --csv --out history.csv",
	`airbound-phone trace --uid 10073 --remote 2001:db8::/32 --json | jq 'select(.event == "timeout")'`,
}

func (o *traceOptions) register(flags *flag.FlagSet) {
	flags.StringVar(&o.procRoot, "proc-root", "/proc", "`DIR` where the proc file system is")
	flags.Func("remote", "only connections to this address or `PREFIX`", o.setRemote)
	flags.Func("uid", "only connections of this `UID`", o.setUID)
	o.captureOptions.register(flags, "1024 are enough for some 6000 records")
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

func (o *traceOptions) writer(to *bufio.Writer) (trace.Writer, error) {
	switch {
	case o.asJSON:
		return trace.NewJSON(to), nil
	case o.asCSV:
		return trace.NewCSV(to)
	}
	return trace.NewText(to), nil
}
