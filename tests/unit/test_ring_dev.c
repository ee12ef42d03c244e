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

/* Gather the chain that starts at descriptor 0, whose table is at TABLE. */
#define TABLE (RIG_GPA + 0x4000)
static const struct chain *take_zero(struct rig *g)
{
	if (!g->ring.packed)
		rig_avail(g, 0);
	assert_int_equal(rig_take(g, 4), 1);
	return &g->chain[0];
}

/* WRITE on the descriptor that points to a table means nothing; a packed
 * table's entries have no other flag and no id, whatever stands there
 * [spec: split.indirect.write-flag-ignored]
 * [spec: packed.indirect.flags-ignored]. */
static void test_table_flags(void **state)
{
	struct rig *g = &rig;
	const struct chain *c;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		bool packed = layouts[l];
		uint16_t f = packed ? DESC_INDIRECT | 0x80 : DESC_NEXT;

		rig_open(g, 4, layouts[l] | VIRTIO_F_INDIRECT_DESC);
		rig_desc(g, 0,
		         (struct desc){ TABLE, 32,
		                        DESC_INDIRECT | DESC_WRITE |
		                                (packed ? FRESH : 0),
		                        3 });
		rig_entry(g, TABLE, 0, (struct desc){ RIG_GPA, 5, f, 1 });
		rig_entry(g, TABLE, 1,
		          (struct desc){ RIG_GPA + 5, 6,
		                         DESC_WRITE | (packed ? f : 0), 77 });
		c = take_zero(g);
		assert_int_equal(c->nread, 1);
		assert_int_equal(c->nwrite, 1);
		assert_int_equal(c->read_len, 5);
		assert_int_equal(c->write_len, 6);
		assert_int_equal(c->ndesc, 1);
		assert_int_equal(c->id, packed ? 3 : 0);
		assert_int_equal(count_get(&g->ring.count.indirect), 1);
		rig_close(g);
	}
}

/* Split: direct descriptors, then a table, across regions or at an odd address
 * [spec: split.indirect.after-direct]. */
static void test_table_after_direct(void **state)
{
	static const uint64_t places[] = { TABLE, TABLE + 1, TABLE + 4 };
	struct rig *g = &rig;
	const struct chain *c;

	(void)state;
	for (unsigned i = 0; i < array_len(places); i++) {
		rig_open(g, 4, VIRTIO_F_INDIRECT_DESC);
		rig_desc(g, 0, (struct desc){ RIG_GPA, 9, DESC_NEXT, 2 });
		rig_desc(g, 2,
		         (struct desc){ places[i], 32, DESC_INDIRECT, 1 });
		rig_entry(g, TABLE, 0,
		          (struct desc){ RIG_GPA, 5, DESC_NEXT, 1 });
		rig_entry(g, TABLE, 1,
		          (struct desc){ RIG_GPA + 9, 6, DESC_WRITE, 0 });
		memmove(rig_ram(g, places[i]), rig_ram(g, TABLE), 32);
		c = take_zero(g);
		assert_int_equal(c->nread, 2);
		assert_int_equal(c->nwrite, 1);
		assert_int_equal(c->read_len, 14);
		assert_int_equal(c->write_len, 6);
		assert_ptr_equal(g->seg[0].base, rig_ram(g, RIG_GPA));
		assert_ptr_equal(g->seg[2].base, rig_ram(g, RIG_GPA + 9));
		rig_close(g);
	}
}

/* Sizes and areas that make no queue; positions that make no sense
 * [spec: split.size] [spec: packed.size] [spec: split.layout.align]
 * [spec: packed.layout.align]. */
static void test_start_refuses(void **state)
{
	struct rig *g = &rig;
	struct ring r = { 0 };
	struct ring_conf c;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		bool packed = layouts[l];

		rig_open(g, 4, layouts[l]);
		for (uint32_t n = 0; n <= 40000; n++) {
			bool power = n && !(n & (n - 1));

			assert_int_equal(ring_size_is_legal(n, packed),
			                 n && n <= 32768 && (packed || power));
		}
#define REFUSED(field, value)                                      \
	do {                                                       \
		c = g->conf;                                       \
		c.field = value;                                   \
		assert_int_equal(ring_start(&r, &c), RING_EINVAL); \
	} while (0)
		REFUSED(size, 0);
		REFUSED(size, packed ? 32769 : 3);
		REFUSED(desc, NULL);
		REFUSED(driver, NULL);
		REFUSED(device, NULL);
		REFUSED(desc, g->desc + 8);
		REFUSED(driver, g->driver + (packed ? 2 : 1));
		REFUSED(device, g->device + 2);
		if (packed) {
			REFUSED(position, 0x80008004); /* slot 4 of 0..3 */
			REFUSED(position, 0x80048000);
			REFUSED(position, 0x80028001); /* next behind used */
			REFUSED(position, 0x80010002); /* over a lap ahead */
		} else {
			REFUSED(position, 0x10000);
			REFUSED(position, 5); /* 5 of 4 at the device */
			REFUSED(position, 0xffff);
		}
#undef REFUSED
		rig_close(g);
	}
}

/* A ring that starts in the middle: it goes on there, in both laps, with chains
 * that its predecessor took and did not return. */
