/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.c - the memory both ends share, and how the device sees it.
 *
 * One file: descriptor area, driver area, device area, indirect tables, data.
 * The data is one run of guest addresses, cut into regions that lie in the file
 * out of order and with gaps. Table regions are cut as well, but lie in one
 * piece for the driver.
 */
#include "pair.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define CUTS_CROSSING 300u
#define TABLE_BYTES   64u /* table bytes with a region each, LAYOUT_BYTES */

static uint32_t align_up(uint32_t x, uint32_t to)
{
	return (x + to - 1) / to * to;
}

/* Cut the data's guest addresses; lengths only. */
static void cut_lengths(struct arena *a, struct rng *g)
{
	uint32_t left = a->data_len, at = 0, most = left;

	if (a->row->layout == LAYOUT_SEVERAL)
		most = left / 4;
	else if (a->row->layout == LAYOUT_CROSSING)
		most = 2 * left / CUTS_CROSSING;
	else if (a->row->layout == LAYOUT_BYTES)
		most = 1;
	for (a->ncuts = 0; left; a->ncuts++) {
		uint32_t len = most / 2 + 1 + rng_below(g, most / 2 + 1);

		if (a->row->layout == LAYOUT_ONE)
			len = left;
		if (a->row->layout == LAYOUT_BYTES)
			len = 1;
		len = min_of(left, len);
		a->cut[a->ncuts] = (struct cut){ .at = at, .len = len };
		at += len;
		left -= len;
	}
}

/* Place the cuts in the file, in random order, with gaps. */
static void cut_places(struct arena *a, struct rng *g)
{
	uint16_t order[MEM_REGIONS_MAX];
	uint32_t host = a->data;

	for (unsigned i = 0; i < a->ncuts; i++)
		order[i] = i;
	for (unsigned i = a->ncuts; i > 1; i--) {
		unsigned j = rng_below(g, i);
		uint16_t t = order[i - 1];

		order[i - 1] = order[j];
		order[j] = t;
	}
	for (unsigned i = 0; i < a->ncuts; i++) {
		struct cut *c = &a->cut[order[i]];

		host += a->row->layout == LAYOUT_ONE ? 0 : 1 + rng_below(g, 9);
		c->host = host;
		host += c->len;
	}
	a->bytes = align_up(host + 64, 4096);
}

static void tables_choose(struct arena *a)
{
	const struct row *w = a->row;

	a->ntables = w->tables == TABLES_ENOUGH ? min_of(w->size, 512u) : 2;
	if (w->tables == TABLES_NONE)
		a->ntables = 0;
	a->table_descs = min_of(w->size, w->tables == TABLES_FEW ? 3u : 24u);
	a->table_len = 16 * a->ntables * a->table_descs;
	if (w->layout == LAYOUT_CROSSING && a->table_len)
		a->table_cut = a->table_len / 150 + 3;
	if (w->layout == LAYOUT_BYTES)
		a->table_cut = 1;
}

static void chunks_choose(struct arena *a)
{
	const struct row *w = a->row;

	a->chunk = shape_chunk(w);
	a->nchunks = w->size + 8;
	if (w->layout == LAYOUT_BYTES)
		a->nchunks = 18;
	else if (w->layout == LAYOUT_CROSSING)
		a->nchunks = min_of(a->nchunks, 64u);
	else if (w->chunk)
		a->nchunks = min_of(a->nchunks, 32u);
	/* Runs of plain chains are taken at once below the region's last
	 * 64 KiB: half of the places that are used lie there. */
	else if (w->layout == LAYOUT_ONE)
		a->nchunks = max_of(a->nchunks,
		                    a->nchunks / 2 + 65536 / a->chunk + 1);
	a->data_len = a->chunk * a->nchunks;
}

void arena_open(struct arena *a, const struct row *w)
{
	struct rng g = { w->seed ^ UINT64_C(0xa7e4a) };

	memset(a, 0, sizeof(*a));
	a->row = w;
	tables_choose(a);
	chunks_choose(a);
	a->desc = 0;
	a->driver = align_up(16 * w->size, 64);
	a->device = align_up(a->driver + SPLIT_AVAIL_BYTES(w->size), 64);
	a->table = align_up(a->device + SPLIT_USED_BYTES(w->size), 64);
	a->data = align_up(a->table + a->table_len, 64);
	cut_lengths(a, &g);
	cut_places(a, &g);
	a->fd = memfd_create("pair", MFD_CLOEXEC);
	CHECK(w, a->fd >= 0);
	CHECK(w, !ftruncate(a->fd, a->bytes));
}

void arena_close(struct arena *a)
{
	close(a->fd);
}

uint8_t *arena_map(const struct arena *a)
{
	void *at = mmap(NULL, a->bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
	                a->fd, 0);

	CHECK(a->row, at != MAP_FAILED);
	return at;
}

void arena_unmap(const struct arena *a, uint8_t *at)
{
	munmap(at, a->bytes);
}

/* Regions of the tables into @r; how many. */
static unsigned table_regions(const struct arena *a, uint8_t *at,
                              struct mem_region *r)
{
	uint32_t done = 0, step = a->table_cut ? a->table_cut : a->table_len;
	unsigned n = 0;

	while (done < a->table_len) {
		uint32_t len = min_of(step, a->table_len - done);

		/* Few regions are left for those that come last. */
		if (a->row->layout == LAYOUT_BYTES && done >= TABLE_BYTES)
			len = a->table_len - done;
		r[n++] = (struct mem_region){ .gpa = GPA_TABLE + done,
			                      .size = len,
			                      .host = at + a->table + done };
		done += len;
	}
	return n;
}

struct mem *arena_mem(const struct arena *a, uint8_t *at)
{
	struct mem_region r[MEM_REGIONS_MAX + TABLE_BYTES];
	unsigned n = table_regions(a, at, r);
	struct mem *m;
	int err;

	for (unsigned i = 0; i < a->ncuts; i++)
		r[n++] = (struct mem_region){ .gpa = GPA_DATA + a->cut[i].at,
			                      .size = a->cut[i].len,
			                      .host = at + a->cut[i].host };
	m = mem_new(r, n, &err);
	CHECK(a->row, m);
	return m;
}

/* The piece of the data at @off: where it starts in the file, bytes left. */
static uint32_t piece(const struct arena *a, uint32_t off, uint32_t *left)
{
	unsigned low = 0, high = a->ncuts;

	while (high - low > 1) {
		unsigned mid = (low + high) / 2;

		if (a->cut[mid].at <= off)
			low = mid;
		else
			high = mid;
	}
	*left = a->cut[low].at + a->cut[low].len - off;
	return a->cut[low].host + (off - a->cut[low].at);
}

void arena_write(const struct arena *a, uint8_t *at, uint32_t off,
                 const struct seg *from)
{
	const uint8_t *in = from->base;
	uint32_t left = from->len, n;

	for (; left; left -= n, off += n, in += n) {
		uint32_t host = piece(a, off, &n);

		n = min_of(n, left);
		memcpy(at + host, in, n);
	}
}

void arena_read(const struct arena *a, const uint8_t *at, uint32_t off,
                const struct seg *to)
{
	uint8_t *out = to->base;
	uint32_t left = to->len, n;

	for (; left; left -= n, off += n, out += n) {
		uint32_t host = piece(a, off, &n);

		n = min_of(n, left);
		memcpy(out, at + host, n);
	}
}
