/* SPDX-License-Identifier: Apache-2.0 */
/* The epoll loop, timers on the run's time line, and entering network namespaces. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "traffic.h"

static int epoll_fd;
static uint64_t time_zero_ns;
static unsigned int errors;

void fatal(const char *format, ...)
{
	va_list arguments;

	fflush(stdout);
	fputs("airbound-traffic: ", stderr);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	exit(1);
}

void *must_alloc(size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		fatal("out of memory");
	return memory;
}

void emit_error(const char *name, const char *what, int error_number)
{
	errors++;
	printf("{\"kind\":\"error\",\"name\":\"%s\",\"error\":\"%s: %s\"}\n", name, what, strerror(error_number));
}

unsigned int errors_emitted(void)
{
	return errors;
}

void loop_init(void)
{
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (epoll_fd < 0)
		fatal("cannot create an epoll set: %s", strerror(errno));
}

void loop_add(int fd, uint32_t epoll_events, struct source *source)
{
	struct epoll_event event = { .events = epoll_events, .data.ptr = source };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event))
		fatal("cannot watch a descriptor: %s", strerror(errno));
}

void loop_again(int fd, uint32_t epoll_events, struct source *source)
{
	struct epoll_event event = { .events = epoll_events, .data.ptr = source };

	if (epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &event))
		fatal("cannot watch a descriptor again: %s", strerror(errno));
}

void loop_run(const bool *done)
{
	struct epoll_event events[64];

	while (!*done) {
		int ready = epoll_wait(epoll_fd, events, 64, -1);

		if (ready < 0 && errno != EINTR)
			fatal("cannot wait: %s", strerror(errno));
		for (int i = 0; i < ready; i++) {
			struct source *source = events[i].data.ptr;

			source->ready(source, events[i].events);
		}
	}
}

void run_time_zero(uint64_t t0_ns)
{
	time_zero_ns = t0_ns;
}

static void timer_ready(struct source *source, uint32_t epoll_events)
{
	struct timer *timer = (struct timer *)source;
	uint64_t expirations;

	(void)epoll_events;
	/* A timer that was set again since it became ready has nothing to read. */
	while (read(timer->fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		while (expirations--)
			timer->fire(timer);
}

void timer_init(struct timer *timer, void (*fire)(struct timer *timer))
{
	timer->source.ready = timer_ready;
	timer->fire = fire;
	timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer->fd < 0)
		fatal("cannot create a timer: %s", strerror(errno));
	loop_add(timer->fd, EPOLLIN, &timer->source);
}

void timer_set_us(struct timer *timer, uint64_t at_us, uint64_t period_us)
{
	uint64_t at_ns = time_zero_ns + at_us * 1000;
	struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(at_ns / 1000000000), .tv_nsec = (long)(at_ns % 1000000000) },
		.it_interval = { .tv_sec = (time_t)(period_us / 1000000), .tv_nsec = (long)(period_us % 1000000) * 1000 },
	};

	if (timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &when, NULL))
		fatal("cannot set a timer: %s", strerror(errno));
}

uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void timer_set_after_us(struct timer *timer, uint64_t after_us)
{
	struct itimerspec when = {
		.it_value = { .tv_sec = (time_t)(after_us / 1000000), .tv_nsec = (long)(after_us % 1000000) * 1000 },
	};

	if (timerfd_settime(timer->fd, 0, &when, NULL))
		fatal("cannot set a timer: %s", strerror(errno));
}

static void enter(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || setns(fd, CLONE_NEWNET))
		fatal("cannot enter the network namespace %s: %s", path, strerror(errno));
	close(fd);
}

void in_netns(const char *netns, void (*fn)(void *argument), void *argument)
{
	char path[64];
	int home;

	if (!netns[0]) {
		fn(argument);
		return;
	}
	home = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (home < 0)
		fatal("cannot open /proc/self/ns/net: %s", strerror(errno));
	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	enter(path);
	fn(argument);
	if (setns(home, CLONE_NEWNET))
		fatal("cannot leave the network namespace %s: %s", netns, strerror(errno));
	close(home);
}
