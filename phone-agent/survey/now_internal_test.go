// SPDX-License-Identifier: Apache-2.0

package survey

import "testing"

// Only the time since the machine's start counts, not what the clock is set to meanwhile.
func TestTheClockGoesOnWithTheTimeSinceTheMachinesStart(t *testing.T) {
	t.Parallel()
	const startedUS, hourUS = int64(1_795_000_000_000_000), int64(3_600_000_000)
	clock := wallClock{startedUS, bootTimeUS() - hourUS} // It began an hour ago.
	beforeUS := bootTimeUS()
	gotUS := clock.nowUS() - startedUS - hourUS
	if afterUS := bootTimeUS(); gotUS < 0 || gotUS > afterUS-beforeUS+(beforeUS-clock.startedBootUS-hourUS) {
		t.Errorf("%d us too much", gotUS)
	}
}
