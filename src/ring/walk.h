/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.h - from a head to the segments of its chain. Only ring/dev.c includes
 * it: the chains that are one direct descriptor never come here (dev.h).
 *
 * One loop for direct chains and indirect tables: a table is only another
 * (base, count). Every descriptor is read once; a chain ends after as many
 * descriptors as the queue has, tables do not nest, every piece lies in guest
 * memory. What breaks a rule breaks the ring by name.
 *
 * Spec: virtio 1.3, 2.7.5 The Virtqueue Descriptor Table; 2.8.6 Next Flag:
 * Descriptor Chaining; 2.8.7 Indirect Flag: Scatter-Gather Support.
 */
#ifndef VIADUCT_RING_WALK_H
#define VIADUCT_RING_WALK_H

#include "ring/dev_packed.h"
#include "ring/inflight.h"

struct walk {
	struct ring *r;
	struct burst *b;
	struct chain *c;
	unsigned max_segs; /* the chain's segments end here in b->seg */
	unsigned nseg;
	uint64_t total; /* bytes */

	/* The table we are in. */
	const void *base; /* NULL: not in one aligned piece, read by bytes */
	uint64_t gpa;
	uint32_t count;
	bool indirect;

	/* Taking again from a packed ring: the record stands for the ring. */
	const struct inflight *record;
	uint32_t behind; /* entry behind the one read last */
};

/* A descriptor of a table that lies across regions, or unaligned. */
static bool walk_read_bytes(struct walk *w, uint32_t i, void *to)
{
	uint64_t gpa = w->gpa + (uint64_t)i * sizeof(struct split_desc);
	uint8_t *out = to;
	size_t left = sizeof(struct split_desc);

	while (left) {
		size_t n = left;
		const uint8_t *in = mem_piece(w->r->mem, &w->r->hit, gpa, &n);

		if (!in)
			return false;
		left -= n;
		gpa += n;
		while (n--)
			*out++ = ld8(in++);
	}
	return true;
}

static always_inline int walk_read(struct walk *w, uint32_t i, struct desc *d,
                                   const unsigned v)
{
	struct split_desc copy;
	const void *base = w->base;

	if (v & V_PACKED && unlikely(w->record)) {
		if (inflight_read(w->record, i, d, &w->behind))
			return 0;
		return ring_break(w->r, RING_BAD_RECORD);
	}
	if (unlikely(!base)) {
		if (!walk_read_bytes(w, i, &copy))
			return ring_break(w->r, RING_TABLE_ADDRESS);
		base = &copy;
		i = 0;
	}
	*d = v & V_PACKED ? packed_desc_read(base, i)
	                  : split_desc_read(base, i);
	return 0;
}

/* Add one buffer, in as many pieces as regions make of it; where a message is
 * divided means nothing here [spec: split.framing.no-assumption]. */
static int walk_add(struct walk *w, const struct desc *d)
{
	struct chain *c = w->c;
	bool write = d->flags & DESC_WRITE;
	uint64_t gpa = d->addr;
	size_t left = d->len;

	/* [spec: split.framing.readable-first] */
	if (!write && c->nwrite)
		return ring_break(w->r, RING_BAD_ORDER);
	w->total += left;
	if (w->total > UINT32_MAX) /* [spec: split.desc.total-4g] */
		return ring_break(w->r, RING_TOO_LONG);
	if (write)
		c->write_len += left;
	else
		c->read_len += left;
	while (left) {
		size_t n = left;
		void *p = mem_piece(w->r->mem, &w->r->hit, gpa, &n);

		if (!p)
			return ring_break(w->r, RING_BAD_ADDRESS);
		if (w->nseg == w->max_segs)
			return RING_ENOSPC;
		if (w->b->gpa)
			w->b->gpa[w->nseg] = gpa;
		w->b->seg[w->nseg++] = (struct seg){ p, n };
		if (write)
			c->nwrite++;
		else
			c->nread++;
		left -= n;
		gpa += n;
	}
	return 0;
}

