// SPDX-License-Identifier: Apache-2.0

// Package procfstest has a fake kernel that interprets the grammar of /proc/net/tcp_cwnd_bounds, with its errors.
package procfstest

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Kernel is a fake procfs.Kernel. The zero value is a kernel without rules that accepts `all` and `dst`.
type Kernel struct {
	// Whether the kernel accepts uid selectors.
	AcceptsUID bool
	// Whether it also accepts those of uid and destination together, as with patch 0012 of the series.
	AcceptsUIDDestination bool
	// If set, the next and all later writes or reads fail with it.
	WriteError error
	ReadError  error
	// If set, the counts cannot be read.
	StatError error
	// Every transaction that was tried, in order.
	Transactions []string

	rules []rule
}

// rulesMax is the kernel's limit.
const rulesMax = 256

type rule struct {
	selector string
	min, max uint64
	// How often it changed a window.
	raised, lowered uint64
}

// Read gives the rules in the grammar, one a line.
func (k *Kernel) Read() ([]byte, error) {
	if k.ReadError != nil {
		return nil, k.ReadError
	}
	var text strings.Builder
	for _, r := range k.rules {
		fmt.Fprintf(&text, "%s %d %d\n", r.selector, r.min, r.max)
	}
	return []byte(text.String()), nil
}

// ReadStat returns the rules with their counts.
func (k *Kernel) ReadStat() ([]byte, error) {
	if k.StatError != nil {
		return nil, k.StatError
	}
	var text strings.Builder
	for _, r := range k.rules {
		fmt.Fprintf(&text, "%s %d %d raised %d lowered %d\n", r.selector, r.min, r.max, r.raised, r.lowered)
	}
	return []byte(text.String()), nil
}

// Limit counts windows that the rule of a selector ("all", "dst 10.0.9.1/32") changed.
func (k *Kernel) Limit(selector string, raised, lowered uint64) {
	for i := range k.rules {
		if k.rules[i].selector == selector {
			k.rules[i].raised += raised
			k.rules[i].lowered += lowered
		}
	}
}

// Write applies a transaction as a whole or not at all: EINVAL if malformed, ERANGE if out of range, ENOSPC if too
// many.
func (k *Kernel) Write(transaction []byte) error {
	k.Transactions = append(k.Transactions, string(transaction))
	if k.WriteError != nil {
		return k.WriteError
	}
	rules := slices.Clone(k.rules)
	body, terminated := strings.CutSuffix(string(transaction), "\n")
	if !terminated {
		return syscall.EINVAL
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line == "flush" {
			rules = nil
			continue
		}
		next, err := k.interpret(line)
		if err != nil {
			return err
		}
		same := func(r rule) bool { return r.selector == next.selector }
		// Counts stay with a selector that is set again, also in a transaction with flush.
		if at := slices.IndexFunc(k.rules, same); at >= 0 {
			next.raised, next.lowered = k.rules[at].raised, k.rules[at].lowered
		}
		at := slices.IndexFunc(rules, same)
		switch {
		case at >= 0:
			rules[at] = next
		case len(rules) == rulesMax:
			return syscall.ENOSPC
		default:
			rules = append(rules, next)
		}
	}
	k.rules = rules
	return nil
}

func (k *Kernel) interpret(line string) (rule, error) {
	const numbers = 2
	words := strings.Split(line, " ")
	if len(words) <= numbers {
		return rule{}, syscall.EINVAL
	}
	selector, err := k.selector(words[:len(words)-numbers])
	if err != nil {
		return rule{}, err
	}
	lowest, errMin := strconv.ParseUint(words[len(words)-2], 10, 64)
	highest, errMax := strconv.ParseUint(words[len(words)-1], 10, 64)
	if errMin != nil || errMax != nil {
		return rule{}, syscall.EINVAL
	}
	if lowest < 1 || highest > 65535 || lowest > highest {
		return rule{}, syscall.ERANGE
	}
	return rule{selector: selector, min: lowest, max: highest}, nil
}

// selector returns a selector as the kernel reads it back.
func (k *Kernel) selector(words []string) (string, error) {
	switch {
	case len(words) == 1 && words[0] == "all":
		return "all", nil
	case len(words) == 2 && words[0] == "dst":
		prefix, err := netip.ParsePrefix(words[1])
		if err != nil {
			return "", syscall.EINVAL
		}
		return "dst " + prefix.Masked().String(), nil
	case len(words) == 2 && words[0] == "uid" && k.AcceptsUID:
		if _, err := strconv.ParseUint(words[1], 10, 32); err != nil {
			return "", syscall.EINVAL
		}
		return strings.Join(words, " "), nil
	case len(words) == 4 && words[0] == "uid" && k.AcceptsUIDDestination:
		uid, errUID := k.selector(words[:2])
		destination, errDestination := k.selector(words[2:])
		if errUID != nil || errDestination != nil || words[2] != "dst" {
			return "", syscall.EINVAL
		}
		return uid + " " + destination, nil
	}
	return "", syscall.EINVAL
}
