// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package ebpf

import (
	"errors"
	"fmt"
	"os"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"

	"github.com/airbound/airbound/phone-agent/apply"
)

// attached is the program of an agent, perhaps of another process, as it is found at the cgroup. Nothing of it has to
// be kept in a file.
type attached struct {
	program *ebpf.Program
	maps    map[string]*ebpf.Map
	config  config
}

// programName is the one in bpf/sockops.c.
const programName = "airbound_new"

// findAttached returns the programs of agents at the cgroup that are for the network namespace.
func findAttached(where scope) ([]*attached, error) {
	directory, err := os.Open(where.cgroup)
	if err != nil {
		return nil, fmt.Errorf("open the cgroup: %w", err)
	}
	defer func() { _ = directory.Close() }() // It was only asked.
	result, err := link.QueryPrograms(link.QueryOptions{
		Target: int(directory.Fd()), Attach: ebpf.AttachCGroupSockOps,
	})
	if err != nil {
		return nil, explain("list the programs of "+where.cgroup, err)
	}
	var found []*attached
	for _, program := range result.Programs {
		agent, err := openAttached(program.ID)
		if errors.Is(err, os.ErrNotExist) { // It has ended meanwhile.
			continue
		}
		if err != nil {
			closeAll(found)
			return nil, explain("look at a program of "+where.cgroup, err)
		}
		if agent == nil {
			continue
		}
		if agent.config.NetnsInum != where.netnsInum {
			agent.close()
			continue
		}
		found = append(found, agent)
	}
	return found, nil
}

// openAttached returns nil for a program that is not an agent's.
func openAttached(id ebpf.ProgramID) (*attached, error) {
	program, err := ebpf.NewProgramFromID(id)
	if err != nil {
		return nil, err
	}
	agent := &attached{program: program, maps: map[string]*ebpf.Map{}}
	if err := agent.open(); err != nil {
		agent.close()
		return nil, err
	}
	if agent.maps[iteratorMapAirboundConfig] == nil {
		agent.close()
		return nil, nil //nolint:nilnil // no agent is an answer
	}
	if err := agent.maps[iteratorMapAirboundConfig].Lookup(uint32(0), &agent.config); err != nil {
		agent.close()
		return nil, err
	}
	return agent, nil
}

func (a *attached) open() error {
	info, err := a.program.Info()
	if err != nil {
		return err
	}
	if info.Name != programName {
		return nil
	}
	ids, _ := info.MapIDs()
	for _, id := range ids {
		found, err := ebpf.NewMapFromID(id)
		if err != nil {
			return err
		}
		about, err := found.Info()
		if err != nil {
			return errors.Join(err, found.Close())
		}
		a.maps[about.Name] = found
	}
	return nil
}

func (a *attached) close() {
	for _, found := range a.maps {
		_ = found.Close() // Only a descriptor.
	}
	_ = a.program.Close() // Only a descriptor.
}

func closeAll(agents []*attached) {
	for _, agent := range agents {
		agent.close()
	}
}

// rules returns those in force.
func (a *attached) rules() ([]apply.LiveRule, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &now); err != nil {
		return nil, err
	}
	if a.config.Slot >= slots || uint64(now.Nano()) >= a.config.DeadlineNs { //nolint:gosec // never negative
		return nil, nil
	}
	return readRules(a.maps[iteratorMapAirboundRules], a.config.Slot)
}

func readRules(from *ebpf.Map, slot uint32) ([]apply.LiveRule, error) {
	var rules []apply.LiveRule
	for i := range uint32(rulesMax) {
		var found rule
		if err := from.Lookup(slot*rulesMax+i, &found); err != nil {
			return nil, err
		}
		if found.Kind == 0 {
			break
		}
		wanted, err := fromKernel(found)
		if err != nil {
			return nil, err
		}
		rules = append(rules, apply.LiveRule{Rule: wanted, Effect: &apply.Effect{Lowered: found.Lowered}})
	}
	return rules, nil
}

// deactivate ends the rules of every agent of the scope; each lifts its maxima with the next round trip of a
// connection.
func deactivate(where scope) error {
	agents, err := findAttached(where)
	if err != nil {
		return err
	}
	defer closeAll(agents)
	for _, agent := range agents {
		ended := agent.config
		ended.Slot, ended.DeadlineNs = noSlot, 0
		if err := agent.maps[iteratorMapAirboundConfig].Put(uint32(0), ended); err != nil {
			return fmt.Errorf("end the rules of an agent: %w", err)
		}
	}
	return nil
}

// liftAll lifts every maximum in the scope, with an iterator of its own. A kernel without the iterator has none to
// lift: there, the attached program does it.
func liftAll(where scope) error {
	visitor := &objects{}
	defer visitor.close()
	if err := visitor.loadIterator(); err != nil {
		return err
	}
	if err := visitor.writeConfig(where.config()); err != nil {
		return err
	}
	_, err := visitor.visitConnections()
	return err
}
