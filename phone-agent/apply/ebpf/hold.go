// SPDX-License-Identifier: Apache-2.0

//go:build !mips && !mips64 && !ppc64 && !s390x

package ebpf

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"

	"github.com/airbound/airbound/phone-agent/monitor/sockdiag"
)

// Held is the program of an agent, as the guard keeps it. On a kernel without the iterator nothing but the program
// lifts a maximum, so it must stay at the cgroup until no connection has one, even if the agent was killed. With the
// iterator nothing is held.
type Held struct {
	scope scope
	agent *attached
	// What the agent has attached the program with: while the guard has it as well, the program stays when the agent
	// is killed, and misses no connection that closes.
	link link.Link
}

const (
	// leftPoll is how often the guard counts the connections that have a maximum.
	leftPoll = 200 * time.Millisecond
	// connectionsPolls is how many of them pass between two looks whether there is any connection at all.
	connectionsPolls = 25
)

// mapLeft is in the program without BTF only.
const mapLeft = sockopsPlainMapAirboundLeft

// Hold keeps what the agent has attached, if it will be needed. A guard that cannot hold it must not be relied upon.
func (b *BackEnd) Hold(agentPID int) (*Held, error) {
	where, err := findScope(b.options)
	if err != nil {
		return nil, err
	}
	b.options.Pacing.Remember()
	held := &Held{scope: where}
	agents, err := findAttached(where)
	if err != nil {
		// Only CAP_SYS_ADMIN may look at what other processes have attached; the iterator needs less, and does.
		visitor := &objects{}
		defer visitor.close()
		if !b.options.NewOnly && visitor.loadIterator() == nil {
			return held, nil
		}
		return nil, err
	}
	found := false
	for _, agent := range agents {
		isAgents := int(agent.config.AgentPid) == agentPID
		found = found || isAgents
		if held.agent == nil && isAgents && agent.maps[mapLeft] != nil {
			held.agent = agent
			continue
		}
		agent.close()
	}
	if !found {
		return nil, fmt.Errorf("no program of agent %d is attached to %s", agentPID, where.cgroup)
	}
	if held.agent == nil {
		return held, nil
	}
	if held.link, err = findLink(where, held.agent.program); err != nil {
		held.Close()
		return nil, explain("hold the agent's program", err)
	}
	return held, nil
}

// findLink finds what a program is attached to the cgroup with. A kernel that has what the programs need tells that.
func findLink(where scope, program *ebpf.Program) (link.Link, error) {
	info, err := program.Info()
	if err != nil {
		return nil, err
	}
	wanted, _ := info.ID()
	links := &link.Iterator{}
	defer links.Close()
	for links.Next() {
		about, err := links.Link.Info()
		if err != nil || about.Program != wanted {
			continue // Another one, perhaps of a kind that the kernel or the library cannot describe.
		}
		if cgroup := about.Cgroup(); cgroup != nil && cgroup.CgroupId == where.cgroupID {
			return links.Take(), nil
		}
	}
	return nil, errors.Join(errors.New("it is attached by no link"), links.Err())
}

// Close gives the program up.
func (h *Held) Close() {
	if h.link != nil {
		_ = h.link.Close() // Only a descriptor: the kernel detaches the program itself.
		h.link = nil
	}
	if h.agent != nil {
		h.agent.close()
		h.agent = nil
	}
}

// CgroupIsGone reports whether the cgroup has been removed: no process is in it, and none can come.
func (h *Held) CgroupIsGone() bool {
	_, err := os.Stat(h.scope.cgroup)
	return errors.Is(err, fs.ErrNotExist)
}

// Finish is called when the agent has ended: the program stays attached, without rules, until no connection has a
// maximum. One that is idle is lifted with its next round trip.
func (h *Held) Finish() error {
	if h.agent == nil {
		return nil
	}
	ended := h.agent.config
	ended.Slot, ended.DeadlineNs, ended.AgentPid = noSlot, 0, 0
	if err := h.agent.maps[iteratorMapAirboundConfig].Put(uint32(0), ended); err != nil {
		return fmt.Errorf("end the rules of the agent: %w", err)
	}
	for poll := 1; ; poll++ {
		var left uint64
		if err := h.agent.maps[mapLeft].Lookup(uint32(0), &left); err != nil {
			return err
		}
		if left == 0 || h.CgroupIsGone() || (poll%connectionsPolls == 0 && !connectionsExist()) {
			return nil
		}
		time.Sleep(leftPoll)
	}
}

// connectionsExist looks at the whole network namespace. The count would be wrong for ever if another program at the
// cgroup had switched off the calls that a connection makes when it ends.
func connectionsExist() bool {
	socket, err := sockdiag.Open(func() uint64 { return 0 })
	if err != nil {
		return true
	}
	defer func() { _ = socket.Close() }() // It was only asked.
	snapshot, err := socket.Snapshot()
	return err != nil || len(snapshot.Connections) > 0 || snapshot.RefusedTotal > 0
}
