// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/internal/sparselog"
	"github.com/airbound/airbound/phone-agent/applications"
	"github.com/airbound/airbound/phone-agent/monitor"
	"github.com/airbound/airbound/phone-agent/status"
)

// Classify takes over the classes of applications. If that changes the class of a connection, the next Wake reports.
// `account` is what of the operator's table could be used.
func (a *Agent) Classify(nowUS int64, classes applications.Classes, account status.Applications) {
	if a.aggregator.Classify(classes) {
		a.classesChanged, a.nextSampleUS = true, nowUS
	}
	a.namesDSCPs = classes.NamesDSCPs()
	if before := a.state.Applications; account.Error != "" && (before == nil || before.Error != account.Error) {
		a.cfg.Logger.Warn("not all classes of applications can be used", "error", account.Error)
	}
	a.state.Applications = &account
	a.saved.due = true
	a.save(nowUS)
}

// mark fills in the DSCPs of a snapshot where classes follow from them and the monitor has none. Without them the other
// lines of the table count.
func (a *Agent) mark(snapshot *monitor.Snapshot) {
	if !a.namesDSCPs || a.cfg.Marks == nil {
		return
	}
	err := a.cfg.Marks.Mark(snapshot)
	if err == nil {
		return
	}
	a.state.Applications.DSCPError = err.Error()
	a.saved.due = true
	if sparselog.Add(&a.state.Counters.DSCPReadsFailed, 1) {
		a.cfg.Logger.Warn("cannot read connections' DSCPs", "error", err, "total", a.state.Counters.DSCPReadsFailed)
	}
}