static void test_start_in_the_middle(void **state)
{
	struct rig *g = &rig;

	(void)state;
	rig_open(g, 4, VIRTIO_F_RING_PACKED);
	g->conf.position = 0x80030001; /* used: slot 3; next: 1, lap two */
	assert_int_equal(ring_start(&g->ring, &g->conf), 0);
	assert_int_equal(ring_position(&g->ring), 0x80030001);
	rig_desc(g, 1, (struct desc){ RIG_GPA, 4, 0x8000, 9 });
	assert_int_equal(rig_take(g, 4), 1);
	ring_untake_any(&g->ring, &g->b, 1);
	assert_int_equal(ring_position(&g->ring), 0x80030001);
	assert_int_equal(rig_take(g, 4), 1);
	ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
	ring_publish_any(&g->ring);
	assert_int_equal(ld16(&g->pdesc[3].flags), 0x8080);
	assert_int_equal(ring_position(&g->ring), 0x00000002);
	rig_close(g);

	rig_open(g, 4, 0);
	g->conf.position = 0xffff;
	st16(&g->used->idx, 0xfffe);
	assert_int_equal(ring_start(&g->ring, &g->conf), 0);
	g->navail = 0xffff;
	rig_offer(g, 0xffff, RIG_GPA, 4, 0);
	assert_int_equal(rig_take(g, 4), 1);
	ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
	ring_publish_any(&g->ring);
	assert_int_equal(ld32(&g->used->ring[2].id), 3);
	assert_int_equal(ld16(&g->used->idx), 0xffff);
	assert_int_equal(ring_position(&g->ring), 0);
	rig_close(g);
}

/* A reset puts everything back, a fault too; counters stay
 * [spec: queue.reset.default-state] [spec: queue.reset.new-setup]
 * [spec: queue.reset.no-execution]. */
static void test_restart(void **state)
{
	struct rig *g = &rig;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		rig_open(g, 8, layouts[l]);
		rig_offer(g, 0, RIG_GPA, 4, 0);
		rig_offer(g, 1, 0, 4, 0);
		assert_int_equal(rig_take(g, 4), 1);
		assert_int_equal(rig_take(g, 4), RING_EBADMSG);
		g->conf.size = 4;
		rig_restart(g);
		assert_int_equal(g->ring.fault, RING_OK);
		assert_int_equal(count_get(&g->ring.count.chains), 1);
		assert_int_equal(count_get(&g->ring.count.faults), 1);
		assert_int_equal(rig_take(g, 4), 0);
		assert_false(ring_call_wanted_any(&g->ring));
		for (unsigned i = 0; i < 6; i++) {
			rig_offer(g, i, RIG_GPA, 4, 0);
			assert_int_equal(rig_take(g, 4), 1);
			ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
			ring_publish_any(&g->ring);
			assert_true(ring_call_wanted_any(&g->ring));
		}
		rig_close(g);
	}
}

/* Another map: what the old one held is not there any more. */
static void test_set_mem(void **state)
{
	struct mem_region r = { .gpa = RIG_GPA + 0x100, .size = 0x100 };
	struct mem *m;
	int err;

	(void)state;
	rig_open(&rig, 4, 0);
	r.host = rig.far_page;
	m = mem_new(&r, 1, &err);
	rig_offer(&rig, 0, RIG_GPA, 4, 0);
	assert_int_equal(rig_take(&rig, 4), 1);
	ring_set_mem(&rig.ring, m);
	rig_offer(&rig, 1, RIG_GPA + 0x100, 4, 0);
	rig_offer(&rig, 2, RIG_GPA, 4, 0);
	assert_int_equal(rig_take(&rig, 4), 1);
	assert_ptr_equal(rig.seg[0].base, rig.far_page);
	assert_int_equal(rig_take(&rig, 4), RING_EBADMSG);
	assert_int_equal(rig.ring.fault, RING_BAD_ADDRESS);
	ring_set_mem(&rig.ring, NULL);
	mem_put(m);
	rig_close(&rig);
}

/* The device looks at the one of flags and event that counts
 * [spec: split.used-notify.event-ignored]
 * [spec: split.used-notify.flags-ignored]. */
static void test_wish_of_driver(void **state)
{
	struct rig *g = &rig;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		bool event = i & 1, yes = i & 2;

		rig_open(g, 4, event ? VIRTIO_F_EVENT_IDX : 0);
		st16(&g->avail->flags, event == yes ? SPLIT_NO_INTERRUPT : 0);
		st16(&g->avail->ring[4], event == yes ? 0 : 77);
		rig_offer(g, 0, RIG_GPA, 4, 0);
		assert_int_equal(rig_take(g, 4), 1);
		ring_give_any(&g->ring, &g->b, &g->chain[0], 0);
		ring_publish_any(&g->ring);
		assert_int_equal(ring_call_wanted_any(&g->ring), yes);
		rig_close(g);
	}
}

/* Requests of several buffers: begun in ring order, used in any, the first one
 * last if the device likes [spec: packed.order.start-in-ring-order]
 * [spec: packed.multi-buffer] [spec: packed.order.used-as-completed]. */
static void test_first_one_last(void **state)
{
	struct rig *g = &rig;

	(void)state;
	rig_open(g, 4, VIRTIO_F_RING_PACKED);
	for (unsigned i = 0; i < 3; i++)
		rig_offer(g, i, RIG_GPA + i, 4, 0);
	assert_int_equal(rig_take(g, 4), 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(g->chain[i].id, i);
	for (unsigned i = 1; i <= 3; i++)
		ring_give_any(&g->ring, &g->b, &g->chain[i % 3], 0);
	ring_publish_any(&g->ring);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(ld16(&g->pdesc[i].id), (i + 1) % 3);
		assert_int_equal(ld16(&g->pdesc[i].flags), 0x8080);
	}
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
		cmocka_unit_test(test_table_flags),
		cmocka_unit_test(test_table_after_direct),
		cmocka_unit_test(test_start_refuses),
		cmocka_unit_test(test_start_in_the_middle),
		cmocka_unit_test(test_restart),
		cmocka_unit_test(test_set_mem),
		cmocka_unit_test(test_wish_of_driver),
		cmocka_unit_test(test_first_one_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
