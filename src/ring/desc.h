/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * desc.h - a descriptor in our hands, and whose a packed one is. Only ring
 * includes it.
 */
#ifndef VIADUCT_RING_DESC_H
#define VIADUCT_RING_DESC_H

#include "base/order.h"
#include "wire/packed.h"
#include "wire/split.h"

/* A descriptor as it was at one moment: two loads, no more. */
struct desc {
	uint64_t addr;
	uint32_t len;
	uint16_t flags;
	uint16_t last; /* split: next; packed: id */
};

/* Which of how many. */
struct nth {
	unsigned i, n;
};

/* A chain that is one direct descriptor shorter than MEM_SHORT. */
struct plain {
	uint64_t addr;
	uint64_t rest; /* the descriptor's second half, as it was read */
	uint16_t id;
};

/* What a run of plain chains needs, copied out of the ring so that it stays in
 * registers while chains and segments are written. */
struct run {
	union {
		const struct split_desc *sdesc;
		const struct packed_desc *pdesc;
	};
	const le16 *heads; /* split: the available ring's entries */
	uint32_t size;
	uint32_t mask;
	uint32_t next;
	bool wrap;
};

/* AVAIL and USED of a descriptor that is available in the lap @wrap
 * [spec: packed.wrap.marks]. */
static always_inline uint16_t packed_avail_marks(bool wrap)
{
	return wrap ? PACKED_AVAIL : PACKED_USED;
}

static always_inline uint16_t packed_used_marks(bool wrap)
{
	return wrap ? PACKED_AVAIL | PACKED_USED : 0;
}

static always_inline bool packed_is_available(uint16_t flags, bool wrap)
{
	return (flags & (PACKED_AVAIL | PACKED_USED)) ==
	       packed_avail_marks(wrap);
}

#endif
