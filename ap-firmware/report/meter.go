// SPDX-License-Identifier: Apache-2.0

package report

// meter follows the driver's duration of one direction of one station, and finds out if it stands still although frames
// move: firmware that stopped to count, or frames that other hardware forwards since. Meanwhile the estimate is added
// to what the driver had. What is reported does not decrease when the driver counts again: what the driver missed, and
// the estimate has, stays in.
type meter struct {
	begun bool
	// measuredUS is the driver's duration, atUS when it last moved, and estimatedUS what the estimate was then.
	measuredUS, atUS, estimatedUS uint64
	// missedUS is what the driver did not count while it stood still before.
	missedUS   uint64
	standing   bool
	reportedUS uint64
}

// standsStillUS is how long a duration must be the same, with over unmeasuredUS of airtime by the estimate, before it
// is no measurement: some drivers ask their firmware every second or two only.
const standsStillUS = 3_000_000

// next returns the airtime so far, and whether the driver measures it now.
func (m *meter) next(nowUS, measuredUS, estimatedUS uint64) (airtimeUS uint64, isMeasured bool) {
	switch {
	case !m.begun, measuredUS < m.measuredUS, estimatedUS < m.estimatedUS: // Or another association.
		*m = meter{begun: true, measuredUS: measuredUS, atUS: nowUS}
		if measuredUS > 0 { // Of a duration of 0, all that was estimated is missing.
			m.estimatedUS = estimatedUS
		}
		m.standing = m.isMissing(nowUS, estimatedUS)
	case measuredUS > m.measuredUS:
		if m.standing && measuredUS+m.missedUS < m.reportedUS {
			m.missedUS = m.reportedUS - measuredUS
		}
		m.measuredUS, m.atUS, m.estimatedUS, m.standing = measuredUS, nowUS, estimatedUS, false
	default:
		m.standing = m.standing || m.isMissing(nowUS, estimatedUS)
	}
	m.reportedUS = m.measuredUS + m.missedUS
	if m.standing {
		m.reportedUS += estimatedUS - m.estimatedUS
	}
	return m.reportedUS, !m.standing
}

// isMissing reports whether a duration that is the same as before should have moved. One that is 0 should at once: the
// driver has never counted anything of the station.
func (m *meter) isMissing(nowUS, estimatedUS uint64) bool {
	return (m.measuredUS == 0 || nowUS-m.atUS >= standsStillUS) && estimatedUS-m.estimatedUS >= unmeasuredUS
}
