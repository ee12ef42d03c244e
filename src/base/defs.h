/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * defs.h - the few words every layer uses. Anyone may include it.
 *
 * Freestanding: only the compiler's own headers.
 */
#ifndef VIADUCT_BASE_DEFS_H
#define VIADUCT_BASE_DEFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef VD_COVERAGE /* a template body counts once, not once a variant */
#define always_inline inline
#else
#define always_inline inline __attribute__((always_inline))
#endif
#define noinline      __attribute__((noinline))
#define cache_aligned __attribute__((aligned(64)))

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define array_len(a) (sizeof(a) / sizeof((a)[0]))
#define container_of(p, type, member) \
	((type *)((char *)(p)-offsetof(type, member)))

#define min_of(a, b) ((a) < (b) ? (a) : (b))
#define max_of(a, b) ((a) > (b) ? (a) : (b))

/* Addresses have types, so that mixing them does not compile. */
typedef struct {
	uint64_t v;
} gpa_t; /* guest physical: what descriptors hold */

typedef struct {
	uint64_t v;
} uva_t; /* the front end's virtual: what vring addresses hold */

/*
 * A piece of memory in this process. The same layout as struct iovec (checked
 * in base/iov.c), so that an array of them can go to readv() and writev().
 */
struct seg {
	void *base;
	size_t len;
};

#endif
