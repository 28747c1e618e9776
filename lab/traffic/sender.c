/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Senders: one flow each, from start_ms to stop_ms, optionally on and off in turn.
 *
 * TCP writes whenever its socket buffer has space, or by a timer when it is paced, as an application that has no more
 * to send; what the socket does not take is lost to the flow. UDP sends by a timer when it is paced, otherwise whenever
 * its socket buffer has space (the socket buffer then keeps the interface's queue from overflowing). A TCP flow ends with a reset,
 * so that what is still queued is not sent for seconds after stop_ms.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "traffic.h"

#define WRITE_BYTES (256 * 1024)
#define UDP_BATCH 64
/*
 * A socket that is not full after so many batches within a moment, more than its buffer has space for and no radio sends
 * so fast, sends to nowhere: what a phone without an access point sends is gone at once, and so is what it sends above a
 * rate that its agent gives it. Then it rests: in virtual time nothing else would ever run again. Of datagrams as large
 * as a packet its buffer has space for 455.
 */
#define UDP_BATCHES_MAX 32
#define UDP_LARGE_BATCHES_MAX 8
#define UDP_LARGE_BYTES 1400
#define UDP_BATCHES_NS 1000000
#define UDP_REST_US 30000
/* Enough for the interface's queue never to be empty between two wake-ups, at which the buffer is half empty. */
#define UDP_BUFFER_BYTES (512 * 1024)
/* On/off traffic: what is unsent when the on time ends is sent in the off time, so this is small. */
#define ON_OFF_UNSENT_BYTES (64 * 1024)
/* A paced TCP flow writes so often, or less often so many bytes: few segments are shorter than others. */
#define TCP_PACE_US 5000
#define TCP_PACE_BYTES (8 * 1448)

enum state { WAITING, CONNECTING, ON, OFF, STOPPED, REPORTED };

struct sender {
	struct source source;
	struct timer phase, pace;
	struct plan_item item;
	enum state state;
	int fd, monitor_fd;
	char local[INET_ADDRSTRLEN + 8];
	uint64_t next_phase_ms;
	uint64_t sent_bytes;		/* UDP */
	unsigned int batches;		/* UDP: in succession since batches_ns, without a full socket */
	uint64_t batches_ns;
	bool rests;
	uint64_t write_bytes;		/* TCP, paced */
	struct tcp_info info;		/* the latest sample */
	struct bounds bounds;
};

static char payload[WRITE_BYTES];

static bool sends_tcp(const struct sender *sender)
{
	return sender->item.protocol == PROTOCOL_TCP;
}

static void close_flow(struct sender *sender)
{
	close(sender->fd);
	if (sender->monitor_fd >= 0)
		close(sender->monitor_fd);
	sender->state = STOPPED;
}

static void give_up(struct sender *sender, const char *what, int error_number)
{
	emit_error(sender->item.name, what, error_number);
	close_flow(sender);
}

static void write_tcp(struct sender *sender, size_t bytes)
{
	while (sender->state == ON && bytes) {
		ssize_t sent = send(sender->fd, payload, bytes < sizeof(payload) ? bytes : sizeof(payload), MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0)
			give_up(sender, "send", errno);
		else
			bytes -= (size_t)sent;
	}
}

static void fill_tcp(struct sender *sender)
{
	while (sender->state == ON) {
		ssize_t sent = send(sender->fd, payload, sizeof(payload), MSG_NOSIGNAL);

		if (sent < 0 && errno == EAGAIN)
			return;
		if (sent < 0)
			give_up(sender, "send", errno);
		else if ((size_t)sent < sizeof(payload))
			return;
	}
}

/* Sends up to `datagrams`; returns how many were sent. */
static int send_udp(struct sender *sender, unsigned int datagrams)
{
	struct iovec vector = { .iov_base = payload, .iov_len = sender->item.payload_bytes };
	struct mmsghdr message[UDP_BATCH];
	int sent;

	for (unsigned int i = 0; i < datagrams; i++)
		message[i] = (struct mmsghdr){ .msg_hdr = { .msg_iov = &vector, .msg_iovlen = 1 } };
	sent = sendmmsg(sender->fd, message, datagrams, MSG_NOSIGNAL);
	/* ECONNREFUSED: there is no receiver yet, and ICMP reported it; UDP continues to send. */
	if (sent < 0 && errno != EAGAIN && errno != ENOBUFS && errno != ECONNREFUSED) {
		give_up(sender, "send", errno);
		return 0;
	}
	if (sent > 0)
		sender->sent_bytes += (uint64_t)sent * sender->item.payload_bytes;
	return sent;
}

/* After a whole batch. */
static bool goes_nowhere(struct sender *sender)
{
	unsigned int most = sender->item.payload_bytes >= UDP_LARGE_BYTES ? UDP_LARGE_BATCHES_MAX : UDP_BATCHES_MAX;

	if (sender->batches == 0)
		sender->batches_ns = now_ns();
	if (++sender->batches < most)
		return false;
	sender->batches = 0;
	return now_ns() - sender->batches_ns < UDP_BATCHES_NS;
}

/* One batch per call: timers must fire even if the socket buffer is never full. */
static void fill_udp(struct sender *sender)
{
	/* What is gone at once makes the socket ready again, also while it rests. */
	if (sender->state != ON || sender->rests)
		return;
	if (send_udp(sender, UDP_BATCH) != UDP_BATCH) {
		sender->batches = 0;
	} else if (goes_nowhere(sender)) {
		sender->rests = true;
		timer_set_after_us(&sender->pace, UDP_REST_US);
	} else {
		loop_again(sender->fd, EPOLLOUT | EPOLLET, &sender->source);
	}
}

static void rest_fire(struct timer *timer)
{
	struct sender *sender = (struct sender *)((char *)timer - offsetof(struct sender, pace));

	sender->rests = false;
	fill_udp(sender);
}

static void pace_fire(struct timer *timer)
{
	struct sender *sender = (struct sender *)((char *)timer - offsetof(struct sender, pace));

	if (sender->state != ON)
		return;
	if (sends_tcp(sender))
		write_tcp(sender, sender->write_bytes);
	else
		send_udp(sender, 1);
}

static void fill(struct sender *sender)
{
	if (sender->item.rate_kbps)
		return;
	if (sends_tcp(sender))
		fill_tcp(sender);
	else
		fill_udp(sender);
}

static void connected(struct sender *sender)
{
	struct sockaddr_in local;
	socklen_t bytes = sizeof(local);
	int error_number = 0;
	socklen_t error_bytes = sizeof(error_number);
	char address[INET_ADDRSTRLEN];

	getsockopt(sender->fd, SOL_SOCKET, SO_ERROR, &error_number, &error_bytes);
	if (error_number) {
		give_up(sender, "connect", error_number);
		return;
	}
	getsockname(sender->fd, (struct sockaddr *)&local, &bytes);
	inet_ntop(AF_INET, &local.sin_addr, address, sizeof(address));
	snprintf(sender->local, sizeof(sender->local), "%s:%u", address, ntohs(local.sin_port));
	sender->state = ON;
}

static void sender_ready(struct source *source, uint32_t epoll_events)
{
	struct sender *sender = (struct sender *)source;

	(void)epoll_events;
	if (sender->state == CONNECTING)
		connected(sender);
	fill(sender);
}

static void open_socket(void *argument)
{
	struct sender *sender = argument;
	int unsent_bytes = ON_OFF_UNSENT_BYTES, buffer_bytes = UDP_BUFFER_BYTES, priority = (int)sender->item.priority;

	sender->monitor_fd = open("/proc/thread-self/net/tcp_monitor", O_RDONLY | O_CLOEXEC);
	sender->fd = socket(AF_INET, (sends_tcp(sender) ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (sender->fd < 0)
		fatal("%s: cannot create a socket: %s", sender->item.name, strerror(errno));
	if (sender->item.congestion[0] && setsockopt(sender->fd, IPPROTO_TCP, TCP_CONGESTION, sender->item.congestion,
						     (socklen_t)strlen(sender->item.congestion)))
		fatal("%s: cannot use congestion control %s: %s", sender->item.name, sender->item.congestion,
		      strerror(errno));
	if (sender->item.uid && fchown(sender->fd, (uid_t)sender->item.uid, (gid_t)-1))
		fatal("%s: cannot give its socket to user %u: %s", sender->item.name, (unsigned int)sender->item.uid,
		      strerror(errno));
	if (sender->item.priority && setsockopt(sender->fd, SOL_SOCKET, SO_PRIORITY, &priority, sizeof(priority)))
		fatal("%s: cannot use priority %d: %s", sender->item.name, priority, strerror(errno));
	if (sends_tcp(sender) && sender->item.on_ms)
		setsockopt(sender->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent_bytes, sizeof(unsent_bytes));
	if (!sends_tcp(sender) &&
	    setsockopt(sender->fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer_bytes, sizeof(buffer_bytes)))
		setsockopt(sender->fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
}

static void start(struct sender *sender)
{
	in_netns(sender->item.netns, open_socket, sender);
	sender->state = CONNECTING;
	if (connect(sender->fd, (struct sockaddr *)&sender->item.address, sizeof(sender->item.address)) &&
	    errno != EINPROGRESS) {
		give_up(sender, "connect", errno);
		return;
	}
	loop_add(sender->fd, EPOLLOUT | EPOLLET, &sender->source);
	if (!sender->item.rate_kbps) {
		if (!sends_tcp(sender))
			timer_init(&sender->pace, rest_fire);
		return;
	}
	sender->write_bytes = sender->item.rate_kbps * TCP_PACE_US / 8 / 1000;
	if (sender->write_bytes < TCP_PACE_BYTES)
		sender->write_bytes = TCP_PACE_BYTES;
	/* bits / (kbit/s) = ms */
	uint64_t bytes = sends_tcp(sender) ? sender->write_bytes : sender->item.payload_bytes;
	uint64_t period_us = bytes * 8 * 1000 / sender->item.rate_kbps;

	timer_init(&sender->pace, pace_fire);
	timer_set_us(&sender->pace, sender->item.start_ms * 1000 + period_us, period_us ? period_us : 1);
}

static void read_bounds(struct sender *sender)
{
	static char text[64 * 1024];
	size_t bytes = 0;
	ssize_t got = 0;

	sender->bounds = (struct bounds){ 0, 0 };
	if (sender->monitor_fd < 0)
		return;
	while (bytes < sizeof(text) - 1 &&
	       (got = pread(sender->monitor_fd, text + bytes, sizeof(text) - 1 - bytes, (off_t)bytes)) > 0)
		bytes += (size_t)got;
	if (got < 0) {
		emit_error(sender->item.name, "read tcp_monitor", errno);
		return;
	}
	text[bytes] = 0;
	monitor_bounds(text, sender->local, &sender->bounds);
}

static void read_sample(struct sender *sender)
{
	socklen_t bytes = sizeof(sender->info);

	if (!sends_tcp(sender))
		return;
	getsockopt(sender->fd, IPPROTO_TCP, TCP_INFO, &sender->info, &bytes);
	read_bounds(sender);
}

static void stop(struct sender *sender)
{
	struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	/* In a cell whose queues are full a flow may end before its handshake does: a result, not a failure. */
	if (sender->state == CONNECTING)
		printf("{\"kind\":\"unconnected\",\"name\":\"%s\"}\n", sender->item.name);
	read_sample(sender);
	setsockopt(sender->fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close_flow(sender);
}

/* Start, on, off, on, ..., stop: each firing does one step and sets the timer for the next. */
static void phase_fire(struct timer *timer)
{
	struct sender *sender = (struct sender *)((char *)timer - offsetof(struct sender, phase));
	const struct plan_item *item = &sender->item;

	if (sender->state == STOPPED || sender->state == REPORTED)
		return;
	if (sender->next_phase_ms >= item->stop_ms) {
		stop(sender);
		return;
	}
	if (sender->state == WAITING) {
		start(sender);
		sender->next_phase_ms += item->on_ms;
	} else if (sender->state == ON) {
		sender->state = OFF;
		sender->next_phase_ms += item->off_ms;
	} else {
		if (sender->state == OFF)
			sender->state = ON;
		sender->next_phase_ms += item->on_ms;
		fill(sender);
	}
	if (!item->on_ms || sender->next_phase_ms > item->stop_ms)
		sender->next_phase_ms = item->stop_ms;
	timer_set_us(&sender->phase, sender->next_phase_ms * 1000, 0);
}

struct sender *sender_new(const struct plan_item *item)
{
	struct sender *sender = must_alloc(sizeof(*sender));

	sender->source.ready = sender_ready;
	sender->item = *item;
	sender->next_phase_ms = item->start_ms;
	timer_init(&sender->phase, phase_fire);
	timer_set_us(&sender->phase, item->start_ms * 1000, 0);
	return sender;
}

void sender_sample(struct sender *sender, uint64_t t_ms)
{
	const struct tcp_info *info = &sender->info;

	if (sender->state == WAITING || sender->state == REPORTED || t_ms <= sender->item.start_ms)
		return;
	if (sender->state == STOPPED)
		sender->state = REPORTED;	/* with the sample of the moment at which it stopped */
	else
		read_sample(sender);
	printf("{\"kind\":\"send\",\"name\":\"%s\",\"t_ms\":%llu,", sender->item.name, (unsigned long long)t_ms);
	if (sends_tcp(sender))
		printf("\"acked_bytes\":%llu,\"cwnd_segs\":%u,\"ssthresh_segs\":%u,\"srtt_us\":%u,\"min_rtt_us\":%u,"
		       "\"retransmits\":%u,\"bound_min_segs\":%llu,\"bound_max_segs\":%llu}\n",
		       (unsigned long long)info->tcpi_bytes_acked, info->tcpi_snd_cwnd, info->tcpi_snd_ssthresh,
		       info->tcpi_rtt, info->tcpi_min_rtt, info->tcpi_total_retrans,
		       (unsigned long long)sender->bounds.min_segs, (unsigned long long)sender->bounds.max_segs);
	else
		printf("\"sent_bytes\":%llu}\n", (unsigned long long)sender->sent_bytes);
}
