// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/internal/sparselog"
	"github.com/airbound/airbound/phone-agent/bounds"
	"github.com/airbound/airbound/phone-agent/flows"
	"github.com/airbound/airbound/phone-agent/status"
)

// The state file is written at once when the bounds in force, or their reason, have changed. Two changes are written
// later: a renewed lease once half of the lease last written is over, and counters every countersSavedUS.

const countersSavedUS = 10_000_000

// savedState is what is in the state file.
type savedState struct {
	// Whether it must be written now.
	due      bool
	counters status.Counters
	endsUS   int64
	// Of the lease of flows.
	flowsEndUS int64
	atUS       int64
}

// renewed makes the state file be written if the lease in it is half over.
func (a *Agent) renewed(nowUS int64) {
	leaseUS := int64(a.lease.InForce().LeaseMS) * 1000
	if a.saved.endsUS-nowUS < leaseUS/2 {
		a.saved.due = true
	}
}

func (a *Agent) save(nowUS int64) {
	inForce := a.lease.InForce()
	countersOld := a.state.Counters != a.saved.counters && nowUS-a.saved.atUS >= countersSavedUS
	if !a.saved.due && !countersOld {
		return
	}
	a.state.Generation = inForce.Generation
	a.state.Rules = append([]bounds.Rule{}, inForce.Entries...) // Never null in JSON.
	a.state.LeaseEndsUS, a.state.WrittenUS = inForce.DeadlineUS, nowUS
	flowsInForce := a.flows.lease.InForce()
	a.state.Flows.Generation, a.state.Flows.LeaseEndsUS = flowsInForce.Generation, flowsInForce.DeadlineUS
	a.state.Flows.InForce = append([]flows.Flow{}, flowsInForce.Entries...)
	a.countFlows()
	// After a failure as well: with a full disk, one try for each countersSavedUS is enough. The failure is counted,
	// which makes the next try due.
	a.saved = savedState{
		counters: a.state.Counters, endsUS: inForce.DeadlineUS, flowsEndUS: flowsInForce.DeadlineUS, atUS: nowUS,
	}
	err := a.cfg.SaveState(a.state)
	if err != nil && sparselog.Add(&a.state.Counters.StateWritesFailed, 1) {
		a.cfg.Logger.Warn("cannot write the state file", "error", err, "total", a.state.Counters.StateWritesFailed)
	}
}
