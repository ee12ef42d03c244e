/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ends.h - the two ends of a pair, each with what it knows alone. tests/pair
 * includes it.
 */
#ifndef VIADUCT_TESTS_ENDS_H
#define VIADUCT_TESTS_ENDS_H

#include "pair.h"
#include "ring/inflight.h"

/* --- front.c: the driver's end ------------------------------------------ */

#define REAP_MAX 64u

struct record {
	uint64_t k;
	uint32_t slots; /* of the ring that it fills (split: 1) */
	bool busy;
};

struct front {
	const struct row *row;
	const struct arena *arena;
	uint8_t *at; /* our mapping */
	struct drv drv;
	struct drv_slot *slot;
	uint16_t *free_id, *free_table;
	struct record *rec;   /* one a chunk */
	uint32_t *free_chunk; /* stack */
	uint32_t chunks_free;
	uint8_t *image, *found;
	uint64_t next;   /* number of the next buffer */
	uint64_t reaped; /* how many came back */
	struct drv_done done[REAP_MAX];
	struct rng rng;
};

void front_open(struct front *f, const struct arena *a, uint8_t *at);
void front_close(struct front *f);

/* Add the next buffer: its record, or NULL when there is no room. */
const struct record *front_add(struct front *f);

/* Reap at most @max and compare; tokens stay in f->done. How many. */
unsigned front_reap(struct front *f, unsigned max);

/* Number and record of a token. */
uint64_t front_number(uint64_t token);
const struct record *front_record(const struct front *f, uint64_t token);

/* --- back.c: the device's end ------------------------------------------- */

/* The verbs, by run time choice or stamped here with literal bits. */
struct verbs {
	int (*take)(struct ring *r, struct burst *b, unsigned max);
	void (*untake)(struct ring *r, struct burst *b, unsigned n);
	void (*give)(struct ring *r, const struct burst *b,
	             const struct chain *c, uint32_t written);
	void (*publish)(struct ring *r);
	bool (*call_wanted)(struct ring *r);
	bool (*kick_enable)(struct ring *r);
	void (*kick_disable)(struct ring *r);
};

struct back {
	const struct row *row;
	const struct arena *arena;
	uint8_t *at;
	struct mem *mem;
	struct ring ring;
	struct ring_conf conf;
	struct burst b;
	struct chain chain[RING_BURST];
	struct seg *seg;
	uint64_t *gpa;
	uint64_t k[RING_BURST]; /* number of each chain in the burst */
	bool given[RING_BURST];
	unsigned ngiven;
	uint64_t taken; /* number of the next chain */
	/* In-flight record, and the numbers that it will bring again. */
	struct inflight in;
	void *region;
	uint16_t *scratch;
	uint64_t *again;
	uint32_t again_at, again_end;
	uint8_t bits[LOG_BYTES];
	struct dirty_log log;
	struct rng rng;
};

void back_open(struct back *d, const struct arena *a, uint8_t *at);
void back_close(struct back *d);

/* One of the two ways to call the ring, at random. */
const struct verbs *back_verbs(struct back *d);

/* Take at most @max behind what is held, and compare. How many. */
unsigned back_take(struct back *d, unsigned max);

/* Put back some of what was taken last and not given. How many. */
unsigned back_untake(struct back *d);

/* Give one of what is held, in order with IN_ORDER: its place in the burst. */
unsigned back_give(struct back *d);

/* Stop and start again where we were; nothing held, all published. */
void back_restart(struct back *d);

/* Die with what is held and the @n given ones of @given that nobody saw, and
 * start again from the record. */
void back_die(struct back *d, const uint64_t *given, uint64_t n);

static inline unsigned back_held(const struct back *d)
{
	return d->b.n - d->ngiven;
}

#endif
