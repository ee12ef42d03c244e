/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drv_split.h - the driver's verbs on a split ring. Only ring/drv.c includes
 * it. drv_packed.h has the same verbs in the same order.
 *
 * Spec: virtio 1.3, 2.7 Split Virtqueues.
 */
#ifndef VIADUCT_RING_DRV_SPLIT_H
#define VIADUCT_RING_DRV_SPLIT_H

#include "ring/desc.h"
#include "ring/drv.h"
#include "ring/event.h"

/* Entry @i of a table of @n, linked to the one behind it
 * [spec: split.indirect.in-order-sequence]. */
static always_inline void split_table_write(void *table, unsigned i, unsigned n,
                                            const struct desc *d)
{
	struct split_desc *e = (struct split_desc *)table + i;
	bool more = i + 1 < n;

	*e = (struct split_desc){ .addr = le64_make(d->addr) };
	e->len = le32_make(d->len);
	e->flags = le16_make(d->flags | (more ? DESC_NEXT : 0));
	e->next = le16_make(more ? i + 1 : 0);
}

/*
 * A descriptor of the chain @id. They come from the FIFO of free ones, so a
 * device that returns in order is given them in ring order
 * [spec: split.desc.in-order-next].
 */
static always_inline void split_desc_write(struct drv *d, uint16_t id,
                                           struct nth nth, const struct desc *w)
{
	uint16_t at = nth.i ? d->free_id[(d->free_at + nth.i) & d->mask] : id;
	uint64_t rest = w->len | (uint64_t)w->flags << 32;
	uint16_t next;

	if (nth.i + 1 < nth.n) {
		next = d->free_id[(d->free_at + nth.i + 1) & d->mask];
		d->slot[at].next = next;
		rest |= (uint64_t)DESC_NEXT << 32 | (uint64_t)next << 48;
	}
	st64(&d->sdesc[at].addr, w->addr);
	st64(&d->sdesc[at].rest, rest);
}

/* How many ids a chain of @n descriptors uses up. */
static always_inline uint32_t split_ids(uint32_t n)
{
	return n;
}

/* The chain @id of @n descriptors is complete: into the available ring. */
static always_inline void split_chain_ready(struct drv *d, uint16_t id,
                                            uint16_t n)
{
	(void)n;
	st16(&d->avail->ring[d->next & d->mask], id);
	d->next++;
}

/* Make all of it available; how many slots that were. */
static always_inline uint16_t split_drv_publish(struct drv *d)
{
	uint16_t n = d->next - d->published;

	if (!n)
		return 0;
	if (unlikely(d->platform)) /* [spec: queue.order-platform.barriers] */
		fence_platform();
	/* [A] entries and descriptors come before
	 * [spec: split.avail.idx.barrier] */
	st16_rel(&d->avail->idx, d->next);
	d->published = d->next;
	return n;
}

/* After publish and the full fence: has the device asked to be kicked?
 * [spec: split.avail-notify.event-sends]
 * [spec: split.avail-notify.flags-zero-sends] */
static always_inline bool split_kick_asked(const struct drv *d, uint32_t added)
{
	if (d->event_idx) /* [spec: split.avail-notify.flags-ignored] */
		return event_passed(ld16((const le16 *)&d->used_ring
		                                 ->ring[d->size]),
		                    d->published, added);
	/* [spec: split.avail-notify.event-ignored] */
	return !(ld16(&d->used_ring->flags) & SPLIT_NO_NOTIFY);
}

/* The next offset of a kick: the next element nobody was shown yet. */
static always_inline uint16_t split_kick_position(const struct drv *d)
{
	return d->published;
}

/* The next used element: 1 and its id and length, 0 none, negative broken. */
static always_inline int split_used_next(struct drv *d, uint16_t *id,
                                         uint32_t *len)
{
	/* [B] pairs with the device's release of used.idx */
	uint16_t idx = ld16_acq(&d->used_ring->idx);
	const struct split_used_elem *e;
	uint32_t wide;

	if (idx == d->used)
		return 0;
	if (unlikely((uint16_t)(idx - d->used) > d->outstanding))
		return drv_break(d, USED_BAD_JUMP);
	if (unlikely(d->platform))
		fence_platform();
	e = &d->used_ring->ring[d->used & d->mask];
	wide = ld32(&e->id);
	if (unlikely(wide >= d->size))
		return drv_break(d, USED_BAD_ID);
	*id = wide;
	*len = ld32(&e->len);
	return 1;
}

/* One buffer of @n descriptors came back: step over its element. */
static always_inline void split_used_advance(struct drv *d, uint16_t n)
{
	(void)n;
	d->used++;
}

/* With IN_ORDER: the head made available behind @id, which had @n. */
static always_inline uint16_t split_id_behind(const struct drv *d, uint16_t id,
                                              uint16_t n)
{
	return (id + n) & d->mask;
}

/* Ask for an interrupt when @after more elements have been used. */
static always_inline void split_call_ask(struct drv *d, unsigned after)
{
	if (d->event_idx) /* flags stay 0 */
		st16(&d->avail->ring[d->size], d->used + after - 1);
	else
		st16(&d->avail->flags, 0);
}

/* Ask for none. With EVENT_IDX the stale event does that
 * [spec: split.used-notify.driver-flags-zero]
 * [spec: split.used-notify.driver-flags]. */
static always_inline void split_call_refuse(struct drv *d)
{
	if (!d->event_idx)
		st16(&d->avail->flags, SPLIT_NO_INTERRUPT);
}

/* Is there anything to reap? */
static always_inline bool split_has_used(const struct drv *d)
{
	return ld16(&d->used_ring->idx) != d->used;
}

#endif
