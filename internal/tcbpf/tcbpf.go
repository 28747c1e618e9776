// SPDX-License-Identifier: Apache-2.0

// Package tcbpf attaches an agent's programs to a network interface, where they see each of its packets: by TCX, or
// before Linux 6.6 as filters of the qdisc clsact. Nothing of it stays when the agent has ended, however it ends.
package tcbpf

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"
)

// Place is where a program sees packets.
type Place int

// The places.
const (
	// Ingress is what the interface receives.
	Ingress Place = iota
	// Egress is what it is given to send, before the queue is chosen.
	Egress
)

// Priorities of filters of clsact, before those whose priority the kernel chooses, which are from 49152 downwards.
// Programs that an agent attaches to the same place of an interface need different ones.
const (
	PriorityWindows = 77
	PriorityFlows   = 78
	// PriorityTrial is for programs that are removed at once: those of an agent at the interface stay as they are.
	PriorityTrial = 79
)

// Program is a program and its place. It must let the next program decide about a packet (TC_ACT_UNSPEC, TCX_NEXT).
type Program struct {
	Program *ebpf.Program
	Place   Place
	// Role is one word, in the text of a filter. No two programs of an agent have the same.
	Role string
}

// Attachment is programs at an interface.
type Attachment interface {
	// IsLive is false if they are not there any more: the interface is gone, or something else has removed them.
	IsLive() bool
	Close() error
}

// Guard is that of package guard.
type Guard interface {
	Protect(deadlineUS int64) error
	Release()
}

// guardedForUS stands for ever: a guard of programs has no deadline, since each program's lease is in the kernel.
const guardedForUS = 10 * 365 * 86_400 * 1_000_000

// Attacher attaches the programs of an agent. It is not safe for concurrent use. The network namespace is that of the
// caller's thread.
type Attacher struct {
	// Agent is a random name of the agent process. Filters have it, so that others know whose they are.
	Agent string
	// Priority of filters.
	Priority uint32
	// Clsact attaches by clsact also where the kernel has TCX. It becomes true where the kernel has none.
	Clsact bool
	// Guard calls RemoveLeft if the agent is killed; TCX needs none. Nil for none.
	Guard Guard
}

// Attach brings programs to an interface, all or none.
func (a *Attacher) Attach(index uint32, programs ...Program) (Attachment, error) {
	if !a.Clsact {
		attached, err := attachTCX(index, programs)
		if err == nil || !errors.Is(err, ebpf.ErrNotSupported) {
			return attached, err
		}
		a.Clsact = true
	}
	if a.Guard != nil {
		if err := a.Guard.Protect(guardedForUS); err != nil {
			return nil, err
		}
	}
	return attachClsact(index, a.Agent, a.Priority, programs)
}

// Keep makes sure that programs are at the interfaces of these indexes and at no other; attached are those that there
// are. It returns whether programs were brought to an interface, also beside an error.
func (a *Attacher) Keep(
	attached map[uint32]Attachment, indexes []uint32, programs ...Program,
) (changed bool, err error) {
	for index, there := range attached {
		if !slices.Contains(indexes, index) {
			_ = there.Close() // The interface is gone, most often.
			delete(attached, index)
		}
	}
	for _, index := range indexes {
		if there := attached[index]; there != nil {
			if there.IsLive() {
				continue
			}
			_ = there.Close() // There is nothing left of it.
			delete(attached, index)
		}
		there, err := a.Attach(index, programs...)
		if err != nil {
			return changed, err
		}
		attached[index], changed = there, true
	}
	return changed, nil
}

// Release ends the guard: nothing is attached any more.
func (a *Attacher) Release() {
	if a.Clsact && a.Guard != nil {
		a.Guard.Release()
	}
}

// IndexOf returns the index of an interface. Package net would read all interfaces, which takes an agent with little
// memory some hundred kB.
func IndexOf(name string) (uint32, error) {
	request, err := unix.NewIfreq(name)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", name, err)
	}
	socket, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", name, err)
	}
	err = unix.IoctlIfreq(socket, unix.SIOCGIFINDEX, request)
	_ = unix.Close(socket)
	if err != nil {
		return 0, fmt.Errorf("find %s: %w", name, err)
	}
	return request.Uint32(), nil
}

// Explain adds the meaning of an error of the kernel's interface.
func Explain(what string, err error) error {
	switch {
	case errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
		// The verifier says why it refuses. The library has its error also for types that are not permitted.
		if verifier, _ := errors.AsType[*ebpf.VerifierError](err); verifier != nil && len(verifier.Log) > 0 {
			return fmt.Errorf("%s: the kernel's verifier refuses it: %w", what, err)
		}
		return fmt.Errorf("%s: the kernel does not permit it; "+
			"the agent needs CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: %w", what, err)
	case errors.Is(err, unix.ENOSYS):
		return fmt.Errorf("%s: the kernel has no BPF: %w", what, err)
	case errors.Is(err, ebpf.ErrNotSupported):
		return fmt.Errorf("%s: the kernel does not support it: %w", what, err)
	default:
		return fmt.Errorf("%s: %w", what, err)
	}
}
