/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * arena.h - the memory that a driver shares with its device. Only driver
 * includes it.
 *
 * One memfd, mapped once, given out from front to back when a driver is opened
 * and never taken back until it is closed. The device sees it at guest
 * addresses that begin at ARENA_GPA, so that address 0 is nowhere. The file is
 * sealed against shrinking: a device that has it cannot make our accesses
 * fault.
 *
 * Sizes are found by laying everything out twice, first in an arena that only
 * counts.
 */
#ifndef VIADUCT_DRIVER_ARENA_H
#define VIADUCT_DRIVER_ARENA_H

#include "base/defs.h"
#include "wire/vhost.h"

#define ARENA_GPA   UINT64_C(0x100000)
#define ARENA_ALIGN 4096u

struct arena {
	uint8_t *base; /* NULL: only counts */
	size_t size;
	size_t used;
	size_t whole; /* this much from the front is never cut */
	int fd;
};

/* An arena that counts what the same calls will need. */
static inline struct arena arena_counting(void)
{
	return (struct arena){ .fd = -1 };
}

/**
 * arena_open() - make and map the memory, zeroed
 * @huge: take hugepages; ordinary ones when there are none
 * Return: 0 or negative errno.
 */
int arena_open(struct arena *a, size_t size, bool huge);
void arena_close(struct arena *a);

/**
 * arena_take() - the next @size bytes, aligned to a power of two
 * Return: an offset in the arena. More than the arena has is our own bug.
 */
size_t arena_take(struct arena *a, size_t size, size_t align);

static inline void *arena_at(const struct arena *a, size_t offset)
{
	return a->base + offset;
}

static inline uint64_t arena_gpa(size_t offset)
{
	return ARENA_GPA + offset;
}

static inline uint64_t arena_uva(const struct arena *a, size_t offset)
{
	return (uint64_t)(uintptr_t)a->base + offset;
}

/* What was taken so far (rings, tables) has to lie in one region; the rest may
 * be cut anywhere. */
void arena_keep_whole(struct arena *a);

/**
 * arena_regions() - describe the arena to a device
 * @r: room for @n
 * @n: pieces wanted; each a multiple of a page, the last one takes the rest
 * Return: how many there are (fewer when the arena is small).
 */
unsigned arena_regions(const struct arena *a, struct vhost_user_region *r,
                       unsigned n);

#endif
