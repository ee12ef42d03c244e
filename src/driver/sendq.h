/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sendq.h - the transmit queue of a driver. Only driver includes it.
 *
 * The way of a burst (sendq_burst is the table of contents):
 *
 *   sendq_reap_by_policy   buffers that came back are free again
 *   packet_put          header and bytes into buffers, one chain
 *   drv_publish         all of them at once
 *   sendq_kick_by_policy   now, later, or not at all
 */
#ifndef VIADUCT_DRIVER_SENDQ_H
#define VIADUCT_DRIVER_SENDQ_H

#include <viaduct/driver.h>

#include "driver/netq.h"

struct sendq {
	struct netq q;
	struct vd_driver_policy policy;
	uint16_t *next; /* [size] the packet's next buffer, or NETQ_NO_BUF */

	/* What the device was not told of yet, and since when. */
	unsigned owed;
	uint64_t owed_since_ns;

	uint64_t packets, bytes, full, delayed, lost;
};

int sendq_init(struct sendq *t, const struct netq_conf *c);
void sendq_fini(struct sendq *t);
int sendq_start(struct sendq *t, const struct arena *a, uint64_t features);
/* The device is gone: count what it held. */
void sendq_abandon(struct sendq *t);

int sendq_burst(struct sendq *t, const struct vd_packet *p, unsigned n);

/* Take back everything that came back. 0 or -EBADMSG. */
int sendq_reap(struct sendq *t);

/* Kick now, whatever the policy. */
void sendq_flush(struct sendq *t);

/**
 * sendq_kick_when_due() - kick if the policy's time has come
 * Return: nanoseconds until then, 0 nothing is owed (any more).
 */
uint64_t sendq_kick_when_due(struct sendq *t);

static inline bool sendq_has_room(const struct sendq *t)
{
	return t->q.ring.fault || t->q.nfree >= t->q.vr->size / 2;
}

#endif
