/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * recvq.h - the receive queue of a driver. Only driver includes it.
 *
 * The way of a burst (recvq_burst is the table of contents):
 *
 *   recvq_release    buffers of the last burst are free again
 *   recvq_fill       when half of them are free: offer them, publish, kick
 *   drv_reap      what came back -> got[]
 *   packet_take   header copied and checked, one packet of 1..n buffers
 *
 * A packet whose buffers have not all come back yet stays in got[] until the
 * next burst.
 */
#ifndef VIADUCT_DRIVER_RECVQ_H
#define VIADUCT_DRIVER_RECVQ_H

#include <viaduct/driver.h>

#include "driver/netq.h"

struct recvq {
	struct netq q;
	bool mergeable;
	bool calls_always;

	/* got[0 .. lent) were handed out, got[lent .. ngot) wait. */
	struct drv_done *got; /* [size]; token: buffer */
	struct iovec *iov;    /* [size]; of got[] with the same index */
	unsigned lent, ngot;

	uint64_t packets, bytes, bad;
};

int recvq_init(struct recvq *r, const struct netq_conf *c);
void recvq_fini(struct recvq *r);

/* A fresh ring with all buffers offered. 0 or negative errno. */
int recvq_start(struct recvq *r, const struct arena *a, uint64_t features);

int recvq_burst(struct recvq *r, struct vd_packet *p, unsigned n);
void recvq_release(struct recvq *r);

/* Something to receive, as far as one can tell without taking it. */
static inline bool recvq_has_work(const struct recvq *r)
{
	return r->q.ring.fault || drv_has_used(&r->q.ring);
}

#endif
