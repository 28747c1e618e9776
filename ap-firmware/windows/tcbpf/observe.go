// SPDX-License-Identifier: Apache-2.0

package tcbpf

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"

	"github.com/airbound/airbound/ap-firmware/windows"
)

// Bits of clampFlow.Flags, as in bpf/clamp.c.
const (
	hadFIN    = 1 << 1
	hadAnswer = 1 << 2
	hadMPTCP  = 1 << 4
)

const (
	up   = 0
	down = 1
)

// Observe reads the kernel's table, unless it was read a moment ago. nowUS is CLOCK_MONOTONIC.
func (k *Kernel) Observe(nowUS int64) (windows.Observation, error) {
	k.mutex.Lock()
	defer k.mutex.Unlock()
	if k.observedUS != 0 && nowUS-k.observedUS < observedForUS {
		return k.observation, nil
	}
	counts, err := k.counters()
	if err != nil {
		return windows.Observation{}, err
	}
	if err := k.readFlows(); err != nil {
		return windows.Observation{}, fmt.Errorf("read the table of connections: %w", err)
	}
	for _, key := range k.table.Observe(uint64(max(0, nowUS))*nsPerUS, counts.Created, k.flows) {
		if k.deleteEnded(key) {
			k.table.Deleted()
		}
	}
	k.observedUS = nowUS
	k.observation = windows.Observation{
		Connections: len(k.flows), ConnectionsMax: int(k.objects.AirboundFlows.MaxEntries()),
		EvictedTotal: k.table.EvictedTotal(), LimitedTotal: counts.LimitedSegments,
	}
	return k.observation, nil
}

func (k *Kernel) counters() (clampCounters, error) {
	var counts clampCounters
	if err := k.objects.AirboundCounts.Lookup(uint32(0), &counts); err != nil {
		return counts, fmt.Errorf("read the programs' counters: %w", err)
	}
	return counts, nil
}

// readFlows reads the table in a few system calls, or before Linux 5.6 in two for each connection.
func (k *Kernel) readFlows() error {
	k.flows = k.flows[:0]
	if k.withoutBatch {
		return k.readFlowsSingly()
	}
	var cursor ebpf.MapBatchCursor
	for {
		n, err := k.objects.AirboundFlows.BatchLookup(&cursor, k.keys, k.values, nil)
		for i := range n {
			k.flows = append(k.flows, flowOf(&k.keys[i], &k.values[i]))
		}
		switch {
		case errors.Is(err, ebpf.ErrKeyNotExist): // It is the end.
			return nil
		case err != nil: // Also a bucket of the hash with more entries than the batch takes.
			k.withoutBatch = errors.Is(err, ebpf.ErrNotSupported)
			k.flows = k.flows[:0]
			return k.readFlowsSingly()
		}
	}
}

func (k *Kernel) readFlowsSingly() error {
	var key clampFlowKey
	var value clampFlow
	entries := k.objects.AirboundFlows.Iterate()
	for entries.Next(&key, &value) {
		k.flows = append(k.flows, flowOf(&key, &value))
	}
	// The table changes meanwhile; what was found is right.
	if err := entries.Err(); err != nil && !errors.Is(err, ebpf.ErrIterationAborted) {
		return err
	}
	return nil
}

// deleteEnded returns whether a connection was deleted. One with the same ports may have begun a moment ago.
func (k *Kernel) deleteEnded(which windows.FlowKey) bool {
	key := clampFlowKey{
		Mac: which.Station, Family: uint8(which.Family), Station: which.StationAddress, Remote: which.RemoteAddress,
		StationPort: which.StationPort, RemotePort: which.RemotePort,
	}
	var now clampFlow
	if err := k.objects.AirboundFlows.Lookup(key, &now); err != nil || !hasEnded(&now) {
		return false
	}
	return k.objects.AirboundFlows.Delete(key) == nil
}

func flowOf(key *clampFlowKey, value *clampFlow) windows.Flow {
	either, both := value.Flags[up]|value.Flags[down], value.Flags[up]&value.Flags[down]
	return windows.Flow{
		Key: windows.FlowKey{
			Station: key.Mac, Family: windows.Family(key.Family),
			StationAddress: key.Station, RemoteAddress: key.Remote,
			StationPort: key.StationPort, RemotePort: key.RemotePort,
		},
		SeenNS: value.SeenNs, SentNS: value.SentNs,
		SentBytes: value.SentBytes, ReceivedBytes: value.ReceivedBytes,
		Wired:    windows.Half{SRTTUS: value.Wired.SrttUs, MinUS: value.Wired.MinUs},
		Air:      windows.Half{SRTTUS: value.Air.SrttUs, MinUS: value.Air.MinUs},
		MSSBytes: lesserMSS(value.Mss), Ended: hasEnded(value), Scaled: either&hadAnswer != 0 && both&hadMPTCP == 0,
	}
}

// lesserMSS is 0 if neither side has named one.
func lesserMSS(mss [2]uint16) uint16 {
	if mss[up] == 0 || mss[down] == 0 {
		return mss[up] | mss[down]
	}
	return min(mss[up], mss[down])
}

func hasEnded(flow *clampFlow) bool {
	reset := flow.ResetNs != 0 && flow.SentNs <= flow.ResetNs
	return reset || flow.Flags[up]&flow.Flags[down]&hadFIN != 0
}
