/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * cost.c - two threads wake each other through eventfds, as a driver and a
 * device do. Half of the quickest round is what one sleep and wake-up cost:
 * the quickest, because what disturbs a round only makes it longer.
 */
#include "poll/cost.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/order.h"

#define ROUNDS      16u
#define USUAL_NS    10000u /* when nothing can be measured */
#define PATIENCE_MS 2

struct side {
	int epoll, wait, wake; /* wake is the other's wait */
};

struct rounds {
	struct side here, there;
	uint64_t over; /* a counter: not 0, the other side ends */
};

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static bool side_open(struct side *s)
{
	struct epoll_event e = { .events = EPOLLIN };

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->wait = fd_event_new();
	return s->epoll >= 0 && s->wait >= 0 &&
	       !epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->wait, &e);
}

static void side_close(struct side *s)
{
	fd_close(&s->epoll);
	fd_close(&s->wait);
}

static bool side_sleep(struct side *s, int timeout_ms)
{
	struct epoll_event e;

	return epoll_wait(s->epoll, &e, 1, timeout_ms) > 0 &&
	       fd_event_drain(s->wait);
}

static void *answer(void *arg)
{
	struct rounds *r = arg;

	while (!count_get(&r->over)) {
		if (side_sleep(&r->there, -1))
			fd_event_signal(r->there.wake);
	}
	return NULL;
}

static uint64_t ask(struct rounds *r)
{
	uint64_t begin = clock_ns(), at = begin, best = 2 * USUAL_NS, now;

	for (unsigned i = 0; i < ROUNDS; i++) {
		fd_event_signal(r->here.wake);
		if (!side_sleep(&r->here, PATIENCE_MS))
			break;
		now = clock_ns();
		if (i == 0) /* this one started the thread */
			begin = now;
		if (i == 1 || (i > 1 && now - at < best))
			best = now - at;
		if (now - begin > COST_MEASURE_NS)
			break;
		at = now;
	}
	count_add(&r->over, 1);
	fd_event_signal(r->here.wake);
	return best / 2;
}

static uint64_t cost_ns;

static void measure(void)
{
	struct rounds r = { .here = { -1, -1, -1 }, .there = { -1, -1, -1 } };
	uint64_t ns = USUAL_NS;
	pthread_t thread;

	if (side_open(&r.here) && side_open(&r.there)) {
		r.here.wake = r.there.wait;
		r.there.wake = r.here.wait;
		if (!pthread_create(&thread, NULL, answer, &r)) {
			ns = ask(&r);
			pthread_join(thread, NULL);
		}
	}
	side_close(&r.here);
	side_close(&r.there);
	ns = max_of(ns, (uint64_t)COST_LEAST_NS);
	cost_ns = min_of(ns, (uint64_t)COST_MOST_NS);
}

uint64_t cost_of_sleep_ns(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, measure);
	return cost_ns;
}
