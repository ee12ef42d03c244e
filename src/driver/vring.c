/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vring.c - room and eventfds for a queue.
 *
 * Each area has cache lines of its own: the two ends write to different areas.
 */
#include "driver/vring.h"

#include "base/fd.h"
#include "wire/packed.h"
#include "wire/split.h"

#define AREA_ALIGN 64u

void vring_layout(struct vring *v, struct arena *a)
{
	size_t n = v->size;

	v->desc = arena_take(a, SPLIT_DESC_BYTES(n), AREA_ALIGN);
	v->driver = arena_take(a,
	                       v->packed ? sizeof(struct packed_event)
	                                 : SPLIT_AVAIL_BYTES(n),
	                       AREA_ALIGN);
	v->device = arena_take(a,
	                       v->packed ? sizeof(struct packed_event)
	                                 : SPLIT_USED_BYTES(n),
	                       AREA_ALIGN);
}

static int event_into(int *fd)
{
	*fd = fd_event_new();
	return *fd < 0 ? *fd : 0;
}

int vring_open(struct vring *v)
{
	int err;

	v->kick_fd = v->call_fd = v->err_fd = -1;
	err = event_into(&v->kick_fd);
	if (!err)
		err = event_into(&v->call_fd);
	if (!err)
		err = event_into(&v->err_fd);
	if (err)
		vring_close(v);
	return err;
}

void vring_close(struct vring *v)
{
	fd_close(&v->kick_fd);
	fd_close(&v->call_fd);
	fd_close(&v->err_fd);
}
