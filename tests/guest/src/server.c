/* SPDX-License-Identifier: BSD-2-Clause */
/* The server: one thread, one epoll, a small state machine per connection. */
#define _GNU_SOURCE
#include "rig.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum kind { LISTENER, DATAGRAM, CONNECTION };

struct peer {
	enum kind kind;
	int fd;
	bool seqpacket;
	bool started;		/* the request is complete */
	bool verdict_due;
	bool finished;		/* nothing more to do but wait for the close */
	uint8_t head[REQUEST_BYTES];
	size_t head_bytes;
	struct request req;
	struct verdict seen;
	uint64_t sent;
	uint8_t *echo;		/* received, not yet returned */
	size_t echo_bytes;
	size_t echo_room;
};

static struct {
	int epoll;
	bool quit;
	unsigned connections;
	unsigned faults;
	uint64_t bytes;
	uint8_t buf[CHUNK_MAX];
} server;

static void watch(struct peer *p, bool readable, bool writable, int how)
{
	struct epoll_event e = { .data.ptr = p };

	e.events = (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0);
	epoll_ctl(server.epoll, how, p->fd, &e);
}

static int peer_add(int fd, enum kind kind, bool seqpacket)
{
	struct peer *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->fd = fd;
	p->kind = kind;
	p->seqpacket = seqpacket;
	p->seen.first_bad = NO_FAULT;
	watch(p, true, false, EPOLL_CTL_ADD);
	return 0;
}

static void fault(const struct peer *p, const char *what, uint64_t where)
{
	server.faults++;
	printf("rig: serve: FAULT %s op=%d at=%llu of=%llu\n", what,
	       p->req.op, (unsigned long long)where,
	       (unsigned long long)p->req.total);
	fflush(stdout);
}

static void peer_end(struct peer *p)
{
	close(p->fd);
	free(p->echo);
	free(p);
}

static bool wants_sink(const struct peer *p)
{
	return p->req.op == OP_SINK || p->req.op == OP_BOTH ||
	       p->req.op == OP_HALF;
}

static bool wants_source(const struct peer *p)
{
	return p->req.op == OP_SOURCE || p->req.op == OP_BOTH;
}

/* Decides whether the answer may go out now. */
static void settle(struct peer *p, bool at_eof)
{
	bool in = !wants_sink(p) || p->seen.received >= p->req.total;
	bool out = !wants_source(p) || p->sent >= p->req.total;

	if (p->finished || p->req.op == OP_ECHO)
		return;
	if (p->req.op == OP_HALF ? at_eof : in && out) {
		p->verdict_due = p->req.op != OP_SOURCE;
		p->finished = !p->verdict_due;
	}
	if (p->req.op == OP_QUIT)
		server.quit = true;
}

static int send_verdict(struct peer *p)
{
	uint8_t out[VERDICT_BYTES];

	verdict_put(&p->seen, out);
	if (send(p->fd, out, sizeof(out), MSG_NOSIGNAL) != sizeof(out))
		return errno == EAGAIN ? 0 : -errno;
	p->verdict_due = false;
	p->finished = true;
	return 0;
}

static int send_echo(struct peer *p)
{
	size_t due = p->seqpacket ? p->echo_bytes :
		     p->echo_bytes - p->echo_bytes % p->req.size;
	ssize_t n;

	if (!due)
		return 0;
	n = send(p->fd, p->echo, due,
		 MSG_NOSIGNAL | (p->seqpacket ? MSG_EOR : 0));
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	p->echo_bytes -= n;
	memmove(p->echo, p->echo + n, p->echo_bytes);
	return 0;
}

static int send_pattern(struct peer *p)
{
	uint64_t left = p->req.total - p->sent;
	size_t len = left < p->req.size ? left : p->req.size;
	ssize_t n;

	pattern_fill(server.buf, len, p->sent, p->req.seed);
	n = send(p->fd, server.buf, len, MSG_NOSIGNAL);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	p->sent += n;
	return 0;
}

static bool has_output(const struct peer *p)
{
	return p->verdict_due ||
	       (p->started && !p->finished && wants_source(p) &&
		p->sent < p->req.total) ||
	       (p->echo_bytes &&
		(p->seqpacket || p->echo_bytes >= p->req.size));
}

/* An echo with no room, or a record not yet returned, waits for the output. */
static bool wants_input(const struct peer *p)
{
	return !p->echo || (p->seqpacket ? !p->echo_bytes :
			    p->echo_bytes < p->echo_room);
}

