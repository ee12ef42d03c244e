/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sock.c - whole vhost-user messages over a non-blocking unix socket.
 *
 * Descriptors are sent with the first byte of the header and expected there;
 * the rest of a message is plain bytes. Each step waits in poll() until the
 * message's deadline, never longer.
 */
#include "driver/sock.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/endpoint.h"
#include "base/fd.h"
#include "driver/clock.h"

static int timeout_ms(uint64_t deadline_ns)
{
	uint64_t now = clock_ns();

	if (now >= deadline_ns)
		return 0;
	return (int)min_of((deadline_ns - now) / CLOCK_NS_PER_MS + 1,
	                   UINT64_C(1000000));
}

/* Until @fd is ready; whatever the side channel says is served meanwhile. */
static int wait_for(struct sock *s, short events, uint64_t deadline_ns)
{
	struct pollfd p[2] = { { .fd = s->fd, .events = events },
		               { .fd = -1, .events = POLLIN } };

	for (;;) {
		int n;

		p[1].fd = s->side_fn ? s->side_fd : -1;
		n = poll(p, 2, timeout_ms(deadline_ns));
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && p[0].revents)
			return 0;
		if (n > 0 && p[1].revents)
			s->side_fn(s);
		if (clock_ns() >= deadline_ns)
			return -ETIMEDOUT;
	}
}

int sock_connect(const char *path, uint64_t deadline_ns)
{
	struct endpoint e;
	int fd;

	fd = endpoint_path(&e, path);
	if (fd < 0)
		return fd;
	for (;;) {
		fd = endpoint_connect(&e);
		/* A full backlog is not waited for by a non-blocking socket. */
		if (fd != -EAGAIN || clock_ns() >= deadline_ns)
			return fd;
		poll(NULL, 0, 10);
	}
}

int sock_listen(const char *path)
{
	struct endpoint e;
	int err;

	err = endpoint_path(&e, path);
	if (err)
		return err;
	return endpoint_listen(&e, &(struct endpoint_owner){ 0 });
}

int sock_accept(int listen_fd, uint64_t deadline_ns)
{
	struct sock s = { .fd = listen_fd, .side_fd = -1 };
	int fd, err;

	for (;;) {
		fd = endpoint_accept(listen_fd);
		if (fd != -EAGAIN)
			return fd;
		err = wait_for(&s, POLLIN, deadline_ns);
		if (err)
			return err;
	}
}

/* --- messages ---------------------------------------------------------- */

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(VHOST_USER_FDS_MAX * sizeof(int))];
};

static void attach_fds(struct msghdr *h, union control *c,
                       const struct sock_msg *m)
{
	size_t bytes = m->nfds * sizeof(int);
	struct cmsghdr *ch;

	memset(c, 0, sizeof(*c));
	h->msg_control = c->bytes;
	h->msg_controllen = CMSG_SPACE(bytes);
	ch = CMSG_FIRSTHDR(h);
	ch->cmsg_level = SOL_SOCKET;
	ch->cmsg_type = SCM_RIGHTS;
	ch->cmsg_len = CMSG_LEN(bytes);
	memcpy(CMSG_DATA(ch), m->fd, bytes);
}

int sock_send(struct sock *s, const struct sock_msg *m, uint64_t deadline_ns)
{
	size_t total = sizeof(m->hdr) + m->hdr.size, done = 0;
	union control control;

	_Static_assert(offsetof(struct sock_msg, body) >= sizeof(m->hdr), "");
	while (done < total) {
		size_t head = done < sizeof(m->hdr) ? sizeof(m->hdr) - done : 0;
		size_t body = sizeof(m->hdr) + m->hdr.size - done - head;
		struct iovec iov[2] = {
			{ (char *)&m->hdr + (sizeof(m->hdr) - head), head },
			{ (char *)&m->body + (m->hdr.size - body), body },
		};
		struct msghdr h = { .msg_iov = iov, .msg_iovlen = 2 };
		ssize_t n;

		if (done == 0 && m->nfds)
			attach_fds(&h, &control, m);
		n = sendmsg(s->fd, &h, MSG_NOSIGNAL);
		if (n > 0) {
			done += (size_t)n;
		} else if (errno == EAGAIN) {
			int err = wait_for(s, POLLOUT, deadline_ns);

			if (err)
				return err;
		} else if (errno == EPIPE) {
			return -ECONNRESET;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

void sock_msg_drop(struct sock_msg *m)
{
	for (unsigned i = 0; i < m->nfds; i++)
		fd_close(&m->fd[i]);
	m->nfds = 0;
}

/* The first VHOST_USER_FDS_MAX are kept; the kernel dropped what was more. */
static void collect_fds(struct msghdr *h, struct sock_msg *m)
{
	struct cmsghdr *c;

	for (c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n;

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int),
			       sizeof(int));
			if (m->nfds < VHOST_USER_FDS_MAX)
				m->fd[m->nfds++] = fd;
			else
				fd_close(&fd);
		}
	}
}

/* All @len bytes, and whatever descriptors come with them. */
static int recv_all(struct sock *s, struct sock_msg *m, void *to, size_t len,
                    uint64_t deadline_ns)
{
	union control control;

	while (len) {
		struct iovec iov = { to, len };
		struct msghdr h = { .msg_iov = &iov,
			            .msg_iovlen = 1,
			            .msg_control = control.bytes,
			            .msg_controllen = sizeof(control) };
		ssize_t n = recvmsg(s->fd, &h, MSG_CMSG_CLOEXEC);

		if (n == 0)
			return -ECONNRESET;
		if (n > 0) {
			collect_fds(&h, m);
			if (h.msg_flags & MSG_CTRUNC)
				return -EPROTO;
			to = (char *)to + n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			int err = wait_for(s, POLLIN, deadline_ns);

			if (err)
				return err;
		} else if (errno != EINTR) {
			return -errno;
		}
	}
	return 0;
}

int sock_recv(struct sock *s, struct sock_msg *m, uint64_t deadline_ns)
{
	int err;

	m->nfds = 0;
	memset(&m->body, 0, sizeof(m->body));
	err = recv_all(s, m, &m->hdr, sizeof(m->hdr), deadline_ns);
	if (!err &&
	    ((m->hdr.flags & VHOST_USER_VERSION_MASK) != VHOST_USER_VERSION ||
	     m->hdr.size > sizeof(m->body)))
		err = -EPROTO;
	if (!err)
		err = recv_all(s, m, &m->body, m->hdr.size, deadline_ns);
	if (err)
		sock_msg_drop(m);
	return err;
}
