// SPDX-License-Identifier: Apache-2.0

package tcbpf

import (
	"errors"
	"fmt"
	"net"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	attaching "github.com/airbound/airbound/internal/tcbpf"
)

// Names of bpf/leave.c.
const (
	programName = "airbound_leave"
	stateName   = "airbound_state"
)

// CleanUp ends what agents have in force in the thread's network namespace, also one that runs, and removes what one
// that was killed has left. On a kernel without BPF it does nothing.
func CleanUp() error {
	removed := attaching.RemoveLeft(AgentName)
	if errors.Is(removed, unix.EOPNOTSUPP) { // A kernel without traffic control.
		removed = nil
	}
	if err := errors.Join(removed, endTCX()); err != nil {
		return fmt.Errorf("leave packets as they are: %w", err)
	}
	return nil
}

// endTCX ends the leases of programs that agents have attached by TCX: a hanging one's, since the kernel detaches those
// of one that has ended.
func endTCX() error {
	interfaces, err := net.Interfaces()
	if err != nil {
		return fmt.Errorf("list interfaces: %w", err)
	}
	var errs []error
	for _, each := range interfaces {
		found, err := link.QueryPrograms(link.QueryOptions{Target: each.Index, Attach: ebpf.AttachTCXEgress})
		if err != nil {
			return nil //nolint:nilerr // a kernel without TCX, or a process that could not have attached anything
		}
		for _, program := range found.Programs {
			if err := endLease(program.ID); err != nil && !errors.Is(err, os.ErrNotExist) {
				errs = append(errs, fmt.Errorf("end the lease of a program at %s: %w", each.Name, err))
			}
		}
	}
	return errors.Join(errs...)
}

// endLease ends that of a program, if it is an agent's.
func endLease(id ebpf.ProgramID) error {
	program, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return err
	}
	defer func() { _ = program.Close() }() // Only a descriptor.
	info, err := program.Info()
	if err != nil || info.Name != programName {
		return err
	}
	ids, _ := info.MapIDs()
	for _, id := range ids {
		if err := endState(id); err != nil {
			return err
		}
	}
	return nil
}

func endState(id ebpf.MapID) error {
	found, err := ebpf.NewMapFromID(id)
	if err != nil {
		return err
	}
	defer func() { _ = found.Close() }() // Only a descriptor.
	info, err := found.Info()
	if err != nil || info.Name != stateName {
		return err
	}
	return found.Put(uint32(0), leaveState{})
}
