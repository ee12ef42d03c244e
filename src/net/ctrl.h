/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctrl.h - the control queue. Only net's own files include it.
 */
#ifndef VIADUCT_NET_CTRL_H
#define VIADUCT_NET_CTRL_H

#include "poll/queue.h"

#define CTRL_BYTES 4096u /* longest command that is read */

struct net_device;

struct ctrl_coal {
	uint32_t max_packets, max_usecs;
};

struct net_ctrl {
	struct vd_queue *q; /* NULL: not started; the front end keeps it */
	unsigned pairs;     /* in use, as the driver asked */

	struct ctrl_coal coal_rx, coal_tx; /* for queues that are enabled */
	struct ctrl_coal *coal;            /* of each queue; device.c's */

	uint8_t command[CTRL_BYTES];
};

/* One burst of commands, answered at once. As device_ops.queue_ready. */
int ctrl_visit(struct net_device *d);

/* Commands are forgotten: reset, or other features. */
void ctrl_reset(struct net_device *d);

/* A queue was enabled: its coalescing is the default again. */
void ctrl_queue_enabled(struct net_device *d, unsigned index);

#endif
