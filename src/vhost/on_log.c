/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_log.c - where written pages are noted during live migration.
 *
 * May come again and again while rings run (once a queue pair from some front
 * ends): the new log is mapped and checked, every ring moves to it under its
 * lock, then the old one goes. Spec: vhost-user, Migration.
 */
#include <errno.h>
#include <stdlib.h>

#include "vhost/handlers.h"

void log_area_free(struct log_area *a)
{
	if (!a)
		return;
	mem_unmap_region(&a->map);
	free(a);
}

int on_set_log_base(struct vhost_backend *b, struct msg *m)
{
	struct log_area *old = b->s.log, *a = calloc(1, sizeof(*a));
	int err;

	if (!a)
		return -ENOMEM;
	/* Checked like a region: no size 0, no sum that wraps, no end behind
	 * the file's. */
	a->map.size = m->body.log.size;
	a->map.offset = m->body.log.offset;
	err = mem_map_region(&a->map, m->fd[0]);
	if (err) {
		free(a);
		return err;
	}
	a->bits = (struct dirty_log){ a->map.host, a->map.size };
	b->s.log = a;
	vrings_follow_log(b);
	log_area_free(old);
	return 0;
}

/* We may tell by it that pages were written, and need not: front ends look at
 * the log when they want. Not kept. */
int on_set_log_fd(struct vhost_backend *b, struct msg *m)
{
	(void)b;
	(void)m;
	return 0;
}
