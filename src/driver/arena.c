/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.c - make, map and describe the memory shared with a device.
 */
#include "driver/arena.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"

#define HUGE_PAGE (UINT64_C(2) << 20)

static int make_file(size_t size, unsigned flags)
{
	int fd, err;

	fd = memfd_create("viaduct-driver",
	                  MFD_CLOEXEC | MFD_ALLOW_SEALING | flags);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) <
	            0) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* 0, or negative errno and nothing open. */
static int make_and_map(struct arena *a, size_t size, unsigned flags)
{
	void *p;
	int err;

	a->fd = make_file(size, flags);
	if (a->fd < 0)
		return a->fd;
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	if (p == MAP_FAILED) {
		err = -errno;
		fd_close(&a->fd);
		return err;
	}
	a->base = p;
	a->size = size;
	return 0;
}

static size_t round_up(size_t n, size_t to)
{
	return (n + to - 1) & ~(to - 1);
}

int arena_open(struct arena *a, size_t size, bool huge)
{
	*a = arena_counting();
	if (huge &&
	    make_and_map(a, round_up(size, HUGE_PAGE), MFD_HUGETLB) == 0)
		return 0;
	return make_and_map(a, round_up(size, ARENA_ALIGN), 0);
}

void arena_close(struct arena *a)
{
	if (a->base)
		munmap(a->base, a->size);
	a->base = NULL;
	fd_close(&a->fd);
}

size_t arena_take(struct arena *a, size_t size, size_t align)
{
	size_t at = round_up(a->used, align);

	assert(!a->base || (at <= a->size && size <= a->size - at));
	a->used = at + size;
	return at;
}

void arena_keep_whole(struct arena *a)
{
	a->used = a->whole = round_up(a->used, ARENA_ALIGN);
}

static struct vhost_user_region region_of(const struct arena *a, size_t at,
                                          size_t size)
{
	return (struct vhost_user_region){ .gpa = arena_gpa(at),
		                           .size = size,
		                           .uva = arena_uva(a, at),
		                           .offset = at };
}

unsigned arena_regions(const struct arena *a, struct vhost_user_region *r,
                       unsigned n)
{
	size_t at = a->whole, each, pages = (a->size - at) / ARENA_ALIGN;
	unsigned i;

	if (n < 2 || !at || !pages) {
		r[0] = region_of(a, 0, a->size);
		return 1;
	}
	r[0] = region_of(a, 0, at);
	n = 1 + (unsigned)min_of((size_t)n - 1, pages);
	each = pages / (n - 1) * ARENA_ALIGN;
	for (i = 1; i < n; i++) {
		r[i] = region_of(a, at, i == n - 1 ? a->size - at : each);
		at += each;
	}
	return n;
}
