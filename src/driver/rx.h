/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rx.h - the receive queue of a driver. Only driver includes it.
 *
 * The way of a burst (rx_burst is the table of contents):
 *
 *   rx_release    buffers of the last burst are free again
 *   rx_fill       when half of them are free: offer them, publish, kick
 *   drv_reap      what came back -> got[]
 *   packet_take   header copied and checked, one packet of 1..n buffers
 *
 * A packet whose buffers have not all come back yet stays in got[] until the
 * next burst.
 */
#ifndef VIADUCT_DRIVER_RX_H
#define VIADUCT_DRIVER_RX_H

#include <viaduct/driver.h>

#include "driver/queue.h"

struct rx {
	struct queue q;
	bool mergeable;
	bool calls_always;

	/* got[0 .. lent) were handed out, got[lent .. ngot) wait. */
	struct drv_done *got; /* [size]; token: buffer */
	struct iovec *iov;    /* [size]; of got[] with the same index */
	unsigned lent, ngot;

	uint64_t packets, bytes, bad;
};

int rx_init(struct rx *r, const struct queue_conf *c);
void rx_fini(struct rx *r);

/* A fresh ring with all buffers offered. 0 or negative errno. */
int rx_start(struct rx *r, const struct arena *a, uint64_t features);

int rx_burst(struct rx *r, struct vd_packet *p, unsigned n);
void rx_release(struct rx *r);

/* Something to receive, as far as one can tell without taking it. */
static inline bool rx_has_work(const struct rx *r)
{
	return r->q.ring.fault || drv_has_used(&r->q.ring);
}

#endif
