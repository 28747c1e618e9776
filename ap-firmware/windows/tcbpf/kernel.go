// SPDX-License-Identifier: Apache-2.0

// Package tcbpf follows the TCP connections of an access point's stations, and limits the receive windows that these
// are offered, with two programs in the kernel at each interface of a BSS: bpf/clamp.c. It is the edge of package
// windows.
package tcbpf

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"

	"github.com/airbound/airbound/ap-firmware/mac"
	"github.com/airbound/airbound/ap-firmware/windows"
	"github.com/airbound/airbound/internal/tcbpf"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

const (
	nsPerUS = 1000
	// leasesMax is LEASES of bpf/clamp.c: a BSS has one.
	leasesMax = len(clampState{}.DeadlineNs)
	// observedForUS is how long an observation serves all BSSs of the process.
	observedForUS = 100_000
)

// Options are where and how programs are attached.
type Options struct {
	// AgentName is a random name of the agent process. Filters of clsact have it, so that others know whose they are.
	AgentName string
	// Clsact attaches by clsact also where the kernel has TCX.
	Clsact bool
	// Trial is for programs that are removed at once, beside an agent or not.
	Trial bool
	// PinPath is where in a BPF file system the table of connections is kept for the next agent; empty for nowhere.
	PinPath string
	// Guard removes filters of clsact if the agent is killed; TCX does that by itself. Nil for none.
	Guard  tcbpf.Guard
	Logger *slog.Logger
}

func (o Options) priority() uint32 {
	if o.Trial {
		return tcbpf.PriorityTrial
	}
	return tcbpf.PriorityWindows
}

// Kernel is the programs and maps of one agent process, which its BSSs share: a station that moves from one to the
// other keeps its connections. Its methods are safe for concurrent use. The network namespace is that of the caller's
// thread.
type Kernel struct {
	options  Options
	mutex    sync.Mutex
	objects  clampObjects
	attacher tcbpf.Attacher
	// bsss has what each BSS has asked for, by the name of its interface.
	bsss map[string]*bss
	// written is what is in the kernel's map of limits.
	written map[clampLimitKey]clampLimit
	state   clampState
	updates uint64

	table        *windows.Table
	observedUS   int64
	observation  windows.Observation
	keys         []clampFlowKey
	values       []clampFlow
	flows        []windows.Flow
	withoutBatch bool
}

type bss struct {
	lease    uint32
	limits   []windows.Limit
	updated  uint64
	attached map[uint32]tcbpf.Attachment
}

// Load loads the programs; nothing is attached. The error says what the kernel lacks.
func Load(options Options) (*Kernel, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, tcbpf.Explain("lift the limit of locked memory", err)
	}
	k := &Kernel{
		options: options, bsss: map[string]*bss{}, written: map[clampLimitKey]clampLimit{}, table: windows.NewTable(),
		attacher: tcbpf.Attacher{
			Agent: options.AgentName, Priority: options.priority(), Clsact: options.Clsact, Guard: options.Guard,
		},
	}
	if err := k.load(); err != nil {
		return nil, err
	}
	const chunk = 256
	k.keys, k.values = make([]clampFlowKey, chunk), make([]clampFlow, chunk)
	k.state.Epoch = rand.Uint32() //nolint:gosec // only has to be another one
	if err := k.writeState(); err != nil {
		return nil, errors.Join(err, k.objects.Close())
	}
	return k, nil
}

func (k *Kernel) load() error {
	specification, err := loadClamp()
	if err != nil {
		return err
	}
	replacements := map[string]*ebpf.Map{}
	if kept := k.openPinned(specification.Maps[clampMapAirboundFlows]); kept != nil {
		replacements[clampMapAirboundFlows] = kept
		defer func() { _ = kept.Close() }() // The objects have their own.
	}
	err = specification.LoadAndAssign(&k.objects, &ebpf.CollectionOptions{MapReplacements: replacements})
	if err != nil {
		return tcbpf.Explain("load the programs that follow connections", err)
	}
	if k.options.PinPath != "" && len(replacements) == 0 {
		if err := k.objects.AirboundFlows.Pin(k.options.PinPath); err != nil {
			k.options.Logger.Info("a restart of the agent forgets the connections: there is no BPF file system to "+
				"keep them in", "path", k.options.PinPath, "error", err)
		}
	}
	return nil
}

// openPinned returns the table that an earlier agent has left, or nil. One of another form is removed.
func (k *Kernel) openPinned(specification *ebpf.MapSpec) *ebpf.Map {
	if k.options.PinPath == "" {
		return nil
	}
	kept, err := ebpf.LoadPinnedMap(k.options.PinPath, nil)
	if err != nil {
		return nil // There is none, most often.
	}
	if err := specification.Compatible(kept); err != nil {
		k.options.Logger.Info("removing the table of connections of another version", "error", err)
		_ = errors.Join(kept.Unpin(), kept.Close()) // Pinning the new one fails then, and says so.
		return nil
	}
	return kept
}

// Close detaches the programs of every BSS and unloads them. The table of connections stays if it is pinned.
func (k *Kernel) Close() error {
	k.mutex.Lock()
	names := make([]string, 0, len(k.bsss))
	for name := range k.bsss {
		names = append(names, name)
	}
	k.mutex.Unlock()
	errs := make([]error, 0, len(names)+1)
	for _, name := range names {
		errs = append(errs, k.Detach(name))
	}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return errors.Join(append(errs, k.objects.Close())...)
}

