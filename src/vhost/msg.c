/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * msg.c - vhost-user messages on a non-blocking socket.
 *
 * The header is read to its end before the payload, so a read never crosses
 * into the next message and never takes that one's descriptors.
 */
#include "vhost/msg.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/fd.h"

#define HDR_BYTES sizeof(struct vhost_user_hdr)
/* Room for more than are allowed, so that what comes can be closed by us. */
#define FDS_ROOM 32u

_Static_assert(offsetof(struct msg, body) ==
                       offsetof(struct msg, hdr) + HDR_BYTES,
               "a message is one run of bytes");

union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(FDS_ROOM * sizeof(int))];
};

void msg_io_open(struct msg_io *io, int fd)
{
	memset(io, 0, sizeof(*io));
	io->fd = fd;
}

void msg_io_close(struct msg_io *io)
{
	msg_drop(&io->in);
	msg_drop(&io->out);
	fd_close(&io->fd);
	io->got = 0;
	io->replying = false;
}

void msg_drop(struct msg *m)
{
	for (unsigned i = 0; i < m->nfds; i++)
		fd_close(&m->fd[i]);
	m->nfds = 0;
}

/* --- in ----------------------------------------------------------------- */

/* Keep descriptors that ride with the first byte; close all others. */
static int take_fds(struct msg *m, struct msghdr *h, bool first)
{
	int err = h->msg_flags & MSG_CTRUNC ? -EPROTO : 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c; c = CMSG_NXTHDR(h, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		int fds[FDS_ROOM];

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		memcpy(fds, CMSG_DATA(c), n * sizeof(int));
		for (size_t i = 0; i < n; i++) {
			if (first && m->nfds < VHOST_USER_FDS_MAX) {
				m->fd[m->nfds++] = fds[i];
			} else {
				fd_close(&fds[i]);
				err = -EPROTO;
			}
		}
	}
	return err;
}

static int read_some(struct msg_io *io, void *to, size_t len)
{
	union control control;
	struct iovec iov = { to, len };
	struct msghdr h = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;
	int err;

	do {
		n = recvmsg(io->fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return errno == EAGAIN ? 0 : -errno;
	err = take_fds(&io->in, &h, io->got == 0);
	if (err)
		return err;
	if (n == 0)
		return -ECONNRESET;
	io->got += (size_t)n;
	return 1;
}

static bool hdr_is_sane(const struct vhost_user_hdr *h)
{
	return (h->flags & VHOST_USER_VERSION_MASK) == VHOST_USER_VERSION &&
	       !(h->flags & VHOST_USER_F_REPLY) &&
	       h->size <= sizeof(union vhost_user_payload);
}

static size_t bytes_wanted(const struct msg_io *io)
{
	return io->got < HDR_BYTES ? HDR_BYTES : HDR_BYTES + io->in.hdr.size;
}

int msg_read(struct msg_io *io)
{
	struct msg *m = &io->in;
	int err;

	if (!io->got)
		memset(m, 0, sizeof(*m));
	while (io->got < bytes_wanted(io)) {
		err = read_some(io, (char *)&m->hdr + io->got,
		                bytes_wanted(io) - io->got);
		if (err <= 0)
			return err;
		if (io->got >= HDR_BYTES && !hdr_is_sane(&m->hdr))
			return -EPROTO;
	}
	io->got = 0;
	return 1;
}

/* --- out ---------------------------------------------------------------- */

void msg_send(struct msg_io *io, struct msg *m)
{
	io->out = *m;
	io->out.hdr.flags = VHOST_USER_VERSION | VHOST_USER_F_REPLY;
	m->nfds = 0;
	io->sent = 0;
	io->replying = true;
}

static void put_fds(struct msghdr *h, union control *control,
                    const struct msg *m)
{
	struct cmsghdr *c;

	memset(control, 0, sizeof(*control));
	h->msg_control = control->bytes;
	h->msg_controllen = CMSG_SPACE(m->nfds * sizeof(int));
	c = CMSG_FIRSTHDR(h);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(m->nfds * sizeof(int));
	memcpy(CMSG_DATA(c), m->fd, m->nfds * sizeof(int));
}

int msg_flush(struct msg_io *io)
{
	size_t all = HDR_BYTES + io->out.hdr.size;
	union control control;

	while (io->replying && io->sent < all) {
		struct iovec iov = { (char *)&io->out.hdr + io->sent,
			             all - io->sent };
		struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
		ssize_t n;

		if (io->out.nfds)
			put_fds(&h, &control, &io->out);
		n = sendmsg(io->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN ? 1 : -errno;
		msg_drop(&io->out); /* they went with the first byte */
		io->sent += (size_t)n;
	}
	io->replying = false;
	return 0;
}
