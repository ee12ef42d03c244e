/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_base_loop.c - watches, timers, pollers, posts, and all of them taken
 * away while they are running.
 */
#include "base/loop.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"

#define MS 1000000u

static struct loop *loop;

static int setup(void **state)
{
	int err;

	(void)state;
	loop = loop_new(&err);
	return loop ? 0 : err;
}

static int teardown(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

struct counted {
	struct loop_watch w;
	unsigned n;
	uint32_t events;
	struct counted *victim;
};

static void on_event(struct loop_watch *w, uint32_t events)
{
	struct counted *c = container_of(w, struct counted, w);

	c->n++;
	c->events = events;
	if (c->victim)
		loop_watch_remove(&c->victim->w);
}

static void test_watch(void **state)
{
	struct counted a = { .w = { .fn = on_event } };
	int fd = fd_event_new();

	(void)state;
	assert_int_equal(loop_watch_add(loop, &a.w, fd, EPOLLIN), 0);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_int_equal(a.n, 0);
	fd_event_signal(fd);
	loop_turn(loop, -1);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.events, EPOLLIN);
	assert_int_equal(loop_watch_modify(&a.w, EPOLLOUT), 0);
	loop_turn(loop, -1);
	assert_int_equal(a.events, EPOLLOUT);
	loop_watch_remove(&a.w);
	loop_watch_remove(&a.w);
	loop_turn(loop, 0);
	assert_int_equal(a.n, 2);
	assert_int_equal(loop_watch_modify(&a.w, EPOLLIN), -ENOENT);
	close(fd);
	assert_int_equal(loop_watch_add(loop, &a.w, fd, EPOLLIN), -EBADF);
}

/* Both are ready; the first that runs removes the other and itself. */
static void test_remove_in_callback(void **state)
{
	struct counted a = { .w = { .fn = on_event } }, b = a;
	int fa = fd_event_new(), fb = fd_event_new();

	(void)state;
	a.victim = &b;
	b.victim = &a;
	loop_watch_add(loop, &a.w, fa, EPOLLIN);
	loop_watch_add(loop, &b.w, fb, EPOLLIN);
	fd_event_signal(fa);
	fd_event_signal(fb);
	loop_turn(loop, -1);
	assert_int_equal(a.n + b.n, 1);
	loop_watch_remove(&a.w);
	loop_watch_remove(&b.w);
	close(fa);
	close(fb);
}

struct ringer {
	struct loop_timer t;
	unsigned n;
	uint64_t rang_ns;
	bool again;
};

static void on_timer(struct loop_timer *t)
{
	struct ringer *r = container_of(t, struct ringer, t);

	r->n++;
	r->rang_ns = loop_now_ns(loop);
	if (r->again)
		loop_timer_set(loop, t, MS);
}

static void test_timer(void **state)
{
	struct ringer r = { .t = { .fn = on_timer } };
	uint64_t start;

	(void)state;
	loop_turn(loop, 0);
	start = loop_now_ns(loop);
	loop_timer_set(loop, &r.t, 3 * MS);
	loop_turn(loop, 0);
	assert_int_equal(r.n, 0);
	while (!r.n)
		loop_turn(loop, -1);
	assert_true(r.rang_ns - start >= 3 * MS);
	assert_int_equal(r.t.at_ns, 0);
	loop_timer_set(loop, &r.t, 0);
	loop_timer_cancel(&r.t);
	loop_timer_cancel(&r.t);
	loop_turn(loop, 2);
	assert_int_equal(r.n, 1);
	r.again = true;
	loop_timer_set(loop, &r.t, 0);
	while (r.n < 5)
		loop_turn(loop, -1);
	loop_timer_cancel(&r.t);
}

