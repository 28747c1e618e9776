// SPDX-License-Identifier: Apache-2.0

package status

// Windows is what the agent does with receive windows.
type Windows struct {
	Leased
	Limits int `json:"limits"`
	// Of the kernel's table of connections.
	Connections        int    `json:"connections"`
	ConnectionsMax     int    `json:"connections_max"`
	ConnectionsEvicted uint64 `json:"connections_evicted_total"`
	SegmentsLimited    uint64 `json:"segments_limited_total"`
}

func (w *Windows) describe(line printer, leaseLeftMS int64) {
	switch {
	case w == nil:
		line("windows", "switched off on the access point: --window-clamp is not given")
		return
	case w.Refusal != "":
		line("windows", "cannot be limited: %s", w.Refusal)
	case w.Generation == 0:
		line("windows", "not limited")
	default:
		line("windows", "generation %d, %s of %s", w.Generation, countedItems(w.Limits, "limit"),
			countedItems(w.Stations, "station"))
	}
	w.describeLease(line, leaseLeftMS)
	line("connections", "%d of %d, %d forgotten; %s limited", w.Connections, w.ConnectionsMax, w.ConnectionsEvicted,
		counted(w.SegmentsLimited, "segment"))
	w.describeCommands(line)
}
