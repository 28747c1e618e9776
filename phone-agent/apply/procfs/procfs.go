// SPDX-License-Identifier: Apache-2.0

// Package procfs is the back end of the patched kernel: rules are text in /proc/net/tcp_cwnd_bounds.
package procfs

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
)

// Kernel is the kernel's interface: /proc/net/tcp_cwnd_bounds and tcp_cwnd_bounds_stat, or a fake of them.
type Kernel interface {
	// Read returns the rules.
	Read() ([]byte, error)
	// Write sends one transaction in one write(2).
	Write(transaction []byte) error
	// ReadStat returns the rules with their counts.
	ReadStat() ([]byte, error)
}

// BackEnd is the apply.BackEnd of the patched kernel.
type BackEnd struct {
	kernel Kernel
	// What this back end has set.
	set []bounds.Rule
}

var _ apply.BackEnd = (*BackEnd)(nil)

// New makes a back end; nothing is read or written yet.
func New(kernel Kernel) *BackEnd { return &BackEnd{kernel: kernel} }

// rulesMax is the kernel's own limit (ENOSPC beyond it).
const rulesMax = 256

// Up probes which rules the kernel accepts. Each probe is a transaction that leaves no rule in force.
func (b *BackEnd) Up() (bounds.Capabilities, error) {
	if err := b.CleanUp(); err != nil {
		return bounds.Capabilities{}, err
	}
	if _, err := b.rules(); err != nil {
		return bounds.Capabilities{}, fmt.Errorf("bring up back end procfs: %w", explain(err))
	}
	capabilities := bounds.Capabilities{Name: "procfs", RulesMax: rulesMax}
	everything, err := b.accepts("all 1 65535")
	if err != nil {
		return bounds.Capabilities{}, err
	}
	if !everything {
		return bounds.Capabilities{}, errors.New(
			"bring up back end procfs: the kernel does not accept the rule \"all 1 65535\"",
		)
	}
	capabilities.CanSetMax, capabilities.CanSetMin = true, true
	if capabilities.CanSelectDestination, err = b.accepts("dst 192.0.2.1/32 1 65535"); err != nil {
		return bounds.Capabilities{}, err
	}
	if capabilities.CanSelectUID, err = b.accepts("uid 4294967294 1 65535"); err != nil {
		return bounds.Capabilities{}, err
	}
	// Patch 0012 of the series. A kernel without it refuses such a rule as malformed.
	capabilities.CanSelectUIDDestination, err = b.accepts("uid 4294967294 dst 192.0.2.1/32 1 65535")
	if err != nil {
		return bounds.Capabilities{}, err
	}
	return capabilities, nil
}

// accepts writes a rule and removes it in the same transaction.
func (b *BackEnd) accepts(rule string) (bool, error) {
	err := b.kernel.Write([]byte(rule + "\nflush\n"))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EINVAL):
		return false, nil
	default:
		return false, fmt.Errorf("probe the kernel for %q: %w", rule, explain(err))
	}
}

// Set implements apply.BackEnd. It reads the rules before it writes, to detect an external change, and after it, to
// check that they are in force.
func (b *BackEnd) Set(rules []bounds.Rule) (apply.Outcome, error) {
	var outcome apply.Outcome
	now, err := b.rules()
	// Rules that cannot be read must not prevent that new ones are written.
	outcome.ExternalChange = err != nil || !SameRules(now, b.set)
	if !outcome.ExternalChange && SameRules(rules, b.set) {
		return outcome, nil
	}
	if err := b.kernel.Write(FormatTransaction(rules)); err != nil {
		return outcome, fmt.Errorf("write %d rules: %w", len(rules), explain(err))
	}
	outcome.Wrote = true
	b.set = slices.Clone(rules)
	if now, err = b.rules(); err != nil {
		return outcome, fmt.Errorf("read the rules back: %w", explain(err))
	}
	if !SameRules(now, rules) {
		return outcome, fmt.Errorf(
			"read the rules back: the kernel has %d rules that are not the %d written",
			len(now),
			len(rules),
		)
	}
	return outcome, nil
}

// Close implements apply.BackEnd.
func (b *BackEnd) Close() error { return b.CleanUp() }

// CleanUp implements apply.BackEnd.
func (b *BackEnd) CleanUp() error {
	err := b.kernel.Write(FormatTransaction(nil))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restore the kernel's defaults: %w", explain(err))
	}
	b.set = nil
	return nil
}

// Live implements apply.BackEnd.
func (b *BackEnd) Live() (apply.Live, error) {
	rules, err := b.rules()
	if err != nil {
		return apply.Live{}, fmt.Errorf("read the rules: %w", explain(err))
	}
	live := apply.Live{Rules: make([]apply.LiveRule, len(rules))}
	effects, err := b.effects()
	if err != nil {
		live.NoEffects = err.Error()
	}
	for i, rule := range rules {
		live.Rules[i].Rule = rule
		// A rule that was set after the counts were read has none.
		if effect, counted := effects[rule.Selector]; counted {
			live.Rules[i].Effect = &effect
		}
	}
	return live, nil
}

func (b *BackEnd) rules() ([]bounds.Rule, error) {
	text, err := b.kernel.Read()
	if err != nil {
		return nil, err
	}
	return ParseRules(text)
}

func (b *BackEnd) effects() (map[bounds.Selector]apply.Effect, error) {
	text, err := b.kernel.ReadStat()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the kernel does not count how often rules change windows: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("read how often rules changed windows: %w", err)
	}
	return ParseEffects(text)
}

// explain adds the meaning of an errno of the kernel's interface.
func explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the kernel is not patched: %w: %w", apply.ErrNotSupported, err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("only root may: %w", err)
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("the kernel refuses the transaction as malformed: %w", err)
	case errors.Is(err, syscall.ERANGE):
		return fmt.Errorf("the kernel refuses a bound as out of range: %w", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the kernel takes fewer rules: %w", err)
	default:
		return err
	}
}
