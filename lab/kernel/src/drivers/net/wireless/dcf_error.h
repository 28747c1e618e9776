/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often a frame is lost to noise, integers only: no kernel, no clock, no random numbers.
 *
 * The NIST error model (G. Pei, T. Henderson: Validation of OFDM error rate model in ns-3, 2010), as a table by
 * modulation and quarter dB. lab/airbound_lab/medium_theory/error_rates.py has its formulas, and what it leaves out;
 * dcf_error_table.h is generated from them (scripts/generate-error-table.sh).
 */
#ifndef AIRBOUND_DCF_ERROR_H
#define AIRBOUND_DCF_ERROR_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
#endif

/* The first eight are HT MCS 0..7 (with two streams 8..15), the first ten VHT MCS 0..9. */
enum dcf_modulation {
	DCF_BPSK_1_2,			/* 6 Mb/s */
	DCF_QPSK_1_2,			/* 12 */
	DCF_QPSK_3_4,			/* 18 */
	DCF_16QAM_1_2,			/* 24 */
	DCF_16QAM_3_4,			/* 36 */
	DCF_64QAM_2_3,			/* 48 */
	DCF_64QAM_3_4,			/* 54 */
	DCF_64QAM_5_6,
	DCF_256QAM_3_4,
	DCF_256QAM_5_6,
	DCF_BPSK_3_4,			/* 9 Mb/s, legacy only */
	DCF_MODULATIONS,
};

#define DCF_LOST_PPM		1000000U	/* always */

/*
 * Chance that a frame of @bytes (an MPDU, MAC header to FCS) is lost to noise at an SNR of @snr_quarter_db quarters of
 * a dB, in millionths. Differs from the formulas by less than 10 ppm for frames of 10 to 12000 bytes. Never less for a
 * longer frame or a smaller SNR. A modulation that does not exist is never received.
 */
u32 dcf_error_ppm(enum dcf_modulation modulation, s32 snr_quarter_db, u32 bytes);

#endif
