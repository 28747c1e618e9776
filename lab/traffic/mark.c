// SPDX-License-Identifier: Apache-2.0
/*
 * libairbound-mark.so, for LD_PRELOAD: each socket of IPv4 that a program opens sends its packets with the DSCP in
 * AIRBOUND_DSCP (0 to 63). A connection that a socket accepts has its listener's. For programs that have no option for
 * it, such as ffmpeg and nginx. What cannot be marked ends the program: its figures would be taken for those of marks.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#define DSCP_MAX 63
#define ECN_BITS 2

int socket(int domain, int type, int protocol)
{
	int (*open_socket)(int, int, int);
	const char *text = getenv("AIRBOUND_DSCP");
	char *end;
	long dscp;
	int fd, tos;

	*(void **)&open_socket = dlsym(RTLD_NEXT, "socket");
	fd = open_socket(domain, type, protocol);
	if (fd < 0 || domain != AF_INET || !text)
		return fd;
	dscp = strtol(text, &end, 10);
	tos = (int)dscp << ECN_BITS;
	if (!*text || *end || dscp < 0 || dscp > DSCP_MAX || setsockopt(fd, IPPROTO_IP, IP_TOS, &tos, sizeof(tos))) {
		fprintf(stderr, "airbound-mark: AIRBOUND_DSCP: cannot mark a socket with '%s'\n", text);
		abort();
	}
	return fd;
}
