/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * iov.c - lists of segments as one run of bytes.
 */
#include "base/iov.h"

#include <string.h>

_Static_assert(sizeof(struct seg) == sizeof(struct iovec), "seg is an iovec");
_Static_assert(offsetof(struct seg, base) == offsetof(struct iovec, iov_base),
               "seg is an iovec");
_Static_assert(offsetof(struct seg, len) == offsetof(struct iovec, iov_len),
               "seg is an iovec");

size_t iov_bytes(const struct seg *s, unsigned n)
{
	size_t sum = 0;

	for (unsigned i = 0; i < n; i++)
		sum += s[i].len;
	return sum;
}

/* Skip the segments that end at or before @of->off. */
static void skip(struct iov_span *of)
{
	while (of->n && of->off >= of->seg->len) {
		of->off -= of->seg->len;
		of->seg++;
		of->n--;
	}
}

size_t iov_copy(struct iov_span to, struct iov_span from, size_t len)
{
	size_t left = len;

	while (left) {
		size_t piece;

		skip(&to);
		skip(&from);
		if (!to.n || !from.n)
			break;
		piece = min_of(to.seg->len - to.off, from.seg->len - from.off);
		piece = min_of(piece, left);
		memcpy((char *)to.seg->base + to.off,
		       (const char *)from.seg->base + from.off, piece);
		to.off += piece;
		from.off += piece;
		left -= piece;
	}
	return len - left;
}

size_t iov_read(const struct seg *s, unsigned n, size_t off, void *to,
                size_t len)
{
	struct seg flat = { to, len };

	return iov_copy((struct iov_span){ &flat, 1, 0 },
	                (struct iov_span){ s, n, off }, len);
}

size_t iov_write(const struct seg *s, unsigned n, size_t off, const void *from,
                 size_t len)
{
	struct seg flat = { (void *)(uintptr_t)from, len };

	return iov_copy((struct iov_span){ s, n, off },
	                (struct iov_span){ &flat, 1, 0 }, len);
}

unsigned iov_slice(struct seg *out, unsigned max, struct iov_span of,
                   size_t len)
{
	unsigned made = 0;

	while (len && made < max) {
		size_t piece;

		skip(&of);
		if (!of.n)
			break;
		piece = min_of(of.seg->len - of.off, len);
		out[made++] =
			(struct seg){ (char *)of.seg->base + of.off, piece };
		of.off += piece;
		len -= piece;
	}
	return made;
}