// Attach makes sure that the programs are at the interfaces of a BSS, and at no other for it. Without indexes the one
// is the interface whose name is that of the BSS.
func (k *Kernel) Attach(name string, indexes []uint32) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if len(indexes) == 0 {
		found, err := tcbpf.IndexOf(name)
		if err != nil {
			return err
		}
		indexes = []uint32{found}
	}
	b, err := k.bss(name)
	if err != nil {
		return err
	}
	changed, err := k.attacher.Keep(b.attached, indexes,
		tcbpf.Program{Program: k.objects.AirboundUp, Place: tcbpf.Ingress, Role: "up"},
		tcbpf.Program{Program: k.objects.AirboundDown, Place: tcbpf.Egress, Role: "down"})
	if changed { // Packets may have passed there unseen.
		k.state.Epoch++
		err = errors.Join(err, k.writeState())
	}
	return err
}

func (k *Kernel) bss(name string) (*bss, error) {
	if b := k.bsss[name]; b != nil {
		return b, nil
	}
	taken := [leasesMax]bool{}
	for _, b := range k.bsss {
		taken[b.lease] = true
	}
	lease := slices.Index(taken[:], false)
	if lease < 0 {
		return nil, fmt.Errorf("%d BSSs are the most that one agent limits windows for", leasesMax)
	}
	b := &bss{lease: uint32(lease), attached: map[uint32]tcbpf.Attachment{}} //nolint:gosec // an index of an array
	k.bsss[name] = b
	return b, nil
}

// Detach ends what is there for a BSS.
func (k *Kernel) Detach(name string) error {
	errs := []error{k.SetLimits(name, nil, 0)}
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if b := k.bsss[name]; b != nil {
		for _, attached := range b.attached {
			errs = append(errs, attached.Close())
		}
		delete(k.bsss, name)
	}
	err := errors.Join(errs...)
	if err == nil && len(k.bsss) == 0 {
		k.attacher.Release()
	}
	return err
}

// SetLimits replaces the limits of a BSS, which end at the deadline, CLOCK_MONOTONIC, by themselves.
func (k *Kernel) SetLimits(name string, limits []windows.Limit, deadlineUS int64) error {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	b := k.bsss[name]
	if b == nil && len(limits) == 0 {
		return nil
	}
	b, err := k.bss(name)
	if err != nil {
		return err
	}
	deadlineNS := uint64(0)
	if len(limits) > 0 {
		deadlineNS = uint64(max(0, deadlineUS)) * nsPerUS
	}
	if deadlineNS == 0 { // At once, also if removing the entries fails.
		k.state.DeadlineNs[b.lease] = 0
		if err := k.writeState(); err != nil {
			return err
		}
	}
	if !slices.Equal(limits, b.limits) {
		k.updates++
		b.limits, b.updated = slices.Clone(limits), k.updates
		if err := k.writeLimits(); err != nil {
			b.limits = nil
			return errors.Join(err, k.writeLimits())
		}
	}
	k.state.DeadlineNs[b.lease] = deadlineNS
	return k.writeState()
}

// wanted puts the limits of all BSSs together. A station is in one of them; while it moves, the latest set is right.
func (k *Kernel) wanted() map[clampLimitKey]clampLimit {
	ordered := make([]*bss, 0, len(k.bsss))
	for _, b := range k.bsss {
		ordered = append(ordered, b)
	}
	slices.SortFunc(ordered, func(a, b *bss) int { return int(a.updated) - int(b.updated) }) //nolint:gosec // counts
	wanted := map[clampLimitKey]clampLimit{}
	for _, b := range ordered {
		for _, limit := range b.limits {
			wanted[limitKeyOf(limit)] = clampLimit{MaxBytes: limit.MaxBytes, Lease: b.lease}
		}
	}
	return wanted
}

func limitKeyOf(limit windows.Limit) clampLimitKey {
	key := clampLimitKey{Mac: limit.Station}
	switch {
	case limit.Address.Is4():
		key.Family = uint8(windows.IPv4)
	case limit.Address.Is6():
		key.Family = uint8(windows.IPv6)
	}
	copy(key.Address[:], limit.Address.AsSlice())
	return key
}

func (k *Kernel) writeLimits() error {
	wanted := k.wanted()
	for key, now := range k.written {
		if _, still := wanted[key]; still {
			continue
		}
		if err := k.objects.AirboundLimits.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return fmt.Errorf("remove the limit of %s, %d bytes: %w", mac.Address(key.Mac), now.MaxBytes, err)
		}
		delete(k.written, key)
	}
	for key, limit := range wanted {
		if k.written[key] == limit {
			continue
		}
		if err := k.objects.AirboundLimits.Put(key, limit); err != nil {
			return fmt.Errorf("limit the windows of %s: %w", mac.Address(key.Mac), err)
		}
		k.written[key] = limit
	}
	return nil
}

func (k *Kernel) writeState() error {
	k.state.LatestNs = slices.Max(k.state.DeadlineNs[:])
	if err := k.objects.AirboundState.Put(uint32(0), k.state); err != nil {
		return fmt.Errorf("write the programs' state: %w", err)
	}
	return nil
}

// Destinations returns what a report says of a station's connections, by the last observation.
func (k *Kernel) Destinations(station mac.Address) []*airboundv1.StationDestination {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	return k.table.Destinations(station, uint64(max(0, k.observedUS))*nsPerUS)
}
