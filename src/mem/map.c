/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * map.c - making, sharing and giving up maps of guest memory.
 *
 * A snapshot is never changed. Snapshots that follow each other share the
 * mappings of the regions they have in common: each mapping has a counter of
 * its own (mem_region.sharers), and the last snapshot that holds it unmaps it.
 * Counters are plain: one thread makes and puts the snapshots of a session.
 */
#include "mem/map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mem/guard.h"

static struct mem *mem_alloc(unsigned nregions)
{
	struct mem *m;

	m = malloc(sizeof(*m) + nregions * sizeof(m->region[0]));
	if (m) {
		m->nregions = nregions;
		m->refs = 1;
	}
	return m;
}

static bool wraps(uint64_t start, uint64_t size)
{
	return size > UINT64_MAX - start;
}

static bool region_is_sane(const struct mem_region *r)
{
	return r->size && r->host && !wraps(r->gpa, r->size) &&
	       !wraps(r->uva, r->size) && r->size <= PTRDIFF_MAX;
}

static int by_gpa(const void *a, const void *b)
{
	const struct mem_region *x = a, *y = b;

	return x->gpa < y->gpa ? -1 : x->gpa > y->gpa;
}

/* Two regions that stand in order of guest address. */
static bool overlap(const struct mem_region *a, const struct mem_region *b)
{
	return b->gpa - a->gpa < a->size;
}

static bool regions_overlap(const struct mem *m)
{
	for (unsigned i = 1; i < m->nregions; i++) {
		if (overlap(&m->region[i - 1], &m->region[i]))
			return true;
	}
	return false;
}

struct mem *mem_new(const struct mem_region *r, unsigned n, int *err)
{
	struct mem *m;

	*err = -E2BIG;
	if (n > MEM_REGIONS_MAX)
		return NULL;
	*err = -EINVAL;
	for (unsigned i = 0; i < n; i++) {
		if (!region_is_sane(&r[i]))
			return NULL;
	}
	m = mem_alloc(n);
	if (!m) {
		*err = -ENOMEM;
		return NULL;
	}
	if (n) {
		memcpy(m->region, r, n * sizeof(*r));
		qsort(m->region, n, sizeof(*r), by_gpa);
	}
	if (regions_overlap(m)) {
		free(m);
		return NULL;
	}
	*err = 0;
	return m;
}

/* What a mapping of this file has to be a multiple of: a page, or a huge page
 * (hugetlbfs says so in st_blksize). */
static uint64_t mapping_unit(const struct stat *st)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t block = (uint64_t)st->st_blksize;

	return block > page && !(block & (block - 1)) ? block : page;
}

int mem_map_region(struct mem_region *r, int fd)
{
	uint64_t unit, end, skip, bytes;
	struct stat st;

	if (!r->size || wraps(r->gpa, r->size) || wraps(r->uva, r->size) ||
	    wraps(r->offset, r->size))
		return -EINVAL;
	if (fstat(fd, &st))
		return -errno;
	end = r->offset + (r->size - 1); /* last byte */
	if (st.st_size <= 0 || end >= (uint64_t)st.st_size)
		return -EINVAL;

	/* The file's end is below 2^63, so none of these wraps. */
	unit = mapping_unit(&st);
	skip = r->offset % unit;
	bytes = (skip + r->size + unit - 1) / unit * unit;
	if (bytes > PTRDIFF_MAX)
		return -EINVAL;
	r->sharers = malloc(sizeof(*r->sharers));
	if (!r->sharers)
		return -ENOMEM;
	*r->sharers = 1;
	r->mapping =
		mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE,
	             MAP_SHARED | MAP_NORESERVE, fd, (off_t)(r->offset - skip));
	if (r->mapping == MAP_FAILED) {
		int err = -errno;

		free(r->sharers);
		r->sharers = NULL;
		r->mapping = NULL;
		return err;
	}
	/* A core file of the daemon is not to hold its guests. */
	madvise(r->mapping, (size_t)bytes, MADV_DONTDUMP);
	mem_guard_add(r->mapping, (size_t)bytes);
	r->mapped = (size_t)bytes;
	r->host = (uint8_t *)r->mapping + skip;
	return 0;
}

void mem_unmap_region(struct mem_region *r)
{
	if (!r->mapping)
		return;
	if (--*r->sharers == 0) {
		mem_guard_remove(r->mapping);
		munmap(r->mapping, r->mapped);
		free(r->sharers);
	}
	r->mapping = NULL;
	r->sharers = NULL;
	r->host = NULL;
}

/* @to shares what it was given a copy of. */
static void share(struct mem_region *to, const struct mem_region *from,
                  unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		to[i] = from[i];
		if (to[i].mapping)
			++*to[i].sharers;
	}
}

/* Regions of @m that start before @gpa. */
static unsigned rank_of(const struct mem *m, uint64_t gpa)
{
	unsigned i = 0;

	while (i < m->nregions && m->region[i].gpa < gpa)
		i++;
	return i;
}

struct mem *mem_with(struct mem *m, const struct mem_region *r, int *err)
{
	unsigned n = m ? m->nregions : 0;
	struct mem *with;
	unsigned at;

	if (!n)
		return mem_new(r, 1, err);
	*err = -EINVAL;
	if (!region_is_sane(r))
		return NULL;
	*err = -EEXIST;
	at = rank_of(m, r->gpa);
	if ((at && overlap(&m->region[at - 1], r)) ||
	    (at < n && overlap(r, &m->region[at])))
		return NULL;
	*err = -E2BIG;
	if (n >= MEM_REGIONS_MAX)
		return NULL;
	*err = -ENOMEM;
	with = mem_alloc(n + 1);
	if (!with)
		return NULL;
	share(with->region, m->region, at);
	with->region[at] = *r;
	share(&with->region[at + 1], &m->region[at], n - at);
	*err = 0;
	return with;
}

struct mem *mem_without(struct mem *m, const struct mem_region *r, int *err)
{
	unsigned at = m ? rank_of(m, r->gpa) : 0;
	struct mem *without;

	*err = -ENOENT;
	if (!m || at == m->nregions || m->region[at].gpa != r->gpa ||
	    m->region[at].uva != r->uva || m->region[at].size != r->size)
		return NULL;
	*err = -ENOMEM;
	without = mem_alloc(m->nregions - 1);
	if (!without)
		return NULL;
	share(without->region, m->region, at);
	share(&without->region[at], &m->region[at + 1], m->nregions - at - 1);
	*err = 0;
	return without;
}

struct mem *mem_get(struct mem *m)
{
	if (m)
		m->refs++;
	return m;
}

void mem_put(struct mem *m)
{
	if (!m)
		return;
	assert(m->refs);
	if (--m->refs)
		return;
	for (unsigned i = 0; i < m->nregions; i++)
		mem_unmap_region(&m->region[i]);
	free(m);
}
