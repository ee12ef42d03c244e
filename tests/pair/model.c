/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * model.c - what both ends of a pair have to do, kept plainly.
 */
#include "model.h"

#include <stdlib.h>
#include <string.h>

void model_open(struct model *m, const struct row *w)
{
	enum wish wish = WISH_ALWAYS;

	/* Zeroed memory: an event at index 0 on a split ring with EVENT_IDX,
	 * else the flags that ask for everything. */
	if (w->features & VIRTIO_F_EVENT_IDX &&
	    !(w->features & VIRTIO_F_RING_PACKED))
		wish = WISH_EVENT;
	memset(m, 0, sizeof(*m));
	m->row = w;
	m->avail.wish = m->used.wish = wish;
	m->order = calloc(w->buffers, sizeof(*m->order));
	m->place = calloc(w->buffers, sizeof(*m->place));
	CHECK(w, m->order && m->place);
}

void model_close(struct model *m)
{
	free(m->order);
	free(m->place);
}

bool model_due(const struct model *m, struct stream *s)
{
	bool packed = m->row->features & VIRTIO_F_RING_PACKED;
	uint64_t period = packed ? 2 * m->row->size : 65536;
	uint64_t from = s->decided;

	s->decided = s->shown;
	if (from == s->shown || s->wish == WISH_NEVER)
		return false;
	if (s->wish == WISH_ALWAYS)
		return true;
	/* Two laps are all that a wrap counter tells apart: told in doubt. */
	if (packed && s->shown - from > m->row->size)
		return true;
	for (uint64_t slot = from; slot < s->shown; slot++) {
		if (slot % period == s->event % period)
			return true;
	}
	return false;
}

uint16_t model_position(const struct model *m, uint64_t slots)
{
	uint32_t size = m->row->size;

	if (!(m->row->features & VIRTIO_F_RING_PACKED))
		return (uint16_t)slots;
	return slots % size | (slots / size % 2 ? 0 : PACKED_WRAP);
}

void model_dirty(struct model *m, uint64_t gpa, uint64_t len)
{
	for (uint64_t at = gpa; at < gpa + len; at++)
		m->bits[at >> 15] |= 1u << (at >> 12) % 8;
}
