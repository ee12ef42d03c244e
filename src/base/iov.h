/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iov.h - lists of segments as one run of bytes. Anyone hosted may include it.
 *
 * Offsets count from the first byte of the first segment. What does not exist
 * is not touched: every function answers how many bytes (or segments) it did.
 * Segments usually lie in guest memory: copy first, then check the copy.
 */
#ifndef VIADUCT_BASE_IOV_H
#define VIADUCT_BASE_IOV_H

#include <sys/uio.h>

#include "base/defs.h"

/* Bytes in all of them. */
size_t iov_bytes(const struct seg *s, unsigned n);

/* Copy @len bytes at @off out of the segments / into them. */
size_t iov_read(const struct seg *s, unsigned n, size_t off, void *to,
                size_t len);
size_t iov_write(const struct seg *s, unsigned n, size_t off, const void *from,
                 size_t len);

struct iov_span {
	const struct seg *seg;
	unsigned n;
	size_t off;
};

/* Copy @len bytes from one list to another; they must not overlap. */
size_t iov_copy(struct iov_span to, struct iov_span from, size_t len);

/**
 * iov_slice() - the segments of a part
 * @out: room for @max segments
 * @of:  list and first byte
 * @len: bytes wanted
 *
 * Return: segments in @out; fewer bytes than wanted when the list or @max ends.
 */
unsigned iov_slice(struct seg *out, unsigned max, struct iov_span of,
                   size_t len);

/* For readv() and writev(). */
static inline const struct iovec *iov_sys(const struct seg *s)
{
	return (const struct iovec *)(const void *)s;
}

#endif
