/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_rules_dev.c - rules of the specification that the device end keeps
 * and no other test shows: one function for each of them, or for a few that are
 * seen on the same ring. docs/spec-map.md has all.
 */
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct rig rig;
static const uint64_t layouts[] = { 0, VIRTIO_F_RING_PACKED };

/* [spec: split.layout.align] [spec: packed.layout.align] */
static void test_alignment(void **state)
{
	struct ring_conf good, c;
	struct ring r = { 0 };

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		uint8_t driver = layouts[l] ? 2 : 1;

		rig_open(&rig, 4, layouts[l]);
		good = c = rig.conf;
		assert_int_equal(ring_start(&r, &c), 0);
		c.desc = (uint8_t *)good.desc + 8;
		assert_int_equal(ring_start(&r, &c), RING_EINVAL);
		c = good;
		c.driver = (uint8_t *)good.driver + driver;
		assert_int_equal(ring_start(&r, &c), RING_EINVAL);
		c = good;
		c.device = (uint8_t *)good.device + 2;
		assert_int_equal(ring_start(&r, &c), RING_EINVAL);
		rig_close(&rig);
	}
}

/* A reset ends a fault, forgets what was taken, and takes a new size
 * [spec: queue.reset.default-state] [spec: queue.reset.new-setup]. */
static void test_reset(void **state)
{
	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		rig_open(&rig, 8, layouts[l]);
		for (unsigned i = 0; i < 3; i++)
			rig_offer(&rig, i, RIG_GPA, 64, 0);
		assert_int_equal(rig_take(&rig, 3), 3);
		ring_give_any(&rig.ring, &rig.b, &rig.chain[0], 0);
		ring_publish_any(&rig.ring);
		ring_break(&rig.ring, RING_BAD_HEAD);
		assert_int_equal(rig_take(&rig, 1), RING_EBADMSG);

		rig.conf.size = 4;
		rig_restart(&rig);
		assert_int_equal(rig.ring.fault, RING_OK);
		assert_int_equal(ring_position(&rig.ring),
		                 ring_position_initial(layouts[l]));
		for (unsigned i = 0; i < 4; i++)
			rig_offer(&rig, i, RIG_GPA + i, 64, 0);
		assert_int_equal(rig_take(&rig, 8), 4);
		assert_ptr_equal(rig.seg[0].base, rig.ram);
		for (unsigned i = 0; i < 4; i++)
			ring_give_any(&rig.ring, &rig.b, &rig.chain[i], 0);
		ring_publish_any(&rig.ring);
		rig_offer(&rig, 4, RIG_GPA + 99, 64, 0);
		assert_int_equal(rig_take(&rig, 8), 1);
		assert_ptr_equal(rig.seg[0].base, rig.ram + 99);
		rig_close(&rig);
	}
}

/* Whatever the device does, the driver's two parts stay as they were
 * [spec: split.desc.table-untouched]. */
static void test_table_untouched(void **state)
{
	static const uint64_t features[] = { 0, VIRTIO_F_EVENT_IDX };
	uint8_t desc[sizeof(rig.desc)], avail[sizeof(rig.driver)];

	(void)state;
	for (unsigned f = 0; f < array_len(features); f++) {
		rig_open(&rig, 8, features[f]);
		for (unsigned i = 0; i < 8; i++)
			rig_offer(&rig, i, RIG_GPA, 64, i & 1 ? DESC_WRITE : 0);
		memcpy(desc, rig.desc, sizeof(desc));
		memcpy(avail, rig.driver, sizeof(avail));
		assert_int_equal(rig_take(&rig, 8), 8);
		ring_kick_disable_any(&rig.ring);
		for (unsigned i = 0; i < 8; i++)
			ring_give_any(&rig.ring, &rig.b, &rig.chain[i], i & 1);
		ring_publish_any(&rig.ring);
		ring_call_wanted_any(&rig.ring);
		ring_kick_enable_any(&rig.ring);
		assert_memory_equal(rig.desc, desc, sizeof(desc));
		assert_memory_equal(rig.driver, avail, sizeof(avail));
		rig_close(&rig);
	}
}

/* WRITE beside INDIRECT means nothing, nor do a packed entry's other flags and
 * its id [spec: split.indirect.write-flag-ignored]
 * [spec: packed.indirect.flags-ignored]. */
