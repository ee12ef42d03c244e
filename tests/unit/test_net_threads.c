/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_net_threads.c - several workers send to one guest at the same time,
 * while its queues come, go and are steered anew. Nothing is lost, doubled or
 * reordered within one sender; ThreadSanitizer watches the rest.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/order.h"
#include "netrig.h"

#define SENDERS 3u
#define EACH    20000u
#define PAIRS   2u

static const struct net_conf conf = { .pairs = PAIRS };
static const struct net_events events;
static struct rig rig;

struct sender {
	pthread_t thread;
	unsigned id;
	struct rx_result result;
	uint64_t down; /* frames that no pair took; the reader looks */
};

/* Frames of one flow, numbered: bytes 20 sender, 40 to 43 number. */
static void make(struct frame *f, unsigned id, uint32_t number)
{
	uint8_t *p = f->room + FRAME_HEAD_ROOM;

	*f = (struct frame){ .len = 60,
		             .head_len = 60,
		             .head_at = FRAME_HEAD_ROOM };
	p[12] = 8;
	p[14] = 0x45;
	p[20] = 0;
	p[26] = (uint8_t)id; /* source address: the flow */
	memcpy(p + 40, &number, sizeof(number));
}

static void *sender_run(void *ctx)
{
	struct sender *s = ctx;
	struct frame frame[8], *f[8];

	for (uint32_t n = 0; n < EACH;) {
		unsigned burst = min_of(1 + n % 8, EACH - n), done = 0;

		for (unsigned i = 0; i < burst; i++) {
			make(&frame[i], s->id, n + i);
			f[i] = &frame[i];
		}
		while (done < burst) {
			done += net_send(rig.dev, f + done, burst - done, 0,
			                 &s->result);
			net_flush(rig.dev);
			count_add(&s->down, s->result.drop_down - s->down);
			if (done < burst)
				sched_yield();
		}
		n += burst;
	}
	return NULL;
}

/* What came of each sender, in order; how many in all. */
static unsigned drain(unsigned pair, uint32_t next[SENDERS])
{
	struct virtio_net_hdr h;
	uint8_t got[2000];
	unsigned n = 0;

	while (rig_receive(&rig, pair * 2, &h, got) >= 0) {
		uint32_t number;

		memcpy(&number, got + 40, sizeof(number));
		assert_in_range(got[26], 0, SENDERS - 1);
		assert_true(number >= next[got[26]]);
		next[got[26]] = number + 1;
		n++;
	}
	return n;
}

static void refill(unsigned pair)
{
	while (rig_post(&rig, pair * 2, 100, 1) >= 0)
		;
}

static void run(uint64_t features, bool upset)
{
	struct sender s[SENDERS] = { { .id = 0 } };
	uint32_t next[PAIRS][SENDERS] = { { 0 } };
	uint64_t frames = 0, down = 0, arrived = 0;
	unsigned round = 0;

	rig_open(&rig, &conf, &events, features, 64);
	for (unsigned i = 0; i < SENDERS; i++) {
		s[i].id = i;
		pthread_create(&s[i].thread, NULL, sender_run, &s[i]);
	}
	while (arrived + down < (uint64_t)SENDERS * EACH) {
		for (unsigned p = 0; p < PAIRS; p++) {
			refill(p);
			arrived += drain(p, next[p]);
		}
		if (upset && ++round % 64 == 0)
			rig_enable(&rig, 2, round % 128 != 0);
		down = 0;
		for (unsigned i = 0; i < SENDERS; i++)
			down += count_get(&s[i].down);
		sched_yield();
	}
	for (unsigned i = 0; i < SENDERS; i++) {
		pthread_join(s[i].thread, NULL);
		frames += s[i].result.frames;
		assert_int_equal(s[i].result.drop_full, 0);
	}
	assert_int_equal(frames, arrived);
	assert_true(upset || !down);
	rig_close(&rig);
}

static void test_split(void **state)
{
	(void)state;
	run(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MQ, false);
}

static void test_packed(void **state)
{
	(void)state;
	run(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MQ | VIRTIO_F_RING_PACKED, false);
}

/* A pair is taken out and put back all the time. */
static void test_upset(void **state)
{
	(void)state;
	run(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MQ | VIRTIO_F_RING_PACKED, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_packed),
		cmocka_unit_test(test_upset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
