/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair.h - the pair matrix: our driver end against our device end. tests/pair
 * includes it.
 *
 * A row says what both ends agreed on and where memory lies. Buffer number k of
 * a row has a shape and contents that follow from the row's seed and k alone:
 * each end computes what it has to find, and compares every byte.
 *
 *   arena.c    the memory both ends share, and how the device sees it
 *   shape.c    shape and bytes of buffer k
 *   front.c    the driver's end: add, reap, compare
 *   back.c     the device's end: take, compare, write, give
 *   model.c    the reference: positions, order, events, dirty pages
 *   test_one.c one thread that plays both ends at random, beside the model
 *   test_two.c two threads, or two processes, that sleep and wake each other
 */
#ifndef VIADUCT_TESTS_PAIR_H
#define VIADUCT_TESTS_PAIR_H

#include <stdio.h>

#include "ring/dev.h"
#include "ring/drv.h"

#define PIECES_MAX 24u

enum layout {
	LAYOUT_ONE,      /* one region */
	LAYOUT_SEVERAL,  /* seven, apart and out of order in our memory */
	LAYOUT_CROSSING, /* about 300, shorter than buffers; tables cut too */
	LAYOUT_BYTES,    /* a region for each byte, with gaps between them */
};

enum tables { TABLES_NONE, TABLES_ENOUGH, TABLES_FEW };

struct row {
	char name[80];
	uint64_t features;
	uint32_t size;
	enum layout layout;
	enum tables tables;
	bool tracked; /* dirty log */
	bool record;  /* in-flight record */
	uint64_t buffers;
	uint64_t seed;
	uint32_t chunk; /* bytes of a buffer's place; 0: as suits the row */
};

/* Failure ends the program: the other end may be waiting for us. */
void pair_fail(const char *row, const char *file, int line, const char *what)
	__attribute__((noreturn));
#define CHECK(row, what)                                                   \
	do {                                                               \
		if (!(what))                                               \
			pair_fail((row)->name, __FILE__, __LINE__, #what); \
	} while (0)

/* Numbers that look random and are the same in every run. */
struct rng {
	uint64_t s;
};

uint64_t rng_next(struct rng *g);

/* One of 0 .. n - 1. */
static inline uint32_t rng_below(struct rng *g, uint32_t n)
{
	return (uint32_t)((rng_next(g) >> 32) * n >> 32);
}

/* True once in @n times. */
static inline bool rng_one_in(struct rng *g, uint32_t n)
{
	return !rng_below(g, n);
}

/* --- shape.c ------------------------------------------------------------ */

struct shape {
	uint16_t nread, nwrite;
	uint32_t len[PIECES_MAX];
	uint32_t gap[PIECES_MAX]; /* unused bytes before each piece */
	uint32_t read_len, write_len;
	uint32_t written; /* bytes the device writes */
};

/* The place of a buffer in bytes. */
uint32_t shape_chunk(const struct row *w);
void shape_of(const struct row *w, uint64_t k, struct shape *s);

/* Byte @i of what buffer @k has to read, gets written, and is filled with. */
static inline uint8_t byte_read(uint64_t k, uint32_t i)
{
	return (uint8_t)(k * 7 + i * 13 + (i >> 8) + 1);
}

static inline uint8_t byte_written(uint64_t k, uint32_t i)
{
	return (uint8_t)(k * 11 + i * 5 + (i >> 8) + 0x80);
}

static inline uint8_t byte_fill(uint64_t k, uint32_t i)
{
	return (uint8_t)(k * 3 + i * 17 + 0x33);
}

/* The whole place of buffer @k, as the driver leaves it (@written 0) or finds
 * it. */
void shape_image(const struct row *w, uint64_t k, uint32_t written,
                 uint8_t *image);

/* --- arena.c ------------------------------------------------------------ */

#define GPA_USED  UINT64_C(0x0100000) /* for the log alone */
#define GPA_TABLE UINT64_C(0x1000040)
#define GPA_DATA  UINT64_C(0x2000000)
#define LOG_BYTES 2048u /* bits for 64 MiB */

struct cut {
	uint32_t at, len; /* guest, from GPA_DATA on */
	uint32_t host;    /* offset in the arena */
};

struct arena {
	const struct row *row;
	int fd;
	uint32_t bytes;
	uint32_t desc, driver, device, table, data; /* offsets */
	uint32_t ntables, table_descs;
	uint32_t chunk, nchunks;
	uint32_t table_len, data_len, data_host; /* guest and host bytes */
	struct cut cut[MEM_REGIONS_MAX];
	unsigned ncuts;
	unsigned table_cut; /* bytes of a table region; 0: in one piece */
};

/* Lay a row's memory out and make a file of it, all zero. */
void arena_open(struct arena *a, const struct row *w);
void arena_close(struct arena *a);

/* Map it, once more at each call. */
uint8_t *arena_map(const struct arena *a);
void arena_unmap(const struct arena *a, uint8_t *at);

/* The device's map of it, where @at is ours. */
struct mem *arena_mem(const struct arena *a, uint8_t *at);

/* Guest bytes from GPA_DATA + @off on, by the layout alone. */
void arena_write(const struct arena *a, uint8_t *at, uint32_t off,
                 const struct seg *from);
void arena_read(const struct arena *a, const uint8_t *at, uint32_t off,
                const struct seg *to);

/* --- rows --------------------------------------------------------------- */

/* The name of a row, from the rest of it. */
void row_name(struct row *w);

/* TAP for a row that went well. */
void pair_ok(const struct row *w);
void pair_plan(uint64_t buffers);

/* Divides the work of long tests: VD_TEST_SLOW, or 10 after --quick. */
uint64_t pair_slow(int argc, char **argv);

#endif
