/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_vring.c - what the front end says about one ring.
 *
 * The index is 32 bits wide in most messages, 8 in those with a descriptor, and
 * is checked in its whole width.
 */
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "vhost/handlers.h"

static bool is_packed(const struct vhost_backend *b)
{
	return b->s.features & VIRTIO_F_RING_PACKED;
}

int on_set_vring_num(struct vhost_backend *b, struct msg *m)
{
	struct vring *v = vring_at(b, m->body.state.index);
	uint32_t size = m->body.state.num;

	if (!v)
		return -EPROTO;
	if (v->q.started)
		return v->size == size ? 0 : -EBUSY;
	/* Before the features are known the layout is not: check what holds
	 * for both. Starting checks the rest. */
	if (!ring_size_is_legal(size, !b->s.has_features || is_packed(b)))
		return -EINVAL;
	v->size = size;
	return vring_try_start(b, v);
}

static bool same_addresses(const struct vhost_user_vring_addr *a,
                           const struct vhost_user_vring_addr *b)
{
	return a->desc == b->desc && a->avail == b->avail && a->used == b->used;
}

/* While the ring runs, only the part about the dirty log may change. */
int on_set_vring_addr(struct vhost_backend *b, struct msg *m)
{
	const struct vhost_user_vring_addr *addr = &m->body.addr;
	struct vring *v = vring_at(b, addr->index);

	if (!v)
		return -EPROTO;
	if (v->q.started && !same_addresses(addr, &v->addr))
		return -EBUSY;
	v->addr = *addr;
	v->has_addr = true;
	if (v->q.started)
		vrings_follow_log(b);
	return vring_try_start(b, v);
}

int on_set_vring_base(struct vhost_backend *b, struct msg *m)
{
	struct vring *v = vring_at(b, m->body.state.index);

	if (!v)
		return -EPROTO;
	if (v->q.started)
		return -EBUSY;
	v->position = m->body.state.num;
	v->has_position = true;
	return 0;
}

/* Stops the ring; a ring that never ran has a position, too. The descriptors
 * go, so that nothing is told to anybody afterwards. */
int on_get_vring_base(struct vhost_backend *b, struct msg *m)
{
	struct vring *v = vring_at(b, m->body.state.index);

	if (!v)
		return -EPROTO;
	vring_halt(b, v);
	if (!v->has_position)
		v->position = ring_position_initial(is_packed(b));
	vring_set_call(v, -1);
	m->body.state.num = v->position;
	m->hdr.size = sizeof(m->body.state);
	return 0;
}

/* --- descriptors -------------------------------------------------------- */

/* The ring that a KICK, CALL or ERR is about; NULL: nonsense. */
static struct vring *vring_of_fd(struct vhost_backend *b, const struct msg *m)
{
	uint64_t word = m->body.u64;
	bool none = word & VHOST_USER_VRING_NOFD;

	if (word & ~(uint64_t)(VHOST_USER_VRING_MASK | VHOST_USER_VRING_NOFD))
		return NULL;
	if (none != (m->nfds == 0))
		return NULL;
	return vring_at(b, word & VHOST_USER_VRING_MASK);
}

static bool broken_pipes_are_harmless(void)
{
	struct sigaction now;

	return !sigaction(SIGPIPE, NULL, &now) && now.sa_handler == SIG_IGN;
}

/* An eventfd, which has no type, or a pipe's end. Writing into a socket or a
 * pipe whose reader is gone raises SIGPIPE; writing into a file is no signal
 * at all. */
static bool fd_can_signal(int fd, bool write)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	if (S_ISFIFO(st.st_mode))
		return !write || broken_pipes_are_harmless();
	return (st.st_mode & S_IFMT) == 0;
}

/* Take the descriptor out of @m: >= 0, -1 none, or -2 not one we can use. */
static int fd_take(struct msg *m, bool write)
{
	if (!m->nfds)
		return -1;
	if (!fd_can_signal(m->fd[0], write) || fd_set_nonblock(m->fd[0]))
		return -2;
	return fd_move(&m->fd[0]);
}

int on_set_vring_kick(struct vhost_backend *b, struct msg *m)
{
	struct vring *v = vring_of_fd(b, m);
	int fd;

	if (!v)
		return -EPROTO;
	fd = fd_take(m, false);
	return fd < -1 ? -EBADF : vring_set_kick(b, v, fd);
}

int on_set_vring_call(struct vhost_backend *b, struct msg *m)
{
	struct vring *v = vring_of_fd(b, m);
	int fd;

	if (!v)
		return -EPROTO;
	fd = fd_take(m, true);
	if (fd < -1)
		return -EBADF;
	vring_set_call(v, fd);
	return 0;
}

int on_set_vring_err(struct vhost_backend *b, struct msg *m)
{
	struct vring *v = vring_of_fd(b, m);
	int fd;

	if (!v)
		return -EPROTO;
	fd = fd_take(m, true);
	if (fd < -1)
		return -EBADF;
	vd_queue_lock(&v->q);
	fd_replace(&v->q.err_fd, fd);
	vd_queue_unlock(&v->q);
	return 0;
}

int on_set_vring_enable(struct vhost_backend *b, struct msg *m)
{
	struct vring *v = vring_at(b, m->body.state.index);

	if (!v || m->body.state.num > 1)
		return -EPROTO;
	vring_set_enabled(b, v, m->body.state.num);
	return 0;
}
