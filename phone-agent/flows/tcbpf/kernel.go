// SPDX-License-Identifier: Apache-2.0

// Package tcbpf has the kernel change how packets leave the phone, by a program at the egress of the Wi-Fi interface:
// bpf/leave.c. It is the edge of package flows.
package tcbpf

import (
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/rlimit"

	attaching "github.com/airbound/airbound/internal/tcbpf"
	"github.com/airbound/airbound/phone-agent/flows"
)

const (
	// AgentName is that of a phone's agent in filters of clsact. A phone has one agent.
	AgentName = "phone"
	role      = "leave"
	nsPerUS   = 1000
	// videoPriority is user priority 5 of IEEE 802.1D, which is AC_VI, as net/wireless/util.c takes it.
	videoPriority = 256 + 5
	slots         = 2
)

// Options are how the program is attached.
type Options struct {
	// Clsact attaches by clsact also where the kernel has TCX.
	Clsact bool
	// Guard calls CleanUp if the agent is killed; TCX needs none. Nil for none.
	Guard attaching.Guard
}

// Kernel is the flows.Kernel. The network namespace is that of the thread that calls Set. It is not safe for concurrent
// use.
type Kernel struct {
	objects  leaveObjects
	attacher attaching.Attacher
	attached attaching.Attachment
	index    uint32
	set      []flows.Flow
	state    leaveState
}

var _ flows.Kernel = (*Kernel)(nil)

// Load loads the program; nothing is attached. The error says what the kernel lacks.
func Load(options Options) (*Kernel, error) {
	if err := rlimit.RemoveMemlock(); err != nil {
		return nil, attaching.Explain("lift the limit of locked memory", err)
	}
	k := &Kernel{attacher: attaching.Attacher{
		Agent: AgentName, Priority: attaching.PriorityFlows, Clsact: options.Clsact, Guard: options.Guard,
	}}
	if err := loadLeaveObjects(&k.objects, nil); err != nil {
		return nil, attaching.Explain("load the program for leaving packets", err)
	}
	return k, nil
}

// Set implements flows.Kernel. A set is written beside the one in force, and one word then says which is.
func (k *Kernel) Set(interfaceName string, wanted []flows.Flow, deadlineUS int64) error {
	if len(wanted) == 0 {
		return k.detach()
	}
	if err := k.apply(interfaceName, wanted, deadlineUS); err != nil {
		return errors.Join(err, k.detach())
	}
	return nil
}

func (k *Kernel) apply(interfaceName string, wanted []flows.Flow, deadlineUS int64) error {
	next := k.state
	next.DeadlineNs = uint64(max(0, deadlineUS)) * nsPerUS
	if !slices.Equal(wanted, k.set) {
		next.Slot = (k.state.Slot + 1) % slots
		kinds, err := k.writeFlows(next.Slot, wanted)
		if err != nil {
			k.set = nil
			return fmt.Errorf("write %d flows: %w", len(wanted), err)
		}
		next.Kinds[next.Slot] = kinds
	}
	if err := k.writeState(next); err != nil {
		return err
	}
	k.set = slices.Clone(wanted)
	return k.attach(interfaceName)
}

// attach makes sure that the program is at the interface, and at no other.
func (k *Kernel) attach(interfaceName string) error {
	if interfaceName == "" {
		return errors.New("the Wi-Fi interface is not known")
	}
	found, err := net.InterfaceByName(interfaceName)
	if err != nil {
		return fmt.Errorf("find %s: %w", interfaceName, err)
	}
	index := uint32(found.Index) //nolint:gosec // the kernel's are positive
	if k.attached != nil {
		if k.index == index && k.attached.IsLive() {
			return nil
		}
		_ = k.attached.Close() // The interface is gone, most often.
		k.attached = nil
	}
	k.attached, err = k.attacher.Attach(index, attaching.Program{
		Program: k.objects.AirboundLeave, Place: attaching.Egress, Role: role,
	})
	if err != nil {
		k.attached = nil
		return err
	}
	k.index = index
	return nil
}

