/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dev_split.h - the device's verbs on a split ring. Only ring/dev.h includes
 * it. dev_packed.h has the same verbs in the same order.
 *
 * Spec: virtio 1.3, 2.7 Split Virtqueues.
 */
#ifndef VIADUCT_RING_DEV_SPLIT_H
#define VIADUCT_RING_DEV_SPLIT_H

#include "ring/desc.h"
#include "ring/event.h"
#include "ring/ring.h"

/* Chains taken and not given. */
static always_inline uint32_t split_held(const struct ring *r)
{
	return (uint16_t)(r->next - r->used);
}

/* One descriptor of the ring or of a table, read once; nothing of ours writes
 * there [spec: split.desc.table-untouched]. */
static always_inline struct desc split_desc_read(const void *table, uint32_t i)
{
	const struct split_desc *g = (const struct split_desc *)table + i;
	uint64_t rest = ld64(&g->rest);

	return (struct desc){ ld64(&g->addr), (uint32_t)rest,
		              (uint16_t)(rest >> 32), (uint16_t)(rest >> 48) };
}

/* How many chains may be taken, at most @max; negative: broken. */
static always_inline int split_pending(struct ring *r, unsigned max)
{
	/* [A] pairs with the driver's release of avail.idx
	 * [spec: split.avail.idx.barrier] */
	uint16_t idx = ld16_acq(&r->avail->idx);
	uint16_t n = idx - r->next;

	/* What is taken and not given still fills the queue
	 * [spec: split.avail.idx.no-decrement]. */
	if (unlikely(n + split_held(r) > r->size))
		return ring_break(r, RING_BAD_JUMP);
	if (n && unlikely(r->platform))
		fence_platform();
	return n < max ? n : max;
}

/* The head of the next chain, and its first descriptor: 1, or negative. */
static always_inline int split_head(struct ring *r, uint16_t *id,
                                    struct desc *d)
{
	uint16_t head = ld16(&r->avail->ring[r->next & r->mask]);

	if (unlikely(head >= r->size))
		return ring_break(r, RING_BAD_HEAD);
	*id = head;
	*d = split_desc_read(r->sdesc, head);
	return 1;
}

/*
 * The next chain, if it is one direct descriptor shorter than MEM_SHORT. False:
 * it is not, or it breaks a rule; split_head() looks again and says which.
 */
static always_inline bool split_plain(const struct run *k, struct plain *p)
{
	uint16_t head = ld16(&k->heads[k->next & k->mask]);

	if (unlikely(head > k->mask))
		return false;
	p->rest = ld64(&k->sdesc[head].rest);
	if (unlikely(p->rest & ((uint64_t)(DESC_NEXT | DESC_INDIRECT) << 32 |
	                        0xffff0000)))
		return false;
	p->addr = ld64(&k->sdesc[head].addr);
	p->id = head;
	return true;
}

/* Step over a plain chain. */
static always_inline void split_run_next(struct run *k)
{
	k->next++;
}

/* The chain is ours: step over the @ndesc slots it fills. */
static always_inline void split_advance(struct ring *r, uint16_t ndesc)
{
	r->next += ndesc;
}

/* Step back over the chain taken last. */
static always_inline void split_retreat(struct ring *r, uint16_t ndesc)
{
	r->next -= ndesc;
}

/* Write a used element; nobody sees it before publish. */
static always_inline void split_give(struct ring *r, const struct chain *c,
                                     uint32_t written)
{
	/* The head's index and the total of the chain, one store
	 * [spec: split.used.len-before-idx]. */
	le64 both = le64_make(c->id | (uint64_t)written << 32);

	__builtin_memcpy(&r->used_ring->ring[r->used & r->mask], &both,
	                 sizeof(both));
	r->used++;
}

/* Make everything given visible with one store; how many slots that were. */
static always_inline uint16_t split_publish(struct ring *r)
{
	uint16_t n = r->used - r->published;

	if (!n)
		return 0;
	if (unlikely(r->platform))
		fence_platform();
	/* [B] elements and data come before
	 * [spec: split.used.data-before-idx] */
	st16_rel(&r->used_ring->idx, r->used);
	r->published = r->used;
	return n;
}

/* After publish and the full fence: has the driver asked to be interrupted?
 * [spec: split.used-notify.event-sends]
 * [spec: split.used-notify.flags-zero-sends] */
static always_inline bool split_call_asked(const struct ring *r, uint32_t added)
{
	if (r->event_idx) /* [spec: split.used-notify.flags-ignored] */
		return event_passed(ld16(&r->avail->ring[r->size]),
		                    r->published, added);
	/* [spec: split.used-notify.event-ignored] */
	return !(ld16(&r->avail->flags) & SPLIT_NO_INTERRUPT);
}

/* Ask the driver to kick when it makes the next chain available. */
static always_inline void split_kick_ask(struct ring *r)
{
	if (r->event_idx)
		st16((le16 *)&r->used_ring->ring[r->size], r->next);
	else
		st16(&r->used_ring->flags, 0);
}

/* Ask it not to. With EVENT_IDX the stale event does that
 * [spec: split.avail-notify.device-flags-zero]
 * [spec: split.avail-notify.device-flags]. */
static always_inline void split_kick_refuse(struct ring *r)
{
	if (!r->event_idx)
		st16(&r->used_ring->flags, SPLIT_NO_NOTIFY);
}

/* Is there anything to take? */
static always_inline bool split_has_work(const struct ring *r)
{
	return ld16(&r->avail->idx) != r->next;
}

#endif
