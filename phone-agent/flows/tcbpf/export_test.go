// SPDX-License-Identifier: Apache-2.0

package tcbpf

import (
	"github.com/cilium/ebpf"

	"github.com/airbound/airbound/phone-agent/flows"
)

// VideoPriority is that of packets as video.
const VideoPriority = videoPriority

// Program returns the one that is attached.
func (k *Kernel) Program() *ebpf.Program { return k.objects.AirboundLeave }

// SetUnattached is Set without an interface.
func (k *Kernel) SetUnattached(wanted []flows.Flow, deadlineUS int64) error {
	if err := k.apply("", wanted, deadlineUS); err == nil || k.attached != nil {
		panic("it was attached")
	}
	return nil
}

// EmptyNS returns when the bucket of a flow will be empty.
func (k *Kernel) EmptyNS(selector flows.Selector) (uint64, error) {
	var value leaveFlow
	if kindOf(selector) == byNothing {
		err := k.objects.AirboundEvery.Lookup(k.state.Slot, &value)
		return value.EmptyNs, err
	}
	err := k.objects.AirboundFlows.Lookup(keyOf(k.state.Slot, selector), &value)
	return value.EmptyNs, err
}

// Entries counts what is in the map of flows.
func (k *Kernel) Entries() (count int) {
	var key leaveKey
	var value leaveFlow
	for entries := k.objects.AirboundFlows.Iterate(); entries.Next(&key, &value); {
		count++
	}
	return count
}
