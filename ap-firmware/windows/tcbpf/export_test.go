// SPDX-License-Identifier: Apache-2.0

package tcbpf

import (
	"github.com/cilium/ebpf"

	"github.com/airbound/airbound/ap-firmware/windows"
)

// Programs returns those of uplink and downlink.
func (k *Kernel) Programs() (up, down *ebpf.Program) {
	return k.objects.AirboundUp, k.objects.AirboundDown
}

// Flows reads the kernel's table.
func (k *Kernel) Flows() ([]windows.Flow, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	err := k.readFlows()
	return append([]windows.Flow{}, k.flows...), err
}

// FlowsSingly reads it as on kernels before Linux 5.6.
func (k *Kernel) FlowsSingly() ([]windows.Flow, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	k.flows = k.flows[:0]
	err := k.readFlowsSingly()
	return append([]windows.Flow{}, k.flows...), err
}

// CreatedTotal and LimitedTotal are the programs' counters.
func (k *Kernel) CreatedTotal() uint64 {
	counts, _ := k.counters()
	return counts.Created
}

// LimitedTotal is how many segments had their window lowered.
func (k *Kernel) LimitedTotal() uint64 {
	counts, _ := k.counters()
	return counts.LimitedSegments
}

// Resume makes the programs take connections for such that passed unseen for a while.
func (k *Kernel) Resume() error {
	k.state.Epoch++
	return k.writeState()
}

// UsesClsact returns whether TCX is not used.
func (k *Kernel) UsesClsact() bool { return k.attacher.Clsact }

// Age makes every connection's last packet older.
func (k *Kernel) Age(ns uint64) error {
	var key clampFlowKey
	var value clampFlow
	entries := k.objects.AirboundFlows.Iterate()
	for entries.Next(&key, &value) {
		value.SeenNs -= ns
		if err := k.objects.AirboundFlows.Put(key, value); err != nil {
			return err
		}
	}
	return entries.Err()
}
