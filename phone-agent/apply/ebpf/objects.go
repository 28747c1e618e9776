// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package ebpf

import (
	"errors"
	"fmt"
	"io"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/btf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/apply"
	"github.com/airbound/airbound/phone-agent/bounds"
)

// objects are the programs and maps of one agent in the kernel.
type objects struct {
	program *ebpf.Program
	config  *ebpf.Map
	rules   *ebpf.Map
	dst     *ebpf.Map
	uid     *ebpf.Map
	uidDst  *ebpf.Map
	// Nil without the iterator.
	iterator *link.Iter
	seen     *ebpf.Map
	// Nil with the iterator: how many connections have a maximum.
	remaining *ebpf.Map
	closers   []io.Closer
}

// load loads the programs; those without BTF and iterator if the kernel does not have these.
func load(where scope, newOnly bool) (*objects, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, explain("lift the limit of locked memory", err)
	}
	if newOnly {
		return loadNewOnly(where)
	}
	loaded, err := loadWhole()
	if err == nil || !errors.Is(err, apply.ErrNotSupported) {
		return loaded, err
	}
	loaded, errNewOnly := loadNewOnly(where)
	if errNewOnly != nil {
		return nil, errors.Join(err, errNewOnly)
	}
	return loaded, nil
}

func loadWhole() (*objects, error) {
	var found sockopsObjects
	if err := loadSockopsObjects(&found, nil); err != nil {
		return nil, explain("load the program for new connections", err)
	}
	loaded := &objects{
		program: found.AirboundNew, config: found.AirboundConfig, rules: found.AirboundRules,
		dst: found.AirboundDst, uid: found.AirboundUid, uidDst: found.AirboundUiddst, closers: []io.Closer{&found},
	}
	if err := loaded.loadIterator(); err != nil {
		loaded.close()
		return nil, err
	}
	return loaded, nil
}

// loadIterator loads the program for connections that exist; it shares the maps of the other one, if there are any.
func (o *objects) loadIterator() error {
	options := &ebpf.CollectionOptions{}
	if o.config != nil {
		options.MapReplacements = map[string]*ebpf.Map{
			iteratorMapAirboundConfig: o.config, iteratorMapAirboundRules: o.rules,
			iteratorMapAirboundDst: o.dst, iteratorMapAirboundUid: o.uid, iteratorMapAirboundUiddst: o.uidDst,
		}
	}
	var found iteratorObjects
	if err := loadIteratorObjects(&found, options); err != nil {
		return explain("load the program for connections that exist", err)
	}
	o.closers = append(o.closers, &found)
	return o.useIterator(&found)
}

func (o *objects) useIterator(found *iteratorObjects) error {
	o.config, o.seen = found.AirboundConfig, found.AirboundSeen
	attached, err := link.AttachIter(link.IterOptions{Program: found.AirboundOld})
	if err != nil {
		return explain("attach the program for connections that exist", err)
	}
	o.iterator, o.closers = attached, append(o.closers, attached)
	return nil
}

func loadNewOnly(where scope) (*objects, error) {
	specification, err := loadSockopsPlain()
	if err != nil {
		return nil, err
	}
	if err := specification.Variables[sockopsPlainVarCheckNetnsCookie].Set(where.hasCookie); err != nil {
		return nil, err
	}
	var found sockopsPlainObjects
	if err := specification.LoadAndAssign(&found, nil); err != nil {
		return nil, explain("load the program for new connections", err)
	}
	return &objects{
		program: found.AirboundNew, config: found.AirboundConfig, rules: found.AirboundRules,
		dst: found.AirboundDst, uid: found.AirboundUid, uidDst: found.AirboundUiddst, remaining: found.AirboundLeft,
		closers: []io.Closer{&found},
	}, nil
}

func attach(where scope, program *ebpf.Program) (link.Link, error) {
	attached, err := link.AttachCgroup(link.CgroupOptions{
		Path: where.cgroup, Attach: ebpf.AttachCGroupSockOps, Program: program,
	})
	if err != nil {
		return nil, explain("attach the program for new connections to "+where.cgroup, err)
	}
	return attached, nil
}

func (o *objects) close() {
	for _, closer := range o.closers {
		_ = closer.Close() // Only descriptors.
	}
}

func (o *objects) readConfig() (config, error) {
	var now config
	err := o.config.Lookup(uint32(0), &now)
	return now, err
}

func (o *objects) writeConfig(next config) error {
	if err := o.config.Put(uint32(0), next); err != nil {
		return fmt.Errorf("write the programs' configuration: %w", err)
	}
	return nil
}

