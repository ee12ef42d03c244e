/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dev_packed.h - the device's verbs on a packed ring. Only ring/dev.h includes
 * it. dev_split.h has the same verbs in the same order.
 *
 * The second half of a descriptor (len, id, flags) is read and written as one
 * word: the flags that say whose the descriptor is cannot be torn from what
 * they vouch for.
 *
 * Spec: virtio 1.3, 2.8 Packed Virtqueues.
 */
#ifndef VIADUCT_RING_DEV_PACKED_H
#define VIADUCT_RING_DEV_PACKED_H

#include "ring/dev_split.h"

/* Slots between the oldest one not given and the next one to take. */
static always_inline uint32_t packed_held(const struct ring *r)
{
	uint32_t lap = r->next_wrap == r->used_wrap ? 0 : r->size;

	return r->next + lap - r->used;
}

static always_inline struct desc packed_desc_read(const void *table, uint32_t i)
{
	const struct packed_desc *g = (const struct packed_desc *)table + i;
	/* [E] pairs with the driver's release of the head's flags */
	uint64_t rest = ld64_acq(&g->rest);

	return (struct desc){ ld64(&g->addr), (uint32_t)rest,
		              (uint16_t)(rest >> 48), (uint16_t)(rest >> 32) };
}

/* Nobody counts available chains here: each head tells for itself. */
static always_inline int packed_pending(struct ring *r, unsigned max)
{
	uint32_t free = r->size - packed_held(r);

	/* All of it is taken and not given: nothing more can be offered. */
	if (unlikely(!free) &&
	    packed_is_available(ld16(&r->pdesc[r->next].flags), r->next_wrap))
		return ring_break(r, RING_CHAIN_OPEN);
	return min_of(max, free);
}

/* 0: none available. The id is the last descriptor's; this one's for now. */
static always_inline int packed_head(struct ring *r, uint16_t *id,
                                     struct desc *d)
{
	*d = packed_desc_read(r->pdesc, r->next);
	if (!packed_is_available(d->flags, r->next_wrap))
		return 0;
	if (unlikely(r->platform)) {
		fence_platform();
		*d = packed_desc_read(r->pdesc, r->next);
	}
	*id = d->last;
	return 1;
}

/* On to the next descriptor in the order of the ring
 * [spec: packed.order.start-in-ring-order]. */
static always_inline bool packed_plain(const struct run *k, struct plain *p)
{
	/* [E] pairs with the driver's release of the head's flags */
	uint64_t rest = ld64_acq(&k->pdesc[k->next].rest);
	uint64_t marks = packed_avail_marks(k->wrap);

	if ((rest ^ marks << 48) &
	    ((uint64_t)(PACKED_AVAIL | PACKED_USED | DESC_NEXT | DESC_INDIRECT)
	             << 48 |
	     0xffff0000))
		return false;
	p->addr = ld64(&k->pdesc[k->next].addr);
	p->rest = rest;
	p->id = (uint16_t)(rest >> 32);
	return true;
}

static always_inline void packed_run_next(struct run *k)
{
	if (unlikely(++k->next == k->size)) {
		k->next = 0;
		k->wrap = !k->wrap;
	}
}

static always_inline void packed_advance(struct ring *r, uint16_t ndesc)
{
	uint32_t next = r->next + ndesc;

	if (next >= r->size) {
		next -= r->size;
		r->next_wrap = !r->next_wrap;
	}
	r->next = next;
}

static always_inline void packed_retreat(struct ring *r, uint16_t ndesc)
{
	uint32_t next = r->next;

	if (next < ndesc) {
		next += r->size;
		r->next_wrap = !r->next_wrap;
	}
	r->next = next - ndesc;
}

/* WRITE says that something was written [spec: packed.used.write-flag]; used
 * descriptors stand in the order of the gives
 * [spec: packed.order.used-as-completed]. */
static always_inline void packed_give(struct ring *r, const struct chain *c,
                                      uint32_t written)
{
	struct packed_desc *slot = &r->pdesc[r->used];
	uint64_t flags =
		packed_used_marks(r->used_wrap) | (written ? DESC_WRITE : 0);
	uint64_t rest = written | (uint64_t)c->id << 32 | flags << 48;
	uint32_t used = r->used + c->ndesc;

	/* The first one of a publish hides those behind it: the driver looks
	 * at one slot at a time [spec: packed.next.one-used]
	 * [spec: packed.multi-buffer]. */
	if (!r->first) {
		r->first = slot;
		r->first_rest = rest;
	} else {
		st64(&slot->rest, rest);
	}
	if (used >= r->size) {
		used -= r->size;
		r->used_wrap = !r->used_wrap;
	}
	r->used = used;
	r->published += c->ndesc;
}

static always_inline uint16_t packed_publish(struct ring *r)
{
	uint16_t n = r->published;

	if (!r->first)
		return 0;
	if (unlikely(r->platform))
		fence_platform();
	/* [F] the rest is before it [spec: packed.desc.no-change-after-used] */
	st64_rel(&r->first->rest, r->first_rest);
	r->first = NULL;
	r->published = 0;
	return n;
}

static always_inline bool packed_call_asked(const struct ring *r,
                                            uint32_t added)
{
	struct event_packed at = { r->size, r->used, r->used_wrap, r->event_idx,
		                   added };

	if (unlikely(r->first)) { /* published ends where the withheld begin */
		at.now = r->first - r->pdesc;
		at.wrap ^= at.now >= r->used;
	}
	return event_packed_passed(ld32(&r->driver_event->both), at);
}

static always_inline void packed_kick_ask(struct ring *r)
{
	uint32_t ask = PACKED_EVENT_ENABLE << 16;

	if (r->event_idx)
		ask = PACKED_EVENT_DESC << 16 | r->next |
		      (r->next_wrap ? PACKED_WRAP : 0);
	st32(&r->device_event->both, ask);
}

static always_inline void packed_kick_refuse(struct ring *r)
{
	st32(&r->device_event->both, PACKED_EVENT_DISABLE << 16);
}

static always_inline bool packed_has_work(const struct ring *r)
{
	return packed_is_available(ld16(&r->pdesc[r->next].flags),
	                           r->next_wrap);
}

#endif
