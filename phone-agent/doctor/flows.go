// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"github.com/airbound/airbound/internal/diagnosis"
	"github.com/airbound/airbound/phone-agent/flows"
)

const flowsPart = "flows"

// Flows is what can be changed about how packets leave this phone.
func Flows(can flows.Capabilities) diagnosis.Finding {
	switch {
	case can.Max() == 0:
		return diagnosis.Warn(flowsPart, "nothing, unless live video is to go before other traffic; see docs/phone.md",
			"packets leave as they are: %s", can.Refusal)
	case can.Refusal != "":
		return diagnosis.Warn(flowsPart,
			"nothing, unless the access point demands admission; then live video is best effort",
			"packets can be given %s", can)
	default:
		return diagnosis.Good(flowsPart, "packets can be given %s", can)
	}
}
