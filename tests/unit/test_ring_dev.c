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
			st32(&g->driver_event.both,
			     PACKED_EVENT_DESC << 16 | PACKED_WRAP | 0);
		else
			st16(&g->avail.ring[4], 0);
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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_take_keeps_to_room),
		cmocka_unit_test(test_bytes_are_wide),
		cmocka_unit_test(test_call_counts_published_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
