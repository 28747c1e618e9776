// SPDX-License-Identifier: Apache-2.0

// Package tcbpf gives packets to stations another access category, with a program in the kernel at each interface of a
// BSS: bpf/mark.c. It is the edge of package stationflows.
//
// While a BSS has no flows nothing is in the kernel for it: no program, no map, no qdisc.
package tcbpf

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/stationflows"
	"github.com/airbound/airbound/internal/tcbpf"
)

const (
	nsPerUS = 1000
	// videoPriority is that of packets whose user priority is 5, video (IEEE Std 802.11-2020, table 10-1).
	videoPriority = uint32(256 + 5)
)

// Options are how the program is attached.
type Options struct {
	// AgentName is a random name of the agent process. Filters of clsact have it, so that others know whose they are.
	AgentName string
	// Clsact attaches by clsact also where the kernel has TCX.
	Clsact bool
	// Trial is for programs that are removed at once, beside an agent or not.
	Trial bool
	// Guard removes filters of clsact if the agent is killed; TCX does that by itself. Nil for none.
	Guard tcbpf.Guard
}

func (o Options) priority() uint32 {
	if o.Trial {
		return tcbpf.PriorityTrial
	}
	return tcbpf.PriorityFlows
}

// Kernel is the kernel's part for one agent process. Its methods are safe for concurrent use. The network namespace is
// that of the caller's thread.
type Kernel struct {
	mutex    sync.Mutex
	attacher tcbpf.Attacher
	// bsss has what is in the kernel, by the name of the BSS's interface.
	bsss map[string]*marks
	// markedBefore is what was counted for each BSS by programs that are not there any more.
	markedBefore map[string]uint64
}

// marks is the program and maps of one BSS.
type marks struct {
	objects    markObjects
	attached   map[uint32]tcbpf.Attachment
	written    map[markMarkKey]struct{}
	deadlineNS uint64
}

// New makes a Kernel; nothing is loaded.
func New(options Options) *Kernel {
	return &Kernel{
		attacher: tcbpf.Attacher{
			Agent: options.AgentName, Priority: options.priority(), Clsact: options.Clsact, Guard: options.Guard,
		},
		bsss: map[string]*marks{}, markedBefore: map[string]uint64{},
	}
}

// Try finds out whether packets of a BSS could be given a category, by doing all of it but that. The error says what is
// lacking.
func (k *Kernel) Try(name string) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.bsss[name] != nil {
		return nil
	}
	err := k.set(name, nil, nil, 0)
	return errors.Join(err, k.end(name))
}

// Set makes sure that the flows of a BSS are in the kernel, which ends them at the deadline, CLOCK_MONOTONIC, by
// itself, and that its program is at the BSS's interfaces and at no other for it. Without indexes the one is the
// interface whose name is that of the BSS. It is to be called again when interfaces may have come or gone. After an
// error nothing is in the kernel for the BSS.
func (k *Kernel) Set(name string, indexes []uint32, flows []stationflows.Flow, deadlineUS int64) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if err := k.set(name, indexes, flows, uint64(max(0, deadlineUS))*nsPerUS); err != nil {
		return errors.Join(err, k.end(name))
	}
	return nil
}

func (k *Kernel) set(name string, indexes []uint32, flows []stationflows.Flow, deadlineNS uint64) error {
	if len(indexes) == 0 {
		found, err := tcbpf.IndexOf(name)
		if err != nil {
			return err
		}
		indexes = []uint32{found}
	}
	m := k.bsss[name]
	if m == nil {
		loaded, err := load()
		if err != nil {
			return err
		}
		m = loaded
		k.bsss[name] = m
	}
	if err := m.write(flows, deadlineNS); err != nil {
		return err
	}
	_, err := k.attacher.Keep(m.attached, indexes,
		tcbpf.Program{Program: m.objects.AirboundMark, Place: tcbpf.Egress, Role: "mark"})
	return err
}

// End ends what is in the kernel for a BSS.
func (k *Kernel) End(name string) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.end(name)
}

func (k *Kernel) end(name string) error {
	m := k.bsss[name]
	if m == nil {
		return nil
	}
	// At once, also if removing the program fails.
	errs := []error{m.writeDeadline(0)}
	for index, attached := range m.attached {
		err := attached.Close()
		if err == nil {
			delete(m.attached, index)
		}
		errs = append(errs, err)
	}
	if len(m.attached) > 0 {
		return errors.Join(errs...) // It can be called again.
	}
	if total, err := m.markedTotal(); err == nil {
		k.markedBefore[name] += total
	}
	errs = append(errs, m.objects.Close())
	delete(k.bsss, name)
	if len(k.bsss) == 0 {
		k.attacher.Release()
	}
	return errors.Join(errs...)
}

// Close ends what is in the kernel for all BSSs.
func (k *Kernel) Close() error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	errs := make([]error, 0, len(k.bsss))
	for name := range k.bsss {
		errs = append(errs, k.end(name))
	}
	return errors.Join(errs...)
}

// MarkedTotal returns how many packets of a BSS were given another category.
func (k *Kernel) MarkedTotal(name string) (uint64, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	before := k.markedBefore[name]
	m := k.bsss[name]
	if m == nil {
		return before, nil
	}
	total, err := m.markedTotal()
	return before + total, err
}

func load() (*marks, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, tcbpf.Explain("lift the limit of locked memory", err)
	}
	m := &marks{attached: map[uint32]tcbpf.Attachment{}, written: map[markMarkKey]struct{}{}}
	if err := loadMarkObjects(&m.objects, nil); err != nil {
		return nil, tcbpf.Explain("load the program that gives packets a category", err)
	}
	return m, nil
}

func keyOf(flow stationflows.Flow) markMarkKey {
	const ipv4, ipv6 = 4, 6
	key := markMarkKey{Mac: flow.Station, Family: ipv6}
	if flow.Address.Is4() {
		key.Family = ipv4
	}
	copy(key.Address[:], flow.Address.AsSlice())
	return key
}

// write removes before it adds: both sets together may be more than the map takes.
func (m *marks) write(flows []stationflows.Flow, deadlineNS uint64) error {
	wanted := make(map[markMarkKey]struct{}, len(flows))
	for _, flow := range flows {
		wanted[keyOf(flow)] = struct{}{}
	}
	for key := range m.written {
		if _, still := wanted[key]; still {
			continue
		}
		if err := m.objects.AirboundMarks.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("remove a flow of %s: %w", mac.Address(key.Mac), err)
		}
		delete(m.written, key)
	}
	for key := range wanted {
		if _, is := m.written[key]; is {
			continue
		}
		if err := m.objects.AirboundMarks.Put(key, videoPriority); err != nil {
			return fmt.Errorf("give a flow of %s a category: %w", mac.Address(key.Mac), err)
		}
		m.written[key] = struct{}{}
	}
	return m.writeDeadline(deadlineNS)
}

func (m *marks) writeDeadline(deadlineNS uint64) error {
	if m.deadlineNS == deadlineNS {
		return nil
	}
	if err := m.objects.AirboundDeadline.Put(uint32(0), deadlineNS); err != nil {
		return fmt.Errorf("write the end of the lease: %w", err)
	}
	m.deadlineNS = deadlineNS
	return nil
}

func (m *marks) markedTotal() (uint64, error) {
	var total uint64
	if err := m.objects.AirboundMarked.Lookup(uint32(0), &total); err != nil {
		return 0, fmt.Errorf("read how many packets were given a category: %w", err)
	}
	return total, nil
}
