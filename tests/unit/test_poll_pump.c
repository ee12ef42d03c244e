/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_poll_pump.c - when a queue is looked at: no kick is lost, nobody
 * starves, and an idle queue sleeps.
 */
#include "poll/pump.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/fd.h"
#include "base/order.h"
#include "ring/drv.h"

#define SIZE  64u
#define BYTES 0x8000u
#define GUEST 0x10000u

struct bench {
	struct device_ops ops;
	struct vd_device device;
	struct loop *loop;
	struct vd_queue *q;
	struct mem *mem;
	uint8_t *area;
	struct drv drv;
	struct drv_slot slot[SIZE];
	uint16_t free_id[SIZE];
	uint64_t visits, chains;
	unsigned a_visit; /* chains at most */
	bool stall;
	bool discard; /* only say how many, for on-demand queues */
};

static int ready(void *ctx, struct vd_queue *q)
{
	struct bench *t = ctx;
	struct burst *b = &q->burst;
	int n;

	t->visits++;
	if (t->stall)
		return QUEUE_STALLED;
	if (t->discard)
		return 0;
	b->n = b->nseg = 0;
	n = ring_take_any(&q->ring, b, t->a_visit);
	for (int i = 0; i < n; i++)
		ring_give_any(&q->ring, b, &b->chain[i], 0);
	if (n > 0)
		queue_flush(q);
	t->chains += n > 0 ? (unsigned)n : 0;
	return n;
}

static void start_ring(struct bench *t, uint64_t features)
{
	struct ring_conf c = { .features = features,
		               .size = SIZE,
		               .desc = t->area,
		               .driver = t->area + 0x1000,
		               .device = t->area + 0x2000,
		               .mem = t->mem };
	struct drv_conf d = { .features = features,
		              .size = SIZE,
		              .desc = t->area,
		              .driver = t->area + 0x1000,
		              .device = t->area + 0x2000,
		              .slot = t->slot,
		              .free_id = t->free_id };

	c.position = ring_position_initial(features & VIRTIO_F_RING_PACKED);
	assert_int_equal(drv_start(&t->drv, &d), 0);
	assert_int_equal(ring_start(&t->q->ring, &c), 0);
	t->q->started = t->q->enabled = true;
}

static void bench_open(struct bench *t, struct loop *l, enum pump_policy policy,
                       uint64_t features)
{
	struct mem_region r = { .gpa = GUEST, .size = BYTES };
	int err;

	memset(t, 0, sizeof(*t));
	t->ops.queue_ready = ready;
	t->a_visit = RING_BURST;
	t->device = (struct vd_device){ .tag = "t", .ops = &t->ops, .ctx = t };
	t->loop = l;
	t->area = r.host = aligned_alloc(4096, BYTES);
	memset(t->area, 0, BYTES);
	t->mem = mem_new(&r, 1, &err);
	t->q = aligned_alloc(64, sizeof(*t->q));
	assert_int_equal(queue_init(t->q, &t->device, 3), 0);
	assert_non_null(pump_new(l, t->q, policy, &err));
	start_ring(t, features);
	t->q->kick_fd = fd_event_new();
	t->q->call_fd = fd_event_new();
	t->q->err_fd = fd_event_new();
	vd_queue_lock(t->q);
	assert_int_equal(pump_start(t->q->pump), 0);
	vd_queue_unlock(t->q);
}

static void bench_close(struct bench *t)
{
	pump_free(t->q->pump);
	queue_fini(t->q);
	free(t->q);
	free(t->area);
	mem_put(t->mem);
}

static bool offer(struct bench *t)
{
	struct drv_piece piece = { GUEST + 0x4000, 16 };
	struct drv_buf b = { .piece = &piece, .nread = 1 };

	if (drv_add(&t->drv, &b))
		return false;
	drv_publish(&t->drv);
	if (drv_kick_wanted(&t->drv))
		fd_event_signal(t->q->kick_fd);
	return true;
}

static unsigned reap(struct bench *t)
{
	struct drv_done done[SIZE];
	int n = drv_reap(&t->drv, done, SIZE);

	assert_true(n >= 0);
	return (unsigned)n;
}

static void settle(struct loop *l)
{
	for (unsigned i = 0; i < 20; i++)
		loop_turn(l, 0);
}

static struct loop *fresh_loop(void)
{
	int err;
	struct loop *l = loop_new(&err);

	assert_non_null(l);
	return l;
}

static const uint64_t layouts[] = {
	VIRTIO_F_VERSION_1,
	VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX,
	VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED,
	VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED | VIRTIO_F_EVENT_IDX,
};

