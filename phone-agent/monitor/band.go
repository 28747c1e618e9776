// SPDX-License-Identifier: Apache-2.0

package monitor

// Bands of the RTT ratio (smoothed RTT / minimum RTT). A change of band is worth a report at once.
//
// The paper's Table 3 has rows at 1, 10, 15, ... 50 for destinations nearer than 100 ms (class A) and at 1, 2, ... 10 for
// those beyond (class B). A band is named by its lower edge:
//
//	class A: 1, 2, ... 9, 10, 15, 20, ... 50 (and above)
//	class B: 1, 2, ... 10 (and above)
//
// A ratio that hovers at an edge would change band at every sample, and every change costs a report and a decision. A
// destination therefore enters a higher band at its edge, and leaves it downwards only when the ratio is a quarter of
// a step below that edge.

// classBMinRTTUS is where the paper divides its two classes.
const classBMinRTTUS = 100_000

// noBand is the band of a destination without an RTT sample.
const noBand = 0

// bandOf returns the band of a ratio given the band before.
func bandOf(srttUS, minRTTUS uint32, before int) int {
	if srttUS == 0 || minRTTUS == 0 {
		return noBand
	}
	ratio := float64(srttUS) / float64(minRTTUS)
	classB := minRTTUS >= classBMinRTTUS
	band := lowerEdge(ratio, classB)
	if band < before && before <= topBand(classB) && ratio >= float64(before)-bandStep(before, classB)/4 {
		return before
	}
	return band
}

func lowerEdge(ratio float64, classB bool) int {
	whole := int(min(max(ratio, 1), float64(topBand(classB))))
	if classB || whole < 10 {
		return whole
	}
	return whole / 5 * 5
}

func topBand(classB bool) int {
	if classB {
		return 10
	}
	return 50
}

// bandStep is the distance between an edge and the one below it.
func bandStep(band int, classB bool) float64 {
	if classB || band <= 10 {
		return 1
	}
	return 5
}
