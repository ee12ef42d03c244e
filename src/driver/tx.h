/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tx.h - the transmit queue of a driver. Only driver includes it.
 *
 * The way of a burst (tx_burst is the table of contents):
 *
 *   tx_reap_by_policy   buffers that came back are free again
 *   packet_put          header and bytes into buffers, one chain
 *   drv_publish         all of them at once
 *   tx_kick_by_policy   now, later, or not at all
 */
#ifndef VIADUCT_DRIVER_TX_H
#define VIADUCT_DRIVER_TX_H

#include <viaduct/driver.h>

#include "driver/queue.h"

struct tx {
	struct queue q;
	struct vd_driver_policy policy;
	uint16_t *next; /* [size] the packet's next buffer, or QUEUE_NO_BUF */

	/* What the device was not told of yet, and since when. */
	unsigned owed;
	uint64_t owed_since_ns;

	uint64_t packets, bytes, full, delayed, lost;
};

int tx_init(struct tx *t, const struct queue_conf *c);
void tx_fini(struct tx *t);
int tx_start(struct tx *t, const struct arena *a, uint64_t features);
/* The device is gone: count what it held. */
void tx_abandon(struct tx *t);

int tx_burst(struct tx *t, const struct vd_packet *p, unsigned n);

/* Take back everything that came back. 0 or -EBADMSG. */
int tx_reap(struct tx *t);

/* Kick now, whatever the policy. */
void tx_flush(struct tx *t);

/**
 * tx_kick_when_due() - kick if the policy's time has come
 * Return: nanoseconds until then, 0 nothing is owed (any more).
 */
uint64_t tx_kick_when_due(struct tx *t);

static inline bool tx_has_room(const struct tx *t)
{
	return t->q.ring.fault || t->q.nfree >= t->q.vr->size / 2;
}

#endif
