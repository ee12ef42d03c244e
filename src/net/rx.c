/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rx.c - a burst of frames into a guest's receive ring.
 *
 * The way of a frame, in rx_burst():
 *
 *   filter_passes    does the guest want it?                 net/filter.h
 *   segment_start    what the guest does not take as it is   net/segment.h
 *   rx_reserve       buffers for all of it                   ring/dev.h
 *   rx_write         header and head together, then the segments, copied once
 *   ring_give        each buffer with the bytes written to it
 *
 * and once a turn, in rx_flush(), ring_publish [B] and ring_call_wanted [C].
 *
 * Buffers are taken ahead, as many as frames are left, into a burst of our own;
 * what is left over at the end goes back. With mergeable buffers a frame may
 * use several, cap of them; without, cap is 1 and nothing else differs.
 *
 * A frame never waits for a buffer that will never do: a buffer that cannot
 * hold a header is returned empty, a frame longer than the guest's single
 * buffers or than cap of them is dropped. When buffers run out, everything that
 * is available has been taken before it is put back: "full" means that only
 * new buffers help.
 *
 * Spec: virtio 1.3, 5.1.6.3.2 Device Requirements: Setting Up Receive Buffers;
 * 5.1.6.4 Processing of Incoming Packets.
 */
#include "net/rx.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "net/hdr.h"
#include "ring/dev.h"

#define RX_TAKE  32u   /* buffers taken at a time */
#define PAD_LEN  60u   /* shortest frame on a wire, without its checksum */
#define LONG_LEN 2048u /* a frame that may want many buffers */

/* A place in the writable memory of taken buffers, which lie one behind the
 * other in the burst. */
struct place {
	const struct seg *seg;
	size_t off;
};

int rx_init(struct net_rx *rx, unsigned pair)
{
	struct burst *b = &rx->burst;

	memset(rx, 0, sizeof(*rx));
	rx->pair = pair;
	b->max_chains = RX_CHAINS;
	b->max_segs = RING_SEGS;
	b->chain = calloc(b->max_chains, sizeof(*b->chain));
	/* One more, which rx_write() may look at when it looks ahead. */
	b->seg = calloc(b->max_segs + 1, sizeof(*b->seg));
	b->gpa = calloc(b->max_segs, sizeof(*b->gpa));
	rx->segmenter = calloc(1, sizeof(*rx->segmenter));
	return b->chain && b->seg && b->gpa && rx->segmenter ? 0 : -ENOMEM;
}

void rx_fini(struct net_rx *rx)
{
	free(rx->burst.chain);
	free(rx->burst.seg);
	free(rx->burst.gpa);
	free(rx->segmenter);
}

/* --- copying ------------------------------------------------------------ */

/* Up to 64 bytes in place, by size class; the rest in libc. */
static always_inline void copy(uint8_t *to, const uint8_t *from, size_t n)
{
	if (n > 64) {
		memcpy(to, from, n);
	} else if (n >= 16) {
		/* Both ends, and the middle when they do not meet. */
		if (n > 32) {
			memcpy(to + 16, from + 16, 16);
			memcpy(to + n - 32, from + n - 32, 16);
		}
		memcpy(to, from, 16);
		memcpy(to + n - 16, from + n - 16, 16);
	} else if (n >= 4) {
		if (n > 8) {
			memcpy(to + 4, from + 4, 4);
			memcpy(to + n - 8, from + n - 8, 4);
		}
		memcpy(to, from, 4);
		memcpy(to + n - 4, from + n - 4, 4);
	} else {
		while (n--)
			*to++ = *from++;
	}
}

static void place_put(struct place *at, const uint8_t *from, size_t n)
{
	while (n) {
		size_t len = min_of(n, at->seg->len - at->off);

		memcpy((uint8_t *)at->seg->base + at->off, from, len);
		from += len;
		n -= len;
		at->off += len;
		if (at->off == at->seg->len) {
			at->seg++;
			at->off = 0;
		}
	}
}

/* Into several pieces of memory. */
static noinline void write_pieces(const struct seg *to,
                                  const struct virtio_net_hdr *h,
                                  unsigned hdr_len, const struct frame *f,
                                  unsigned pad)
{
	static const uint8_t zero[PAD_LEN];
	struct place at = { to, 0 };

	place_put(&at, (const uint8_t *)h, hdr_len);
	place_put(&at, frame_head(f), f->head_len);
	for (unsigned i = 0; i < f->nseg; i++)
		place_put(&at, f->seg[i].base, f->seg[i].len);
	place_put(&at, zero, pad);
}

