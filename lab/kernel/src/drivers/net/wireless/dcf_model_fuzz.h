/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Random calls of the medium's model, and what must hold whatever they are: time does not go back, air time adds up, no
 * frame is lost or ends twice. The same file is compiled into the kernel's KUnit tests and into a user-space test
 * (lab/kernel/tests), which must find the same.
 */
#ifndef AIRBOUND_DCF_MODEL_FUZZ_H
#define AIRBOUND_DCF_MODEL_FUZZ_H

#include "dcf_model.h"

#define DCF_FUZZ_HT_PSDU_MAX_BYTES	65535U

/* What the model was given and what came out of it, beside its own state. */
struct dcf_fuzz {
	void (*expect)(void *context, bool ok, const char *what);
	void *context;			/* of @expect */
	u64 offered;			/* frames */
	u64 ended;			/* of them, delivered, failed or withdrawn */
	u64 digest;			/* of all results in their order, each with its time */
	u64 now_ns;
	u64 random;
	u64 airtime_ns;			/* sum of the longest attempts of the busy periods */
	bool withdrawn;			/* something on air has been, and has no result */
	bool hidden;			/* some pair is */
	bool waits[DCF_STATIONS_MAX][DCF_CATEGORIES];
	struct dcf_result results[DCF_STATIONS_MAX];
	struct dcf_model model;
};

/*
 * So many random calls, then the model runs until every frame has ended. @z may have anything but ->expect and ->context,
 * which is called for every rule each time. Odd seeds have interference, two of four hidden pairs.
 */
void dcf_fuzz(struct dcf_fuzz *z, u64 steps, u64 seed);

#endif
