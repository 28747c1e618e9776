// SPDX-License-Identifier: GPL-2.0-only
/*
 * How often a frame is lost to noise. A byte is received with the probability 2^-x, where x is a table's entry for
 * modulation and SNR; a frame of n bytes with 2^-(n x). The whole part of the exponent is a shift; for each bit of the
 * fraction there is a factor, 2^-(1/2), 2^-(1/4) and so on.
 */
#include "dcf_error.h"
#include "dcf_error_table.h"

#define ONE_Q32			0x100000000ULL

u32 dcf_error_ppm(enum dcf_modulation modulation, s32 snr_quarter_db, u32 bytes)
{
	const struct dcf_error_row *row;
	u64 exponent_q30, received_q32 = ONE_Q32;
	s32 column;
	u32 i;

	if (!bytes)
		return 0;
	if ((u32)modulation >= DCF_MODULATIONS)
		return DCF_LOST_PPM;
	row = &dcf_error_rows[modulation];
	if (snr_quarter_db < row->first_quarter_db)
		return DCF_LOST_PPM;
	if (snr_quarter_db >= row->first_quarter_db + row->columns)
		return 0;
	column = snr_quarter_db - row->first_quarter_db;
	exponent_q30 = (u64)bytes * row->byte_log2_loss_q30[column];
	if (exponent_q30 >> 30 >= 32)
		return DCF_LOST_PPM;
	for (i = 0; i < DCF_ERROR_ROOTS; i++)
		if (exponent_q30 & (1U << (29 - i)))
			received_q32 = (received_q32 * dcf_error_roots_q32[i]) >> 32;
	received_q32 >>= exponent_q30 >> 30;
	return (u32)(((ONE_Q32 - received_q32) * 1000000 + ONE_Q32 / 2) >> 32);
}
