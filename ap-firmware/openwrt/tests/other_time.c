// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into a controller whose time of day is not that of its kernel: LD_OTHER_TIME names a file with the seconds
// that are added (the controller hands LD_* on to its processes). Under libfaketime, with the kernel's clock in 1970, a
// controller does not get past its start, and uses the processor all the time. Here gRPC's own readings of the clock,
// which its waits are reckoned from, stay the kernel's, but for time(2), by which it verifies certificates.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static time_t added(void)
{
	const char *name = getenv("LD_OTHER_TIME");
	long long seconds = 0;
	FILE *file = name ? fopen(name, "r") : NULL;

	if (!file || fscanf(file, "%lld", &seconds) != 1)
		abort();
	fclose(file);
	return seconds;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = syscall(SYS_clock_gettime, clock, now);
	Dl_info caller = {0};

	if (clock != CLOCK_REALTIME || result)
		return result;
	dladdr(__builtin_return_address(0), &caller);
	if (!caller.dli_fname || !strstr(caller.dli_fname, "cygrpc"))
		now->tv_sec += added();
	return 0;
}

time_t time(time_t *to)
{
	struct timespec now;

	syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
	now.tv_sec += added();
	if (to)
		*to = now.tv_sec;
	return now.tv_sec;
}
