/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * batch.h - many reads or writes of one descriptor in one system call. port
 * includes it.
 *
 * io_uring where it is permitted and the descriptor can say "not now"; readv()
 * and writev(), one by one, where not. Either way the call returns with every
 * piece of work done: nothing is in flight between calls.
 */
#ifndef VIADUCT_PORT_BATCH_H
#define VIADUCT_PORT_BATCH_H

#include "base/defs.h"

#define BATCH_MAX 32u

struct batch;

/* One read or write. */
struct batch_item {
	const struct seg *seg;
	unsigned nseg;
	int result; /* bytes, or negative errno; -EAGAIN: not now */
};

/* @fd is non-blocking and stays the caller's. @plain: never io_uring. */
struct batch *batch_new(int fd, bool plain, int *err);
void batch_free(struct batch *b);

/* The first @n items, in order; n <= BATCH_MAX. After one that answered -EAGAIN
 * the rest are -EAGAIN or, with io_uring, may have been done. */
void batch_read(struct batch *b, struct batch_item *item, unsigned n);
void batch_write(struct batch *b, struct batch_item *item, unsigned n);

bool batch_is_plain(const struct batch *b);

#endif
