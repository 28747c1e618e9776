// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"

	"github.com/airbound/airbound/ap-firmware/agent"
	"github.com/airbound/airbound/ap-firmware/stationflows/tcbpf"
	"github.com/airbound/airbound/internal/guard"
)

// stationFlowsKernel is the kernel's part of giving packets to stations a category, which the BSSs of a process share.
type stationFlowsKernel interface {
	agent.StationFlowsKernel
	Close() error
}

func newStationFlows(options tcbpf.Options) stationFlowsKernel { return tcbpf.New(options) }

// openStationFlows prepares what gives packets a category if the owner permits it. Nothing is in the kernel before the
// controller wants it.
func openStationFlows(options runOptions, kernel sockets) (agent.StationFlows, func() error) {
	if options.noStationFlows {
		return agent.StationFlows{}, func() error { return nil }
	}
	name := rand.Text()
	opened := kernel.flows(tcbpf.Options{AgentName: name, Guard: guard.New(detachName, "--agent", name)})
	return agent.StationFlows{On: true, Kernel: opened}, opened.Close
}
