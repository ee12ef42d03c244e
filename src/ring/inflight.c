/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * inflight.c - the record of what a device holds. Freestanding.
 *
 * Both layouts keep a flag and a counter a chain. A packed ring overwrites its
 * descriptors, so its record holds copies, in entries of their own that hang in
 * lists; the order of the stores is what makes a kill at any point recoverable,
 * and fence_program() keeps it.
 *
 * Spec: vhost-user, Inflight I/O Tracking.
 */
#include "ring/inflight.h"
#include "ring/dev.h"

size_t inflight_bytes(bool packed, uint32_t size)
{
	size_t n = packed ? sizeof(struct inflight_packed) + 32 * (size_t)size
	                  : sizeof(struct inflight_split) + 16 * (size_t)size;

	return (n + INFLIGHT_ALIGN - 1) & ~(size_t)(INFLIGHT_ALIGN - 1);
}

/* --- taking ------------------------------------------------------------- */

static int take_split(struct ring *r, const struct chain *c)
{
	struct inflight *in = r->inflight;
	struct inflight_split_desc *e = &in->split->desc[c->id];

	if (ld8(&e->inflight))
		return ring_break(r, RING_TWICE);
	st64h(&e->counter, in->counter++);
	fence_program();
	st8(&e->inflight, 1);
	return 0;
}

/* Copy a list into free entries: the first one stands for the whole. */
static int take_packed(struct ring *r, struct chain *c)
{
	struct inflight *in = r->inflight;
	struct inflight_packed *p = in->packed;
	uint32_t entry = in->free_head, slot = r->next, last = entry;

	c->entry = entry;
	for (unsigned i = 0; i < c->ndesc; i++) {
		struct inflight_packed_desc *e = &p->desc[entry];
		struct desc d = packed_desc_read(r->pdesc, slot);

		if (entry >= in->size)
			return ring_break(r, RING_BAD_RECORD);
		e->addr = d.addr;
		e->len = d.len;
		e->flags = d.flags;
		e->id = i + 1 < c->ndesc ? d.last : c->id;
		last = entry;
		entry = ld16h(&e->next);
		if (++slot == r->size)
			slot = 0;
	}
	p->desc[c->entry].last = last;
	p->desc[c->entry].num = c->ndesc;
	p->desc[c->entry].counter = in->counter++;
	fence_program();
	st8(&p->desc[c->entry].inflight, 1);
	fence_program();
	st16h(&p->free_head, entry);
	st16h(&p->old_free_head, entry);
	in->free_head = entry;
	return 0;
}

int inflight_take(struct ring *r, struct chain *c)
{
	c->again = false;
	return r->packed ? take_packed(r, c) : take_split(r, c);
}

bool inflight_untake(struct ring *r, const struct chain *c)
{
	struct inflight *in = r->inflight;
	uint16_t last;

	if (c->again) {
		in->again_at--;
		in->held += c->ndesc;
		return true;
	}
	if (!r->packed) {
		st8(&in->split->desc[c->id].inflight, 0);
		return false;
	}
	/* Nothing given is unpublished (dev.h), so one list is free for good;
	 * what came into it since the take has to stay. */
	last = ld16h(&in->packed->desc[c->entry].last);
	if (last >= in->size) {
		ring_break(r, RING_BAD_RECORD);
		return false;
	}
	st16h(&in->packed->desc[last].next, in->free_head);
	fence_program();
	in->free_head = c->entry;
	st16h(&in->packed->free_head, c->entry);
	st16h(&in->packed->old_free_head, c->entry);
	fence_program();
	st8(&in->packed->desc[c->entry].inflight, 0);
	return false;
}

/* --- giving ------------------------------------------------------------- */

void inflight_give(struct ring *r, const struct chain *c)
{
	struct inflight *in = r->inflight;

	if (r->packed) {
		struct inflight_packed_desc *e = &in->packed->desc[c->entry];
		uint16_t last = ld16h(&e->last);

		if (last >= in->size) {
			ring_break(r, RING_BAD_RECORD);
			return;
		}
		st16h(&in->packed->desc[last].next, in->free_head);
		fence_program();
		st16h(&in->packed->free_head, c->entry);
		in->free_head = c->entry;
		in->given[in->ngiven++] = c->entry;
		return;
	}
	st16h(&in->split->desc[c->id].next, ld16h(&in->split->last_batch_head));
	fence_program();
	st16h(&in->split->last_batch_head, c->id);
	in->given[in->ngiven++] = c->id;
}

void inflight_before_publish(struct ring *r)
{
	struct inflight_packed *p = r->inflight->packed;

	if (!r->packed || !r->inflight->ngiven)
		return;
	st16h(&p->used_idx, r->used);
	st8(&p->used_wrap_counter, r->used_wrap);
	fence_program();
}

