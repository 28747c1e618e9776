// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	"github.com/airbound/airbound/phone-agent/bounds"
)

// The grammar of /proc/net/tcp_cwnd_bounds, written and read back:
//
//	all MIN MAX
//	dst ADDR/LEN MIN MAX
//	uid UID MIN MAX
//	flush
//
// One write(2) is one transaction of one or more lines and takes effect as a whole or not at all.

// FormatTransaction writes the transaction that makes rules the only ones.
func FormatTransaction(rules []bounds.Rule) []byte {
	var transaction bytes.Buffer
	transaction.WriteString("flush\n")
	for _, rule := range rules {
		fmt.Fprintln(&transaction, rule)
	}
	return transaction.Bytes()
}

// ParseRules reads rules back. It also takes a transaction: flush drops what stands before it.
func ParseRules(text []byte) ([]bounds.Rule, error) {
	var rules []bounds.Rule
	for number, rest := 1, text; len(rest) > 0; number++ {
		line, after, terminated := bytes.Cut(rest, []byte("\n"))
		rest = after
		if !terminated {
			return nil, fmt.Errorf("line %d: cut short: it does not end with a newline", number)
		}
		if string(line) == "flush" {
			rules = nil
			continue
		}
		rule, err := parseRule(string(line))
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

func parseRule(line string) (bounds.Rule, error) {
	words := strings.Fields(line)
	if len(words) < 3 {
		return bounds.Rule{}, fmt.Errorf("%.64q is not a rule", line)
	}
	selectorWords, numbers := words[:len(words)-2], words[len(words)-2:]
	selector, err := parseSelector(selectorWords)
	if err != nil {
		return bounds.Rule{}, err
	}
	minSegs, errMin := strconv.ParseUint(numbers[0], 10, 32)
	maxSegs, errMax := strconv.ParseUint(numbers[1], 10, 32)
	if errors.Join(errMin, errMax) != nil {
		return bounds.Rule{}, fmt.Errorf("%.64q does not end in two numbers", line)
	}
	return bounds.Rule{Selector: selector, MinSegs: uint32(minSegs), MaxSegs: uint32(maxSegs)}, nil
}

func parseSelector(words []string) (bounds.Selector, error) {
	switch {
	case len(words) == 1 && words[0] == "all":
		return bounds.Selector{Kind: bounds.All}, nil
	case len(words) == 2 && words[0] == "dst":
		prefix, err := netip.ParsePrefix(words[1])
		if err != nil {
			return bounds.Selector{}, fmt.Errorf("%.64q is not an address and prefix length", words[1])
		}
		return bounds.Selector{Kind: bounds.Destination, Prefix: prefix}, nil
	case len(words) == 2 && words[0] == "uid":
		uid, err := strconv.ParseUint(words[1], 10, 32)
		if err != nil {
			return bounds.Selector{}, fmt.Errorf("%.64q is not a uid", words[1])
		}
		return bounds.Selector{Kind: bounds.UID, UID: uint32(uid)}, nil
	}
	return bounds.Selector{}, fmt.Errorf("%.64q is not a selector", strings.Join(words, " "))
}

// SameRules compares two sets; the order of rules means nothing, since the tightest of those that match holds.
func SameRules(a, b []bounds.Rule) bool { return maps.Equal(bySelector(a), bySelector(b)) }

func bySelector(rules []bounds.Rule) map[bounds.Selector]bounds.Rule {
	found := make(map[bounds.Selector]bounds.Rule, len(rules))
	for _, rule := range rules {
		found[rule.Selector] = rule
	}
	return found
}