static void test_table_flags(void **state)
{
	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		bool packed = layouts[l];
		uint16_t junk = packed ? DESC_INDIRECT | PACKED_USED : 0;
		uint64_t table = RIG_GPA + 0x1000;

		rig_open(&rig, 8, layouts[l] | VIRTIO_F_INDIRECT_DESC);
		rig_entry(&rig, table, 0,
		          (struct desc){ RIG_GPA, 10, DESC_NEXT | junk, 1 });
		rig_entry(&rig, table, 1,
		          (struct desc){ RIG_GPA + 64, 20, DESC_WRITE | junk,
		                         0x7777 });
		rig_offer(&rig, 0, table, 32, DESC_INDIRECT | DESC_WRITE);
		assert_int_equal(rig_take(&rig, 1), 1);
		assert_int_equal(rig.chain[0].nread, 1);
		assert_int_equal(rig.chain[0].nwrite, 1);
		assert_int_equal(rig.chain[0].read_len, 10);
		assert_int_equal(rig.chain[0].write_len, 20);
		assert_int_equal(rig.chain[0].id, 0);
		rig_close(&rig);
	}
}

/* Two direct descriptors, then a table [spec: split.indirect.after-direct]. */
static void test_table_after_direct(void **state)
{
	uint64_t table = RIG_GPA + 0x1000;

	(void)state;
	rig_open(&rig, 8, VIRTIO_F_INDIRECT_DESC);
	rig_desc(&rig, 3, (struct desc){ RIG_GPA, 1, DESC_NEXT, 5 });
	rig_desc(&rig, 5, (struct desc){ RIG_GPA + 16, 2, DESC_NEXT, 1 });
	rig_desc(&rig, 1, (struct desc){ table, 32, DESC_INDIRECT, 0 });
	rig_entry(&rig, table, 0,
	          (struct desc){ RIG_GPA + 32, 3, DESC_NEXT, 1 });
	rig_entry(&rig, table, 1,
	          (struct desc){ RIG_GPA + 48, 4, DESC_WRITE, 0 });
	rig_avail(&rig, 3);
	assert_int_equal(rig_take(&rig, 1), 1);
	assert_int_equal(rig.chain[0].nread, 3);
	assert_int_equal(rig.chain[0].nwrite, 1);
	for (unsigned i = 0; i < 4; i++) {
		assert_ptr_equal(rig.seg[i].base, rig.ram + 16 * i);
		assert_int_equal(rig.seg[i].len, i + 1);
	}
	rig_close(&rig);
}

/* [spec: split.avail-notify.device-flags]
 * [spec: split.avail-notify.device-flags-zero] */
static void test_split_flags(void **state)
{
	(void)state;
	rig_open(&rig, 4, 0);
	ring_kick_disable_any(&rig.ring);
	assert_int_equal(ld16(&rig.used->flags), 1);
	ring_kick_enable_any(&rig.ring);
	assert_int_equal(ld16(&rig.used->flags), 0);
	rig_close(&rig);

	rig_open(&rig, 4, VIRTIO_F_EVENT_IDX);
	ring_kick_disable_any(&rig.ring);
	assert_int_equal(ld16(&rig.used->flags), 0);
	ring_kick_enable_any(&rig.ring);
	assert_int_equal(ld16(&rig.used->flags), 0);
	rig_close(&rig);
}

/* Give one buffer; is an interrupt wanted? */
static bool call_after_one(uint64_t features, uint16_t flags, uint16_t event)
{
	bool wanted;

	rig_open(&rig, 4, features);
	st16(&rig.avail->flags, flags);
	st16(&rig.avail->ring[4], event);
	rig_offer(&rig, 0, RIG_GPA, 64, 0);
	assert_int_equal(rig_take(&rig, 1), 1);
	ring_give_any(&rig.ring, &rig.b, &rig.chain[0], 0);
	ring_publish_any(&rig.ring);
	wanted = ring_call_wanted_any(&rig.ring);
	rig_close(&rig);
	return wanted;
}

/* [spec: split.used-notify.event-ignored]
 * [spec: split.used-notify.flags-ignored] */
static void test_flags_or_event(void **state)
{
	(void)state;
	for (uint16_t event = 0; event < 3; event++) {
		assert_true(call_after_one(0, 0, event));
		assert_false(call_after_one(0, 1, event));
	}
	for (uint16_t flags = 0; flags < 2; flags++) {
		assert_true(call_after_one(VIRTIO_F_EVENT_IDX, flags, 0));
		assert_false(call_after_one(VIRTIO_F_EVENT_IDX, flags, 1));
	}
}

