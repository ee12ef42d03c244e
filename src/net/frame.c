/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.c - bytes out of a view of a packet.
 */
#include "net/frame.h"

#include "base/order.h"

bool frame_copy(const struct frame *f, uint32_t at, uint32_t len, void *to)
{
	uint8_t *out = to;
	size_t n;

	if (at > f->len || len > f->len - at)
		return false;
	if (at < f->head_len) {
		n = min_of(len, f->head_len - at);
		__builtin_memcpy(out, frame_head(f) + at, n);
		out += n;
		len -= n;
		at = 0;
	} else {
		at -= f->head_len;
	}
	for (const struct seg *s = f->seg; len; s++) {
		if (at >= s->len) {
			at -= s->len;
			continue;
		}
		n = min_of(len, s->len - at);
		ld_bytes(out, (const uint8_t *)s->base + at, n);
		out += n;
		len -= n;
		at = 0;
	}
	return true;
}