void inflight_after_publish(struct ring *r)
{
	struct inflight *in = r->inflight;
	struct inflight_packed *p = in->packed;

	fence_program();
	while (in->ngiven) {
		uint16_t e = in->given[--in->ngiven];

		st8(r->packed ? &p->desc[e].inflight
		              : &in->split->desc[e].inflight,
		    0);
	}
	fence_program();
	if (!r->packed) {
		st16h(&in->split->used_idx, r->used);
		return;
	}
	st16h(&p->old_free_head, in->free_head);
	st16h(&p->old_used_idx, r->used);
	st8(&p->old_used_wrap_counter, r->used_wrap);
}

/* --- taking again ------------------------------------------------------- */

bool inflight_read(const struct inflight *in, uint32_t entry, struct desc *d,
                   uint32_t *behind)
{
	const struct inflight_packed_desc *e;

	if (entry >= in->size)
		return false;
	e = &in->packed->desc[entry];
	*d = (struct desc){ ld64h(&e->addr), e->len, ld16h(&e->flags),
		            ld16h(&e->id) };
	*behind = ld16h(&e->next);
	return true;
}

static int again_one(struct ring *r, struct burst *b, unsigned max_segs)
{
	struct inflight *in = r->inflight;
	struct chain *c = &b->chain[b->n];
	uint16_t entry = in->again[in->again_at];
	bool more = in->again_at + 1 < in->again_end;
	int64_t left;
	uint32_t behind;
	struct desc d;
	int err;

	c->again = true;
	c->entry = c->id = entry;
	c->ndesc = 1;
	if (!r->packed) {
		d = split_desc_read(r->sdesc, entry);
		return ring_walk_split(r, b, c, &d, max_segs);
	}
	if (!inflight_read(in, entry, &d, &behind))
		return ring_break(r, RING_BAD_RECORD);
	c->id = d.last;
	err = ring_walk_packed(r, b, c, &d, max_segs);
	if (err)
		return err;
	/* The lists fill what the record said they fill, or the used position
	 * would meet the next one too early, or never. */
	left = (int64_t)in->held - c->ndesc;
	if (left < 0 || (!left && more) || (left && !more))
		return ring_break(r, RING_BAD_RECORD);
	in->held = left;
	return 0;
}

int inflight_take_again(struct ring *r, struct burst *b, unsigned max)
{
	struct inflight *in = r->inflight;
	unsigned from = b->n;
	int err = 0;

	while (max-- && in->again_at < in->again_end) {
		err = again_one(r, b, b->max_segs);
		if (err)
			break;
		in->again_at++;
		count_add(&r->count.chains, 1);
		count_add(&r->count.bytes_read, b->chain[b->n].read_len);
		b->n++;
	}
	if (err == RING_ENOSPC && !b->n)
		err = ring_break(r, RING_TOO_SCATTERED);
	if (b->n > from)
		return b->n - from;
	return err == RING_ENOSPC ? 0 : err;
}

/* --- attaching ---------------------------------------------------------- */

static uint64_t counter_of(const struct inflight *in, bool packed, uint16_t e)
{
	return packed ? ld64h(&in->packed->desc[e].counter)
	              : ld64h(&in->split->desc[e].counter);
}

/* Move again[at] down until the heap below it holds (largest on top). */
static void sift(struct inflight *in, bool packed, uint32_t at, uint32_t n)
{
	for (;;) {
		uint32_t child = 2 * at + 1;
		uint16_t x = in->again[at];

		if (child >= n)
			return;
		if (child + 1 < n &&
		    counter_of(in, packed, in->again[child + 1]) >
		            counter_of(in, packed, in->again[child]))
			child++;
		if (counter_of(in, packed, x) >=
		    counter_of(in, packed, in->again[child]))
			return;
		in->again[at] = in->again[child];
		in->again[child] = x;
		at = child;
	}
}

/* Sort what is to be taken again by the order in which it was taken. */
static void sort_again(struct inflight *in, bool packed)
{
	uint32_t n = in->again_end;

	for (uint32_t i = n / 2; i--;)
		sift(in, packed, i, n);
	while (n > 1) {
		uint16_t x = in->again[--n];

		in->again[n] = in->again[0];
		in->again[0] = x;
		sift(in, packed, 0, n);
	}
	n = in->again_end;
	if (n)
		in->counter = counter_of(in, packed, in->again[n - 1]) + 1;
}

