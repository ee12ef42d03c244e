/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop.h - an event loop: epoll, timers, posted work. Anyone hosted may include
 * it. One thread runs a loop; only loop_post() and loop_stop() may be called
 * from others.
 */
#ifndef VIADUCT_BASE_LOOP_H
#define VIADUCT_BASE_LOOP_H

#include "base/defs.h"

struct loop;

struct loop *loop_new(int *err);
void loop_free(struct loop *l);

/* Events are EPOLLIN and so on. A watch is the caller's memory, zeroed. */
struct loop_watch {
	void (*fn)(struct loop_watch *w, uint32_t events);
	int fd; /* set by loop_watch_add */
	struct loop *loop;
};

int loop_watch_add(struct loop *l, struct loop_watch *w, int fd,
                   uint32_t events);
int loop_watch_modify(struct loop_watch *w, uint32_t events);
/* Safe from inside any callback, its own too: events already collected for it
 * in this round are dropped. Does not close the fd. No-op when not added. */
void loop_watch_remove(struct loop_watch *w);

/* One shot; re-arm in the callback to repeat. Caller's memory, zeroed. */
struct loop_timer {
	void (*fn)(struct loop_timer *t);
	uint64_t at_ns; /* monotonic; 0: not armed */
	struct loop *loop;
	unsigned slot; /* place in the heap */
};

int loop_timer_set(struct loop *l, struct loop_timer *t, uint64_t delay_ns);
void loop_timer_cancel(struct loop_timer *t);

/* Polled work, called each turn of the loop while it is registered; returns
 * true while it wants to be called again without sleeping. When every poller
 * says false the loop sleeps in epoll. Caller's memory, zeroed. */
struct loop_poller {
	bool (*fn)(struct loop_poller *p);
	struct loop *loop;
	struct loop_poller *next, *prev;
};

void loop_poller_add(struct loop *l, struct loop_poller *p);
void loop_poller_remove(struct loop_poller *p);

/* Run fn(ctx) on the loop's thread, soon. Any thread. 0 or -ENOMEM. */
int loop_post(struct loop *l, void (*fn)(void *ctx), void *ctx);

uint64_t loop_now_ns(struct loop *l); /* monotonic, read once a turn */

/* For somebody else's loop: a descriptor that is readable when loop_turn() has
 * something to do, timers and pollers too. Negative errno. */
int loop_fd(struct loop *l);

/* Until loop_stop(). Returns 0 or what epoll_wait() said. */
int loop_run(struct loop *l);
/* One turn that waits at most @timeout_ms (-1: for ever). Tests. */
int loop_turn(struct loop *l, int timeout_ms);
/* Would another turn have something to do at once? */
bool loop_is_busy(const struct loop *l);
void loop_stop(struct loop *l); /* any thread, signal safe */

#endif
