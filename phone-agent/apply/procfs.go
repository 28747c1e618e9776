// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"syscall"

	"github.com/airbound/airbound/phone-agent/bounds"
)

// RulesFile is the kernel's interface to its rules: /proc/net/tcp_cwnd_bounds, or a fake of it.
type RulesFile interface {
	Read() ([]byte, error)
	// Write hands over one transaction in one write(2).
	Write(transaction []byte) error
}

// Procfs is the back end of the patched kernel.
type Procfs struct {
	file RulesFile
	// What this back end left in the kernel.
	left []bounds.Rule
}

// NewProcfs needs the file's place; nothing is touched yet.
func NewProcfs(file RulesFile) *Procfs { return &Procfs{file: file} }

// procfsRulesMax is the kernel's own limit (ENOSPC beyond it).
const procfsRulesMax = 256

// Up asks the kernel itself what it understands: each probe is a transaction that leaves no rule behind.
func (p *Procfs) Up() (bounds.Capabilities, error) {
	if err := p.CleanUp(); err != nil {
		return bounds.Capabilities{}, err
	}
	if _, err := p.live(); err != nil {
		return bounds.Capabilities{}, fmt.Errorf("bring up back end procfs: %w", explain(err))
	}
	capabilities := bounds.Capabilities{Name: "procfs", RulesMax: procfsRulesMax}
	everything, err := p.understands("all 1 65535")
	if err != nil {
		return bounds.Capabilities{}, err
	}
	if !everything {
		return bounds.Capabilities{}, errors.New("bring up back end procfs: the kernel does not understand the rule \"all 1 65535\"")
	}
	capabilities.CanSetMax, capabilities.CanSetMin = true, true
	if capabilities.CanSelectDestination, err = p.understands("dst 192.0.2.1/32 1 65535"); err != nil {
		return bounds.Capabilities{}, err
	}
	if capabilities.CanSelectUID, err = p.understands("uid 4294967294 1 65535"); err != nil {
		return bounds.Capabilities{}, err
	}
	return capabilities, nil
}

// understands writes a rule and takes it back in the same transaction.
func (p *Procfs) understands(rule string) (bool, error) {
	err := p.file.Write([]byte(rule + "\nflush\n"))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, syscall.EINVAL):
		return false, nil
	default:
		return false, fmt.Errorf("probe the kernel for %q: %w", rule, explain(err))
	}
}

// Set implements BackEnd. Before it writes it looks whether someone else has changed the rules meanwhile, and after it
// whether the kernel holds what it was given.
func (p *Procfs) Set(rules []bounds.Rule) (Outcome, error) {
	var outcome Outcome
	now, err := p.live()
	// Rules that cannot be read back must not keep new ones from being written.
	outcome.ForeignChange = err != nil || !SameRules(now, p.left)
	if !outcome.ForeignChange && SameRules(rules, p.left) {
		return outcome, nil
	}
	if err := p.file.Write(FormatTransaction(rules)); err != nil {
		return outcome, fmt.Errorf("write %d rules: %w", len(rules), explain(err))
	}
	outcome.Wrote = true
	p.left = slices.Clone(rules)
	if now, err = p.live(); err != nil {
		return outcome, fmt.Errorf("read the rules back: %w", explain(err))
	}
	if !SameRules(now, rules) {
		return outcome, fmt.Errorf("read the rules back: the kernel holds %d rules that are not the %d written", len(now), len(rules))
	}
	return outcome, nil
}

// Close implements BackEnd.
func (p *Procfs) Close() error { return p.CleanUp() }

// CleanUp implements BackEnd.
func (p *Procfs) CleanUp() error {
	err := p.file.Write(FormatTransaction(nil))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("restore the kernel's defaults: %w", explain(err))
	}
	p.left = nil
	return nil
}

func (p *Procfs) live() ([]bounds.Rule, error) {
	text, err := p.file.Read()
	if err != nil {
		return nil, err
	}
	return ParseRules(text)
}

// explain says what an errno of the kernel contract means.
func explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the kernel is not patched: %w", err)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("only root may: %w", err)
	case errors.Is(err, syscall.EINVAL):
		return fmt.Errorf("the kernel finds the transaction malformed: %w", err)
	case errors.Is(err, syscall.ERANGE):
		return fmt.Errorf("the kernel finds a bound out of range: %w", err)
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the kernel has no room for so many rules: %w", err)
	default:
		return err
	}
}
