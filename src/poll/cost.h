/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost.h - what a sleep and a wake-up cost here, measured. pump.c and
 * benchmarks include it.
 */
#ifndef VIADUCT_POLL_COST_H
#define VIADUCT_POLL_COST_H

#include "base/defs.h"

#define COST_LEAST_NS 2000u /* what is measured is held between these */
#define COST_MOST_NS  100000u

/**
 * cost_of_sleep_ns() - one kick, one sleep in epoll, one wake-up
 *
 * The first call measures, with a thread of its own, for COST_MEASURE_NS at
 * most; later ones know. Any thread.
 */
uint64_t cost_of_sleep_ns(void);

#define COST_MEASURE_NS 300000u

#endif