/* Into one piece, as nearly always. */
static always_inline void write_flat(uint8_t *to,
                                     const struct virtio_net_hdr *h,
                                     unsigned hdr_len, const struct frame *f,
                                     unsigned pad)
{
	memcpy(to, h, NET_HDR_BYTES_LEGACY);
	if (likely(hdr_len == NET_HDR_BYTES))
		memcpy(to + NET_HDR_BYTES_LEGACY, &h->num_buffers, 2);
	to += hdr_len;
	if (likely(f->head_len == FRAME_HEAD))
		memcpy(to, frame_head(f), FRAME_HEAD);
	else
		copy(to, frame_head(f), f->head_len);
	to += f->head_len;
	for (unsigned i = 0; i < f->nseg; i++) {
		copy(to, f->seg[i].base, f->seg[i].len);
		to += f->seg[i].len;
	}
	if (unlikely(pad))
		memset(to, 0, pad);
}

/* --- buffers ------------------------------------------------------------ */

/* Take more buffers, about as many as will be wanted: 1 some, 0 none left,
 * -EBADMSG. */
static always_inline int rx_more(struct net_rx *rx, unsigned want,
                                 const unsigned v)
{
	struct burst *b = &rx->burst;
	unsigned from = b->n;
	int n = ring_take(&rx->q->ring, b, min_of(want, RX_TAKE), v);

	if (n <= 0)
		return n;
	for (unsigned i = from; i < b->n; i++) {
		struct chain *c = &b->chain[i];

		/* A part that we may only read holds nothing. */
		for (unsigned k = 0; unlikely(k < c->nread); k++)
			b->seg[c->first + k].len = 0;
	}
	return 1;
}

static always_inline void rx_give(struct net_rx *rx, uint32_t written,
                                  const unsigned v)
{
	ring_give(&rx->q->ring, &rx->burst, &rx->burst.chain[rx->at++], written,
	          v);
}

/*
 * Buffers for @len bytes, from rx->at on: how many; 0 when there are not
 * enough; negative when there never will be, or the ring is broken.
 */
static always_inline int rx_buffers(struct net_rx *rx, uint32_t len,
                                    unsigned want, uint32_t *have,
                                    const unsigned v)
{
	struct burst *b = &rx->burst;
	unsigned n = 0;
	int more;

	while (*have < len) {
		if (n == rx->set.cap)
			return -E2BIG;
		if (rx->at + n == b->n) {
			more = rx_more(rx, want, v);
			if (more <= 0)
				return more;
		}
		if (!n &&
		    unlikely(b->chain[rx->at].write_len < rx->set.hdr_len)) {
			rx_give(rx, 0, v);
			continue;
		}
		*have += b->chain[rx->at + n++].write_len;
	}
	return (int)n;
}

/* A frame that the guest takes as it is. Answers like rx_buffers(). */
static always_inline int rx_write(struct net_rx *rx, const struct frame *f,
                                  unsigned want, const unsigned v)
{
	const unsigned hdr_len = rx->set.hdr_len;
	uint32_t len = hdr_len + f->len, have = 0;
	struct burst *b = &rx->burst;
	struct virtio_net_hdr h = { 0 };
	const struct seg *to;
	unsigned pad = 0;
	int n = 1;

	/* Nearly always: a buffer is at hand, and it is long enough. */
	if (likely(rx->at < b->n))
		have = b->chain[rx->at].write_len;
	if (unlikely(have < len)) {
		have = 0;
		n = rx_buffers(rx, len, want, &have, v);
	}
	if (unlikely(n <= 0))
		return n;
	if (unlikely(f->len < PAD_LEN) && have - len >= PAD_LEN - f->len)
		pad = PAD_LEN - f->len;
	if (unlikely(f->hdr.flags))
		h = hdr_make(f, rx->set.csum);
	h.num_buffers = le16_make((uint16_t)n);
	to = &b->seg[b->chain[rx->at].first];
	__builtin_prefetch(to[1].base, 1); /* usually the next one's buffer */
	if (likely(n == 1) && likely(to->len >= len + pad))
		write_flat(to->base, &h, hdr_len, f, pad);
	else
		write_pieces(to, &h, hdr_len, f, pad);
	rx->result->frames++;
	rx->result->bytes += f->len;
	for (len += pad; n > 1; n--) {
		uint32_t full = b->chain[rx->at].write_len;

		rx_give(rx, full, v);
		len -= full;
	}
	rx_give(rx, len, v);
	return 1;
}

/* --- what the guest does not take as it is ------------------------------ */

/* Take buffers for @count pieces of @len bytes ahead, so that all of them are
 * written or none. Answers like rx_buffers(). */
static always_inline int rx_reserve(struct net_rx *rx, unsigned count,
                                    uint32_t len, const unsigned v)
{
	struct burst *b = &rx->burst;
	unsigned at = rx->at;

	while (count--) {
		uint32_t have = 0;

		for (unsigned n = 0; have < len && n < rx->set.cap; n++) {
			int more = 1;

			if (at == b->max_chains)
				return 1; /* as many as we can hold */
			if (at == b->n)
				more = rx_more(rx, RX_TAKE, v);
			if (more <= 0)
				return more;
			have += b->chain[at++].write_len;
		}
	}
	return 1;
}