// detach ends what is in force, first by the deadline, and then for good.
func (k *Kernel) detach() error {
	ended := k.state
	ended.DeadlineNs = 0
	err := k.writeState(ended)
	k.set = nil
	if k.attached == nil {
		return err
	}
	if closeErr := k.attached.Close(); closeErr != nil {
		return errors.Join(err, closeErr)
	}
	k.attached = nil
	k.attacher.Release()
	return err
}

// Counters implements flows.Kernel. Nothing is held back but by being dropped.
func (k *Kernel) Counters() (flows.Counters, error) {
	var counts leaveCounters
	if err := k.objects.AirboundCounts.Lookup(uint32(0), &counts); err != nil {
		return flows.Counters{}, fmt.Errorf("read the program's counters: %w", err)
	}
	return flows.Counters{Marked: counts.Marked, Paced: counts.Dropped, Dropped: counts.Dropped}, nil
}

// Close implements flows.Kernel.
func (k *Kernel) Close() error {
	if err := k.detach(); err != nil {
		return err
	}
	return k.objects.Close()
}

func (k *Kernel) writeState(next leaveState) error {
	if err := k.objects.AirboundState.Put(uint32(0), next); err != nil {
		return fmt.Errorf("write the program's state: %w", err)
	}
	k.state = next
	return nil
}

// Bits of leaveState.Kinds, as in bpf/leave.c.
const (
	byBoth    = 1 << 0
	byUID     = 1 << 1
	byAddress = 1 << 2
	byNothing = 1 << 3
)

// writeFlows writes a slot that is not in force, and returns which kinds of selectors it has.
func (k *Kernel) writeFlows(slot uint32, wanted []flows.Flow) (kinds uint32, err error) {
	if err := k.clear(slot); err != nil {
		return 0, err
	}
	for _, flow := range wanted {
		value := leaveFlow{UdpBps: flow.UDPBPS}
		if flow.Video {
			value.Priority = videoPriority
		}
		err := k.write(slot, flow.Selector, value)
		if err != nil {
			return 0, fmt.Errorf("%s: %w", flow.Selector, err)
		}
		kinds |= kindOf(flow.Selector)
	}
	return kinds, nil
}

func (k *Kernel) write(slot uint32, selector flows.Selector, value leaveFlow) error {
	if kindOf(selector) == byNothing {
		return k.objects.AirboundEvery.Put(slot, value)
	}
	return k.objects.AirboundFlows.Put(keyOf(slot, selector), value)
}

func (k *Kernel) clear(slot uint32) error {
	var old []leaveKey
	var key leaveKey
	var value leaveFlow
	entries := k.objects.AirboundFlows.Iterate()
	for entries.Next(&key, &value) {
		if uint32(key.Slot) == slot {
			old = append(old, key)
		}
	}
	if err := entries.Err(); err != nil {
		return err
	}
	for _, key := range old {
		if err := k.objects.AirboundFlows.Delete(key); err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
			return err
		}
	}
	return nil
}

func keyOf(slot uint32, selector flows.Selector) leaveKey {
	key := leaveKey{Slot: uint8(slot)} //nolint:gosec // 0 or 1
	if selector.HasUID {
		key.HasUid, key.Uid = 1, selector.UID
	}
	const ipv4, ipv6 = 4, 6
	switch address := selector.Address; {
	case address.Is4():
		key.Family = ipv4
	case address.Is6():
		key.Family = ipv6
	}
	copy(key.Address[:], selector.Address.AsSlice())
	return key
}

func kindOf(selector flows.Selector) uint32 {
	switch {
	case selector.HasUID && selector.Address.IsValid():
		return byBoth
	case selector.HasUID:
		return byUID
	case selector.Address.IsValid():
		return byAddress
	default:
		return byNothing
	}
}
