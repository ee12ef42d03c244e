/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vd_queue.h - what the public library keeps of a queue. Only vhost's vd_*.c
 * include it.
 *
 * A chain that an application holds has a burst of its own, so that its buffers
 * stay where they are until it is given back, in whatever order.
 */
#ifndef VIADUCT_VHOST_VD_QUEUE_H
#define VIADUCT_VHOST_VD_QUEUE_H

#include <viaduct/queue.h>

#include "poll/queue.h"

/* In vd_queue.priv. */
struct held {
	struct burst slot[VD_CHAINS_MAX];
	struct chain chain[VD_CHAINS_MAX];
	struct seg *seg; /* RING_SEGS a slot */
	uint64_t *gpa;
	uint64_t free; /* bit set: slot free */
	uint64_t life; /* counts starts; chains of an earlier one are void */
	uint64_t taken;
	bool full; /* a take found no free slot */
	bool idle; /* the application left chains where they are */
};

struct held *held_new(void);
void held_free(struct held *h);
/* The queue starts or stops: nothing is held. */
void held_clear(struct held *h);

#endif
