/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inflight.h - the record of what a device holds, in memory that outlives it.
 * ring and vhost include it; only tracked variants call it.
 *
 * The front end keeps the memory; a device that was killed finds in it which
 * chains it had taken and not returned, and takes them again in the same order.
 * Layout and steps are those of the vhost-user document, Inflight I/O Tracking.
 *
 * The front end can write to the memory at any time. What steers us (free list,
 * what is held) has a private copy; every index from the record is checked
 * where it is read, and a record that makes no sense breaks the ring.
 * Freestanding.
 */
#ifndef VIADUCT_RING_INFLIGHT_H
#define VIADUCT_RING_INFLIGHT_H

#include "ring/desc.h"
#include "ring/ring.h"
#include "wire/inflight.h"

struct inflight {
	union {
		struct inflight_split *split;
		struct inflight_packed *packed;
	};
	uint32_t size;
	uint64_t counter;   /* of the next chain taken */
	uint16_t free_head; /* packed: our copy */

	uint16_t *given; /* [size] entries given and not published */
	uint32_t ngiven;

	uint16_t *again; /* [size] entries to take again, in order */
	uint32_t again_at, again_end;
	uint32_t held; /* packed: slots that those fill */
};

/* Bytes of one queue's region, rounded up to INFLIGHT_ALIGN. */
size_t inflight_bytes(bool packed, uint32_t size);

/**
 * inflight_attach() - start keeping the record, or go on with an old one
 * @r:	     ring just started; its position is set anew from an old record
 * @in:	     caller's memory, lives as long as the ring is started
 * @region:  inflight_bytes(), 8-aligned, zeroed or left by a predecessor
 * @scratch: 2 * size words
 *
 * A record left behind is brought in step with the ring first: its owner may
 * have died between publishing and noting it. What it held comes first out of
 * ring_take(), in the order in which it was taken.
 *
 * Return: how many chains will be taken again, or RING_EINVAL: the record is of
 * another size or version, or damaged.
 */
int inflight_attach(struct ring *r, struct inflight *in, void *region,
                    uint16_t *scratch);

/* How many chains a predecessor held are still to be taken again. */
static always_inline uint32_t inflight_left(const struct ring *r)
{
	return r->inflight ? r->inflight->again_end - r->inflight->again_at : 0;
}

/* --- what the tracked bodies call ---------------------------------------- */

/* Take up to @max of those; as ring_take(). */
int inflight_take_again(struct ring *r, struct burst *b, unsigned max);
/* Note a chain just taken, before the ring moves on. 0 or RING_EBADMSG. */
int inflight_take(struct ring *r, struct chain *c);
/* Forget the chain taken last. True: it was one taken again. */
bool inflight_untake(struct ring *r, const struct chain *c);
/* Note a chain as about to be published. */
void inflight_give(struct ring *r, const struct chain *c);
/* The two sides of the publishing store. */
void inflight_before_publish(struct ring *r);
void inflight_after_publish(struct ring *r);

/* A descriptor of a packed list, and the entry behind it; false: damaged. */
bool inflight_read(const struct inflight *in, uint32_t entry, struct desc *d,
                   uint32_t *behind);

#endif
