// SPDX-License-Identifier: Apache-2.0

// Package proctext parses the values that the kernel series prints, in /proc/net/tcp_monitor and in its trace events.
package proctext

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// RefusalsKept is how many reasons are kept of a text full of garbage; all are counted.
const RefusalsKept = 4

// Field is a named value of a record.
type Field[T any] struct {
	Name string
	Set  func(record *T, value string) error
}

// CAStates are the states of a congestion control.
var CAStates = []string{"open", "disorder", "cwr", "recovery", "loss"}

// Number parses an unsigned decimal.
func Number[T uint32 | uint64](to *T, value string) error {
	bits := 64
	if uint64(^T(0)) == math.MaxUint32 {
		bits = 32
	}
	parsed, err := strconv.ParseUint(value, 10, bits)
	if err != nil {
		return fmt.Errorf("%s is not an unsigned decimal of %d bits", Quoted(value), bits)
	}
	*to = T(parsed)
	return nil
}

// Endpoint parses an address and port; IPv4 in IPv6 becomes IPv4.
func Endpoint(to *netip.AddrPort, value string) error {
	parsed, err := netip.ParseAddrPort(value)
	if err != nil || parsed.Addr().Zone() != "" {
		return fmt.Errorf("%s is not an address and port", Quoted(value))
	}
	*to = netip.AddrPortFrom(parsed.Addr().Unmap(), parsed.Port())
	return nil
}

// OneOf parses one of the names. The result is the string in names, so that it does not keep the text in memory.
func OneOf(to *string, names []string, value string) error {
	i := slices.Index(names, value)
	if i < 0 {
		return fmt.Errorf("%s is none of %s", Quoted(value), strings.Join(names, ", "))
	}
	*to = names[i]
	return nil
}

// quotedMax keeps one long line of garbage from filling the log.
const quotedMax = 60

// Quoted returns the beginning of a value, for an error.
func Quoted(value string) string {
	if len(value) > quotedMax {
		return strconv.Quote(value[:quotedMax]) + "..."
	}
	return strconv.Quote(value)
}
