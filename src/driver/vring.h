/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vring.h - where a queue lies in the arena and how its two ends notify each
 * other: all that the device is told about it. Only driver includes it.
 */
#ifndef VIADUCT_DRIVER_VRING_H
#define VIADUCT_DRIVER_VRING_H

#include "driver/arena.h"

struct vring {
	unsigned index;
	unsigned size; /* descriptors */
	bool packed;
	size_t desc, driver, device; /* the three areas, offsets */
	uint32_t position;           /* where the device is to begin */
	int kick_fd; /* eventfds; -1 in a vring that is not open */
	int call_fd;
	int err_fd;
};

/* Take room for the areas. Twice: counting, then for good. */
void vring_layout(struct vring *v, struct arena *a);

/* Make the eventfds. 0 or negative errno, then nothing is open. */
int vring_open(struct vring *v);
void vring_close(struct vring *v);

#endif