/* Go from the descriptor @d into the table it points to. */
static always_inline int walk_enter(struct walk *w, const struct desc *d,
                                    const unsigned v)
{
	size_t n = d->len;

	/* WRITE on @d means nothing [spec: split.indirect.write-flag-ignored]
	 * [spec: packed.indirect.flags-ignored]. */
	if (!w->r->indirect) /* [spec: split.indirect.negotiated] */
		return ring_break(w->r, RING_TABLE_REFUSED);
	if (w->indirect) /* [spec: split.indirect.no-nesting] */
		return ring_break(w->r, RING_TABLE_NESTED);
	/* [spec: split.indirect.no-next] [spec: split.indirect.after-direct] */
	if (d->flags & DESC_NEXT || (v & V_PACKED && w->c->ndesc > 1))
		return ring_break(w->r, RING_TABLE_CHAINED);
	if (!d->len || d->len % sizeof(struct split_desc))
		return ring_break(w->r, RING_TABLE_SIZE);
	w->indirect = true;
	w->record = NULL;
	w->gpa = d->addr;
	w->count = d->len / sizeof(struct split_desc);
	w->base = mem_piece(w->r->mem, &w->r->hit, d->addr, &n);
	if (!w->base)
		return ring_break(w->r, RING_TABLE_ADDRESS);
	if (n != d->len || (uintptr_t)w->base % sizeof(uint64_t))
		w->base = NULL;
	return 0;
}

/*
 * The index behind @i: 1 and @i moved, 0 at the chain's end, or negative.
 * In a packed table every entry counts and NEXT means nothing
 * [spec: packed.indirect.flags-ignored]; in a packed ring the list goes on in
 * the next slot [spec: packed.list.same-order].
 */
static always_inline int walk_next(struct walk *w, uint32_t *i,
                                   const struct desc *d, const unsigned v)
{
	if (v & V_PACKED && w->indirect)
		return ++*i < w->count;
	if (!(d->flags & DESC_NEXT))
		return 0;
	if (v & V_PACKED) {
		if (++*i == w->count)
			*i = 0;
		if (w->record)
			*i = w->behind;
		w->c->ndesc++;
		return 1;
	}
	if (d->last >= w->count)
		return ring_break(w->r, RING_BAD_NEXT);
	*i = d->last;
	return 1;
}

/* Packed: a later descriptor of a list is available too, in its own lap
 * [spec: packed.next.flags-everywhere]. */
static always_inline bool walk_is_open(const struct walk *w, uint32_t i,
                                       const struct desc *d)
{
	bool wrap = i < w->r->next ? !w->r->next_wrap : w->r->next_wrap;

	return !w->indirect && !w->record &&
	       !packed_is_available(d->flags, wrap);
}

/**
 * walk() - gather the chain that begins with @d
 * @w: r, b, c, nseg and max_segs set, the rest zero
 * @d: its first descriptor, as it was read
 *
 * Return: 0 the chain is complete; RING_ENOSPC it needs more segments than
 * there are; RING_EBADMSG.
 */
static always_inline int walk(struct walk *w, struct desc d, const unsigned v)
{
	uint32_t i = v & V_PACKED ? w->r->next : w->c->id;
	uint32_t left = w->r->size;
	int err;

	if (v & V_PACKED && w->c->again) {
		i = w->c->entry;
		w->record = w->r->inflight;
		err = walk_read(w, i, &d, v);
		if (err)
			return err;
	} else if (v & V_PACKED) {
		left -= packed_held(w->r);
	}
	w->base = w->r->sdesc;
	w->count = w->r->size;
	for (;;) {
		if (d.flags & DESC_INDIRECT && !(v & V_PACKED && w->indirect)) {
			err = walk_enter(w, &d, v);
			if (err)
				return err;
			if (v & V_PACKED)
				left = w->r->size;
			i = 0;
		} else {
			/* [spec: split.indirect.within-queue-size] */
			if (!left--)
				return ring_break(w->r,
				                  v & V_PACKED && !w->indirect
				                          ? RING_CHAIN_OPEN
				                          : RING_LOOP);
			err = walk_add(w, &d);
			if (err)
				return err;
			err = walk_next(w, &i, &d, v);
			if (err <= 0)
				break;
		}
		err = walk_read(w, i, &d, v);
		if (err)
			return err;
		if (v & V_PACKED && walk_is_open(w, i, &d))
			return ring_break(w->r, RING_CHAIN_OPEN);
	}
	if (v & V_PACKED && !w->indirect)
		w->c->id = d.last; /* [spec: packed.next.id-in-last] */
	return err;
}

#endif
