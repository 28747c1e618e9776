// SPDX-License-Identifier: Apache-2.0

package survey

import "testing"

// Only the time since the machine's start counts, not what the clock is set to meanwhile.
func TestTheClockGoesOnWithTheTimeSinceTheMachinesStart(t *testing.T) {
	t.Parallel()
	const startedUS, hourUS = int64(1_795_000_000_000_000), int64(3_600_000_000)
	bootUS := bootTimeUS()
	clock := wallClock{startedUS, bootUS - hourUS} // It began an hour ago.
	gotUS := clock.nowUS() - startedUS
	if latestUS := hourUS + bootTimeUS() - bootUS; gotUS < hourUS || gotUS > latestUS {
		t.Errorf("%d us have passed, not %d to %d", gotUS, hourUS, latestUS)
	}
}
