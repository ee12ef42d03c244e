/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drv_packed.h - the driver's verbs on a packed ring. Only ring/drv.c includes
 * it. drv_split.h has the same verbs in the same order.
 *
 * Spec: virtio 1.3, 2.8 Packed Virtqueues.
 */
#ifndef VIADUCT_RING_DRV_PACKED_H
#define VIADUCT_RING_DRV_PACKED_H

#include "ring/drv_split.h"

/* Entries of a packed table follow each other; only WRITE means anything
 * [spec: packed.indirect.only-write-flag]. */
static always_inline void packed_table_write(void *table, unsigned i,
                                             unsigned n, const struct desc *d)
{
	struct packed_desc *e = (struct packed_desc *)table + i;

	(void)n;
	*e = (struct packed_desc){ .addr = le64_make(d->addr) };
	e->rest = le64_make(d->len | (uint64_t)d->flags << 48);
}

/*
 * A slot of the list @id. The first one of a publish is withheld: while
 * it is not available the device sees none behind it
 * [spec: packed.list.head-last].
 */
static always_inline void packed_desc_write(struct drv *d, uint16_t id,
                                            struct nth nth,
                                            const struct desc *w)
{
	uint32_t at = d->next + nth.i;
	bool wrap = d->next_wrap;
	struct packed_desc *slot;
	uint64_t flags, rest;

	if (at >= d->size) {
		at -= d->size;
		wrap = !wrap;
	}
	/* [spec: packed.next.flags-everywhere]
	 * [spec: packed.next.id-in-last] */
	flags = w->flags | (nth.i + 1 < nth.n ? DESC_NEXT : 0) |
	        packed_avail_marks(wrap);
	rest = w->len | (uint64_t)id << 32 | flags << 48;
	slot = &d->pdesc[at];
	st64(&slot->addr, w->addr);
	if (d->first) {
		st64(&slot->rest, rest);
	} else {
		d->first = slot;
		d->first_rest = rest;
	}
}

static always_inline uint32_t packed_ids(uint32_t n)
{
	(void)n;
	return 1;
}

static always_inline void packed_chain_ready(struct drv *d, uint16_t id,
                                             uint16_t n)
{
	uint32_t next = d->next + n;

	(void)id;
	if (next >= d->size) {
		next -= d->size;
		d->next_wrap = !d->next_wrap;
	}
	d->next = next;
	d->published += n;
}

static always_inline uint16_t packed_drv_publish(struct drv *d)
{
	uint16_t n = d->published;

	if (!d->first)
		return 0;
	if (unlikely(d->platform)) /* [spec: queue.order-platform.barriers] */
		fence_platform();
	/* [F] everything else comes before, nothing is changed behind
	 * [spec: packed.desc.flags-barrier]
	 * [spec: packed.desc.no-change-after-avail] */
	st64_rel(&d->first->rest, d->first_rest);
	d->first = NULL;
	d->published = 0;
	return n;
}

static always_inline bool packed_kick_asked(const struct drv *d, uint32_t added)
{
	struct event_packed at = { d->size, d->next, d->next_wrap, d->event_idx,
		                   added };

	if (unlikely(d->first)) { /* published ends where the withheld begin */
		at.now = d->first - d->pdesc;
		at.wrap ^= at.now >= d->next;
	}
	return event_packed_passed(ld32(&d->device_event->both), at);
}

/* [spec: packed.notify-data.position] */
static always_inline uint16_t packed_kick_position(const struct drv *d)
{
	uint16_t now = d->first ? d->first - d->pdesc : d->next;
	bool wrap = d->next_wrap ^ (d->first && now >= d->next);

	return now | (wrap ? PACKED_WRAP : 0);
}

/* Slots are free again only after their USED mark was seen here
 * [spec: packed.desc.used-observed]; NEXT means nothing in it
 * [spec: packed.next.reserved-in-used]. */
static always_inline int packed_used_next(struct drv *d, uint16_t *id,
                                          uint32_t *len)
{
	/* [E] pairs with the device's release of the used flags */
	uint64_t rest = ld64_acq(&d->pdesc[d->used].rest);
	uint16_t flags = rest >> 48;

	if ((flags & (PACKED_AVAIL | PACKED_USED)) !=
	            packed_used_marks(d->used_wrap) ||
	    !d->outstanding)
		return 0;
	if (unlikely(d->platform))
		fence_platform();
	*id = rest >> 32;
	if (unlikely(*id >= d->size))
		return drv_break(d, USED_BAD_ID);
	/* [spec: packed.used.len-only-written] */
	*len = flags & DESC_WRITE ? (uint32_t)rest : 0;
	return 1;
}

static always_inline void packed_used_advance(struct drv *d, uint16_t n)
{
	uint32_t used = d->used + n;

	if (used >= d->size) {
		used -= d->size;
		d->used_wrap = !d->used_wrap;
	}
	d->used = used;
}

static always_inline uint16_t packed_id_behind(const struct drv *d, uint16_t id,
                                               uint16_t n)
{
	(void)n;
	return id + 1u == d->size ? 0 : id + 1;
}

static always_inline void packed_call_ask(struct drv *d, unsigned after)
{
	uint32_t ask = PACKED_EVENT_ENABLE << 16;

	if (d->event_idx) {
		uint32_t at = d->used + after - 1;
		bool wrap = d->used_wrap;

		if (at >= d->size) {
			at -= d->size;
			wrap = !wrap;
		}
		ask = PACKED_EVENT_DESC << 16 | at | (wrap ? PACKED_WRAP : 0);
	}
	st32(&d->driver_event->both, ask);
}

static always_inline void packed_call_refuse(struct drv *d)
{
	st32(&d->driver_event->both, PACKED_EVENT_DISABLE << 16);
}

static always_inline bool packed_has_used(const struct drv *d)
{
	uint16_t flags = ld16(&d->pdesc[d->used].flags);

	return (flags & (PACKED_AVAIL | PACKED_USED)) ==
	       packed_used_marks(d->used_wrap);
}

#endif
