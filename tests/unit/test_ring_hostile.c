/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_hostile.c - the other end rewrites everything it may write to, all
 * the time, in a thread of its own.
 *
 * Whatever the scribbler does: what the device takes lies in guest memory and
 * within its burst, what the driver reaps is what it added, each once; nothing
 * hangs; a broken ring says why and starts again; the neighbour loses nothing.
 * ThreadSanitizer has nothing to say, for both ends use the words of order.h.
 *
 * [spec: split.framing.no-assumption] [spec: split.desc.table-untouched]
 */
#include "desk.h"
#include "rig.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TABLE (RIG_GPA + 0x4000)

static struct rig rig, other;
static struct desk desk;
static uint64_t stop; /* by the words for counters */
static uint64_t faults[RING_FAULT_COUNT];

static uint64_t turns(uint64_t n)
{
	const char *slow = getenv("VD_TEST_SLOW");

	return slow && strtoull(slow, NULL, 10) ? n / strtoull(slow, NULL, 10)
	                                        : n;
}

static uint64_t next(uint64_t *s)
{
	uint64_t x = *s += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* --- the bad driver ------------------------------------------------------ */

/* A descriptor that is nearly good most of the time. */
static struct desc nearly(uint64_t *s, bool packed)
{
	static const uint64_t addr[] = {
		RIG_GPA,           TABLE,
		TABLE + 1,         RIG_FAR,
		RIG_GPA + RIG_LEN, RIG_FAR - 8,
		UINT64_MAX - 8,    RIG_GPA + RIG_LEN - 8
	};
	static const uint32_t len[] = { 16, 32, 64, 16, 0, 17, 1 << 30, 4096 };
	uint64_t x = next(s);
	struct desc d = { RIG_GPA + x % 0x4000, x >> 32 & 0xff, 0,
		          x >> 40 & (RIG_SIZE - 1) };

	if (x >> 60 == 0)
		d.addr = addr[x >> 48 & 7];
	if (x >> 56 == 0 || d.addr != RIG_GPA + x % 0x4000)
		d.len = len[x >> 44 & 7];
	d.flags = x >> 20 & x >> 23 & 3;
	if (!(x >> 27 & 7)) {
		d.addr = TABLE + (x >> 30 & 31);
		d.len = (x >> 50 & 3) ? 48 : 24;
		d.flags = DESC_INDIRECT | (x >> 53 & x >> 54 & 1);
	}
	if (packed)
		d.flags |= x >> 58 & 1 ? PACKED_AVAIL : PACKED_USED;
	if (!(x >> 10 & 0xff))
		d.last = x;
	return d;
}

static void *scribble_driver(void *arg)
{
	struct rig *g = arg;
	bool packed = g->conf.features & VIRTIO_F_RING_PACKED;
	uint64_t s = packed;

	while (!count_get(&stop)) {
		struct desc d = nearly(&s, packed);
		uint64_t x = next(&s);

		switch (x & 7) {
		case 0:
		case 1:
			rig_entry(g, TABLE, x >> 8 & 7, d);
			break;
		case 2: /* split: a head; packed: an event */
			st16(&g->avail->ring[x >> 8 & 15],
			     x >> 12 & 255 ? x >> 20 & 15 : x >> 20);
			break;
		case 3: /* split: some are new, rarely too many */
			if (packed)
				st32(&g->driver_event->both, x >> 8);
			else
				st16_rel(&g->avail->idx,
				         ld16(&g->used->idx) +
				                 (x >> 8 & 255 ? x >> 16 & 7
				                               : x >> 16));
			break;
		default:
			rig_desc(g, x >> 8 & 15, d);
		}
	}
	return NULL;
}

/* All of @s lies in one of the rig's two pieces of memory. */
static void check_segment(const struct rig *g, const struct seg *s)
{
	const uint8_t *at = s->base;
	bool near = at >= g->ram && at <= g->ram + RIG_LEN &&
	            s->len <= (size_t)(g->ram + RIG_LEN - at);
	bool far = at >= g->far_page && at <= g->far_page + RIG_PAGE &&
	           s->len <= (size_t)(g->far_page + RIG_PAGE - at);

	assert_true(near || far);
}

static void check_chain(const struct rig *g, const struct chain *c)
{
	uint64_t n[2] = { 0, 0 };

	assert_in_range(c->first + c->nread + c->nwrite, 0, g->b.nseg);
	assert_in_range(c->ndesc, 1, g->ring.size);
	for (unsigned i = 0; i < c->nread + (unsigned)c->nwrite; i++) {
		const struct seg *s = &g->b.seg[c->first + i];

		check_segment(g, s);
		n[i >= c->nread] += s->len;
	}
	assert_int_equal(n[0], c->read_len);
	assert_int_equal(n[1], c->write_len);
	if (!g->ring.packed)
		assert_in_range(c->id, 0, g->ring.size - 1);
}

/* One turn of the device; true while the ring is whole. */
static bool serve(struct rig *g)
{
	int n = rig_take(g, 8);

	assert_in_range(g->b.nseg, 0, RING_SEGS);
	for (int i = 0; i < n; i++) {
		check_chain(g, &g->chain[i]);
		ring_give_any(&g->ring, &g->b, &g->chain[i],
		              g->chain[i].write_len);
	}
	ring_publish_any(&g->ring);
	ring_call_wanted_any(&g->ring);
	ring_kick_enable_any(&g->ring);
	return n >= 0;
}

static void again(struct rig *g)
{
	assert_in_range(g->ring.fault, RING_OK + 1, RING_FAULT_COUNT - 1);
	faults[g->ring.fault]++;
	g->b.n = g->b.nseg = 0;
	if (!g->ring.packed)
		g->conf.position = ld16(&g->used->idx);
	assert_int_equal(ring_start(&g->ring, &g->conf), 0);
}

static void run_driver(uint64_t features, bool tracked)
{
	static uint8_t bits[64];
	struct dirty_log log = { bits, sizeof(bits) };
	uint64_t want = turns(12000), seen = 0;
	pthread_t t;

	rig_open(&rig, RIG_SIZE, features);
	rig_open(&other, 4, features);
	other.conf.mem = rig.mem;
	rig_restart(&other);
	stop = 0;
	assert_int_equal(pthread_create(&t, NULL, scribble_driver, &rig), 0);
	for (uint64_t i = 0; seen < want; i++) {
		bool whole;

		rig.ring.log = tracked ? &log : NULL;
		rig.ring.log_used = tracked;
		whole = serve(&rig);
		seen += rig.b.n + !whole;
		if (!rig.b.n && whole)
			sched_yield(); /* the other one's turn */
		if (!whole)
			again(&rig);
		if (i % 16)
			continue;
		rig_offer(&other, i / 16, RIG_GPA + 0x1000, 64, 0);
		assert_int_equal(rig_take(&other, 8), 1);
		ring_give_any(&other.ring, &other.b, &other.chain[0], 0);
		ring_publish_any(&other.ring);
		assert_int_equal(other.ring.fault, RING_OK);
	}
	count_add(&stop, 1);
	pthread_join(t, NULL);
	rig_close(&rig);
	rig_close(&other);
}

static void test_bad_driver(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		run_driver((i & 1 ? VIRTIO_F_RING_PACKED : 0) |
		                   (i & 2 ? VIRTIO_F_EVENT_IDX : 0) |
		                   VIRTIO_F_INDIRECT_DESC,
		           i & 4);
	for (unsigned f = 1; f < RING_FAULT_COUNT; f++) {
		if (faults[f])
			print_message("%s: %llu\n", ring_fault_word(f),
			              (unsigned long long)faults[f]);
	}
}

/* --- the bad device ------------------------------------------------------ */

static void *scribble_device(void *arg)
{
	struct desk *k = arg;
	bool packed = k->conf.features & VIRTIO_F_RING_PACKED;
	uint64_t s = 2;

	while (!count_get(&stop)) {
		uint64_t x = next(&s);
		uint32_t id = x >> 60 ? x >> 8 & 15 : x >> 8;
		uint32_t len = x >> 56 & 15 ? x >> 32 & 511 : x >> 16;

		switch (x & 3) {
		case 0:
			st16(&k->used->idx,
			     ld16(&k->avail->idx) -
			             (x >> 40 & 255 ? 0 : x & 15));
			break;
		case 1:
			st32(&k->device_event->both, x >> 8);
			break;
		default:
			if (packed) {
				desk_use_packed(k, x >> 40 & 15, x >> 50 & 1,
				                (struct desc){ 0, len,
				                               x >> 51 & 3,
				                               id });
				break;
			}
			st32(&k->used->ring[x >> 40 & 15].id, id);
			st32(&k->used->ring[x >> 40 & 15].len, len);
		}
	}
	return NULL;
}

/* Pieces to write of each token that is out, plus one; 0: none such. */
static uint8_t out[4 * DESK_SIZE];

static void fill(struct desk *k, unsigned nwrite)
{
	while (desk_add(k, 1, nwrite) == 0)
		out[(k->token - 1) % sizeof(out)] = nwrite + 1;
}

/* What comes back was ours, is not longer than we said, and comes once. */
static int reap(struct desk *k, uint64_t *back)
{
	int n = drv_reap(&k->drv, k->done, DESK_SIZE);

	for (int i = 0; i < n; i++) {
		uint8_t *was = &out[k->done[i].token % sizeof(out)];

		assert_true(k->done[i].token >= 100);
		assert_true(k->done[i].token < k->token);
		assert_true(*was);
		assert_in_range(k->done[i].written, 0, 256 * (*was - 1));
		*was = 0;
		(*back)++;
	}
	assert_true(*back <= k->token - 100);
	return n;
}

static void run_device(uint64_t features)
{
	uint64_t want = turns(2500), seen = 0, back = 0, token;
	pthread_t t;

	desk_open(&desk, DESK_SIZE, features);
	stop = 0;
	assert_int_equal(pthread_create(&t, NULL, scribble_device, &desk), 0);
	for (uint64_t i = 0; seen < want; i++) {
		int n;

		fill(&desk, i % 3);
		drv_publish(&desk.drv);
		drv_kick_wanted(&desk.drv);
		drv_call_enable(&desk.drv, 1);
		n = reap(&desk, &back);
		seen += n < 0 ? 2 : n;
		if (!n)
			sched_yield();
		if (n >= 0)
			continue;
		faults[desk.drv.fault]++;
		while (drv_detach(&desk.drv, &token))
			back++;
		assert_int_equal(back, desk.token - 100);
		assert_int_equal(desk.drv.nfree, DESK_SIZE);
		back = 0;
		desk.token = 100;
		assert_int_equal(drv_start(&desk.drv, &desk.conf), 0);
	}
	count_add(&stop, 1);
	pthread_join(t, NULL);
}

static void test_bad_device(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++)
		run_device((i & 1 ? VIRTIO_F_RING_PACKED : 0) |
		           (i & 2 ? VIRTIO_F_IN_ORDER : 0) |
		           (i & 4 ? VIRTIO_F_INDIRECT_DESC : 0) |
		           VIRTIO_F_EVENT_IDX);
	for (unsigned f = USED_BAD_JUMP; f <= USED_BAD_ORDER; f++)
		print_message("%s: %llu\n", ring_fault_word(f),
		              (unsigned long long)faults[f]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_driver),
		cmocka_unit_test(test_bad_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
