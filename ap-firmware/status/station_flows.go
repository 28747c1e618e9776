// SPDX-License-Identifier: Apache-2.0

package status

import "time"

// StationFlows is what the agent does with the access category of packets to stations.
type StationFlows struct {
	// Why a controller cannot give packets a category; empty if it can.
	Refusal string `json:"refusal,omitempty"`
	// 0 while every packet goes as it comes.
	Generation uint64 `json:"generation"`
	Flows      int    `json:"flows"`
	// Stations are those that have a flow.
	Stations int `json:"stations"`
	// As those of EDCA parameters.
	LeaseEndsUS int64  `json:"lease_ends_monotonic_us"`
	Reason      string `json:"reason"`
	ReasonCode  string `json:"reason_code,omitempty"`
	// Since the agent started.
	PacketsMarked   uint64 `json:"packets_marked_total"`
	CommandsRefused uint64 `json:"commands_refused_total"`
	LastRefusal     string `json:"last_refusal,omitempty"`
	SetsApplied     uint64 `json:"sets_applied_total"`
	ApplyFailures   uint64 `json:"apply_failures_total"`
	LeasesEnded     uint64 `json:"leases_ended_total"`
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
	if f.Reason != "" {
		line("because", "%s", f.Reason)
	}
	if leaseLeftMS > 0 {
		line("lease", "at least %.1f s left", (time.Duration(leaseLeftMS) * time.Millisecond).Seconds())
	}
	line("marked", "%s", counted(f.PacketsMarked, "packet"))
	line("refused", "%s", counted(f.CommandsRefused, "command"))
	if f.LastRefusal != "" {
		line("", "last: %s", f.LastRefusal)
	}
	line("since start", "%d sets applied, %d failed; %d leases ended", f.SetsApplied, f.ApplyFailures, f.LeasesEnded)
}