static int recover_split(struct ring *r, struct inflight *in)
{
	struct inflight_split *s = in->split;
	uint16_t batch = r->used - ld16h(&s->used_idx);
	uint16_t head = ld16h(&s->last_batch_head);

	if (batch > in->size)
		return RING_EINVAL;
	while (batch--) {
		if (head >= in->size)
			return RING_EINVAL;
		st8(&s->desc[head].inflight, 0);
		head = ld16h(&s->desc[head].next);
	}
	st16h(&s->used_idx, r->used);
	for (uint32_t i = 0; i < in->size; i++)
		if (ld8(&s->desc[i].inflight))
			in->again[in->again_end++] = i;
	r->next = r->used + in->again_end;
	return in->again_end;
}

/* Finish or undo what was under way when the predecessor died. */
static void settle_packed(struct ring *r, struct inflight_packed *p)
{
	uint16_t slot = p->old_used_idx;
	bool wrap = p->old_used_wrap_counter;
	uint16_t flags;

	if (p->used_idx != slot || p->used_wrap_counter != wrap) {
		flags = slot < r->size ? ld16(&r->pdesc[slot].flags) : 0;
		if (slot < r->size && !packed_is_available(flags, wrap)) {
			p->old_free_head = p->free_head;
			p->old_used_idx = p->used_idx;
			p->old_used_wrap_counter = p->used_wrap_counter;
		}
	}
	p->free_head = p->old_free_head;
	p->used_idx = p->old_used_idx;
	p->used_wrap_counter = p->old_used_wrap_counter;
}

/* Nothing in the free list is in flight; how many entries it has. */
static uint32_t sweep_free(struct inflight *in)
{
	uint32_t at = in->free_head, n = 0;

	while (at < in->size && n < in->size) {
		st8(&in->packed->desc[at].inflight, 0);
		at = ld16h(&in->packed->desc[at].next);
		n++;
	}
	return n;
}

/* Used descriptors behind the first one of a batch are written before that one
 * is published. Of a batch that never was, they still stand there, and the
 * driver would come upon them after our first give. */
static void unmark(struct ring *r, uint32_t held)
{
	uint32_t slot = r->used;
	bool wrap = r->used_wrap;

	while (held--) {
		st16(&r->pdesc[slot].flags, packed_avail_marks(wrap));
		if (++slot == r->size) {
			slot = 0;
			wrap = !wrap;
		}
	}
}

static int recover_packed(struct ring *r, struct inflight *in)
{
	struct inflight_packed *p = in->packed;
	uint32_t held = 0, num;

	settle_packed(r, p);
	in->free_head = ld16h(&p->free_head);
	r->used = ld16h(&p->used_idx);
	r->used_wrap = ld8(&p->used_wrap_counter);
	if (r->used >= r->size)
		return RING_EINVAL;
	num = sweep_free(in);
	for (uint32_t i = 0; i < in->size; i++) {
		if (!ld8(&p->desc[i].inflight))
			continue;
		in->again[in->again_end++] = i;
		held += ld16h(&p->desc[i].num);
	}
	/* Each entry is either free or part of a list that is held. */
	if (held + num != in->size)
		return RING_EINVAL;
	in->held = held;
	unmark(r, held);
	r->next = r->used;
	r->next_wrap = r->used_wrap;
	packed_advance(r, held);
	return in->again_end;
}

static void init_record(struct ring *r, struct inflight *in)
{
	if (r->packed) {
		struct inflight_packed *p = in->packed;

		for (uint32_t i = 0; i < in->size; i++)
			p->desc[i] =
				(struct inflight_packed_desc){ .next = i + 1 };
		p->free_head = p->old_free_head = 0;
		p->used_idx = p->old_used_idx = r->used;
		p->used_wrap_counter = p->old_used_wrap_counter = r->used_wrap;
		p->desc_num = in->size;
		fence_program();
		st16h(&p->version, INFLIGHT_VERSION);
		return;
	}
	in->split->used_idx = r->used;
	in->split->desc_num = in->size;
	fence_program();
	st16h(&in->split->version, INFLIGHT_VERSION);
}

int inflight_attach(struct ring *r, struct inflight *in, void *region,
                    uint16_t *scratch)
{
	uint16_t version, num;
	int n = 0;

	*in = (struct inflight){ .size = r->size };
	in->split = region;
	in->given = scratch;
	in->again = scratch + r->size;
	version = ld16h(&in->split->version);
	num = ld16h(&in->split->desc_num);
	if (!version) {
		init_record(r, in);
	} else {
		if (version != INFLIGHT_VERSION || num != r->size)
			return RING_EINVAL;
		n = r->packed ? recover_packed(r, in) : recover_split(r, in);
		if (n < 0)
			return n;
		sort_again(in, r->packed);
	}
	r->inflight = in;
	return n;
}
