/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * shape.c - shape and bytes of buffer k.
 */
#include "pair.h"

#include <string.h>

uint32_t shape_chunk(const struct row *w)
{
	if (w->chunk)
		return w->chunk;
	if (w->layout == LAYOUT_BYTES)
		return 22;
	if (w->layout == LAYOUT_CROSSING)
		return 96;
	return w->size > 4096 ? 48 : 160;
}

/* How many pieces: mostly one, sometimes as many as the queue can hold. */
static uint32_t pieces(const struct row *w, struct rng *g)
{
	uint32_t most = min_of(w->size, PIECES_MAX), kind = rng_below(g, 16);

	most = min_of(most, shape_chunk(w) / 4);
	if (kind < 9 || most == 1)
		return 1;
	if (kind < 15)
		return 1 + rng_below(g, min_of(most, 4));
	return 1 + rng_below(g, most);
}

void shape_of(const struct row *w, uint64_t k, struct shape *s)
{
	struct rng g = { w->seed ^ k * UINT64_C(0xd6e8feb86659fd93) };
	uint32_t n = pieces(w, &g), most = shape_chunk(w) / n - 2;

	s->nread = rng_below(&g, n + 1);
	s->nwrite = n - s->nread;
	s->read_len = s->write_len = 0;
	for (uint32_t i = 0; i < n; i++) {
		s->gap[i] = rng_below(&g, 3);
		s->len[i] = rng_one_in(&g, 32) ? 0 : 1 + rng_below(&g, most);
		if (i < s->nread)
			s->read_len += s->len[i];
		else
			s->write_len += s->len[i];
	}
	s->written = s->write_len;
	if (rng_one_in(&g, 2))
		s->written = rng_below(&g, s->write_len + 1);
}

void shape_image(const struct row *w, uint64_t k, uint32_t written,
                 uint8_t *image)
{
	uint32_t chunk = shape_chunk(w), at = 0, nr = 0, nw = 0;
	struct shape s;

	shape_of(w, k, &s);
	for (uint32_t i = 0; i < chunk; i++)
		image[i] = byte_fill(k, i);
	for (unsigned p = 0; p < s.nread + s.nwrite; p++) {
		at += s.gap[p];
		for (uint32_t i = 0; i < s.len[p]; i++, at++) {
			if (p < s.nread)
				image[at] = byte_read(k, nr++);
			else if (nw < written)
				image[at] = byte_written(k, nw++);
		}
	}
}
