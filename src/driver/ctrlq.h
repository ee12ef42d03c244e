/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctrlq.h - the control queue of a driver: one command, one answer. Only driver
 * includes it.
 *
 * One command is on its way at a time, in buffer 0: what the device reads from
 * the front, what it writes from the middle. A device that does not answer in
 * time keeps the buffer, and the queue is not used again until the next start.
 * Spec: virtio 1.3, 5.1.6.5 Control Virtqueue.
 */
#ifndef VIADUCT_DRIVER_CTRLQ_H
#define VIADUCT_DRIVER_CTRLQ_H

#include <viaduct/driver.h>

#include "driver/netq.h"

#define CTRLQ_SIZE 16u
#define CTRLQ_BUF  8192u /* half to read, half to write */

struct ctrlq {
	struct netq q;
	bool stuck;
};

int ctrlq_init(struct ctrlq *c, struct vring *v);
void ctrlq_fini(struct ctrlq *c);
int ctrlq_start(struct ctrlq *c, const struct arena *a, uint64_t features);

/* 0; -EREMOTEIO the device said no; -EMSGSIZE; -ETIMEDOUT; -EBADMSG. */
int ctrlq_command(struct ctrlq *c, const struct vd_control *m,
                  unsigned timeout_ms);

#endif
