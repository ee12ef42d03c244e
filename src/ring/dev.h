/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dev.h - the device end's bodies, inlined with literal variant bits. ring, net
 * and vsock include it; everybody else calls the *_any functions of ring.h.
 *
 * v is V_PACKED or not, V_TRACKED or not, a constant at every call site:
 * the plain split body holds no trace of the other three.
 *
 * Ordering letters are explained in docs/rings.md.
 */
#ifndef VIADUCT_RING_DEV_H
#define VIADUCT_RING_DEV_H

#include "ring/dev_packed.h"
#include "ring/inflight.h"

/* A chain of several descriptors or in a table; stamped in dev.c. The chain's
 * id and ndesc are set, @d is its first descriptor; segments go to
 * b->seg[*nseg .. max_segs). 0, RING_ENOSPC or RING_EBADMSG. */
int ring_walk_split(struct ring *r, struct burst *b, struct chain *c,
                    const struct desc *d, unsigned max_segs);
int ring_walk_packed(struct ring *r, struct burst *b, struct chain *c,
                     const struct desc *d, unsigned max_segs);

/* Tracked variants, dev.c: mark in the dirty log what a give, a publish and a
 * change of mind about kicks write; always behind the write, for the log is
 * read and cleared at any time. */
void ring_track_give(struct ring *r, const struct burst *b,
                     const struct chain *c, uint32_t written);
void ring_track_element(struct ring *r, uint16_t at);
void ring_track_publish(struct ring *r, const struct packed_desc *first);
void ring_track_event(struct ring *r);

/* Where in the histogram a burst of @n chains counts. */
static always_inline unsigned ring_histogram_slot(unsigned n)
{
	/* Counting leading zeros would need libgcc on riscv64. */
	return (n > 0) + (n > 1) + (n > 3) + (n > 7) + (n > 15) + (n > 31);
}

/* Two words of 32 bits, or two of 16 and nothing, as they lie in memory. */
static always_inline uint64_t word_of(uint32_t front, uint32_t behind)
{
	return IS_LITTLE ? front | (uint64_t)behind << 32
	                 : (uint64_t)front << 32 | behind;
}

static always_inline uint64_t word_of_halves(uint16_t front, uint16_t behind)
{
	return IS_LITTLE ? front | (uint64_t)behind << 16
	                 : (uint64_t)front << 48 | (uint64_t)behind << 32;
}

#define ONE_READ  (IS_LITTLE ? 1u : 1u << 16) /* nread 1, nwrite 0 */
#define ONE_WRITE (IS_LITTLE ? 1u << 16 : 1u)

/*
 * A run of plain chains, at most until b->n is @end: one direct descriptor
 * each, in the region hit last. What else comes next is for ring_take_one().
 * Return: bytes to read in them.
 */
static always_inline uint64_t ring_take_run(struct ring *r, struct burst *b,
                                            unsigned end, const unsigned v)
{
	struct chain *c = &b->chain[b->n], *last = &b->chain[end];
	struct run k = { { r->sdesc }, r->avail->ring, r->size,
		         r->mask,      r->next,        r->next_wrap };
	struct seg *s = &b->seg[b->nseg];
	const struct mem_hit hit = r->hit;
	uint64_t place = word_of(b->nseg, ONE_READ);
	uint64_t bytes = 0, len;
	struct plain p;

	for (; c < last; c++) {
		if (!(v & V_PACKED ? packed_plain(&k, &p)
		                   : split_plain(&k, &p)))
			break;
		p.addr -= hit.gpa;
		if (unlikely(p.addr >= hit.span))
			break;
		len = (uint16_t)p.rest;
		*s++ = (struct seg){ hit.host + p.addr, len };
		/* Three stores; field by field they would be nine. */
		if (p.rest >> (v & V_PACKED ? 49 : 33) & 1) { /* DESC_WRITE */
			c->word[0] = place ^ word_of(0, ONE_READ ^ ONE_WRITE);
			c->word[1] = word_of(0, len);
		} else {
			c->word[0] = place;
			c->word[1] = word_of(len, 0);
			bytes += len;
		}
		c->word[2] = word_of_halves(p.id, 1);
		place += word_of(1, 0);
		if (v & V_PACKED)
			packed_run_next(&k);
		else
			split_run_next(&k);
	}
	b->nseg += c - &b->chain[b->n];
	b->n = c - b->chain;
	r->next = k.next;
	if (v & V_PACKED)
		r->next_wrap = k.wrap;
	return bytes;
}

