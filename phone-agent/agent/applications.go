// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/airbound/airbound/phone-agent/applications"
	"github.com/airbound/airbound/phone-agent/status"
)

// Classify takes over the classes of applications. `account` is what of the operator's table could be used.
func (a *Agent) Classify(nowUS int64, classes applications.Classes, account status.Applications) {
	a.aggregator.Classify(classes)
	if before := a.state.Applications; account.Error != "" && (before == nil || before.Error != account.Error) {
		a.cfg.Logger.Warn("not all classes of applications can be used", "error", account.Error)
	}
	a.state.Applications = &account
	a.saved.due = true
	a.save(nowUS)
}
