/* SPDX-License-Identifier: Apache-2.0 */
/*
 * airbound-traffic run PLAN	runs a plan; samples as JSON lines on standard output
 * airbound-traffic check PLAN	checks a plan
 *
 * Exit status: 0 done; 1 a flow failed or the plan could not be run; 2 the plan or the command line is wrong.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "traffic.h"

struct run {
	struct timer timer;
	const struct plan *plan;
	uint64_t t_ms;
	bool done;
	unsigned int receivers, senders;
	struct receiver *receiver[PLAN_ITEMS_MAX];
	struct sender *sender[PLAN_ITEMS_MAX];
};

static void sample_fire(struct timer *timer)
{
	struct run *run = (struct run *)timer;

	if (run->done)
		return;
	run->t_ms += run->plan->interval_ms;
	for (unsigned int i = 0; i < run->receivers; i++)
		receiver_sample(run->receiver[i], run->t_ms);
	for (unsigned int i = 0; i < run->senders; i++)
		sender_sample(run->sender[i], run->t_ms);
	fflush(stdout);
	run->done = run->t_ms >= run->plan->seconds * 1000;
}

static uint64_t one_interval_from_now_ns(uint64_t interval_ms)
{
	return now_ns() + interval_ms * 1000000;
}

static int run_plan(const struct plan *plan)
{
	static char output[64 * 1024];
	struct run *run = must_alloc(sizeof(*run));

	setvbuf(stdout, output, _IOFBF, sizeof(output));
	run->plan = plan;
	loop_init();
	run_time_zero(plan->t0_ns ? plan->t0_ns : one_interval_from_now_ns(plan->interval_ms));
	for (unsigned int i = 0; i < plan->items; i++) {
		const struct plan_item *item = &plan->item[i];

		if (item->kind == ITEM_RECV)
			run->receiver[run->receivers++] = receiver_new(item);
		else if (item->kind == ITEM_SEND)
			run->sender[run->senders++] = sender_new(item);
		else
			watch_new(item);
	}
	timer_init(&run->timer, sample_fire);
	timer_set_us(&run->timer, plan->interval_ms * 1000, plan->interval_ms * 1000);
	loop_run(&run->done);
	fflush(stdout);
	return errors_emitted() ? 1 : 0;
}

int main(int arguments, char **argument)
{
	struct plan *plan = must_alloc(sizeof(*plan));
	char error[256];
	FILE *file;

	if (arguments != 3 || (strcmp(argument[1], "run") && strcmp(argument[1], "check"))) {
		fputs("usage: airbound-traffic run|check PLAN\n", stderr);
		return 2;
	}
	file = fopen(argument[2], "r");
	if (!file) {
		fprintf(stderr, "airbound-traffic: cannot open %s: %s\n", argument[2], strerror(errno));
		return 2;
	}
	if (plan_parse(file, plan, error, sizeof(error))) {
		fprintf(stderr, "airbound-traffic: %s: %s\n", argument[2], error);
		return 2;
	}
	fclose(file);
	return strcmp(argument[1], "run") ? 0 : run_plan(plan);
}
