/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * policy.h - is another look at an empty ring worth more than a sleep? poll and
 * tests include it; docs/polling.md derives it.
 *
 * Time goes by in silences: from the first look that finds nothing to the next
 * that finds something. Whoever sleeps at once pays a sleep and a wake-up for
 * each, cost_ns. Whoever looks on pays the silence, if it ends before cost_ns,
 * and cost_ns twice otherwise, because it sleeps then. The difference of the
 * two, the gain, is what is learned: a decaying mean over past silences.
 *
 * No clock in here: times are the caller's, in nanoseconds.
 */
#ifndef VIADUCT_POLL_POLICY_H
#define VIADUCT_POLL_POLICY_H

#include "base/defs.h"

enum pump_policy { PUMP_NOTIFY, PUMP_POLL, PUMP_ADAPTIVE };

struct policy {
	enum pump_policy kind;
	uint64_t cost_ns; /* of a sleep and a wake-up */
	int64_t gain_ns;  /* what looking on saved a silence, lately */
	bool pays;        /* what was made of it */
	uint64_t since_ns;
	bool silent;  /* since since_ns */
	bool slept;   /* in this silence */
	bool probing; /* look on for once, though it did not pay */
	unsigned sleeps;
};

void policy_init(struct policy *p, enum pump_policy kind, uint64_t cost_ns);

/* A look found something. */
void policy_found(struct policy *p, uint64_t now_ns);

/* A look found nothing. Return: look again, rather than sleep. */
bool policy_look_on(struct policy *p, uint64_t now_ns);

/* It goes to sleep; what comes next comes a wake-up late. */
void policy_sleeps(struct policy *p);

#endif
