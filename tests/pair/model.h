/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.h - what both ends of a pair have to do, kept plainly. tests/pair
 * includes it.
 *
 * Positions are 64-bit counts of ring slots since the start (split: one slot a
 * buffer), so nothing here wraps; what the ring shows of them does.
 */
#ifndef VIADUCT_TESTS_MODEL_H
#define VIADUCT_TESTS_MODEL_H

#include "ends.h"

/* What one end asked of the other. */
enum wish { WISH_ALWAYS, WISH_NEVER, WISH_EVENT };

/* One end's stream of slots, and the other end's wish about it. */
struct stream {
	uint64_t filled;  /* added or given */
	uint64_t shown;   /* published */
	uint64_t decided; /* shown when the end asked last about the wish */
	enum wish wish;
	uint64_t event; /* slot */
};

struct model {
	const struct row *row;
	struct stream avail, used;
	uint64_t taken, reaped; /* slots that the other end went over */
	/* Numbers given, in order; those up to nshown are visible. */
	uint64_t *order;
	uint32_t *place; /* chunk of each number */
	uint64_t ngiven, nshown, nreaped, nadded;
	uint8_t bits[LOG_BYTES]; /* the dirty log as it has to be */
};

void model_open(struct model *m, const struct row *w);
void model_close(struct model *m);

/* Is a notification due for what was shown since it was asked? Asks. */
bool model_due(const struct model *m, struct stream *s);

/* A slot count as the ring shows it: an index, or slot and wrap counter. */
uint16_t model_position(const struct model *m, uint64_t slots);

/* The device wrote @len bytes at guest address @gpa. */
void model_dirty(struct model *m, uint64_t gpa, uint64_t len);

#endif
