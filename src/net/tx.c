/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tx.c - a burst of frames out of a guest's transmit ring.
 *
 * The way of a frame, in tx_burst():
 *
 *   ring_take        up to 32 chains                         ring/dev.h
 *   tx_read          each becomes a frame (hdr_read), or is bad
 *   tx->input        all of them at once; says how many it took
 *   ring_untake      the rest stays in the guest's ring
 *   ring_give        what was taken, and what was bad before it; length 0
 *   ring_publish     [B]
 *   ring_call_wanted [C]
 *
 * Spec: virtio 1.3, 5.1.6.2 Packet Transmission; 2.7.8.2 Device Requirements:
 * The Virtqueue Used Ring (nothing is written into a transmitted buffer).
 */
#include "net/tx.h"

#include "net/steer.h"
#include "poll/device.h"
#include "ring/dev.h"

/* The frames of a burst; returns how many are good. */
static unsigned tx_read(struct net_tx *tx, struct burst *b)
{
	unsigned good = 0;

	for (unsigned i = 0; i < b->n; i++) {
		struct frame *f = &tx->frame[good];

		/* The next one's bytes are on their way meanwhile. */
		if (i + 1 < b->n)
			__builtin_prefetch(b->seg[b->chain[i + 1].first].base);
		if (unlikely(hdr_read(&tx->rules, b, &b->chain[i], f)))
			continue;
		tx->ptr[good] = f;
		tx->chain_of[good++] = (uint8_t)i;
	}
	return good;
}

/* How many chains of the burst are done with. */
static unsigned tx_deliver(struct net_tx *tx, struct burst *b)
{
	unsigned good, took;

	if (unlikely(!tx->q->enabled)) {
		/* Started and not enabled: take and discard. */
		tx->dropped(tx->ctx, 0, b->n);
		return b->n;
	}
	good = tx_read(tx, b);
	if (unlikely(good < b->n))
		tx->dropped(tx->ctx, b->n - good, 0);
	if (unlikely(!good))
		return b->n;
	took = tx->input(tx->ctx, tx, tx->ptr, good);
	steer_learn(tx->steer, tx->ptr, took, tx->pair);
	return took < good ? tx->chain_of[took] : b->n;
}

static always_inline int tx_burst(struct net_tx *tx, const unsigned v)
{
	struct vd_queue *q = tx->q;
	struct burst *b = &q->burst;
	unsigned done, left;
	int n;

	b->n = b->nseg = 0;
	n = ring_take(&q->ring, b, RING_BURST, v);
	if (n <= 0)
		return n;
	done = tx_deliver(tx, b);
	left = (unsigned)n - done;
	ring_untake(&q->ring, b, left, v);
	for (unsigned i = 0; i < done; i++)
		ring_give(&q->ring, b, &b->chain[i], 0, v);
	ring_publish(&q->ring, v);
	if (ring_call_wanted(&q->ring, v))
		queue_call(q);
	return left ? QUEUE_STALLED : (int)done;
}

#define X(name, v)                                             \
	static noinline int tx_burst_##name(struct net_tx *tx) \
	{                                                      \
		return tx_burst(tx, v);                        \
	}
RING_VARIANTS(X)
#undef X

#define X(name, v) [v] = tx_burst_##name,
static int (*const tx_table[RING_VARIANT_COUNT])(struct net_tx *) = {
	RING_VARIANTS(X)
};
#undef X

int tx_visit(struct net_tx *tx)
{
	struct vd_queue *q = tx->q;
	int n = 0;

	vd_queue_lock(q);
	if (likely(q->started))
		n = tx_table[ring_variant(&q->ring)](tx);
	vd_queue_unlock(q);
	return n;
}
