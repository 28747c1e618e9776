/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receivers: count the bytes that arrive, per source address, and discard them unread (MSG_TRUNC).
 *
 * Wake-ups cost wall-clock time, though no virtual time, so there are few: TCP wakes by SO_RCVLOWAT, UDP is drained by
 * a timer, and both are drained before each sample, so that a sample counts all that has arrived. How long nothing
 * came is by the kernel's time stamps of datagrams, so that it does not depend on when they are drained.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/tcp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "traffic.h"

#define SOURCES_MAX 256
#define TCP_LOW_WATER_BYTES (128 * 1024)
#define UDP_BUFFER_BYTES (8 * 1024 * 1024)
#define UDP_DRAIN_PERIOD_US (100 * 1000)
#define UDP_BATCH 64

struct origin {
	struct in_addr address;
	uint64_t bytes;
	uint64_t last_ns;		/* UDP: when the last datagram came, by the kernel; 0: none yet */
	uint64_t gap_max_ns;		/* UDP: the longest time between two of them that has ended since the last sample */
};

struct connection {
	struct source source;
	struct receiver *receiver;
	struct connection *next;
	struct in_addr from;
	int fd;				/* -1: closed by the peer */
};

struct receiver {
	struct source source;
	struct timer drain;
	struct plan_item item;
	struct connection *connections;
	int fd;
	unsigned int origins;
	struct origin origin[SOURCES_MAX];
};

static struct origin *count(struct receiver *receiver, struct in_addr from, uint64_t bytes)
{
	unsigned int i;

	for (i = 0; i < receiver->origins && receiver->origin[i].address.s_addr != from.s_addr; i++)
		;
	if (i == SOURCES_MAX)
		fatal("%s: more than %d sources", receiver->item.name, SOURCES_MAX);
	if (i == receiver->origins) {
		receiver->origins++;
		receiver->origin[i].address = from;
	}
	receiver->origin[i].bytes += bytes;
	return &receiver->origin[i];
}

static uint64_t arrived_ns(struct msghdr *header)
{
	struct timespec at;

	for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
		if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&at, CMSG_DATA(part), sizeof(at));
		return (uint64_t)at.tv_sec * 1000000000 + (uint64_t)at.tv_nsec;
	}
	return 0;
}

static void note_arrival(struct origin *origin, uint64_t at_ns)
{
	if (origin->last_ns && at_ns > origin->last_ns && at_ns - origin->last_ns > origin->gap_max_ns)
		origin->gap_max_ns = at_ns - origin->last_ns;
	if (at_ns)
		origin->last_ns = at_ns;
}

static void drain_tcp(struct connection *connection)
{
	while (connection->fd >= 0) {
		ssize_t got = recv(connection->fd, NULL, 16 * 1024 * 1024, MSG_TRUNC | MSG_DONTWAIT);

		if (got > 0) {
			count(connection->receiver, connection->from, (uint64_t)got);
			continue;
		}
		if (got < 0 && errno == EAGAIN)
			return;
		/* The end of the stream, or a reset: how senders stop. */
		close(connection->fd);
		connection->fd = -1;
	}
}

static void connection_ready(struct source *source, uint32_t epoll_events)
{
	(void)epoll_events;
	drain_tcp((struct connection *)source);
}

static void accept_ready(struct source *source, uint32_t epoll_events)
{
	struct receiver *receiver = (struct receiver *)source;
	int low_water = TCP_LOW_WATER_BYTES;

	(void)epoll_events;
	for (;;) {
		struct sockaddr_in peer;
		socklen_t peer_bytes = sizeof(peer);
		int fd = accept4(receiver->fd, (struct sockaddr *)&peer, &peer_bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
		struct connection *connection;

		if (fd < 0)
			return;
		connection = must_alloc(sizeof(*connection));
		connection->source.ready = connection_ready;
		connection->receiver = receiver;
		connection->from = peer.sin_addr;
		connection->fd = fd;
		connection->next = receiver->connections;
		receiver->connections = connection;
		setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &low_water, sizeof(low_water));
		loop_add(fd, EPOLLIN | EPOLLET, &connection->source);
	}
}

