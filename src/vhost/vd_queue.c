/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vd_queue.c - <viaduct/queue.h>: chains one by one, held as long as the
 * application likes.
 */
#include "vhost/vd_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "poll/pump.h"

/* vd_chain.opaque: slot, start of the queue it belongs to. */
enum { SLOT, LIFE };

_Static_assert(VD_CHAINS_MAX == 64, "one bit a slot");
_Static_assert(sizeof(struct seg) == sizeof(struct iovec), "see base/iov.c");

struct held *held_new(void)
{
	struct held *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	/* Large and hardly used: the system gives pages when touched. */
	h->seg = calloc((size_t)VD_CHAINS_MAX * RING_SEGS, sizeof(*h->seg));
	h->gpa = calloc((size_t)VD_CHAINS_MAX * RING_SEGS, sizeof(*h->gpa));
	if (!h->seg || !h->gpa) {
		held_free(h);
		return NULL;
	}
	for (unsigned i = 0; i < VD_CHAINS_MAX; i++) {
		h->slot[i] = (struct burst){
			.chain = &h->chain[i],
			.seg = h->seg + (size_t)i * RING_SEGS,
			.gpa = h->gpa + (size_t)i * RING_SEGS,
			.max_chains = 1,
			.max_segs = RING_SEGS,
		};
	}
	held_clear(h);
	return h;
}

void held_free(struct held *h)
{
	if (!h)
		return;
	free(h->seg);
	free(h->gpa);
	free(h);
}

void held_clear(struct held *h)
{
	h->free = UINT64_MAX;
	h->life++;
	h->full = h->idle = false;
}

static void fill(struct vd_chain *to, const struct held *h, unsigned slot)
{
	const struct burst *b = &h->slot[slot];
	const struct chain *c = b->chain;
	const struct iovec *v = (const void *)(b->seg + c->first);

	*to = (struct vd_chain){
		.out = v,
		.nout = c->nread,
		.in = v + c->nread,
		.nin = c->nwrite,
		.out_len = c->read_len,
		.in_len = c->write_len,
		.opaque = { [SLOT] = slot, [LIFE] = h->life },
	};
}

/* Nothing to take: whoever left chains before wants to hear of new ones. */
static int nothing(struct vd_queue *q, struct held *h)
{
	if (h->idle)
		pump_wake(q->pump);
	h->idle = false;
	return 0;
}

int vd_queue_take(struct vd_queue *q, struct vd_chain *c)
{
	struct held *h = q->priv;
	struct burst *b;
	unsigned slot;
	int n;

	if (!q->started)
		return -ENOTCONN;
	if (!h->free) {
		h->full = true;
		return -ENOBUFS;
	}
	slot = (unsigned)__builtin_ctzll(h->free);
	b = &h->slot[slot];
	b->n = b->nseg = 0;
	n = ring_take_any(&q->ring, b, 1);
	if (n < 0) {
		queue_fault_report(q);
		return -EBADMSG;
	}
	if (n == 0)
		return nothing(q, h);
	h->free &= ~(UINT64_C(1) << slot);
	h->taken++;
	fill(c, h, slot);
	return 1;
}

int vd_queue_give(struct vd_queue *q, const struct vd_chain *c, size_t written)
{
	struct held *h = q->priv;
	uint64_t slot = c->opaque[SLOT];

	if (!q->started || c->opaque[LIFE] != h->life)
		return -ESTALE;
	if (slot >= VD_CHAINS_MAX || h->free & UINT64_C(1) << slot ||
	    written > h->chain[slot].write_len)
		return -EINVAL;
	if (q->ring.fault)
		return -EBADMSG;
	ring_give_any(&q->ring, &h->slot[slot], &h->chain[slot],
	              (uint32_t)written);
	h->free |= UINT64_C(1) << slot;
	if (h->full)
		pump_wake(q->pump);
	h->full = false;
	return 0;
}

void vd_queue_flush(struct vd_queue *q)
{
	if (queue_is_visitable(q))
		queue_flush(q);
}

unsigned vd_queue_index(const struct vd_queue *q)
{
	return q->index;
}

const char *vd_queue_fault(const struct vd_queue *q)
{
	return ring_fault_word(q->ring.fault);
}