static int on_writable(struct peer *p)
{
	int err = 0;

	if (p->echo_bytes)
		err = send_echo(p);
	else if (p->started && wants_source(p) && p->sent < p->req.total)
		err = send_pattern(p);
	if (!err)
		settle(p, false);
	if (!err && p->verdict_due)
		err = send_verdict(p);
	return err;
}

static int read_request(struct peer *p)
{
	ssize_t n = recv(p->fd, p->head + p->head_bytes,
			 REQUEST_BYTES - p->head_bytes, 0);

	if (n <= 0)
		return n && errno == EAGAIN ? 0 : -ECONNRESET;
	p->head_bytes += n;
	if (p->head_bytes < REQUEST_BYTES)
		return 0;
	if (request_get(&p->req, p->head))
		return -EPROTO;
	p->started = true;
	if (p->req.op != OP_ECHO)
		return 0;
	p->echo_room = 2 * CHUNK_MAX;
	p->echo = malloc(p->echo_room);
	return p->echo ? 0 : -ENOMEM;
}

static void check(struct peer *p, size_t n)
{
	uint64_t bad = pattern_check(server.buf, n, p->seen.received,
				     p->req.seed);

	if (bad != NO_FAULT && p->seen.first_bad == NO_FAULT) {
		p->seen.first_bad = bad;
		fault(p, "wrong byte", bad);
	}
	p->seen.received += n;
}

static int read_data(struct peer *p)
{
	bool echo = p->req.op == OP_ECHO;
	size_t room = echo ? p->echo_room - p->echo_bytes : CHUNK_MAX;
	ssize_t n;

	if (!wants_input(p))
		return 0;
	n = recv(p->fd, echo ? p->echo + p->echo_bytes : server.buf, room, 0);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	if (n == 0) {
		settle(p, true);
		return p->verdict_due ? 0 : -ESHUTDOWN;
	}
	server.bytes += n;
	if (echo)
		p->echo_bytes += n;
	else
		check(p, n);
	return 0;
}

static int on_readable(struct peer *p)
{
	int err = p->started ? read_data(p) : read_request(p);

	if (err)
		return err;
	if (p->started)
		settle(p, false);
	return has_output(p) ? on_writable(p) : 0;
}

static void on_connection(struct peer *p, uint32_t events)
{
	int err = 0;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		err = on_readable(p);
	if (!err && events & EPOLLOUT)
		err = on_writable(p);
	if (err) {
		if (p->started && !p->finished && p->req.op != OP_ECHO)
			fault(p, "connection ended early", p->seen.received);
		peer_end(p);
		return;
	}
	watch(p, wants_input(p), has_output(p), EPOLL_CTL_MOD);
}

static void on_listener(struct peer *p)
{
	int fd = accept4(p->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	int one = 1;

	if (fd < 0)
		return;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	server.connections++;
	if (peer_add(fd, CONNECTION, p->seqpacket))
		close(fd);
}

static void on_datagram(struct peer *p)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	ssize_t n = recvfrom(p->fd, server.buf, CHUNK_MAX, 0,
			     (struct sockaddr *)&from, &len);

	if (n >= 0)
		sendto(p->fd, server.buf, n, 0, (struct sockaddr *)&from, len);
}

static void dispatch(struct peer *p, uint32_t events)
{
	if (p->kind == LISTENER)
		on_listener(p);
	else if (p->kind == DATAGRAM)
		on_datagram(p);
	else
		on_connection(p, events);
}

static int open_all(int count, char **specs)
{
	for (int i = 0; i < count; i++) {
		bool udp = endpoint_is_udp(specs[i]);
		int fd = endpoint_listen(specs[i]);

		if (fd < 0) {
			printf("rig: serve: %s: %s\n", specs[i], strerror(-fd));
			return fd;
		}
		if (peer_add(fd, udp ? DATAGRAM : LISTENER,
			     endpoint_is_seqpacket(specs[i])))
			return -ENOMEM;
	}
	return 0;
}

int serve(int count, char **specs, double limit_s)
{
	double end = now_s() + limit_s;
	struct epoll_event ready[64];

	server.epoll = epoll_create1(EPOLL_CLOEXEC);
	if (server.epoll < 0 || open_all(count, specs))
		return 1;
	printf("rig: serve: ready\n");
	fflush(stdout);
	while (!server.quit && now_s() < end) {
		int n = epoll_wait(server.epoll, ready, 64, 200);

		for (int i = 0; i < n; i++)
			dispatch(ready[i].data.ptr, ready[i].events);
	}
	printf("rig: serve: connections=%u bytes=%llu faults=%u %s\n",
	       server.connections, (unsigned long long)server.bytes,
	       server.faults, server.quit ? "told to quit" : "time is up");
	return server.faults || !server.quit;
}