// writeRules writes rules into a slot that is not in force and returns the number of the one for all connections.
// Counts of selectors that were in the other slot go on.
func (o *objects) writeRules(slot, before uint32, rules []bounds.Rule) (uint32, error) {
	counts := map[bounds.Selector]uint64{}
	if before < slots {
		live, err := readRules(o.rules, before)
		if err != nil {
			return noRule, err
		}
		for _, rule := range live {
			counts[rule.Selector] = rule.Effect.Lowered
		}
	}
	if err := o.clear(slot); err != nil {
		return noRule, err
	}
	for i, wanted := range rules {
		at := slot*rulesMax + uint32(i)
		if err := o.rules.Put(at, toKernel(wanted, counts[wanted.Selector])); err != nil {
			return noRule, err
		}
	}
	return o.writeLook(slot, lookOf(rules))
}

// writeLook writes what the kernel looks up for a slot and returns the number of the rule for all connections.
func (o *objects) writeLook(slot uint32, found look) (uint32, error) {
	number := func(index uint32) uint32 { return slot*rulesMax + index }
	for prefix, index := range found.prefixes {
		if err := o.dst.Put(prefixKeyOf(slot, prefix), number(index)); err != nil {
			return noRule, err
		}
	}
	for uid, index := range found.uids {
		if err := o.uid.Put(uidKey{Slot: slot, Uid: uid}, number(index)); err != nil {
			return noRule, err
		}
	}
	for selector, index := range found.uidDsts {
		if err := o.uidDst.Put(uidDstKeyOf(slot, selector), number(index)); err != nil {
			return noRule, err
		}
	}
	if found.all == noRule {
		return noRule, nil
	}
	return number(found.all), nil
}

// clear empties a slot.
func (o *objects) clear(slot uint32) error {
	for i := range uint32(rulesMax) {
		var there rule
		at := slot*rulesMax + i
		if err := o.rules.Lookup(at, &there); err != nil {
			return err
		}
		if there == (rule{}) {
			break
		}
		if err := o.rules.Put(at, rule{}); err != nil {
			return err
		}
	}
	if err := clearMap(o.dst, func(key prefixKey) bool { return uint32(key.Slot) == slot }); err != nil {
		return err
	}
	if err := clearMap(o.uid, func(key uidKey) bool { return key.Slot == slot }); err != nil {
		return err
	}
	return clearMap(o.uidDst, func(key uidDstKey) bool { return uint32(key.Slot) == slot })
}

// clearMap deletes the keys that are chosen.
func clearMap[Key any](from *ebpf.Map, isChosen func(Key) bool) error {
	var chosen []Key
	var key Key
	var number uint32
	for entries := from.Iterate(); entries.Next(&key, &number); {
		if isChosen(key) {
			chosen = append(chosen, key)
		}
	}
	for _, key := range chosen {
		if err := from.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	return nil
}

// visitConnections brings the configuration to the connections that exist. Without the iterator, they get it with their
// next round trip.
func (o *objects) visitConnections() (visited, error) {
	var found visited
	if o.iterator == nil {
		return found, nil
	}
	if err := o.seen.Put(uint32(0), visited{}); err != nil {
		return found, err
	}
	reader, err := o.iterator.Open()
	if err != nil {
		return found, explain("visit connections", err)
	}
	// The programs write nothing: there is only the end to be read.
	if _, err := io.Copy(io.Discard, reader); err != nil {
		return found, errors.Join(fmt.Errorf("visit connections: %w", err), reader.Close())
	}
	if err := reader.Close(); err != nil {
		return found, err
	}
	if err := o.seen.Lookup(uint32(0), &found); err != nil {
		return found, err
	}
	if found.Failed > 0 {
		return found, fmt.Errorf("the kernel refused to set the maximum of %d connections", found.Failed)
	}
	return found, nil
}

// left returns how many connections have a maximum that only the attached program can lift.
func (o *objects) left() (uint64, error) {
	if o.remaining == nil {
		return 0, nil
	}
	var count uint64
	err := o.remaining.Lookup(uint32(0), &count)
	return count, err
}

// explain adds the meaning of an error of the kernel's interface.
func explain(what string, err error) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		// The verifier says why it refuses. The library has its error also for types that are not permitted.
		if verifier, _ := errors.AsType[*ebpf.VerifierError](err); verifier != nil && len(verifier.Log) > 0 {
			return fmt.Errorf("%s: %w: the kernel's verifier refuses it: %w", what, apply.ErrNotSupported, err)
		}
		return fmt.Errorf("%s: only root may, or CAP_SYS_ADMIN and CAP_NET_ADMIN: %w", what, err)
	case errors.Is(err, ebpf.ErrNotSupported), errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS),
		errors.Is(err, btf.ErrNotFound), errors.Is(err, unix.ENOENT):
		return fmt.Errorf("%s: %w: %w", what, apply.ErrNotSupported, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}