/*
 * One chain of any kind into b->chain[b->n]: 1 taken, 0 none (or no room for it
 * in this burst), negative broken. Always leaves @spare segments, so that a
 * plain chain needs no test for room.
 */
static always_inline int ring_take_one(struct ring *r, struct burst *b,
                                       unsigned spare, const unsigned v)
{
	unsigned max_segs = b->max_segs - spare;
	struct chain *c = &b->chain[b->n];
	struct desc d;
	int err;

	err = v & V_PACKED ? packed_head(r, &c->id, &d)
	                   : split_head(r, &c->id, &d);
	if (err <= 0)
		return err;
	c->ndesc = 1;
	c->again = false;
	err = v & V_PACKED ? ring_walk_packed(r, b, c, &d, max_segs)
	                   : ring_walk_split(r, b, c, &d, max_segs);
	if (err == RING_ENOSPC && b->n)
		return 0;
	if (err)
		return err == RING_ENOSPC ? ring_break(r, RING_TOO_SCATTERED)
		                          : err;
	if (v & V_TRACKED && r->inflight) {
		err = inflight_take(r, c);
		if (err)
			return err;
	}
	if (v & V_PACKED)
		packed_advance(r, c->ndesc);
	else
		split_advance(r, c->ndesc);
	b->n++;
	return 1;
}

/** ring_publish() - everything given becomes visible with one release store */
static always_inline void ring_publish(struct ring *r, const unsigned v)
{
	const struct packed_desc *first = r->first;
	uint16_t n;

	if (v & V_TRACKED && r->inflight)
		inflight_before_publish(r);
	n = v & V_PACKED ? packed_publish(r) : split_publish(r);
	if (v & V_TRACKED && r->inflight && n)
		inflight_after_publish(r);
	r->added = event_add(r->added, n);
	if (v & V_TRACKED && n)
		ring_track_publish(r, first);
}

/**
 * ring_take() - take available chains, in order
 * @r:   started ring; owner only
 * @b:   where they go, behind the b->n it holds. Each chain still to come keeps
 *       one segment, so the longest chain that is sure to fit an empty burst
 *       has b->max_segs - @max + 1 of them
 * @max: at most so many; capped by the room in @b
 * @v:   variant bits, a literal at every call site
 *
 * Reads every shared field once. Never blocks, allocates or logs. A burst that
 * meets a broken rule hands out what came before it; the next one reports.
 *
 * Return: chains taken, 0 none available (a kick for nothing does no harm
 * [spec: split.avail-notify.spurious]), RING_EBADMSG the ring is broken and
 * r->fault says why
 * Spec: virtio 1.3, 2.7.6 The Virtqueue Available Ring; 2.8.1 Driver and Device
 * Ring Wrap Counters [spec: packed.desc.avail-observed]
 */
static always_inline int ring_take(struct ring *r, struct burst *b,
                                   unsigned max, const unsigned v)
{
	unsigned from = b->n, end;
	uint64_t bytes = 0;
	int err;

	if (unlikely(r->fault))
		return RING_EBADMSG;
	max = min_of(max, b->max_chains - from);
	max = min_of(max, b->max_segs - b->nseg);
	if (v & V_TRACKED && inflight_left(r))
		return inflight_take_again(r, b, max);
	/* The record of a packed ring cannot hold both at once. */
	if (v & V_TRACKED && v & V_PACKED && r->inflight)
		ring_publish(r, v);
	err = v & V_PACKED ? packed_pending(r, max) : split_pending(r, max);
	if (unlikely(err < 0))
		return err;
	end = from + err;
	while (b->n < end) {
		/* A record wants to see every chain, a log where it lies, and
		 * a packed ring its barrier behind each head. */
		if (!(v & V_TRACKED) && !(v & V_PACKED && r->platform)) {
			bytes += ring_take_run(r, b, end, v);
			if (likely(b->n == end))
				break;
		}
		err = ring_take_one(r, b, end - b->n - 1, v);
		if (err <= 0)
			break;
		bytes += b->chain[b->n - 1].read_len;
		/* The slots of a list are gone for those behind it. */
		if (v & V_PACKED)
			end = min_of(end, b->n + r->size - packed_held(r));
	}
	end = b->n - from;
	count_add(&r->count.bursts[ring_histogram_slot(end)], 1);
	if (likely(end)) {
		count_add(&r->count.chains, end);
		count_add(&r->count.bytes_read, bytes);
		return end;
	}
	return err < 0 ? err : 0;
}

