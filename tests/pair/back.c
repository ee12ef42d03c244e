/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * back.c - the device's end of a pair.
 */
#include "ends.h"

#include <stdlib.h>
#include <string.h>

/* Segments of the longest chain: a byte each, and one for a plain one. */
#define SEGS_CHAIN 400u

static const struct verbs any = { ring_take_any,        ring_untake_any,
	                          ring_give_any,        ring_publish_any,
	                          ring_call_wanted_any, ring_kick_enable_any,
	                          ring_kick_disable_any };

#define X(name, v)                                                             \
	static int take_##name(struct ring *r, struct burst *b, unsigned max)  \
	{                                                                      \
		return ring_take(r, b, max, v);                                \
	}                                                                      \
	static void untake_##name(struct ring *r, struct burst *b, unsigned n) \
	{                                                                      \
		ring_untake(r, b, n, v);                                       \
	}                                                                      \
	static void give_##name(struct ring *r, const struct burst *b,         \
	                        const struct chain *c, uint32_t written)       \
	{                                                                      \
		ring_give(r, b, c, written, v);                                \
	}                                                                      \
	static void publish_##name(struct ring *r)                             \
	{                                                                      \
		ring_publish(r, v);                                            \
	}                                                                      \
	static bool call_wanted_##name(struct ring *r)                         \
	{                                                                      \
		return ring_call_wanted(r, v);                                 \
	}                                                                      \
	static bool kick_enable_##name(struct ring *r)                         \
	{                                                                      \
		return ring_kick_enable(r, v);                                 \
	}                                                                      \
	static void kick_disable_##name(struct ring *r)                        \
	{                                                                      \
		ring_kick_disable(r, v);                                       \
	}
RING_VARIANTS(X)
#undef X

