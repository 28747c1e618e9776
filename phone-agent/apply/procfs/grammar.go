// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"strconv"
	"strings"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
)

// The grammar of /proc/net/tcp_cwnd_bounds, written and read back:
//
//	all MIN MAX
//	dst ADDR/LEN MIN MAX
//	uid UID MIN MAX
//	uid UID dst ADDR/LEN MIN MAX
//	flush
//
// One write(2) is one transaction of one or more lines, applied as a whole or not at all. A line of
// /proc/net/tcp_cwnd_bounds_stat is a rule and how often it changed a window:
//
//	dst ADDR/LEN MIN MAX raised N lowered N

// FormatTransaction returns the transaction that makes rules the only ones.
func FormatTransaction(rules []bounds.Rule) []byte {
	var transaction bytes.Buffer
	transaction.WriteString("flush\n")
	for _, rule := range rules {
		fmt.Fprintf(&transaction, "%s %d %d\n", selectorText(rule.Selector), rule.MinSegs, rule.MaxSegs)
	}
	return transaction.Bytes()
}

func selectorText(selector bounds.Selector) string {
	switch selector.Kind {
	case bounds.All:
		return "all"
	case bounds.Destination:
		return "dst " + selector.Prefix.String()
	case bounds.UID:
		return "uid " + strconv.FormatUint(uint64(selector.UID), 10)
	case bounds.UIDDestination:
		return "uid " + strconv.FormatUint(uint64(selector.UID), 10) + " dst " + selector.Prefix.String()
	case bounds.None:
	}
	return "none" // The kernel refuses it.
}

// ParseRules reads rules back. It also reads a transaction: flush drops the lines before it.
func ParseRules(text []byte) ([]bounds.Rule, error) {
	var rules []bounds.Rule
	err := eachLine(text, func(line string) error {
		if line == "flush" {
			rules = nil
			return nil
		}
		rule, err := parseRule(strings.Fields(line), line)
		if err == nil {
			rules = append(rules, rule)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return rules, nil
}

// ParseEffects reads /proc/net/tcp_cwnd_bounds_stat.
func ParseEffects(text []byte) (map[bounds.Selector]apply.Effect, error) {
	effects := map[bounds.Selector]apply.Effect{}
	err := eachLine(text, func(line string) error {
		const countWords = 4
		words := strings.Fields(line)
		if len(words) < countWords || words[len(words)-4] != "raised" || words[len(words)-2] != "lowered" {
			return fmt.Errorf("%.64q does not end in \"raised N lowered N\"", line)
		}
		rule, err := parseRule(words[:len(words)-countWords], line)
		if err != nil {
			return err
		}
		raised, errRaised := strconv.ParseUint(words[len(words)-3], 10, 64)
		lowered, errLowered := strconv.ParseUint(words[len(words)-1], 10, 64)
		if errors.Join(errRaised, errLowered) != nil {
			return fmt.Errorf("%.64q has counts that are no numbers", line)
		}
		effects[rule.Selector] = apply.Effect{Raised: raised, Lowered: lowered}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return effects, nil
}

func eachLine(text []byte, parse func(line string) error) error {
	for number, rest := 1, text; len(rest) > 0; number++ {
		line, after, terminated := bytes.Cut(rest, []byte("\n"))
		rest = after
		if !terminated {
			return fmt.Errorf("line %d: truncated: it does not end with a newline", number)
		}
		if err := parse(string(line)); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	return nil
}

func parseRule(words []string, line string) (bounds.Rule, error) {
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
		prefix, err := parsePrefix(words[1])
		return bounds.Selector{Kind: bounds.Destination, Prefix: prefix}, err
	case len(words) == 2 && words[0] == "uid":
		uid, err := parseUID(words[1])
		return bounds.Selector{Kind: bounds.UID, UID: uid}, err
	case len(words) == 4 && words[0] == "uid" && words[2] == "dst":
		uid, errUID := parseUID(words[1])
		prefix, errPrefix := parsePrefix(words[3])
		return bounds.Selector{Kind: bounds.UIDDestination, UID: uid, Prefix: prefix}, cmp.Or(errUID, errPrefix)
	}
	return bounds.Selector{}, fmt.Errorf("%.64q is not a selector", strings.Join(words, " "))
}

func parseUID(word string) (uint32, error) {
	uid, err := strconv.ParseUint(word, 10, 32)
	if err != nil {
		return 0, fmt.Errorf("%.64q is not a uid", word)
	}
	return uint32(uid), nil
}

func parsePrefix(word string) (netip.Prefix, error) {
	prefix, err := netip.ParsePrefix(word)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%.64q is not an address and prefix length", word)
	}
	return prefix, nil
}

// SameRules compares two sets. The order of rules has no meaning: of those that match, the tightest is in force, or the
// most specific one.
func SameRules(a, b []bounds.Rule) bool { return maps.Equal(bySelector(a), bySelector(b)) }

func bySelector(rules []bounds.Rule) map[bounds.Selector]bounds.Rule {
	found := make(map[bounds.Selector]bounds.Rule, len(rules))
	for _, rule := range rules {
		found[rule.Selector] = rule
	}
	return found
}
