/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_host.c - datagrams through the kernel's own stack.
 */
#include "demo_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"

#define BATCH 64u

int host_open(struct host *h, const char *address, uint32_t ip, unsigned port)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
		                    .sin_port = htons((uint16_t)port) };
	struct sockaddr_in to = from;
	int err = 0;

	inet_pton(AF_INET, address, &from.sin_addr);
	to.sin_addr.s_addr = ip;
	h->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (h->fd < 0)
		return -errno;
	if (bind(h->fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    connect(h->fd, (struct sockaddr *)&to, sizeof(to)) < 0) {
		err = -errno;
		host_close(h);
	}
	return err;
}

void host_close(struct host *h)
{
	fd_close(&h->fd);
}

int host_send(struct host *h, const void *payload, unsigned len)
{
	for (;;) {
		if (send(h->fd, payload, len, 0) >= 0)
			return 0;
		/* The tap's queue is full: the kernel says so. */
		if (errno != ENOBUFS && errno != EINTR)
			return -errno;
		poll(NULL, 0, 1);
	}
}

int host_poll(struct host *h, int timeout_ms)
{
	struct pollfd p = { .fd = h->fd, .events = POLLIN };
	uint8_t buf[2048];
	unsigned n = 0;

	if (poll(&p, 1, timeout_ms) < 0 && errno != EINTR)
		return -errno;
	while (n < BATCH) {
		ssize_t len = recv(h->fd, buf, sizeof(buf), MSG_DONTWAIT);

		if (len < 0)
			return errno == EAGAIN || errno == EINTR ? (int)n
			                                         : -errno;
		h->input(h->ctx, buf, (unsigned)len);
		n++;
	}
	return (int)n;
}
