// SPDX-License-Identifier: Apache-2.0

package report_test

import (
	"testing"

	"github.com/airbound/airbound/ap-firmware/report"
	airboundv1 "github.com/airbound/airbound/proto/airbound/v1"
)

func TestBands(t *testing.T) {
	t.Parallel()
	const (
		none = airboundv1.Band_BAND_UNSPECIFIED
		two  = airboundv1.Band_BAND_2_4_GHZ
		five = airboundv1.Band_BAND_5_GHZ
		six  = airboundv1.Band_BAND_6_GHZ
		high = airboundv1.Band_BAND_60_GHZ
	)
	for frequencyMHz, want := range map[uint32]airboundv1.Band{
		0: none, 863: none, 925: none, 2406: none, 2412: two, 2472: two, 2484: two, 2485: none, // channels 1, 13, 14
		4909: none, 4920: five, 5180: five, 5885: five, 5920: five, 5921: none, // 802.11j, channels 36, 177
		5934: none, 5935: six, 5955: six, 7115: six, 7116: none, // channels 2, 1, 233
		45_000: none, 58_320: high, 69_120: high, 70_201: none, 1<<32 - 1: none,
	} {
		got := report.BandOf(frequencyMHz)
		if got != want || (report.BandName(got) == "") != (want == none) {
			t.Errorf("%d MHz is %v %q, want %v", frequencyMHz, got, report.BandName(got), want)
		}
	}
	if got := report.BandName(two); got != "2.4 GHz" {
		t.Error(got)
	}
}
