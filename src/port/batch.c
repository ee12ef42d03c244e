/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * batch.c - many reads or writes of one descriptor in one system call.
 *
 * RWF_NOWAIT makes the kernel do each of them while it takes them, or answer
 * -EAGAIN, so that submitting is all there is and the order is kept. A file
 * that does not know the flag answers -EOPNOTSUPP, and we go on without
 * io_uring.
 */
#include "port/batch.h"

#include <errno.h>
#include <liburing.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/iov.h"

struct batch {
	int fd;
	bool plain;
	struct io_uring ring;
};

enum way { READ, WRITE };

struct batch *batch_new(int fd, bool plain, int *err)
{
	struct batch *b = calloc(1, sizeof(*b));

	if (!b) {
		*err = -ENOMEM;
		return NULL;
	}
	b->fd = fd;
	/* Not permitted (seccomp, sysctl), or an old kernel: do without. */
	b->plain = plain || io_uring_queue_init(BATCH_MAX, &b->ring, 0) < 0;
	return b;
}

static void ring_drop(struct batch *b)
{
	if (!b->plain)
		io_uring_queue_exit(&b->ring);
	b->plain = true;
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	ring_drop(b);
	free(b);
}

bool batch_is_plain(const struct batch *b)
{
	return b->plain;
}

static int one_by_hand(const struct batch *b, const struct batch_item *item,
                       enum way way)
{
	const struct iovec *iov = iov_sys(item->seg);
	ssize_t n;

	do {
		n = way == READ ? readv(b->fd, iov, (int)item->nseg)
		                : writev(b->fd, iov, (int)item->nseg);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (int)n;
}

static void all_by_hand(const struct batch *b, struct batch_item *item,
                        unsigned n, enum way way)
{
	unsigned i = 0;

	while (i < n) {
		item[i].result = one_by_hand(b, &item[i], way);
		if (item[i++].result == -EAGAIN)
			break;
	}
	for (; i < n; i++)
		item[i].result = -EAGAIN;
}

static void queue_one(struct batch *b, struct batch_item *item, enum way way)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&b->ring);

	if (way == READ)
		io_uring_prep_readv(sqe, b->fd, iov_sys(item->seg), item->nseg,
		                    0);
	else
		io_uring_prep_writev(sqe, b->fd, iov_sys(item->seg), item->nseg,
		                     0);
	sqe->off = (uint64_t)-1; /* a stream has no position */
	sqe->rw_flags = RWF_NOWAIT;
	io_uring_sqe_set_data(sqe, item);
	item->result = -EAGAIN;
}

/* False: io_uring is no use here; the results say what was done. */
static bool all_by_ring(struct batch *b, struct batch_item *item, unsigned n,
                        enum way way)
{
	struct io_uring_cqe *cqe;
	struct batch_item *done;
	bool works = true;

	for (unsigned i = 0; i < n; i++)
		queue_one(b, &item[i], way);
	if (io_uring_submit_and_wait(&b->ring, n) < (int)n)
		works = false;
	while (!io_uring_peek_cqe(&b->ring, &cqe)) {
		done = io_uring_cqe_get_data(cqe);
		done->result = cqe->res;
		if (cqe->res == -EOPNOTSUPP)
			works = false;
		io_uring_cqe_seen(&b->ring, cqe);
	}
	return works;
}

static void batch_do(struct batch *b, struct batch_item *item, unsigned n,
                     enum way way)
{
	if (b->plain || n == 1) {
		all_by_hand(b, item, n, way);
		return;
	}
	if (all_by_ring(b, item, n, way))
		return;
	ring_drop(b);
	/* What the kernel did not understand it has not begun either. */
	for (unsigned i = 0; i < n; i++) {
		if (item[i].result == -EOPNOTSUPP)
			item[i].result = one_by_hand(b, &item[i], way);
	}
}

void batch_read(struct batch *b, struct batch_item *item, unsigned n)
{
	batch_do(b, item, n, READ);
}

void batch_write(struct batch *b, struct batch_item *item, unsigned n)
{
	batch_do(b, item, n, WRITE);
}