/**
 * ring_untake() - put the @n chains taken last back, as if never seen
 * The next ring_take() reads them anew.
 */
static always_inline void ring_untake(struct ring *r, struct burst *b,
                                      unsigned n, const unsigned v)
{
	/* In the record of a packed ring, what was given lies over what was
	 * taken later: it has to be gone before that is. */
	if (v & V_TRACKED && v & V_PACKED && r->inflight && n)
		ring_publish(r, v);
	while (n--) {
		struct chain *c = &b->chain[--b->n];

		if (v & V_TRACKED && r->inflight && inflight_untake(r, c))
			; /* not from the ring, so not back to it */
		else if (v & V_PACKED)
			packed_retreat(r, c->ndesc);
		else
			split_retreat(r, c->ndesc);
		b->nseg = c->first;
		count_add(&r->count.chains, -UINT64_C(1));
		count_add(&r->count.bytes_read, -(uint64_t)c->read_len);
	}
}

/**
 * ring_give() - return a chain to the driver, invisible until ring_publish()
 * @b: the burst that holds its segments
 * @written: bytes written from the start of its writable part, none left out
 *
 * With VIRTIO_F_IN_ORDER the caller gives in the order in which it took
 * [spec: queue.in-order.same-order].
 */
static always_inline void ring_give(struct ring *r, const struct burst *b,
                                    const struct chain *c, uint32_t written,
                                    const unsigned v)
{
	uint16_t at = r->used;

	if (v & V_TRACKED)
		ring_track_give(r, b, c, written);
	if (v & V_PACKED)
		packed_give(r, c, written);
	else
		split_give(r, c, written);
	if (v & V_TRACKED)
		ring_track_element(r, at);
}

/**
 * ring_call_wanted() - has the driver asked to be told of what was published?
 * Asks once for all that was published since the last time it was asked.
 * Spec: virtio 1.3, 2.7.7 Used Buffer Notification Suppression
 */
static always_inline bool ring_call_wanted(struct ring *r, const unsigned v)
{
	uint32_t added = r->added;
	bool wanted;

	if (!added)
		return false;
	r->added = 0;
	/* [C] publish before, the driver's wish behind; pairs with its [D] */
	if (unlikely(r->platform))
		fence_platform();
	else
		fence_store_load();
	wanted = v & V_PACKED ? packed_call_asked(r, added)
	                      : split_call_asked(r, added);
	count_add(wanted ? &r->count.calls : &r->count.calls_suppressed, 1);
	return wanted;
}

/**
 * ring_kick_enable() - ask for a kick when more becomes available
 * Return: true when more is there already: no kick will tell of it, go on
 * taking. Only after false may the caller sleep.
 * Spec: virtio 1.3, 2.7.10 Available Buffer Notification Suppression
 */
static always_inline bool ring_kick_enable(struct ring *r, const unsigned v)
{
	if (v & V_PACKED)
		packed_kick_ask(r);
	else
		split_kick_ask(r);
	if (v & V_TRACKED)
		ring_track_event(r);
	count_add(&r->count.kick_requests, 1);
	/* [D] wish before, the last look behind; pairs with the driver's [C] */
	if (unlikely(r->platform))
		fence_platform();
	else
		fence_store_load();
	if (v & V_TRACKED && inflight_left(r))
		return true;
	return v & V_PACKED ? packed_has_work(r) : split_has_work(r);
}

static always_inline void ring_kick_disable(struct ring *r, const unsigned v)
{
	if (v & V_PACKED)
		packed_kick_refuse(r);
	else
		split_kick_refuse(r);
	if (v & V_TRACKED)
		ring_track_event(r);
}

#endif
