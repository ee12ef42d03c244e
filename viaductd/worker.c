/* SPDX-License-Identifier: BSD-2-Clause */
/* worker.c - threads, each with a loop. */
#include "worker.h"

#include <errno.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

int workers_init(struct workers *w, unsigned n)
{
	int err = 0;

	w->worker = calloc(n, sizeof(*w->worker));
	if (!w->worker)
		return -ENOMEM;
	for (w->n = 0; w->n < n; w->n++) {
		w->worker[w->n].loop = loop_new(&err);
		if (!w->worker[w->n].loop) {
			workers_fini(w);
			return err;
		}
	}
	return 0;
}

void workers_fini(struct workers *w)
{
	for (unsigned i = 0; i < w->n; i++)
		loop_free(w->worker[i].loop);
	free(w->worker);
	*w = (struct workers){ .n = 0 };
}

static void *worker_main(void *arg)
{
	loop_run(((struct worker *)arg)->loop);
	return NULL;
}

int workers_start(struct workers *w)
{
	sigset_t all, old;
	int err = 0;

	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	for (unsigned i = 1; i < w->n && !err; i++) {
		err = -pthread_create(&w->worker[i].thread, NULL, worker_main,
		                      &w->worker[i]);
		w->worker[i].running = !err;
	}
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return err;
}

void workers_stop(struct workers *w)
{
	for (unsigned i = 1; i < w->n; i++) {
		if (!w->worker[i].running)
			continue;
		loop_stop(w->worker[i].loop);
		pthread_join(w->worker[i].thread, NULL);
		w->worker[i].running = false;
	}
}

struct worker *workers_idlest(struct workers *w)
{
	struct worker *best = &w->worker[0];

	for (unsigned i = 1; i < w->n; i++) {
		if (w->worker[i].ports < best->ports)
			best = &w->worker[i];
	}
	return best;
}

struct call {
	void (*fn)(void *ctx);
	void *ctx;
	sem_t done;
};

static void call_run(void *arg)
{
	struct call *c = arg;

	c->fn(c->ctx);
	sem_post(&c->done);
}

int worker_call(struct worker *w, void (*fn)(void *ctx), void *ctx)
{
	struct call c = { .fn = fn, .ctx = ctx };
	int err;

	if (!w->running) {
		fn(ctx);
		return 0;
	}
	sem_init(&c.done, 0, 0);
	err = loop_post(w->loop, call_run, &c);
	while (!err && sem_wait(&c.done))
		; /* interrupted */
	sem_destroy(&c.done);
	return err;
}

static void nothing(void *ctx)
{
	(void)ctx;
}

void workers_settle(struct workers *w)
{
	for (unsigned i = 1; i < w->n; i++) {
		/* Without memory for a post we wait for some. */
		while (worker_call(&w->worker[i], nothing, NULL))
			sched_yield();
	}
}
