/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * limit.h - a token bucket. switch includes it. One thread a bucket.
 *
 * Kept as one number, the time at which the bucket would be full again
 * ("theoretical arrival time"): a unit costs 1/rate seconds of it, and a burst
 * fits while that time is not further away than the bucket is deep. Nothing has
 * to be refilled, so nothing ticks.
 */
#ifndef VIADUCT_SWITCH_LIMIT_H
#define VIADUCT_SWITCH_LIMIT_H

#include "base/defs.h"

struct limit {
	uint64_t rate;  /* units a second, 0: no limit */
	uint64_t depth; /* sixteenths of a nanosecond */
	uint64_t full;  /* likewise, monotonic */
};

/* 100 ms deep, and at least @burst units; @rate 0: no limit. */
void limit_init(struct limit *l, uint64_t rate, uint64_t burst);

/* Would @n units fit now? */
bool limit_fits(const struct limit *l, uint64_t now_ns, uint64_t n);
void limit_take(struct limit *l, uint64_t now_ns, uint64_t n);
/* Give back what was taken last, because it was not used. */
void limit_refund(struct limit *l, uint64_t n);

#endif
