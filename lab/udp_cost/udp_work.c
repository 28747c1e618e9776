// SPDX-License-Identifier: Apache-2.0
/*
 * Sends a number of datagrams at a rate, between two marks of kernel/tests/cost/count_insns.c.
 *
 *	udp_work PHASE ADDRESS COUNT SEGMENTS
 *
 * With SEGMENTS above 1, so many datagrams are one buffer that the kernel divides (UDP_SEGMENT). COUNT is of datagrams.
 */
#include <arpa/inet.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define PAYLOAD_BYTES 1200
#define SEGMENTS_MAX 40
#define RATE_BPS 50000000ULL
#define HEADERS_BYTES 28
#define DISCARD_PORT 9
#define WARM_UP 100 /* datagrams, less than a rate lets pass at once */
#define MARK 0xa1b00000u
#define MARK_BYTES 9

static char payload[PAYLOAD_BYTES * SEGMENTS_MAX];

static void must(int ok, const char *what)
{
	if (!ok) {
		perror(what);
		exit(1);
	}
}

/* Executes nopw (MARK | phase)(%rax,%rax); ret. */
static void mark(unsigned char *code, unsigned int phase)
{
	static const unsigned char nopw[] = { 0x0f, 0x1f, 0x84, 0x00 };
	unsigned int number = MARK | phase;

	memcpy(code, nopw, sizeof(nopw));
	memcpy(code + sizeof(nopw), &number, sizeof(number));
	code[MARK_BYTES - 1] = 0xc3;
	((void (*)(void))code)();
}

int main(int argc, char **argv)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(DISCARD_PORT) };
	unsigned long long count, segments, period_ns;
	int fd, segment_bytes = PAYLOAD_BYTES;
	unsigned char *code;
	struct timespec at;
	size_t bytes;

	must(argc == 5 && inet_pton(AF_INET, argv[2], &to.sin_addr) == 1, "usage");
	count = strtoull(argv[3], NULL, 10);
	segments = strtoull(argv[4], NULL, 10);
	must(segments >= 1 && segments <= SEGMENTS_MAX, "segments");
	bytes = PAYLOAD_BYTES * segments;
	period_ns = (PAYLOAD_BYTES + HEADERS_BYTES) * segments * 8 * 1000000000 / RATE_BPS;
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(code != MAP_FAILED, "mmap");
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	must(fd >= 0, "socket");
	must(segments == 1 || !setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &segment_bytes, sizeof(segment_bytes)),
	     "UDP_SEGMENT");
	must(!connect(fd, (struct sockaddr *)&to, sizeof(to)), "connect");
	for (unsigned long long warm = 0; warm * segments < WARM_UP; warm++)
		must(send(fd, payload, bytes, 0) == (ssize_t)bytes, "send");
	sleep(1); /* what the warm-up took of a rate is there again */
	must(!clock_gettime(CLOCK_MONOTONIC, &at), "clock_gettime");
	mark(code, (unsigned int)strtoul(argv[1], NULL, 10));
	for (unsigned long long sent = 0; sent < count; sent += segments) {
		must(send(fd, payload, bytes, 0) == (ssize_t)bytes, "send");
		at.tv_nsec += (long)period_ns;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
	mark(code, 0);
	return 0;
}
