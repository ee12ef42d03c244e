/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_dev.c - the device end's verbs one by one, on rings written by
 * hand: what take, untake, give and publish do at their edges.
 */
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rig rig;
static const uint64_t layouts[] = { 0, VIRTIO_F_RING_PACKED };

/* Three takes into one burst, with as many segments as chains: the first chain
 * fills the segments, and nothing is written behind them. */
static void test_take_keeps_to_room(void **state)
{
	struct rig *g = &rig;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		bool packed = layouts[l];

		rig_open(g, 8, layouts[l]);
		for (unsigned i = 0; i < 3; i++) {
			uint16_t next = i < 2 ? DESC_NEXT : 0;

			rig_desc(g, i,
			         (struct desc){ RIG_GPA + 64 * i, 64,
			                        next | (packed ? FRESH : 0),
			                        packed ? 0 : i + 1 });
		}
		for (unsigned i = 3; i < 6; i++)
			rig_desc(g, i,
			         (struct desc){ RIG_GPA + 64 * i, 64,
			                        packed ? FRESH : 0, i });
		if (!packed) {
			rig_avail(g, 0);
			for (unsigned i = 3; i < 6; i++)
				rig_avail(g, i);
		}
		g->b.max_segs = g->b.max_chains = 3;
		memset(g->seg, 0xa5, sizeof(g->seg));
		assert_int_equal(ring_take_any(&g->ring, &g->b, 1), 1);
		assert_int_equal(g->b.nseg, 3);
		assert_int_equal(ring_take_any(&g->ring, &g->b, 1), 0);
		assert_int_equal(ring_take_any(&g->ring, &g->b, 8), 0);
		assert_int_equal(g->b.nseg, 3);
		assert_int_equal(((uint8_t *)&g->seg[3])[0], 0xa5);

		/* Given back, there is room again for the rest. */
		ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
		ring_publish_any(&g->ring);
		assert_int_equal(rig_take(g, 8), 3);
		assert_int_equal(((uint8_t *)&g->seg[3])[0], 0xa5);
		rig_close(g);
	}
}

/* Five gigabytes in one burst, counted and uncounted. */
static void test_bytes_are_wide(void **state)
{
	struct mem_region whole = { .gpa = 0, .size = UINT64_C(1) << 32 };
	struct rig *g = &rig;
	int err;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		rig_open(g, 8, layouts[l]);
		mem_put(g->mem);
		whole.host = g->ram; /* never touched */
		g->mem = mem_new(&whole, 1, &err);
		g->conf.mem = g->mem;
		rig_restart(g);
		for (unsigned i = 0; i < 5; i++)
			rig_offer(g, i, 0, 1u << 30, 0);
		assert_int_equal(rig_take(g, 8), 5);
		assert_true(count_get(&g->ring.count.bytes_read) ==
		            UINT64_C(5) << 30);
		ring_untake_any(&g->ring, &g->b, 5);
		assert_true(count_get(&g->ring.count.bytes_read) == 0);
		assert_true(count_get(&g->ring.count.chains) == 0);
		assert_int_equal(rig_take(g, 8), 5);
		rig_close(g);
	}
}

/* What is given and not published yet does not move the window in which the
 * driver's event is looked for [spec: split.used-notify.event-sends]. */
static void test_call_counts_published_only(void **state)
{
	struct rig *g = &rig;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		rig_open(g, 4, layouts[l] | VIRTIO_F_EVENT_IDX);
		/* The driver waits for the very first element. */
		if (layouts[l])
			st32(&g->driver_event->both,
			     PACKED_EVENT_DESC << 16 | PACKED_WRAP | 0);
		else
			st16(&g->avail->ring[4], 0);
		for (unsigned i = 0; i < 4; i++)
			rig_offer(g, i, RIG_GPA, 64, 0);
		assert_int_equal(rig_take(g, 4), 4);
		ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
		ring_publish_any(&g->ring);
		for (unsigned i = 1; i < 4; i++)
			ring_give_any(&g->ring, &g->b, &g->chain[i], 0);
		assert_true(ring_call_wanted_any(&g->ring));
		assert_false(ring_call_wanted_any(&g->ring));
		ring_publish_any(&g->ring);
		assert_false(ring_call_wanted_any(&g->ring));
		rig_close(g);
	}
}

/* A packed head that was given is marked in the log when it is written: a
 * front end that read and cleared the log in between would miss it. */
static void test_log_after_write(void **state)
{
	uint8_t bits[64] = { 0 };
	struct dirty_log log = { bits, sizeof(bits) };
	struct rig *g = &rig;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		rig_open(g, 4, layouts[l]);
		g->ring.log = &log;
		g->ring.log_used = true;
		g->ring.used_gpa = 0x3000;
		rig_offer(g, 0, RIG_GPA, 64, DESC_WRITE);
		assert_int_equal(rig_take(g, 4), 1);
		memset(bits, 0, sizeof(bits));
		ring_give_any(&g->ring, &g->b, &g->chain[0], 1);
		assert_int_equal(bits[2], 1); /* page 16, the buffer's */
		memset(bits, 0, sizeof(bits));
		ring_publish_any(&g->ring);
		assert_int_equal(bits[0], 1 << 3);
		assert_int_equal(bits[2], 0);
		rig_close(g);
	}
}

/* A packed head that is given when the areas move is published there. */
static void test_areas_move_with_given(void **state)
{
	static struct packed_desc other[4] cache_aligned;
	struct rig *g = &rig;
	struct ring_conf c;

	(void)state;
	rig_open(g, 4, VIRTIO_F_RING_PACKED);
	rig_offer(g, 0, RIG_GPA, 64, 0);
	assert_int_equal(rig_take(g, 4), 1);
	ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
	memcpy(other, g->pdesc, sizeof(other));
	c = g->conf;
	c.desc = other;
	ring_set_areas(&g->ring, &c);
	ring_publish_any(&g->ring);
	assert_int_equal(ld16(&g->pdesc[0].flags), PACKED_AVAIL);
	assert_int_equal(ld16(&other[0].flags), PACKED_AVAIL | PACKED_USED);
	rig_close(g);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_keeps_to_room),
		cmocka_unit_test(test_bytes_are_wide),
		cmocka_unit_test(test_call_counts_published_only),
		cmocka_unit_test(test_log_after_write),
		cmocka_unit_test(test_areas_move_with_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