/* Two laps of a ring of three: the marks of used descriptors, WRITE where
 * something was written, and nothing that changes a slot once it is used
 * [spec: packed.wrap.marks] [spec: packed.used.write-flag]
 * [spec: packed.desc.no-change-after-used]. */
static void test_packed_used(void **state)
{
	uint64_t before = 0;

	(void)state;
	rig_open(&rig, 3, VIRTIO_F_RING_PACKED);
	for (unsigned n = 0; n < 6; n++) {
		unsigned at = n % 3, last = (n + 2) % 3;
		uint16_t marks = n < 3 ? PACKED_AVAIL | PACKED_USED : 0;
		uint32_t written = n & 1 ? 5 : 0;

		rig_offer(&rig, n, RIG_GPA, 64, DESC_WRITE);
		assert_int_equal(rig_take(&rig, 3), 1);
		ring_give_any(&rig.ring, &rig.b, &rig.chain[0], written);
		ring_publish_any(&rig.ring);
		ring_kick_enable_any(&rig.ring);
		assert_int_equal(ld16(&rig.pdesc[at].flags),
		                 marks | (written ? DESC_WRITE : 0));
		assert_int_equal(ld16(&rig.pdesc[at].id), at);
		if (n)
			assert_true(ld64(&rig.pdesc[last].rest) == before);
		before = ld64(&rig.pdesc[at].rest);
	}
	rig_close(&rig);
}

/* Of several buffers for one request the first is used last
 * [spec: packed.multi-buffer]. */
static void test_packed_multi_buffer(void **state)
{
	(void)state;
	rig_open(&rig, 4, VIRTIO_F_RING_PACKED);
	for (unsigned i = 0; i < 3; i++)
		rig_offer(&rig, i, RIG_GPA, 64, DESC_WRITE);
	assert_int_equal(rig_take(&rig, 3), 3);
	for (unsigned i = 0; i < 3; i++)
		ring_give_any(&rig.ring, &rig.b, &rig.chain[i], 64);
	assert_int_equal(ld16(&rig.pdesc[0].flags), FRESH | DESC_WRITE);
	for (unsigned i = 1; i < 3; i++)
		assert_int_equal(ld16(&rig.pdesc[i].flags),
		                 PACKED_AVAIL | PACKED_USED | DESC_WRITE);
	ring_publish_any(&rig.ring);
	assert_int_equal(ld16(&rig.pdesc[0].flags),
	                 PACKED_AVAIL | PACKED_USED | DESC_WRITE);
	rig_close(&rig);
}

/* A descriptor further on waits for the ones before it, and the id of a list is
 * its last descriptor's [spec: packed.order.start-in-ring-order]
 * [spec: packed.next.id-in-last]. */
static void test_packed_order(void **state)
{
	static const uint16_t ids[] = { 0x1111, 0x2222, 2 };

	(void)state;
	rig_open(&rig, 4, VIRTIO_F_RING_PACKED);
	rig_desc(&rig, 3, (struct desc){ RIG_GPA + 99, 1, FRESH, 3 });
	assert_int_equal(rig_take(&rig, 4), 0);
	for (unsigned i = 3; i--;) {
		uint16_t next = i < 2 ? DESC_NEXT : 0;

		rig_desc(&rig, i,
		         (struct desc){ RIG_GPA + i, 1, FRESH | next, ids[i] });
		if (i)
			assert_int_equal(rig_take(&rig, 4), 0);
	}
	assert_int_equal(rig_take(&rig, 4), 2);
	assert_int_equal(rig.chain[0].id, 2);
	assert_int_equal(rig.chain[0].ndesc, 3);
	assert_int_equal(rig.chain[1].id, 3);
	assert_ptr_equal(rig.seg[3].base, rig.ram + 99);
	rig_close(&rig);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alignment),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_table_untouched),
		cmocka_unit_test(test_table_flags),
		cmocka_unit_test(test_table_after_direct),
		cmocka_unit_test(test_split_flags),
		cmocka_unit_test(test_flags_or_event),
		cmocka_unit_test(test_packed_used),
		cmocka_unit_test(test_packed_multi_buffer),
		cmocka_unit_test(test_packed_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
