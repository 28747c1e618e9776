// SPDX-License-Identifier: Apache-2.0

// Package diagnosistest compares findings in tests.
package diagnosistest

import (
	"strings"
	"testing"

	"github.com/airbound/airbound/internal/diagnosis"
)

// Expect compares findings with lines "LEVEL TEXT", where TEXT is a part of what was found. Each finding that is not ok
// says what to do, in one sentence.
func Expect(tb testing.TB, name string, findings []diagnosis.Finding, want ...string) {
	tb.Helper()
	if len(findings) != len(want) {
		tb.Errorf("%s: %d findings, want %d: %+v", name, len(findings), len(want), findings)
		return
	}
	for i, finding := range findings {
		level, part, _ := strings.Cut(want[i], " ")
		if string(finding.Level) != level || !strings.Contains(finding.Found, part) ||
			(finding.Level == diagnosis.OK) != (finding.Do == "") || strings.Contains(finding.Do, "\n") {
			tb.Errorf("%s: %+v, want %s", name, finding, want[i])
		}
	}
}

// ExpectStep compares the next step of a finding with a part of it.
func ExpectStep(tb testing.TB, name string, finding diagnosis.Finding, want string) {
	tb.Helper()
	if !strings.Contains(finding.Do, want) {
		tb.Errorf("%s: %+v, want the step %q", name, finding, want)
	}
}
