/* SPDX-License-Identifier: BSD-2-Clause */
/* limit.c - a token bucket; limit.h says how it is kept. */
#include "switch/limit.h"

#define TICKS_A_NS     16u
#define TICKS_A_SECOND (TICKS_A_NS * 1000000000ull)

static uint64_t cost_of(const struct limit *l, uint64_t n)
{
	/* n: bits of the longest frame at most, so 2^20 * 2^34 fits. */
	return n * TICKS_A_SECOND / l->rate;
}

void limit_init(struct limit *l, uint64_t rate, uint64_t burst)
{
	*l = (struct limit){ .rate = rate };
	if (rate)
		l->depth = max_of(TICKS_A_SECOND / 10, cost_of(l, burst));
}

bool limit_fits(const struct limit *l, uint64_t now_ns, uint64_t n)
{
	uint64_t now = now_ns * TICKS_A_NS;

	if (!l->rate)
		return true;
	return max_of(l->full, now) + cost_of(l, n) <= now + l->depth;
}

void limit_take(struct limit *l, uint64_t now_ns, uint64_t n)
{
	uint64_t now = now_ns * TICKS_A_NS;

	if (l->rate)
		l->full = max_of(l->full, now) + cost_of(l, n);
}

void limit_refund(struct limit *l, uint64_t n)
{
	if (l->rate)
		l->full -= cost_of(l, n);
}
