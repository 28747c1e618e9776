// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package ebpf

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/cilium/ebpf/link"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
)

const rulesMax = 256

// BackEnd is the apply.BackEnd. The network namespace is that of the thread that calls Up and Set.
type BackEnd struct {
	options Options
	scope   scope
	objects *objects
	link    link.Link
	// What is in the kernel's configuration; deadline and slot change.
	config config
	set    []bounds.Rule
}

var (
	_ apply.BackEnd = (*BackEnd)(nil)
	_ apply.Leaser  = (*BackEnd)(nil)
)

// New makes a back end; the kernel is not asked yet.
func New(options Options) *BackEnd { return &BackEnd{options: options} }

// Up implements apply.BackEnd: it loads the programs and attaches the one for new connections. No rule is in force.
func (b *BackEnd) Up() (bounds.Capabilities, error) {
	if err := b.up(); err != nil {
		b.unload()
		return bounds.Capabilities{}, fmt.Errorf("bring up back end ebpf: %w", err)
	}
	capabilities := bounds.Capabilities{
		Name: NameNewOnly, CanSetMax: true, CanSelectDestination: true, RulesMax: rulesMax,
	}
	if b.objects.iterator != nil {
		capabilities.Name, capabilities.CanSelectUID, capabilities.CanSelectUIDDestination = Name, true, true
	}
	return capabilities, nil
}

func (b *BackEnd) up() error {
	if err := b.CleanUp(); err != nil {
		return err
	}
	var err error
	if b.scope, err = findScope(b.options); err != nil {
		return err
	}
	others, err := findAttached(b.scope)
	if err != nil {
		return err
	}
	defer closeAll(others)
	for _, other := range others {
		if pid := other.config.AgentPid; pid != 0 && int(pid) != os.Getpid() && isRunning(int(pid)) {
			return fmt.Errorf("another agent, pid %d, bounds the connections of %s", pid, b.scope.cgroup)
		}
	}
	if b.objects == nil {
		if b.objects, err = load(b.scope, b.options.NewOnly); err != nil {
			return err
		}
	}
	b.config = b.scope.config()
	b.config.AgentPid = uint32(os.Getpid()) //nolint:gosec // never negative
	if err := b.objects.writeConfig(b.config); err != nil {
		return err
	}
	if b.link == nil {
		if b.link, err = attach(b.scope, b.objects.program); err != nil {
			return err
		}
	}
	return nil
}

// Lease implements apply.Leaser. The guard gets the deadline before the kernel does.
func (b *BackEnd) Lease(deadlineUS int64) error {
	if b.objects == nil {
		return errNotUp
	}
	if b.options.Guard != nil {
		if err := b.options.Guard.Protect(deadlineUS); err != nil {
			return err
		}
	}
	// What something else has changed stays so until the next set.
	now, err := b.objects.readConfig()
	if err != nil {
		return fmt.Errorf("read the programs' configuration: %w", err)
	}
	now.DeadlineNs = uint64(max(0, deadlineUS)) * uint64(time.Microsecond)
	if err := b.objects.writeConfig(now); err != nil {
		return err
	}
	b.config.DeadlineNs = now.DeadlineNs
	return nil
}

var errNotUp = errors.New("back end ebpf is not up")

// Set implements apply.BackEnd. Rules take effect on all connections at once: they are written beside those in force,
// and one word then says which are.
func (b *BackEnd) Set(rules []bounds.Rule) (apply.Outcome, error) {
	var outcome apply.Outcome
	if b.objects == nil {
		if len(rules) == 0 {
			return outcome, nil
		}
		return outcome, errNotUp
	}
	if err := checkMaximaOnly(rules); err != nil {
		return outcome, err
	}
	now, err := b.objects.readConfig()
	outcome.ExternalChange = err != nil || now.Slot != b.config.Slot || now.AgentPid != b.config.AgentPid
	if !outcome.ExternalChange && sameRules(rules, b.set) {
		return outcome, nil
	}
	before := b.config
	next := b.config
	next.Slot = noSlot
	if len(rules) > 0 {
		next.Slot = (b.config.Slot + 1) % slots
		if b.config.Slot >= slots {
			next.Slot = 0
		}
		all, err := b.objects.writeRules(next.Slot, b.config.Slot, rules)
		if err != nil {
			return outcome, fmt.Errorf("write %d rules: %w", len(rules), err)
		}
		next.All[next.Slot] = all
	}
	outcome.Wrote = true
	if err := b.switchTo(next); err != nil {
		return outcome, errors.Join(fmt.Errorf("apply %d rules: %w", len(rules), err), b.switchTo(before))
	}
	b.set = slices.Clone(rules)
	if len(rules) > 0 {
		b.options.Pacing.Raise()
		return outcome, nil
	}
	if err := b.options.Pacing.Restore(); err != nil {
		return outcome, err
	}
	b.release()
	return outcome, nil
}

func (b *BackEnd) switchTo(next config) error {
	if err := b.objects.writeConfig(next); err != nil {
		return err
	}
	b.config = next
	_, err := b.objects.visitConnections()
	return err
}

// release ends the guard if there is nothing left that it would have to lift.
func (b *BackEnd) release() {
	if b.options.Guard == nil {
		return
	}
	if left, err := b.objects.left(); err != nil || left > 0 {
		return
	}
	b.options.Guard.Release()
}

// Close implements apply.BackEnd. On a kernel without the iterator, a connection that is idle now is left to the guard.
func (b *BackEnd) Close() error {
	err := b.CleanUp()
	if err == nil {
		b.unload()
	}
	return err
}

func (b *BackEnd) unload() {
	if b.link != nil {
		_ = b.link.Close() // Only the descriptor: the kernel detaches the program itself.
		b.link = nil
	}
	if b.objects != nil {
		b.objects.close()
		b.objects = nil
	}
}

// CleanUp implements apply.BackEnd. It ends the rules of every agent of the network namespace and the cgroup, and lifts
// each maximum there, also one that another program set: a socket does not say which program did.
func (b *BackEnd) CleanUp() error {
	err := b.cleanUp()
	if errors.Is(err, apply.ErrNotSupported) {
		err = nil
	}
	if err = errors.Join(b.options.Pacing.Restore(), err); err != nil {
		return fmt.Errorf("restore the kernel's defaults: %w", err)
	}
	return nil
}

func (b *BackEnd) cleanUp() error {
	where, err := findScope(b.options)
	if err != nil {
		return err
	}
	if err := deactivate(where); err != nil {
		return err
	}
	b.set = nil
	if b.objects != nil {
		b.config.Slot, b.config.DeadlineNs = noSlot, 0
		if err := b.switchTo(b.config); err != nil {
			return err
		}
		if err := b.options.Pacing.Restore(); err != nil {
			return err
		}
		b.release()
		return nil
	}
	if b.options.NewOnly {
		return nil
	}
	return liftAll(where)
}

// Live implements apply.BackEnd.
func (b *BackEnd) Live() (apply.Live, error) {
	where, err := findScope(b.options)
	if err != nil {
		return apply.Live{}, err
	}
	agents, err := findAttached(where)
	if err != nil {
		return apply.Live{}, err
	}
	defer closeAll(agents)
	var live apply.Live
	for _, agent := range agents {
		rules, err := agent.rules()
		if err != nil {
			return apply.Live{}, fmt.Errorf("read the rules: %w", err)
		}
		live.Rules = append(live.Rules, rules...)
	}
	return live, nil
}
