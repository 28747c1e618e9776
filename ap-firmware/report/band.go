// SPDX-License-Identifier: Apache-2.0

package report

import airboundv1 "github.com/airbound/airbound/proto/airbound/v1"

// bands are ranges of the centre of a primary channel, MHz, as Linux has them (ieee80211_freq_khz_to_channel of
// net/wireless/util.c): 2.4 GHz has channels 1 at 2412 to 14 at 2484. 5 GHz has 36 at 5180 to 177 at 5885, and channels
// of 802.11j (4.9 GHz) and of 802.11p up to 5920 are taken for it. 6 GHz has channel 2 at 5935, and 1 at 5955 to 233 at
// 7115. 60 GHz has channels from 58320 on.
var bands = []struct {
	lowestMHz, highestMHz uint32
	band                  airboundv1.Band
	name                  string
}{
	{2407, 2484, airboundv1.Band_BAND_2_4_GHZ, "2.4 GHz"},
	{4910, 5920, airboundv1.Band_BAND_5_GHZ, "5 GHz"},
	{5935, 7115, airboundv1.Band_BAND_6_GHZ, "6 GHz"},
	{57_240, 70_200, airboundv1.Band_BAND_60_GHZ, "60 GHz"},
}

// BandOf returns the band of a primary channel by its centre.
func BandOf(frequencyMHz uint32) airboundv1.Band {
	for _, each := range bands {
		if each.lowestMHz <= frequencyMHz && frequencyMHz <= each.highestMHz {
			return each.band
		}
	}
	return airboundv1.Band_BAND_UNSPECIFIED
}

// BandName returns "2.4 GHz" or so; empty for none.
func BandName(band airboundv1.Band) string {
	for _, each := range bands {
		if each.band == band {
			return each.name
		}
	}
	return ""
}