static void test_notify(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(layouts); i++) {
		struct loop *l = fresh_loop();
		struct bench t;

		bench_open(&t, l, PUMP_NOTIFY, layouts[i]);
		settle(l);
		assert_int_equal(t.visits, 1);
		assert_int_equal(count_get(&t.q->ring.count.sleeps), 1);
		for (unsigned n = 1; n <= 200; n++) {
			assert_true(offer(&t));
			settle(l);
			assert_int_equal(t.chains, n);
			assert_true(fd_event_drain(t.q->call_fd));
			assert_int_equal(reap(&t), 1);
			assert_false(drv_call_enable(&t.drv, 1));
		}
		assert_int_equal(count_get(&t.q->ring.count.kicks), 200);
		assert_int_equal(count_get(&t.q->ring.count.kicks_empty), 0);
		bench_close(&t);
		loop_free(l);
	}
}

/* Kicks without anything behind them are counted, and harm nothing. */
static void test_empty_kicks(void **state)
{
	struct loop *l = fresh_loop();
	struct bench t;

	(void)state;
	bench_open(&t, l, PUMP_NOTIFY, layouts[1]);
	settle(l);
	for (unsigned i = 0; i < 10; i++) {
		fd_event_signal(t.q->kick_fd);
		settle(l);
	}
	assert_int_equal(count_get(&t.q->ring.count.kicks), 10);
	assert_int_equal(count_get(&t.q->ring.count.kicks_empty), 10);
	assert_true(offer(&t));
	settle(l);
	assert_int_equal(t.chains, 1);
	bench_close(&t);
	loop_free(l);
}

/* What was there before it started is found without a kick. */
static void test_start_looks(void **state)
{
	struct loop *l = fresh_loop();
	struct bench t;

	(void)state;
	bench_open(&t, l, PUMP_NOTIFY, layouts[0]);
	vd_queue_lock(t.q);
	pump_stop(t.q->pump);
	vd_queue_unlock(t.q);
	offer(&t);
	settle(l);
	assert_int_equal(t.visits, 0);
	fd_event_drain(t.q->kick_fd);
	vd_queue_lock(t.q);
	pump_start(t.q->pump);
	vd_queue_unlock(t.q);
	settle(l);
	assert_int_equal(t.chains, 1);
	bench_close(&t);
	loop_free(l);
}

/* A thread that offers and kicks as drivers do; the loop in this one. */
#define LOTS 8000u

static void *driver(void *ctx)
{
	struct bench *t = ctx;
	unsigned offered = 0, back = 0;

	while (back < LOTS) {
		if (offered < LOTS && offer(t)) {
			offered++;
		} else {
			back += reap(t);
			sched_yield();
		}
	}
	loop_stop(t->loop);
	return NULL;
}

static void test_no_kick_is_lost(void **state)
{
	static const enum pump_policy policies[] = { PUMP_NOTIFY, PUMP_ADAPTIVE,
		                                     PUMP_POLL };

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		struct loop *l = fresh_loop();
		struct bench t;
		pthread_t thread;

		bench_open(&t, l, policies[i / 4], layouts[i % 4]);
		pthread_create(&thread, NULL, driver, &t);
		assert_int_equal(loop_run(l), 0);
		pthread_join(thread, NULL);
		assert_int_equal(t.chains, LOTS);
		bench_close(&t);
		loop_free(l);
	}
}

/* Two queues of one loop take turns, however much the first has. */
static void test_fair(void **state)
{
	struct loop *l = fresh_loop();
	struct bench a, b;

	(void)state;
	bench_open(&a, l, PUMP_NOTIFY, layouts[1]);
	bench_open(&b, l, PUMP_NOTIFY, layouts[1]);
	a.a_visit = b.a_visit = 4;
	settle(l);
	a.visits = b.visits = 0;
	for (unsigned i = 0; i < 4000; i++) {
		while (offer(&a))
			;
		while (offer(&b))
			;
		loop_turn(l, 0);
		reap(&a);
		reap(&b);
	}
	assert_true(a.chains > 10000 && b.chains > 10000);
	assert_true(a.visits < b.visits + b.visits / 10);
	assert_true(b.visits < a.visits + a.visits / 10);
	bench_close(&a);
	bench_close(&b);
	loop_free(l);
}

static void test_stalled(void **state)
{
	struct loop *l = fresh_loop();
	struct bench t;

	(void)state;
	bench_open(&t, l, PUMP_NOTIFY, layouts[1]);
	settle(l);
	t.stall = true;
	offer(&t);
	settle(l);
	assert_int_equal(t.visits, 2);
	offer(&t);
	fd_event_signal(t.q->kick_fd); /* no reason to look */
	settle(l);
	assert_int_equal(t.visits, 2);
	t.stall = false;
	pump_wake(t.q->pump);
	settle(l);
	assert_int_equal(t.chains, 2);
	offer(&t); /* and kicks work again */
	settle(l);
	assert_int_equal(t.chains, 3);
	bench_close(&t);
	loop_free(l);
}

