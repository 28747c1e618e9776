// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"

	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/phone-agent/status"
)

const applicationsPart = "applications"

// Applications is what the table of classes is worth on this phone.
func Applications(account status.Applications) []diagnosis.Finding {
	var findings []diagnosis.Finding
	for each := range strings.SplitSeq(account.Error, "\n") {
		if each != "" {
			findings = append(findings, diagnosis.Warn(applicationsPart, "mend it; the other lines count", "%s", each))
		}
	}
	if account.NotInstalled > 0 {
		findings = append(findings, diagnosis.Warn(applicationsPart,
			"look for a misspelled name, if they should be installed", "%d packages of %s are not installed",
			account.NotInstalled, account.Table))
	}
	if account.Conflicts > 0 {
		findings = append(findings, diagnosis.Warn(applicationsPart, "give the packages of one user id the same class",
			"%d user ids are shared by packages of different classes", account.Conflicts))
	}
	if findings == nil {
		findings = append(findings, diagnosis.Good(applicationsPart, "%s has classes, %d lines", account.Table,
			account.Entries))
	}
	return findings
}
