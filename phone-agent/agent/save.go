// SPDX-License-Identifier: Apache-2.0

package agent

import "github.com/airbound/airbound/phone-agent/status"

// The state file is written at once when what holds, or why, has changed. Two things change without being worth a write
// each: a renewed lease is written once half of the lease last written is over, and counters every countersSavedUS.

const countersSavedUS = 10_000_000

// savedState is what the state file says.
type savedState struct {
	// Whether it must be written now.
	due      bool
	counters status.Counters
	endsUS   int64
	atUS     int64
}

// renewed asks for the state file to be written if the lease it tells of is half over.
func (a *Agent) renewed(nowUS int64) {
	leaseUS := int64(a.lease.Held().LeaseMS) * 1000
	if a.saved.endsUS-nowUS < leaseUS/2 {
		a.saved.due = true
	}
}

func (a *Agent) save(nowUS int64) {
	held := a.lease.Held()
	countersOld := a.state.Counters != a.saved.counters && nowUS-a.saved.atUS >= countersSavedUS
	if !a.saved.due && !countersOld {
		return
	}
	a.state.Generation, a.state.Rules = held.Generation, status.Rules(held.Rules)
	a.state.LeaseEndsUS, a.state.WrittenUS = held.DeadlineUS, nowUS
	// After a failure as well: a full disk is not worth a try at every sample. The failure counted makes the next one.
	a.saved = savedState{counters: a.state.Counters, endsUS: held.DeadlineUS, atUS: nowUS}
	err := a.cfg.SaveState(a.state)
	if err != nil && count(&a.state.Counters.StateWritesFailed, 1) {
		a.cfg.Logger.Warn("cannot write the state file", "error", err)
	}
}