static void drain_udp(struct receiver *receiver)
{
	static char first_byte[UDP_BATCH];
	static union {
		char bytes[CMSG_SPACE(sizeof(struct timespec))];
		struct cmsghdr aligned;
	} control[UDP_BATCH];
	struct sockaddr_in from[UDP_BATCH];
	struct iovec vector[UDP_BATCH];
	struct mmsghdr message[UDP_BATCH];
	int got;

	do {
		for (int i = 0; i < UDP_BATCH; i++) {
			vector[i] = (struct iovec){ .iov_base = &first_byte[i], .iov_len = 1 };
			message[i].msg_hdr = (struct msghdr){
				.msg_name = &from[i], .msg_namelen = sizeof(from[i]), .msg_iov = &vector[i], .msg_iovlen = 1,
				.msg_control = &control[i], .msg_controllen = sizeof(control[i]),
			};
		}
		got = recvmmsg(receiver->fd, message, UDP_BATCH, MSG_TRUNC | MSG_DONTWAIT, NULL);
		for (int i = 0; i < got; i++)
			note_arrival(count(receiver, from[i].sin_addr, message[i].msg_len), arrived_ns(&message[i].msg_hdr));
	} while (got == UDP_BATCH);
}

static void drain_fire(struct timer *timer)
{
	drain_udp((struct receiver *)((char *)timer - offsetof(struct receiver, drain)));
}

static void listen_here(void *argument)
{
	struct receiver *receiver = argument;
	bool tcp = receiver->item.protocol == PROTOCOL_TCP;
	int yes = 1, buffer_bytes = UDP_BUFFER_BYTES;

	receiver->fd = socket(AF_INET, (tcp ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (receiver->fd < 0)
		fatal("%s: cannot create a socket: %s", receiver->item.name, strerror(errno));
	setsockopt(receiver->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (!tcp && setsockopt(receiver->fd, SOL_SOCKET, SO_RCVBUFFORCE, &buffer_bytes, sizeof(buffer_bytes)))
		setsockopt(receiver->fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes));
	if (!tcp && setsockopt(receiver->fd, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof(yes)))
		fatal("%s: no time stamps of datagrams: %s", receiver->item.name, strerror(errno));
	if (receiver->item.congestion[0] && setsockopt(receiver->fd, IPPROTO_TCP, TCP_CONGESTION, receiver->item.congestion,
						       (socklen_t)strlen(receiver->item.congestion)))
		fatal("%s: cannot use congestion control %s: %s", receiver->item.name, receiver->item.congestion,
		      strerror(errno));
	if (bind(receiver->fd, (struct sockaddr *)&receiver->item.address, sizeof(receiver->item.address)))
		fatal("%s: cannot bind: %s", receiver->item.name, strerror(errno));
	if (tcp && listen(receiver->fd, SOURCES_MAX))
		fatal("%s: cannot listen: %s", receiver->item.name, strerror(errno));
}

struct receiver *receiver_new(const struct plan_item *item)
{
	struct receiver *receiver = must_alloc(sizeof(*receiver));

	receiver->item = *item;
	in_netns(item->netns, listen_here, receiver);
	if (item->protocol == PROTOCOL_TCP) {
		receiver->source.ready = accept_ready;
		loop_add(receiver->fd, EPOLLIN, &receiver->source);
	} else {
		timer_init(&receiver->drain, drain_fire);
		timer_set_us(&receiver->drain, UDP_DRAIN_PERIOD_US, UDP_DRAIN_PERIOD_US);
	}
	return receiver;
}

static int by_address(const void *a, const void *b)
{
	uint32_t x = ntohl(((const struct origin *)a)->address.s_addr), y = ntohl(((const struct origin *)b)->address.s_addr);

	return (x > y) - (x < y);
}

void receiver_sample(struct receiver *receiver, uint64_t t_ms)
{
	char text[INET_ADDRSTRLEN];

	for (struct connection *connection = receiver->connections; connection; connection = connection->next)
		drain_tcp(connection);
	if (receiver->item.protocol == PROTOCOL_UDP)
		drain_udp(receiver);
	qsort(receiver->origin, receiver->origins, sizeof(receiver->origin[0]), by_address);
	for (unsigned int i = 0; i < receiver->origins; i++) {
		struct origin *origin = &receiver->origin[i];

		printf("{\"kind\":\"recv\",\"name\":\"%s\",\"t_ms\":%llu,\"source\":\"%s\",\"bytes\":%llu",
		       receiver->item.name, (unsigned long long)t_ms,
		       inet_ntop(AF_INET, &origin->address, text, sizeof(text)), (unsigned long long)origin->bytes);
		if (receiver->item.protocol == PROTOCOL_UDP)
			printf(",\"gap_max_us\":%llu", (unsigned long long)origin->gap_max_ns / 1000);
		printf("}\n");
		origin->gap_max_ns = 0;
	}
}
