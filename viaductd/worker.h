/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker.h - threads, each with a loop. Only the daemon includes it.
 *
 * The first worker is the main thread. Ports are given to workers and stay
 * there. Whatever is to be done to a port is done on its worker, and the main
 * thread, which alone asks, waits for it.
 */
#ifndef VIADUCTD_WORKER_H
#define VIADUCTD_WORKER_H

#include <pthread.h>

#include "base/loop.h"

struct worker {
	struct loop *loop;
	pthread_t thread;
	bool running; /* has a thread of its own, which runs */
	unsigned ports;
};

struct workers {
	unsigned n;
	struct worker *worker;
};

int workers_init(struct workers *w, unsigned n);
/* Threads have stopped and loops hold nothing any more. */
void workers_fini(struct workers *w);

/* Start the threads of all but the first. */
int workers_start(struct workers *w);
/* Stop them, and wait until they have. */
void workers_stop(struct workers *w);

/* The one with the fewest ports. */
struct worker *workers_idlest(struct workers *w);

/* Run fn(ctx) on the worker's thread, or here when it does not run. Main thread
 * only; waits. 0 or -ENOMEM. */
int worker_call(struct worker *w, void (*fn)(void *ctx), void *ctx);

/* Wait until every worker has finished the turn that it is in. */
void workers_settle(struct workers *w);

#endif
