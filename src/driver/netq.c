/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * netq.c - the memory of one virtqueue, and its notifications.
 */
#include "driver/netq.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

#define TABLE_DESCS 64u
#define BUF_ALIGN   64u

int netq_init(struct netq *q, const struct netq_conf *c)
{
	unsigned n = c->vr->size;

	*q = (struct netq){ .vr = c->vr,
		            .buf_size = c->buf_size,
		            .pieces = max_of(c->pieces, 1u),
		            .ntables = max_of(n / 4, 1u),
		            .table_descs = min_of(n, TABLE_DESCS) };
	q->slot = calloc(n, sizeof(*q->slot));
	q->free_id = calloc(n, sizeof(*q->free_id));
	q->free_table = calloc(q->ntables, sizeof(*q->free_table));
	q->free_buf = calloc(n, sizeof(*q->free_buf));
	q->piece = calloc(n, sizeof(*q->piece));
	q->done = calloc(n, sizeof(*q->done));
	if (!q->slot || !q->free_id || !q->free_table || !q->free_buf ||
	    !q->piece || !q->done)
		return -ENOMEM;
	return 0;
}

void netq_fini(struct netq *q)
{
	free(q->slot);
	free(q->free_id);
	free(q->free_table);
	free(q->free_buf);
	free(q->piece);
	free(q->done);
}

void netq_layout_ring(struct netq *q, struct arena *a)
{
	vring_layout(q->vr, a);
	q->table_at = arena_take(a,
	                         (size_t)q->ntables * q->table_descs *
	                                 sizeof(struct split_desc),
	                         BUF_ALIGN);
}

void netq_layout_bufs(struct netq *q, struct arena *a)
{
	q->buf_at = arena_take(a, (size_t)q->vr->size * q->buf_size, BUF_ALIGN);
}

/* [spec: split.avail-notify.flags-init] */
static void zero_areas(const struct vring *v, const struct arena *a)
{
	size_t event = sizeof(struct packed_event);

	memset(arena_at(a, v->desc), 0, SPLIT_DESC_BYTES(v->size));
	memset(arena_at(a, v->driver), 0,
	       v->packed ? event : SPLIT_AVAIL_BYTES(v->size));
	memset(arena_at(a, v->device), 0,
	       v->packed ? event : SPLIT_USED_BYTES(v->size));
}

int netq_start(struct netq *q, const struct arena *a, uint64_t features)
{
	struct vring *v = q->vr;
	struct drv_conf c = {
		.features = features,
		.size = v->size,
		.desc = arena_at(a, v->desc),
		.driver = arena_at(a, v->driver),
		.device = arena_at(a, v->device),
		.slot = q->slot,
		.free_id = q->free_id,
		.table = arena_at(a, q->table_at),
		.table_gpa = arena_gpa(q->table_at),
		.free_table = q->free_table,
		.ntables = (uint16_t)q->ntables,
		.table_descs = (uint16_t)q->table_descs,
	};

	zero_areas(v, a);
	q->buf = arena_at(a, q->buf_at);
	q->buf_gpa = arena_gpa(q->buf_at);
	for (unsigned i = 0; i < v->size; i++)
		q->free_buf[i] = (uint16_t)(v->size - 1 - i);
	q->nfree = v->size;
	/* A fresh packed ring begins with both wrap counters set. */
	v->position = v->packed ? PACKED_WRAP | PACKED_WRAP << 16 : 0;
	return drv_start(&q->ring, &c) ? -EINVAL : 0;
}

void netq_kick(struct netq *q)
{
	if (!drv_kick_wanted(&q->ring))
		return;
	count_add(&q->kicks, 1);
	fd_event_signal(q->vr->kick_fd);
}

void netq_drain_calls(struct netq *q)
{
	uint64_t n;

	if (read(q->vr->call_fd, &n, sizeof(n)) == (ssize_t)sizeof(n))
		count_add(&q->calls, n);
}

unsigned netq_cut(const struct netq *q, unsigned b, unsigned head, unsigned len,
                  struct drv_piece *to)
{
	uint64_t gpa = netq_buf_gpa(q, b);
	unsigned n = 0, left = q->pieces, take;

	while (len && left > 1) {
		take = n == 0 && head ? head : (len + left - 1) / left;
		take = min_of(take, len);
		to[n++] = (struct drv_piece){ gpa, take };
		gpa += take;
		len -= take;
		left--;
	}
	if (len)
		to[n++] = (struct drv_piece){ gpa, len };
	return n;
}
