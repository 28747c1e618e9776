// SPDX-License-Identifier: GPL-2.0-only
/*
 * The medium's arithmetic in user space: reads lines of band (2 or 5 GHz), format (0 legacy, 1 HT, 2 VHT), rate (100 kb/s,
 * legacy only), MCS of one stream, streams, width in MHz, short guard interval (0 or 1) and bytes, and prints for each the
 * PPDU's time in ns, the rate and that of control frames in 100 kb/s, and the longest PSDU of 5.484 ms in bytes.
 */
#include <stdio.h>

#include "dcf_model.h"

int main(void)
{
	unsigned int band_ghz, format, rate_100kbps, mcs, streams, width_mhz, short_gi, bytes;

	while (scanf("%u %u %u %u %u %u %u %u", &band_ghz, &format, &rate_100kbps, &mcs, &streams, &width_mhz,
		     &short_gi, &bytes) == 8) {
		const struct dcf_phy *phy = band_ghz == 2 ? &dcf_phy_2_ghz : &dcf_phy_5_ghz;
		const struct dcf_rate rate = { .rate_100kbps = rate_100kbps, .format = format, .mcs = mcs,
					       .streams = streams, .width_mhz = width_mhz, .short_gi = short_gi };

		printf("%u %u %u %u\n", dcf_ppdu_ns(phy, bytes, &rate), dcf_rate_100kbps(&rate),
		       dcf_control_rate_100kbps(&rate), dcf_psdu_limit_bytes(&rate, DCF_PPDU_MAX_NS));
	}
	return 0;
}