/* Many, set, moved and cancelled at random, ring in order and once. */
static void test_timer_heap(void **state)
{
	static struct ringer r[200];
	unsigned left = 0;

	(void)state;
	for (unsigned i = 0; i < array_len(r); i++) {
		r[i].t.fn = on_timer;
		loop_timer_set(loop, &r[i].t, (i * 7919u % 200) * MS / 20);
	}
	for (unsigned i = 0; i < array_len(r); i += 3)
		loop_timer_cancel(&r[i].t);
	for (unsigned i = 1; i < array_len(r); i += 3)
		loop_timer_set(loop, &r[i].t, (i * 31u % 200) * MS / 20);
	for (unsigned i = 0; i < array_len(r); i++)
		left += r[i].t.at_ns != 0;
	assert_int_equal(left, 133);
	/* each turn ends with the next timer that is due */
	for (unsigned turn = 0; turn < 250; turn++)
		loop_turn(loop, 1);
	for (unsigned i = 0; i < array_len(r); i++) {
		assert_int_equal(r[i].n, i % 3 != 0);
		assert_int_equal(r[i].t.at_ns, 0);
	}
}

struct poller {
	struct loop_poller p;
	unsigned n, want;
	struct poller *victim;
};

static bool on_poll(struct loop_poller *p)
{
	struct poller *x = container_of(p, struct poller, p);

	if (x->victim)
		loop_poller_remove(&x->victim->p);
	return ++x->n < x->want;
}

static void test_poller(void **state)
{
	struct poller a = { .p = { .fn = on_poll }, .want = 5 }, b = a;

	(void)state;
	b.want = 3;
	loop_poller_add(loop, &a.p);
	loop_poller_add(loop, &b.p);
	loop_poller_add(loop, &b.p); /* again is nothing */
	for (unsigned i = 0; i < 4; i++)
		loop_turn(loop, -1); /* does not sleep: a wants more */
	assert_int_equal(a.n, 4);
	assert_int_equal(b.n, 4);
	loop_turn(loop, 1);
	assert_int_equal(a.n, 5);

	/* b runs first (it came last) and takes a away, then itself */
	b.victim = &a;
	loop_turn(loop, 0);
	assert_int_equal(a.n, 5);
	b.victim = &b;
	loop_turn(loop, 0);
	loop_turn(loop, 0);
	assert_int_equal(b.n, 7);
	loop_poller_remove(&a.p);
}

/* A poller that never rests does not starve descriptors and timers. */
static void test_poller_is_fair(void **state)
{
	struct poller p = { .p = { .fn = on_poll }, .want = -1u };
	struct counted c = { .w = { .fn = on_event } };
	struct ringer r = { .t = { .fn = on_timer } };
	int fd = fd_event_new();

	(void)state;
	loop_poller_add(loop, &p.p);
	loop_watch_add(loop, &c.w, fd, EPOLLIN);
	loop_timer_set(loop, &r.t, MS);
	fd_event_signal(fd);
	while (!c.n || !r.n)
		loop_turn(loop, -1);
	loop_poller_remove(&p.p);
	loop_watch_remove(&c.w);
	close(fd);
}

#define POSTS 20000u

static unsigned posted;

static void on_post(void *ctx)
{
	assert_int_equal((uintptr_t)ctx, posted);
	if (++posted == POSTS)
		loop_stop(loop);
}

static void *poster(void *ctx)
{
	(void)ctx;
	for (uintptr_t i = 0; i < POSTS; i++)
		loop_post(loop, on_post, (void *)i);
	return NULL;
}

static void test_post(void **state)
{
	pthread_t t;

	(void)state;
	pthread_create(&t, NULL, poster, NULL);
	assert_int_equal(loop_run(loop), 0);
	pthread_join(t, NULL);
	assert_int_equal(posted, POSTS);
	loop_post(loop, on_post, NULL); /* dropped by loop_free */
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_watch),
		cmocka_unit_test(test_remove_in_callback),
		cmocka_unit_test(test_timer),
		cmocka_unit_test(test_timer_heap),
		cmocka_unit_test(test_poller),
		cmocka_unit_test(test_poller_is_fair),
		cmocka_unit_test(test_post),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
