// SPDX-License-Identifier: Apache-2.0

package agent

// Figures are those of docs/active-senders.md that an agent uses, in its units.
var Figures = map[string]int64{
	"start": startBytesPerS, "stop": stopBytesPerS, "stop packet": stopPacketBytes, "link overhead": linkOverheadBytes,
	"interval": intervalMin.Microseconds(), "recent": recent.Microseconds(), "longest pause": pauseMax.Microseconds(),
	"silent": silentMax.Microseconds(), "pause fades": pauseFades,
}
