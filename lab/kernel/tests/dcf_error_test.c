// SPDX-License-Identifier: GPL-2.0-only
/*
 * The error model in user space: reads lines of modulation, SNR (quarters of a dB) and length (bytes), and prints for
 * each the chance of loss in millionths.
 */
#include <stdio.h>

#include "dcf_error.h"

int main(void)
{
	int modulation, snr_quarter_db;
	unsigned int bytes;

	while (scanf("%d %d %u", &modulation, &snr_quarter_db, &bytes) == 3)
		printf("%u\n", dcf_error_ppm((enum dcf_modulation)modulation, snr_quarter_db, bytes));
	return 0;
}
