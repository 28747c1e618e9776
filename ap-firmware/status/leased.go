// SPDX-License-Identifier: Apache-2.0

package status

import "time"

func (l *Leased) describeLease(line printer, leaseLeftMS int64) {
	if l.Reason != "" {
		line("because", "%s", l.Reason)
	}
	if leaseLeftMS > 0 {
		line("lease", "at least %.1f s left", (time.Duration(leaseLeftMS) * time.Millisecond).Seconds())
	}
}

func (l *Leased) describeCommands(line printer) {
	line("refused", "%s", counted(l.CommandsRefused, "command"))
	if l.LastRefusal != "" {
		line("", "last: %s", l.LastRefusal)
	}
	line("since start", "%d sets applied, %d failed; %d leases ended", l.SetsApplied, l.ApplyFailures, l.LeasesEnded)
}
