/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_record.c - the in-flight record beside the device's other verbs,
 * and records that lie. What test_ring_inflight.c kills, this one twists.
 */
#include "ring/inflight.h"
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rig rig;
static struct inflight in;
static const uint64_t layouts[] = { 0, VIRTIO_F_RING_PACKED };

struct book {
	void *region;
	uint16_t *scratch;
};

static struct book book_open(bool packed, uint32_t size)
{
	struct book k = { calloc(1, inflight_bytes(packed, size)),
		          calloc(2 * size, sizeof(uint16_t)) };

	assert_non_null(k.region);
	assert_non_null(k.scratch);
	return k;
}

static void book_close(struct book *k)
{
	free(k->region);
	free(k->scratch);
}

/* Chains that a predecessor left do not fit behind what the burst holds: they
 * wait for the next one, as those of the ring do. */
static void test_again_waits_for_room(void **state)
{
	struct rig *g = &rig;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		bool packed = layouts[l];
		struct book k = book_open(packed, 8);

		rig_open(g, 8, layouts[l] | VIRTIO_F_INDIRECT_DESC);
		for (unsigned i = 0; i < 2; i++) {
			uint64_t table = RIG_GPA + 0x4000 + 64 * i;

			for (unsigned j = 0; j < 3; j++)
				rig_entry(g, table, j,
				          (struct desc){ RIG_GPA + 64 * j, 8,
				                         !packed && j < 2
				                                 ? DESC_NEXT
				                                 : 0,
				                         j + 1 });
			rig_offer(g, i, table, 48, DESC_INDIRECT);
		}
		assert_int_equal(inflight_attach(&g->ring, &in, k.region,
		                                 k.scratch),
		                 0);
		assert_int_equal(rig_take(g, 8), 2);

		/* The successor has room for one and a half. */
		assert_int_equal(ring_start(&g->ring, &g->conf), 0);
		assert_int_equal(inflight_attach(&g->ring, &in, k.region,
		                                 k.scratch),
		                 2);
		g->b.max_segs = 4;
		assert_int_equal(rig_take(g, 1), 1);
		assert_int_equal(ring_take_any(&g->ring, &g->b, 1), 0);
		assert_int_equal(g->ring.fault, RING_OK);
		ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
		ring_publish_any(&g->ring);
		assert_int_equal(rig_take(g, 8), 1);
		ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
		ring_publish_any(&g->ring);
		assert_int_equal(rig_take(g, 8), 0);

		/* In an empty burst it never will. */
		rig_offer(g, 2, RIG_GPA + 0x4000, 48, DESC_INDIRECT);
		assert_int_equal(rig_take(g, 1), 1);
		if (!packed)
			g->conf.position = 2;
		assert_int_equal(ring_start(&g->ring, &g->conf), 0);
		assert_int_equal(inflight_attach(&g->ring, &in, k.region,
		                                 k.scratch),
		                 1);
		g->b.max_segs = 2;
		assert_int_equal(rig_take(g, 1), RING_EBADMSG);
		assert_int_equal(g->ring.fault, RING_TOO_SCATTERED);
		rig_close(g);
		book_close(&k);
	}
}

/* Take two, give the first, put the second back: whatever was given keeps its
 * entry in the record, over many laps. */
static void test_untake_behind_give(void **state)
{
	struct rig *g = &rig;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		struct book k = book_open(layouts[l], 4);

		rig_open(g, 4, layouts[l]);
		inflight_attach(&g->ring, &in, k.region, k.scratch);
		rig_offer(g, 0, RIG_GPA, 8, 0);
		for (unsigned i = 1; i < 50; i++) {
			rig_offer(g, i, RIG_GPA, 8, 0);
			assert_int_equal(rig_take(g, 4), 2);
			ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
			ring_untake_any(&g->ring, &g->b, 1);
			ring_publish_any(&g->ring);
			assert_int_equal(g->ring.fault, RING_OK);

			/* One given, one never taken: nothing is held. */
			if (i % 7)
				continue;
			if (!layouts[l])
				g->conf.position = ring_position(&g->ring);
			assert_int_equal(ring_start(&g->ring, &g->conf), 0);
			assert_int_equal(inflight_attach(&g->ring, &in,
			                                 k.region, k.scratch),
			                 0);
		}
		rig_close(g);
		book_close(&k);
	}
}

/* A packed record whose list is longer than it says: it would push the used
 * position over the next one, and later more chains would be held than there
 * are slots. */
static void test_list_longer_than_said(void **state)
{
	struct book k = book_open(true, 4);
	struct inflight_packed *p = k.region;
	struct rig *g = &rig;

	(void)state;
	rig_open(g, 4, VIRTIO_F_RING_PACKED);
	inflight_attach(&g->ring, &in, k.region, k.scratch);
	rig_offer(g, 0, RIG_GPA, 8, 0);
	assert_int_equal(rig_take(g, 4), 1);
	for (unsigned i = 0; i < 4; i++) {
		p->desc[i].addr = RIG_GPA;
		p->desc[i].len = 8;
		p->desc[i].flags = i < 3 ? DESC_NEXT : 0;
	}
	assert_int_equal(ring_start(&g->ring, &g->conf), 0);
	assert_int_equal(inflight_attach(&g->ring, &in, k.region, k.scratch),
	                 1);
	assert_int_equal(rig_take(g, 4), RING_EBADMSG);
	assert_int_equal(g->ring.fault, RING_BAD_RECORD);

	/* Shorter than it says leaves slots that never come back. */
	memset(p, 0, inflight_bytes(true, 4));
	rig_restart(g);
	inflight_attach(&g->ring, &in, k.region, k.scratch);
	rig_offer(g, 0, RIG_GPA, 8, DESC_NEXT);
	rig_offer(g, 1, RIG_GPA, 8, 0);
	assert_int_equal(rig_take(g, 4), 1);
	p->desc[0].flags = 0;
	assert_int_equal(ring_start(&g->ring, &g->conf), 0);
	assert_int_equal(inflight_attach(&g->ring, &in, k.region, k.scratch),
	                 1);
	assert_int_equal(rig_take(g, 4), RING_EBADMSG);
	assert_int_equal(g->ring.fault, RING_BAD_RECORD);
	rig_close(g);
	book_close(&k);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again_waits_for_room),
		cmocka_unit_test(test_untake_behind_give),
		cmocka_unit_test(test_list_longer_than_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
