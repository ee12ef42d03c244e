/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * clock.h - the monotonic clock in nanoseconds. Only driver includes it, which
 * has no loop whose turn would read the clock once.
 */
#ifndef VIADUCT_DRIVER_CLOCK_H
#define VIADUCT_DRIVER_CLOCK_H

#include <time.h>

#include "base/defs.h"

#define CLOCK_NS_PER_MS UINT64_C(1000000)

static inline uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#endif
