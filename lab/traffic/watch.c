/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a namespace's /proc/net/tcp_cwnd_bounds at the beginning and each time it has changed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "traffic.h"

#define RULES_BYTES (24 * 1024)

struct watch {
	struct timer timer;
	struct plan_item item;
	uint64_t t_ms;
	int fd;
	bool printed;
	char rules[RULES_BYTES];
};

static void open_rules(void *argument)
{
	struct watch *watch = argument;

	watch->fd = open("/proc/thread-self/net/tcp_cwnd_bounds", O_RDONLY | O_CLOEXEC);
	if (watch->fd < 0)
		fatal("%s: cannot open /proc/net/tcp_cwnd_bounds: %s", watch->item.name, strerror(errno));
}

/* The newline is the only character in the grammar of the rules that JSON has to escape. */
static void print_rules(const struct watch *watch)
{
	printf("{\"kind\":\"rules\",\"name\":\"%s\",\"t_ms\":%llu,\"rules\":\"", watch->item.name,
	       (unsigned long long)watch->t_ms);
	for (const char *c = watch->rules; *c; c++)
		if (*c == '\n')
			fputs("\\n", stdout);
		else
			putchar(*c);
	puts("\"}");
}

static void watch_fire(struct timer *timer)
{
	struct watch *watch = (struct watch *)timer;
	static char rules[RULES_BYTES];
	size_t bytes = 0;
	ssize_t got;

	while (bytes < sizeof(rules) - 1 &&
	       (got = pread(watch->fd, rules + bytes, sizeof(rules) - 1 - bytes, (off_t)bytes)) > 0)
		bytes += (size_t)got;
	rules[bytes] = 0;
	if (!watch->printed || strcmp(rules, watch->rules)) {
		memcpy(watch->rules, rules, bytes + 1);
		watch->printed = true;
		print_rules(watch);
	}
	watch->t_ms += watch->item.interval_ms;
}

void watch_new(const struct plan_item *item)
{
	struct watch *watch = must_alloc(sizeof(*watch));

	watch->item = *item;
	in_netns(item->netns, open_rules, watch);
	timer_init(&watch->timer, watch_fire);
	/* Time zero itself may be the moment 0, which would disarm the timer. */
	timer_set_us(&watch->timer, 1, item->interval_ms * 1000);
}
