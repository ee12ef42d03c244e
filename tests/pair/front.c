/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * front.c - the driver's end of a pair.
 */
#include "ends.h"

#include <stdlib.h>
#include <string.h>

/* A token is a buffer's number and its chunk. */
static uint64_t token_of(uint64_t k, uint32_t chunk)
{
	return k << 20 | chunk;
}

uint64_t front_number(uint64_t token)
{
	return token >> 20;
}

const struct record *front_record(const struct front *f, uint64_t token)
{
	uint32_t chunk = token & 0xfffff;

	CHECK(f->row, chunk < f->arena->nchunks);
	CHECK(f->row, f->rec[chunk].k == front_number(token));
	return &f->rec[chunk];
}

void front_open(struct front *f, const struct arena *a, uint8_t *at)
{
	const struct row *w = a->row;
	struct drv_conf c;

	memset(f, 0, sizeof(*f));
	f->row = w;
	f->arena = a;
	f->at = at;
	f->rng.s = w->seed ^ 1;
	f->slot = calloc(w->size, sizeof(*f->slot));
	f->free_id = calloc(w->size, sizeof(*f->free_id));
	f->free_table = calloc(a->ntables + 1, sizeof(*f->free_table));
	f->rec = calloc(a->nchunks, sizeof(*f->rec));
	f->free_chunk = calloc(a->nchunks, sizeof(*f->free_chunk));
	f->image = malloc(a->chunk);
	f->found = malloc(a->chunk);
	CHECK(w, f->slot && f->free_id && f->free_table && f->rec &&
	                 f->free_chunk && f->image && f->found);
	for (uint32_t i = a->nchunks; i--;)
		f->free_chunk[f->chunks_free++] = i;
	c = (struct drv_conf){
		.features = w->features,
		.size = w->size,
		.desc = at + a->desc,
		.driver = at + a->driver,
		.device = at + a->device,
		.slot = f->slot,
		.free_id = f->free_id,
		.table = a->ntables ? at + a->table : NULL,
		.table_gpa = GPA_TABLE,
		.free_table = f->free_table,
		.ntables = a->ntables,
		.table_descs = a->table_descs,
	};
	CHECK(w, !drv_start(&f->drv, &c));
}

void front_close(struct front *f)
{
	free(f->slot);
	free(f->free_id);
	free(f->free_table);
	free(f->rec);
	free(f->free_chunk);
	free(f->image);
	free(f->found);
}

const struct record *front_add(struct front *f)
{
	uint64_t tables = count_get(&f->drv.count.indirect);
	struct drv_piece piece[PIECES_MAX];
	struct drv_buf b = { .piece = piece };
	struct record *rec;
	struct shape s;
	uint32_t at, chunk;
	int err;

	if (!f->chunks_free)
		return NULL;
	chunk = f->free_chunk[f->chunks_free - 1];
	at = chunk * f->arena->chunk;
	shape_image(f->row, f->next, 0, f->image);
	arena_write(f->arena, f->at, at,
	            &(struct seg){ f->image, f->arena->chunk });
	shape_of(f->row, f->next, &s);
	for (unsigned i = 0; i < s.nread + s.nwrite; i++) {
		at += s.gap[i];
		piece[i] = (struct drv_piece){ GPA_DATA + at, s.len[i] };
		at += s.len[i];
	}
	b.nread = s.nread;
	b.nwrite = s.nwrite;
	b.token = token_of(f->next, chunk);
	err = drv_add(&f->drv, &b);
	if (err == DRV_ENOSPC)
		return NULL;
	CHECK(f->row, !err);
	rec = &f->rec[chunk];
	*rec = (struct record){ f->next, s.nread + s.nwrite, true };
	if (!f->drv.packed || count_get(&f->drv.count.indirect) != tables)
		rec->slots = 1;
	f->chunks_free--;
	f->next++;
	return rec;
}

/* A buffer came back: is it as it has to be? Behind the bytes that the device
 * says it wrote stands what stood there; a driver does not look, we do
 * [spec: split.used.nothing-beyond-len]. */
static void compare(struct front *f, const struct drv_done *done)
{
	const struct record *rec = front_record(f, done->token);
	uint32_t chunk = rec - f->rec;
	struct shape s;

	CHECK(f->row, rec->busy);
	shape_of(f->row, rec->k, &s);
	CHECK(f->row, done->written == s.written);
	shape_image(f->row, rec->k, s.written, f->image);
	arena_read(f->arena, f->at, chunk * f->arena->chunk,
	           &(struct seg){ f->found, f->arena->chunk });
	CHECK(f->row, !memcmp(f->image, f->found, f->arena->chunk));
	if (f->row->features & VIRTIO_F_IN_ORDER)
		CHECK(f->row, rec->k == f->reaped);
	f->rec[chunk].busy = false;
	f->reaped++;
	f->free_chunk[f->chunks_free++] = chunk;
}

unsigned front_reap(struct front *f, unsigned max)
{
	int n = drv_reap(&f->drv, f->done, min_of(max, REAP_MAX));

	CHECK(f->row, n >= 0);
	for (int i = 0; i < n; i++)
		compare(f, &f->done[i]);
	return n;
}