/* All the pieces of a frame, or the rest of them when some do not fit. */
static always_inline int rx_segment(struct net_rx *rx, const struct frame *f,
                                    bool lossy, const unsigned v)
{
	struct segmenter *s = rx->segmenter;
	const struct frame *piece;
	int n, count = segment_start(s, f, rx->set.allowed);

	if (count < 0)
		return count;
	if (!lossy) {
		n = rx_reserve(rx, (unsigned)count,
		               rx->set.hdr_len + s->header_len + s->step, v);
		if (n <= 0)
			return n;
	}
	n = 1;
	while (n > 0 && (piece = segment_next(s)))
		n = rx_write(rx, piece, RX_TAKE, v);
	/* What was written cannot be taken back: offering the frame again
	 * would send it twice. */
	if (n == 0 && s->index > 1) {
		rx->result->drop_full++;
		return 1;
	}
	return n;
}

/* --- the burst ---------------------------------------------------------- */

/* A frame that cannot be delivered, and why. */
static noinline void rx_drop(struct net_rx *rx, int why)
{
	count_add(&rx->q->ring.count.drops, 1);
	if (why == 0) {
		rx->result->drop_full++;
	} else if (why == -E2BIG) {
		rx->result->drop_bad++;
	} else if (why == -EINVAL) {
		rx->result->drop_offload++;
	} else {
		queue_fault_report(rx->q);
		rx->result->drop_down++;
	}
}

/* Room in our own arrays for the most that a frame can use. */
static always_inline void rx_make_room(struct net_rx *rx, const unsigned v)
{
	struct burst *b = &rx->burst;

	if (unlikely(rx->at > RX_CHAINS - RX_CAP))
		ring_untake(&rx->q->ring, b, b->n - rx->at, v);
	if (rx->at == b->n)
		rx->at = b->n = b->nseg = 0;
}

static always_inline unsigned rx_burst(struct net_rx *rx,
                                       struct frame *const *f, unsigned n,
                                       unsigned flags, const unsigned v)
{
	bool lossy = flags & RX_LOSSY || rx->stuck;
	unsigned i;
	int got;

	for (i = 0; i < n; i++) {
		rx_make_room(rx, v);
		if (unlikely(!rx->set.filter.open) &&
		    !filter_passes(&rx->set.filter, f[i]))
			continue;
		if (unlikely(f[i]->hdr.flags) &&
		    segment_needed(f[i], rx->set.allowed))
			got = rx_segment(rx, f[i], lossy, v);
		else
			got = rx_write(rx, f[i],
			               f[i]->len > LONG_LEN ? RX_TAKE : n - i,
			               v);
		if (likely(got > 0)) {
			rx->stuck = false;
			continue;
		}
		if (got == 0 && !lossy)
			break;
		if (got == 0 && flags & RX_WAITED)
			rx->stuck = true;
		rx_drop(rx, got);
	}
	ring_untake(&rx->q->ring, &rx->burst, rx->burst.n - rx->at, v);
	rx->at = rx->burst.n = rx->burst.nseg = 0;
	st16_rel(&rx->pending, 1);
	return i;
}

#define X(name, v)                                                           \
	static noinline unsigned rx_burst_##name(struct net_rx *rx,          \
	                                         struct frame *const *f,     \
	                                         unsigned n, unsigned flags) \
	{                                                                    \
		return rx_burst(rx, f, n, flags, v);                         \
	}
RING_VARIANTS(X)
#undef X

#define X(name, v) [v] = rx_burst_##name,
static unsigned (*const rx_table[RING_VARIANT_COUNT])(
	struct net_rx *, struct frame *const *, unsigned,
	unsigned) = { RING_VARIANTS(X) };
#undef X

unsigned rx_send(struct net_rx *rx, struct frame *const *f, unsigned n,
                 unsigned flags, struct rx_result *result)
{
	struct vd_queue *q = rx->q;

	vd_queue_lock(q);
	rx->result = result;
	if (likely(queue_is_live(q) && rx->set.active))
		n = rx_table[ring_variant(&q->ring)](rx, f, n, flags);
	else
		result->drop_down += n;
	vd_queue_unlock(q);
	return n;
}

void rx_flush(struct net_rx *rx)
{
	struct vd_queue *q;

	if (!ld16_acq(&rx->pending))
		return;
	q = rx->q;
	vd_queue_lock(q);
	if (queue_is_visitable(q))
		queue_flush(q);
	st16(&rx->pending, 0);
	vd_queue_unlock(q);
}
