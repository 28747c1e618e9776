// SPDX-License-Identifier: Apache-2.0

package status

import "time"

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
	if w.Reason != "" {
		line("because", "%s", w.Reason)
	}
	if leaseLeftMS > 0 {
		line("lease", "at least %.1f s left", (time.Duration(leaseLeftMS) * time.Millisecond).Seconds())
	}
	line("connections", "%d of %d, %d forgotten; %s limited", w.Connections, w.ConnectionsMax, w.ConnectionsEvicted,
		counted(w.SegmentsLimited, "segment"))
	line("refused", "%s", counted(w.CommandsRefused, "command"))
	if w.LastRefusal != "" {
		line("", "last: %s", w.LastRefusal)
	}
	line("since start", "%d sets applied, %d failed; %d leases ended", w.SetsApplied, w.ApplyFailures, w.LeasesEnded)
}
