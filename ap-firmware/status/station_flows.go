// SPDX-License-Identifier: Apache-2.0

package status

// StationFlows is which packets to stations the agent gives another access category.
type StationFlows struct {
	Leased
	Flows         int    `json:"flows"`
	PacketsMarked uint64 `json:"packets_marked_total"`
}

func (f *StationFlows) describe(line printer, leaseLeftMS int64) {
	switch {
	case f == nil:
		line("flows", "switched off on the access point: --no-station-flows is given")
		return
	case f.Refusal != "":
		line("flows", "cannot go in another category: %s", f.Refusal)
	case f.Generation == 0:
		line("flows", "all packets go as they come")
	default:
		line("flows", "generation %d, %s to %s as video", f.Generation, countedItems(f.Flows, "flow"),
			countedItems(f.Stations, "station"))
	}
	f.describeLease(line, leaseLeftMS)
	line("marked", "%s", counted(f.PacketsMarked, "packet"))
	f.describeCommands(line)
}
