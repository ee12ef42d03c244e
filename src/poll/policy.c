/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.c - what silences cost, and what was learned from them.
 *
 * A silence that was slept through looks longer than it was, by the wake-up;
 * that is subtracted. On a busy machine a wake-up takes longer than was
 * measured, and dense traffic could look sparse for ever: so one sleep in
 * PROBE is put off by cost_ns, and if something comes meanwhile, that counts
 * for more than what was learned asleep.
 */
#include "poll/policy.h"

#define WEIGHT 8  /* a new silence counts 1/8 */
#define CLEAR  8  /* the gain changes our mind beyond 1/8 of the cost */
#define PROBE  32 /* costs 1/32 of a sleep a sleep */

void policy_init(struct policy *p, enum pump_policy kind, uint64_t cost_ns)
{
	*p = (struct policy){ .kind = kind, .cost_ns = cost_ns };
}

static void learn(struct policy *p, uint64_t silence_ns)
{
	int64_t cost = (int64_t)p->cost_ns, gain = -cost;

	if (p->slept)
		silence_ns -= min_of(silence_ns, p->cost_ns);
	if (silence_ns < p->cost_ns)
		gain = cost - (int64_t)silence_ns;
	p->gain_ns += (gain - p->gain_ns) / WEIGHT;
	if (p->probing && !p->slept)
		p->gain_ns = max_of(p->gain_ns, cost / 4);
	/* A change of mind wants a clear answer: silences that are long and
	 * short in turn would have it change each time, and be wrong. */
	if (p->gain_ns > cost / CLEAR)
		p->pays = true;
	else if (p->gain_ns < -cost / CLEAR)
		p->pays = false;
}

void policy_found(struct policy *p, uint64_t now_ns)
{
	if (p->silent)
		learn(p, now_ns - p->since_ns);
	p->silent = false;
}

static void begin_silence(struct policy *p, uint64_t now_ns)
{
	p->silent = true;
	p->since_ns = now_ns;
	p->slept = p->probing = false;
	if (!p->pays && ++p->sleeps % PROBE == 0)
		p->probing = true;
}

bool policy_look_on(struct policy *p, uint64_t now_ns)
{
	if (!p->silent)
		begin_silence(p, now_ns);
	if (p->kind != PUMP_ADAPTIVE)
		return p->kind == PUMP_POLL;
	return (p->pays || p->probing) && !p->slept &&
	       now_ns - p->since_ns < p->cost_ns;
}

void policy_sleeps(struct policy *p)
{
	p->slept = true;
}
