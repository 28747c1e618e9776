// SPDX-License-Identifier: Apache-2.0

package diagnosis

import (
	"crypto/x509"
	"time"
)

const clockPart = "clock"

const timeFormat = "2006-01-02 15:04:05 UTC"

// written is when this was written: no clock that is right shows an earlier time.
var written = time.Date(2026, time.November, 1, 0, 0, 0, 0, time.UTC)

const setClock = "set the clock, or let the network set it; until then the agent takes the first moment of a " +
	"certificate as the time"

// Clock compares the time with the certificate's; leaf is nil without one. bootTime is the error of reading
// CLOCK_BOOTTIME, the clock of leases.
func Clock(now time.Time, leaf *x509.Certificate, bootTime error) []Finding {
	findings := make([]Finding, 0, 2)
	if bootTime != nil {
		findings = append(findings, Fail(clockPart, "use a kernel that has it: Linux since 2.6.39",
			"CLOCK_BOOTTIME: %v", bootTime))
	} else {
		findings = append(findings, Good(clockPart, "CLOCK_BOOTTIME"))
	}
	shown := now.UTC().Format(timeFormat)
	switch {
	case leaf != nil && now.Before(leaf.NotBefore):
		return append(findings, Warn(clockPart, setClock, "%s, before the certificate's first moment, %s", shown,
			leaf.NotBefore.UTC().Format(timeFormat)))
	case now.Before(written):
		return append(findings, Warn(clockPart, setClock, "%s, before this program was written", shown))
	default:
		return append(findings, Good(clockPart, "%s", shown))
	}
}
