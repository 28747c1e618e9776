/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic of the lab: bulk TCP, paced or saturating UDP, on/off; many flows in one process.
 *
 * The lab runs in virtual time, where time passes only while every process sleeps. So this program never reads the
 * clock in a loop and never polls: every wait is an epoll wait on sockets and on timerfds with absolute times of
 * CLOCK_MONOTONIC.
 */
#ifndef AIRBOUND_TRAFFIC_H
#define AIRBOUND_TRAFFIC_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define NAME_BYTES 32
#define PLAN_ITEMS_MAX 1024

enum protocol { PROTOCOL_TCP, PROTOCOL_UDP };

/* One line of a plan; the grammar is in plan.c. */
enum item_kind { ITEM_RECV, ITEM_SEND, ITEM_WATCH };

struct plan_item {
	enum item_kind kind;
	char name[NAME_BYTES];
	char netns[NAME_BYTES];		/* empty: that of the process */
	enum protocol protocol;
	struct sockaddr_in address;	/* recv: where to listen; send: where to */
	char congestion[NAME_BYTES];	/* empty: the namespace's default */
	uint64_t start_ms, stop_ms;	/* after time zero */
	uint64_t rate_kbps;		/* payload; 0: as fast as the socket accepts it */
	uint64_t payload_bytes;
	uint64_t on_ms, off_ms;		/* both 0: always on */
	uint64_t uid;			/* owner of the socket; 0: that of the process */
	uint64_t priority;		/* SO_PRIORITY; 0: as it is */
	uint64_t interval_ms;		/* watch */
};

struct plan {
	uint64_t t0_ns;			/* time zero, CLOCK_MONOTONIC; 0: one interval after the start */
	uint64_t seconds;
	uint64_t interval_ms;		/* between samples */
	unsigned int items;
	struct plan_item item[PLAN_ITEMS_MAX];
};

/* Returns 0, or -1 with "line N: what" in error. */
int plan_parse(FILE *from, struct plan *plan, char *error, size_t error_bytes);

/* The loop: each source of events is called back when its descriptor is ready. */
struct source {
	void (*ready)(struct source *source, uint32_t epoll_events);
};

void loop_init(void);
void loop_add(int fd, uint32_t epoll_events, struct source *source);
/* Calls an edge-triggered source back if it is ready, even if nothing has changed since the last time. */
void loop_again(int fd, uint32_t epoll_events, struct source *source);
void loop_run(const bool *done);

/* A timer on the run's own time line. A period of 0 fires once. */
struct timer {
	struct source source;
	int fd;
	void (*fire)(struct timer *timer);
};

/* CLOCK_MONOTONIC */
uint64_t now_ns(void);
void run_time_zero(uint64_t t0_ns);
void timer_init(struct timer *timer, void (*fire)(struct timer *timer));
void timer_set_us(struct timer *timer, uint64_t at_us, uint64_t period_us);
/* Once, so long after now. */
void timer_set_after_us(struct timer *timer, uint64_t after_us);

/* Runs fn inside a named network namespace (`ip netns`), then returns to the present one. Fatal if there is none. */
void in_netns(const char *netns, void (*fn)(void *argument), void *argument);

/* One JSON object per line on standard output. */
void emit_error(const char *name, const char *what, int error_number);
unsigned int errors_emitted(void);

__attribute__((noreturn, format(printf, 1, 2))) void fatal(const char *format, ...);
void *must_alloc(size_t bytes);

struct receiver;
struct receiver *receiver_new(const struct plan_item *item);
void receiver_sample(struct receiver *receiver, uint64_t t_ms);

struct sender;
struct sender *sender_new(const struct plan_item *item);
void sender_sample(struct sender *sender, uint64_t t_ms);

void watch_new(const struct plan_item *item);

/* The cwnd range in force for a connection, as its kernel reports it. */
struct bounds {
	uint64_t min_segs, max_segs;
};

/* Finds the line of a connection in the text of /proc/net/tcp_monitor; pure. Returns false if it is not there. */
bool monitor_bounds(const char *text, const char *local, struct bounds *bounds);

#endif
