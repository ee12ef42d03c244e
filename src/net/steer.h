/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steer.h - which receive queue a frame goes to. net and the guest port include
 * it.
 *
 * A flow goes where the guest last transmitted it; one that it never
 * transmitted goes by its hash. The hash is the same in both directions. Only
 * live pairs are in the table: a pair that the guest gives up gets nothing from
 * that moment.
 *
 * Spec: virtio 1.3, 5.1.6.5.6 Automatic receive steering in multiqueue mode.
 */
#ifndef VIADUCT_NET_STEER_H
#define VIADUCT_NET_STEER_H

#include "base/le.h"
#include "net/frame.h"

#define STEER_SLOTS 1024u
#define STEER_NONE  0xffffu

struct steer {
	/* The device's loop writes and releases, any thread reads: a pair
	 * that it finds here is ready. */
	le16 slot[STEER_SLOTS]; /* pair, or STEER_NONE */
	le16 only;              /* the one live pair, or STEER_NONE */
	le64 live;              /* bit i: pair i */
};

/* @live: bit i, pair i may be used. All slots are dealt out anew. */
void steer_set(struct steer *s, uint64_t live);

/* The pair for a frame to the guest, STEER_NONE when there is none. */
unsigned steer_pick(const struct steer *s, const struct frame *f);

/* The guest transmitted these frames on @pair. */
void steer_learn(struct steer *s, struct frame *const *f, unsigned n,
                 unsigned pair);

#endif
