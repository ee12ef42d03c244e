/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * find.c - from a guest's or front end's address to a pointer. Freestanding:
 * the ring stands on it. Making and keeping maps is map.c.
 */
#include "mem/map.h"

const struct mem_region *mem_find(const struct mem *m, uint64_t gpa)
{
	unsigned low = 0, high = m ? m->nregions : 0;

	/* Regions below low start at or before gpa, those from high on after
	 * it. */
	while (low < high) {
		unsigned mid = (low + high) / 2;

		if (m->region[mid].gpa <= gpa)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || gpa - m->region[low - 1].gpa >= m->region[low - 1].size)
		return NULL;
	return &m->region[low - 1];
}

void *mem_piece_search(const struct mem *m, struct mem_hit *hit, uint64_t gpa,
                       size_t *len)
{
	const struct mem_region *r = mem_find(m, gpa);
	uint64_t off;

	if (!r)
		return NULL;
	*hit = (struct mem_hit){ r->gpa, r->size, r->host, 0 };
	if (r->size >= MEM_SHORT)
		hit->span = r->size - MEM_SHORT;
	off = gpa - r->gpa;
	if (*len > r->size - off)
		*len = (size_t)(r->size - off);
	return r->host + off;
}

void *mem_at_gpa(const struct mem *m, gpa_t at, uint64_t len)
{
	const struct mem_region *r = mem_find(m, at.v);

	if (!r || len > r->size - (at.v - r->gpa))
		return NULL;
	return r->host + (at.v - r->gpa);
}

/* Regions are sorted by guest address only, and this is for starting a ring. */
static const struct mem_region *find_uva(const struct mem *m, uint64_t uva)
{
	for (unsigned i = 0; m && i < m->nregions; i++) {
		if (uva - m->region[i].uva < m->region[i].size)
			return &m->region[i];
	}
	return NULL;
}

void *mem_at_uva(const struct mem *m, uva_t at, uint64_t len)
{
	const struct mem_region *r = find_uva(m, at.v);

	if (!r || len > r->size - (at.v - r->uva))
		return NULL;
	return r->host + (at.v - r->uva);
}

gpa_t mem_gpa_of_uva(const struct mem *m, uva_t at, gpa_t none)
{
	const struct mem_region *r = find_uva(m, at.v);

	return r ? (gpa_t){ r->gpa + (at.v - r->uva) } : none;
}