#define X(name, v)                                                          \
	[v] = { take_##name,        untake_##name,      give_##name,        \
		publish_##name,     call_wanted_##name, kick_enable_##name, \
		kick_disable_##name },
static const struct verbs literal[] = { RING_VARIANTS(X) };
#undef X

const struct verbs *back_verbs(struct back *d)
{
	return rng_one_in(&d->rng, 2) ? &any : &literal[ring_variant(&d->ring)];
}

static void start(struct back *d)
{
	const struct row *w = d->row;

	CHECK(w, !ring_start(&d->ring, &d->conf));
	if (w->record)
		CHECK(w, inflight_attach(&d->ring, &d->in, d->region,
		                         d->scratch) == (int)d->again_end);
	if (!w->tracked)
		return;
	d->ring.log = &d->log;
	d->ring.log_used = true;
	d->ring.used_gpa = GPA_USED;
}

void back_open(struct back *d, const struct arena *a, uint8_t *at)
{
	const struct row *w = a->row;
	bool packed = w->features & VIRTIO_F_RING_PACKED;

	memset(d, 0, sizeof(*d));
	d->row = w;
	d->arena = a;
	d->at = at;
	d->rng.s = w->seed ^ 2;
	d->mem = arena_mem(a, at);
	d->conf = (struct ring_conf){
		.features = w->features,
		.size = w->size,
		.desc = at + a->desc,
		.driver = at + a->driver,
		.device = at + a->device,
		.mem = d->mem,
		.position = ring_position_initial(packed),
	};
	d->log = (struct dirty_log){ d->bits, sizeof(d->bits) };
	d->b.chain = d->chain;
	d->b.max_chains = 1 + rng_below(&d->rng, RING_BURST);
	d->b.max_segs =
		rng_one_in(&d->rng, 2) ? RING_SEGS : SEGS_CHAIN + RING_BURST;
	d->seg = calloc(d->b.max_segs, sizeof(*d->seg));
	d->gpa = calloc(d->b.max_segs, sizeof(*d->gpa));
	CHECK(w, d->seg && d->gpa);
	d->b.seg = d->seg;
	d->b.gpa = w->tracked ? d->gpa : NULL;
	d->region = calloc(1, inflight_bytes(packed, w->size));
	d->scratch = calloc(2 * w->size, sizeof(*d->scratch));
	d->again = calloc(w->size, sizeof(*d->again));
	CHECK(w, d->region && d->scratch && d->again);
	start(d);
}

void back_close(struct back *d)
{
	mem_put(d->mem);
	free(d->region);
	free(d->scratch);
	free(d->again);
	free(d->seg);
	free(d->gpa);
}

void back_restart(struct back *d)
{
	d->conf.position = ring_position(&d->ring);
	d->again_at = d->again_end = 0;
	memset(&d->ring, 0x5a, sizeof(d->ring));
	memset(&d->ring.count, 0, sizeof(d->ring.count));
	start(d);
}

/* Numbers taken and not returned, in the order of taking. */
static void remember(struct back *d, uint64_t k)
{
	uint32_t i = d->again_end++;

	for (; i && d->again[i - 1] > k; i--)
		d->again[i] = d->again[i - 1];
	d->again[i] = k;
}

void back_die(struct back *d, const uint64_t *given, uint64_t n)
{
	uint32_t left = d->again_end - d->again_at;

	memmove(d->again, d->again + d->again_at, left * sizeof(*d->again));
	d->again_at = 0;
	d->again_end = left;
	for (unsigned i = 0; i < d->b.n; i++) {
		if (!d->given[i])
			remember(d, d->k[i]);
	}
	while (n--)
		remember(d, given[n]);
	if (!d->ring.packed)
		d->conf.position = ld16(&d->ring.used_ring->idx);
	d->b.n = d->b.nseg = d->ngiven = 0;
	memset(&d->ring, 0x5a, sizeof(d->ring));
	memset(&d->ring.count, 0, sizeof(d->ring.count));
	memset(&d->in, 0x5a, sizeof(d->in));
	start(d);
}

/* The readable bytes of a chain are those of buffer @k. */
static void compare(const struct back *d, const struct chain *c, uint64_t k)
{
	const struct seg *s = &d->b.seg[c->first];
	uint32_t n = 0, room = 0;
	struct shape want;

	shape_of(d->row, k, &want);
	CHECK(d->row, c->read_len == want.read_len);
	CHECK(d->row, c->write_len == want.write_len);
	for (unsigned i = 0; i < c->nread; i++) {
		const uint8_t *byte = s[i].base;

		for (size_t j = 0; j < s[i].len; j++, n++)
			CHECK(d->row, byte[j] == byte_read(k, n));
	}
	for (unsigned i = 0; i < c->nwrite; i++)
		room += s[c->nread + i].len;
	CHECK(d->row, n == want.read_len);
	CHECK(d->row, room == want.write_len);
}

unsigned back_take(struct back *d, unsigned max)
{
	unsigned from = d->b.n;
	int n = back_verbs(d)->take(&d->ring, &d->b, max);

	CHECK(d->row, n >= 0);
	CHECK(d->row, d->b.n == from + n);
	CHECK(d->row, d->b.nseg <= d->b.max_segs);
	for (unsigned i = from; i < d->b.n; i++) {
		d->k[i] = d->again_at < d->again_end ? d->again[d->again_at++]
		                                     : d->taken++;
		d->given[i] = false;
		compare(d, &d->chain[i], d->k[i]);
	}
	return n;
}

unsigned back_untake(struct back *d)
{
	unsigned most = 0, n;

	while (most < d->b.n && !d->given[d->b.n - 1 - most])
		most++;
	n = rng_below(&d->rng, most + 1);
	for (unsigned i = 0; i < n; i++) {
		if (d->row->record && d->chain[d->b.n - 1 - i].again)
			d->again_at--;
		else
			d->taken--;
	}
	back_verbs(d)->untake(&d->ring, &d->b, n);
	return n;
}

static void write_bytes(const struct back *d, const struct chain *c, uint64_t k,
                        uint32_t written)
{
	const struct seg *s = &d->b.seg[c->first + c->nread];
	uint32_t n = 0;

	for (; n < written; s++) {
		uint8_t *byte = s->base;

		for (size_t j = 0; j < s->len && n < written; j++, n++)
			byte[j] = byte_written(k, n);
	}
}

unsigned back_give(struct back *d)
{
	unsigned i = 0, skip = rng_below(&d->rng, back_held(d));
	struct shape s;

	if (d->row->features & VIRTIO_F_IN_ORDER)
		skip = 0;
	while (d->given[i] || skip--)
		i++;
	shape_of(d->row, d->k[i], &s);
	write_bytes(d, &d->chain[i], d->k[i], s.written);
	back_verbs(d)->give(&d->ring, &d->b, &d->chain[i], s.written);
	d->given[i] = true;
	if (++d->ngiven == d->b.n)
		d->b.n = d->b.nseg = d->ngiven = 0;
	return i;
}