static void test_on_demand(void **state)
{
	(void)state;
	for (unsigned i = 0; i < array_len(layouts); i++) {
		struct loop *l = fresh_loop();
		struct bench t;

		bench_open(&t, l, PUMP_NOTIFY, layouts[i]);
		t.discard = true;
		pump_set_on_demand(t.q->pump, true);
		settle(l);
		assert_int_equal(t.visits, 1);
		offer(&t); /* nobody asked */
		fd_event_signal(t.q->kick_fd);
		settle(l);
		assert_int_equal(t.visits, 1);
		vd_queue_lock(t.q);
		assert_true(pump_wait_kick(t.q->pump)); /* one is there */
		vd_queue_unlock(t.q);
		t.discard = false;
		assert_int_equal(ready(&t, t.q), 1);
		t.discard = true;
		vd_queue_lock(t.q);
		assert_false(pump_wait_kick(t.q->pump));
		vd_queue_unlock(t.q);
		settle(l);
		assert_int_equal(t.visits, 2);
		offer(&t);
		settle(l);
		assert_int_equal(t.visits, 3);
		offer(&t); /* asked once, told once */
		settle(l);
		assert_int_equal(t.visits, 3);
		bench_close(&t);
		loop_free(l);
	}
}

static void test_broken(void **state)
{
	struct loop *l = fresh_loop();
	struct bench t;

	(void)state;
	bench_open(&t, l, PUMP_NOTIFY, layouts[0]);
	settle(l);
	st16(&t.q->ring.avail->idx, SIZE + 9);
	fd_event_signal(t.q->kick_fd);
	settle(l);
	assert_int_equal(t.q->ring.fault, RING_BAD_JUMP);
	assert_true(t.q->fault_reported);
	assert_true(fd_event_drain(t.q->err_fd));
	t.visits = 0;
	fd_event_signal(t.q->kick_fd);
	settle(l);
	assert_int_equal(t.visits, 0);
	assert_false(fd_event_drain(t.q->err_fd)); /* once */
	bench_close(&t);
	loop_free(l);
}

/* Without a descriptor to wait for it is found nevertheless. */
static void test_no_kick_fd(void **state)
{
	struct loop *l = fresh_loop();
	struct bench t;

	(void)state;
	bench_open(&t, l, PUMP_NOTIFY, layouts[1]);
	assert_int_equal(pump_set_kick(t.q->pump, -1), 0);
	fd_close(&t.q->kick_fd);
	settle(l);
	for (unsigned i = 1; i < 20; i++) {
		offer(&t);
		for (unsigned turn = 0; t.chains < i && turn < 5000; turn++)
			loop_turn(l, 5);
		assert_int_equal(t.chains, i);
		reap(&t);
	}
	bench_close(&t);
	loop_free(l);
}

/* A descriptor that is always ready is let go. */
static void test_crying_wolf(void **state)
{
	struct loop *l = fresh_loop();
	struct bench t;
	int p[2];

	(void)state;
	bench_open(&t, l, PUMP_NOTIFY, layouts[1]);
	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	assert_int_equal(pump_set_kick(t.q->pump, p[0]), 0);
	fd_replace(&t.q->kick_fd, p[0]);
	close(p[1]);
	for (unsigned i = 0; i < 100; i++)
		loop_turn(l, 0);
	t.visits = 0;
	for (unsigned i = 0; i < 100; i++)
		loop_turn(l, 0);
	assert_int_equal(t.visits, 0);
	bench_close(&t);
	loop_free(l);
}

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void on_end(struct loop_timer *t)
{
	loop_stop(t->loop);
}

/* Dense traffic first, so that it has learned to spin; then silence. */
static void test_idle_costs_nothing(void **state)
{
	struct loop_timer end = { .fn = on_end };
	struct loop *l = fresh_loop();
	struct bench t;
	uint64_t cpu;

	(void)state;
	bench_open(&t, l, PUMP_ADAPTIVE, layouts[1]);
	for (unsigned i = 0; i < 5000; i++) {
		offer(&t);
		loop_turn(l, 0);
		reap(&t);
	}
	assert_true(count_get(&t.q->ring.count.polls_hit) > 4000);
	settle(l);
	loop_timer_set(l, &end, 300000000u);
	cpu = cpu_ns();
	loop_run(l);
	assert_true(cpu_ns() - cpu < 3000000u);
	bench_close(&t);
	loop_free(l);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_notify),
		cmocka_unit_test(test_empty_kicks),
		cmocka_unit_test(test_start_looks),
		cmocka_unit_test(test_no_kick_is_lost),
		cmocka_unit_test(test_fair),
		cmocka_unit_test(test_stalled),
		cmocka_unit_test(test_on_demand),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_no_kick_fd),
		cmocka_unit_test(test_crying_wolf),
		cmocka_unit_test(test_idle_costs_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
