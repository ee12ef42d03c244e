/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_bare.h - the same exchange without virtio: two rings with one producer
 * and one consumer each, in shared memory, both ends polling. Only bench
 * includes it.
 */
#ifndef VIADUCT_CLI_BENCH_BARE_H
#define VIADUCT_CLI_BENCH_BARE_H

#include "bench_load.h"

/* l->flows requests of l->size bytes under way for l->seconds; sets done,
 * packets, seconds, cpu_ns and latency of @r. 0 or negative errno. */
int bare_run(const struct load *l, struct load_result *r);

#endif
