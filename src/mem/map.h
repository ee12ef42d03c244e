/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map.h - guest memory as this process sees it. ring, vhost and driver include
 * it.
 *
 * A map is an immutable snapshot: regions sorted by guest address, none
 * overlapping. Whoever owns a queue installs a new snapshot between two bursts
 * and the old one is put when nobody looks any more; nothing here locks.
 *
 * Translation looks at the queue's own last hit first (one subtraction, two
 * compares for the usual guest with one region) and then searches the sorted
 * regions: O(log n). A buffer may cross regions; then it comes back in pieces.
 *
 * find.c and the inline half are freestanding; map.c (allocation, mmap) is not.
 */
#ifndef VIADUCT_MEM_MAP_H
#define VIADUCT_MEM_MAP_H

#include "base/defs.h"

#define MEM_REGIONS_MAX 509u

struct mem_region {
	uint64_t gpa;      /* guest physical address of the first byte */
	uint64_t size;     /* bytes, never 0; gpa + size never wraps */
	uint64_t uva;      /* front end's virtual address of the first byte */
	uint8_t *host;     /* here */
	void *mapping;     /* what mmap() returned; NULL: not ours to unmap */
	size_t mapped;     /* bytes of it */
	unsigned *sharers; /* of the mapping; map.c's */
	uint64_t offset;   /* of the first byte in the file, as the peer said */
};

struct mem {
	unsigned nregions;
	unsigned refs; /* snapshots share regions; see map.c */
	struct mem_region region[];
};

/* A buffer shorter than this needs one compare to be found in the region that
 * was hit last: does it begin before span? */
#define MEM_SHORT UINT64_C(65536)

/* The last region a queue hit. All zero: nothing hit yet. Owner only. */
struct mem_hit {
	uint64_t gpa;
	uint64_t size;
	uint8_t *host;
	uint64_t span; /* size - MEM_SHORT, 0 for small regions */
};

/**
 * mem_find() - the region that holds a guest address
 * @m:   map, may be NULL
 * @gpa: guest physical address
 *
 * Return: the region, or NULL. O(log n).
 */
const struct mem_region *mem_find(const struct mem *m, uint64_t gpa);

/* The slow half of mem_piece(): search, and remember in @hit. */
void *mem_piece_search(const struct mem *m, struct mem_hit *hit, uint64_t gpa,
                       size_t *len);

/**
 * mem_piece() - the first piece of a guest buffer
 * @m:   map
 * @hit: the caller's last-hit cache
 * @gpa: guest physical address of the buffer
 * @len: in: bytes wanted, at least 1; out: bytes usable at the pointer (as
 *       many as wanted unless the region ends before)
 *
 * Return: pointer, or NULL when @gpa is in no region.
 */
static always_inline void *mem_piece(const struct mem *m, struct mem_hit *hit,
                                     uint64_t gpa, size_t *len)
{
	uint64_t off = gpa - hit->gpa;

	if (likely(off < hit->size && *len <= hit->size - off))
		return hit->host + off;
	return mem_piece_search(m, hit, gpa, len);
}

/**
 * mem_at_gpa() - a guest buffer that has to be in one piece
 * Return: pointer to @len bytes, NULL if they are not all in one region.
 */
void *mem_at_gpa(const struct mem *m, gpa_t at, uint64_t len);

/**
 * mem_at_uva() - the same for a front end's virtual address (vring areas)
 */
void *mem_at_uva(const struct mem *m, uva_t at, uint64_t len);

/* The guest's address of a front end's virtual one; @none if it is in no
 * region. */
gpa_t mem_gpa_of_uva(const struct mem *m, uva_t at, gpa_t none);

/* --- hosted half: map.c ------------------------------------------------ */

/**
 * mem_new() - a map from regions that are mapped already
 * @r: regions in any order; copied. host must be set; a mapping (of
 *     mem_map_region()) belongs to the map on success, NULL is memory of the
 *     caller
 * @n: how many, at most MEM_REGIONS_MAX; 0 gives an empty map
 *
 * Return: a map with one reference, or NULL with -EINVAL (overlap, wrap, size
 * 0), -E2BIG or -ENOMEM in @err.
 */
struct mem *mem_new(const struct mem_region *r, unsigned n, int *err);

/**
 * mem_map_region() - map what a front end described
 * @r:  in: gpa, size, uva, offset; out: host, mapping, mapped
 * @fd: memory file; stays the caller's
 *
 * Refuses, with nothing mapped: size 0, sums that wrap, a range that ends
 * behind the file's end (a later access would be SIGBUS).
 *
 * Return: 0, -EINVAL, or what fstat() or mmap() said.
 */
int mem_map_region(struct mem_region *r, int fd);

/* Unmap what mem_map_region() mapped. */
void mem_unmap_region(struct mem_region *r);

/**
 * mem_with() / mem_without() - a new snapshot with one region more or less
 * @m: map or NULL; unchanged, still the caller's
 *
 * mem_without() finds the region by gpa, uva and size, all three. On success
 * the regions' mappings belong to both snapshots; the last mem_put() of any
 * snapshot that holds a mapping unmaps it.
 *
 * Return: a new snapshot with one reference, or NULL and @err: -EINVAL,
 * -EEXIST (overlaps), -ENOENT, -E2BIG, -ENOMEM.
 */
struct mem *mem_with(struct mem *m, const struct mem_region *r, int *err);
struct mem *mem_without(struct mem *m, const struct mem_region *r, int *err);

struct mem *mem_get(struct mem *m);
void mem_put(struct mem *m); /* NULL is fine */

#endif
