/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_golden.c - memory images of small rings, worked out by hand from
 * the specification's text, not from our code: what the driver's end leaves in
 * memory and what the device's end does, byte by byte.
 *
 * Every field is little-endian: the lowest byte stands first. Where the
 * specification leaves a choice (which free descriptor, which free id, which
 * free table), the comment says what ours is: freed first, used first for
 * descriptors and ids; freed last, used first for tables.
 *
 * The formatter is off: a line is a field, or a descriptor.
 */
/* clang-format off */
#include "desk.h"
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct desk desk;
static struct rig rig;

static void add(unsigned nread, unsigned nwrite, uint64_t gpa, uint32_t len)
{
	struct drv_piece piece[4];
	struct drv_buf b = { piece, nread, nwrite, 1 };

	for (unsigned i = 0; i < nread + nwrite; i++)
		piece[i] = (struct drv_piece){ gpa + 0x1000 * i, len + i };
	assert_int_equal(drv_add(&desk.drv, &b), 0);
}

/*
 * 2.7.5: a descriptor is addr (8 bytes), len (4), flags (2), next (2). 2.7.6:
 * the available ring is flags (2), idx (2), a head for each element (2 each),
 * used_event (2). [spec: split.desc.in-order-next]
 * [spec: split.used-notify.driver-flags]
 */
static void test_split_driver(void **state)
{
	static const uint8_t desc[] = {
		/* 0: A's first piece: 0x1000, 0x10 bytes, NEXT = 1, next 1 */
		0x00, 0x10, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 1, 0, 1, 0,
		/* 1: A's second: 0x2000, 0x11 bytes, WRITE = 2, end of chain:
		 * no NEXT, and next 0 */
		0x00, 0x20, 0, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 2, 0, 0, 0,
		/* 2: B, one piece to read, far up: 0x0102030405060708 */
		0x08, 0x07, 0x06, 0x05, 0x04, 0x03, 0x02, 0x01, 0x78, 0x56,
		0x34, 0x12, 0, 0, 0, 0,
		/* 3: C, one to write */
		0x00, 0x30, 0, 0, 0, 0, 0, 0, 0x05, 0, 0, 0, 2, 0, 0, 0,
	};
	static const uint8_t avail[] = {
		0, 0,             /* flags: interrupts are welcome */
		3, 0,             /* idx: three heads were offered */
		0, 0, 2, 0, 3, 0, /* heads of A, B, C */
		0, 0,             /* fourth element, not used yet */
		0, 0,             /* used_event: not negotiated */
	};
	/* Then the device returns B and A, in this order; D takes two pieces:
	 * ours are descriptors 2 and 0, freed first, in this order. */
	static const uint8_t desc_later[] = {
		/* 0: D's second piece: 0x6000, 0x41 bytes, WRITE */
		0x00, 0x60, 0, 0, 0, 0, 0, 0, 0x41, 0, 0, 0, 2, 0, 0, 0,
		/* 1: E: 0x7000, 1 byte to read; freed with A */
		0x00, 0x70, 0, 0, 0, 0, 0, 0, 0x01, 0, 0, 0, 0, 0, 0, 0,
		/* 2: D's first: 0x5000, 0x40 bytes, NEXT, next is 0 */
		0x00, 0x50, 0, 0, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 0, 0, 0,
		/* 3: C is still at the device: as it was */
		0x00, 0x30, 0, 0, 0, 0, 0, 0, 0x05, 0, 0, 0, 2, 0, 0, 0,
	};
	static const uint8_t avail_later[] = {
		1, 0,       /* flags: no interrupts, please */
		5, 0,       /* idx counts on beyond the size */
		1, 0,       /* element 4 % 4: E's head */
		2, 0, 3, 0, /* as before */
		2, 0,       /* element 3: D's head */
		0, 0,
	};

	(void)state;
	desk_open(&desk, 4, 0);
	add(1, 1, 0x1000, 0x10);
	add(1, 0, 0x0102030405060708, 0x12345678);
	add(0, 1, 0x3000, 5);
	drv_publish(&desk.drv);
	assert_memory_equal(desk.desc, desc, sizeof(desc));
	assert_memory_equal(desk.driver, avail, sizeof(avail));

	desk_use_split(&desk, 2, 0);
	desk_use_split(&desk, 0, 0x11);
	assert_int_equal(drv_reap(&desk.drv, desk.done, 4), 2);
	add(1, 1, 0x5000, 0x40);
	add(1, 0, 0x7000, 1);
	drv_publish(&desk.drv);
	drv_call_disable(&desk.drv);
	assert_memory_equal(desk.desc, desc_later, sizeof(desc_later));
	assert_memory_equal(desk.driver, avail_later, sizeof(avail_later));
}

/* 2.7.5.3: the table is descriptors too; the one that points to it has
 * INDIRECT = 4 alone, and 16 bytes for each entry as its length. 2.7.7: with
 * EVENT_IDX the flags stay 0 and used_event stands behind the ring.
 * [spec: split.indirect.in-order-sequence] [spec: split.indirect.no-next]
 * [spec: split.used-notify.driver-flags-zero] */
static void test_split_driver_indirect(void **state)
{
	static const uint8_t desc[] = {
		/* 0: the last table of four, 0x700c0; three entries: 0x30 */
		0xc0, 0x00, 0x07, 0, 0, 0, 0, 0, 0x30, 0, 0, 0, 4, 0, 0, 0,
		/* 1: one piece needs no table */
		0x00, 0x90, 0, 0, 0, 0, 0, 0, 0x07, 0, 0, 0, 0, 0, 0, 0,
	};
	static const uint8_t table[] = {
		/* 0x1000, 0x20 bytes to read, NEXT, next 1 */
		0x00, 0x10, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 1, 0, 1, 0,
		/* 0x2000, 0x21 to write, NEXT | WRITE, next 2 */
		0x00, 0x20, 0, 0, 0, 0, 0, 0, 0x21, 0, 0, 0, 3, 0, 2, 0,
		/* 0x3000, 0x22 to write, the end */
		0x00, 0x30, 0, 0, 0, 0, 0, 0, 0x22, 0, 0, 0, 2, 0, 0, 0,
	};
	static const uint8_t avail[] = {
		0, 0,                   /* flags are 0 with EVENT_IDX */
		2, 0,                   /* idx */
		0, 0, 1, 0, 0, 0, 0, 0, /* heads 0 and 1 */
		1, 0, /* used_event: tell me when element 1, the second of
		         the used ring, is written */
	};

	(void)state;
	desk_open(&desk, 4,
	          VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX |
	                  VIRTIO_F_IN_ORDER);
	add(1, 2, 0x1000, 0x20);
	add(1, 0, 0x9000, 7);
	drv_publish(&desk.drv);
	drv_call_disable(&desk.drv);
	drv_call_enable(&desk.drv, 2);
	assert_memory_equal(desk.desc, desc, sizeof(desc));
	assert_memory_equal(&desk.table[3 * DESK_DESCS], table, sizeof(table));
	assert_memory_equal(desk.driver, avail, sizeof(avail));
}

/* Give the chains of the burst, last first. */
static void give_backwards(const uint32_t *written)
{
	for (unsigned i = rig.b.n; i--;)
		ring_give_any(&rig.ring, &rig.b, &rig.chain[i], written[i]);
	ring_publish_any(&rig.ring);
}

/* 2.7.8: the used ring is flags (2), idx (2), for each element id (4) and len
 * (4), avail_event (2) [spec: split.used.len-before-idx]
 * [spec: split.avail-notify.device-flags] [spec: split.desc.table-untouched]
 * [spec: split.avail-notify.device-flags-zero] */
static void test_split_device(void **state)
{
	static const uint8_t used[] = {
		1, 0, /* flags: do not kick me */
		3, 0, /* idx: two, then one */
		/* element 2 % 2: head 1, 0x102 bytes written */
		1, 0, 0, 0, 0x02, 0x01, 0, 0,
		/* element 1: head 0, nothing to write */
		0, 0, 0, 0, 0, 0, 0, 0,
		0, 0, /* avail_event: not negotiated */
	};
	static const uint8_t used_event[] = {
		0, 0, /* flags: 0 with EVENT_IDX */
		1, 0, 1, 0, 0, 0, 9, 0, 0, 0,
		0, 0, 0, 0, 0, 0, 0, 0,
		1, 0, /* avail_event: kick me when element 1 is offered */
	};
	static const uint32_t written[] = { 0, 0x101 }, again[] = { 0x102 };
	static const uint32_t nine[] = { 9 };
	uint8_t table[32];

	(void)state;
	rig_open(&rig, 2, 0);
	rig_desc(&rig, 0, (struct desc){ RIG_GPA, 0x200, 0, 0 });
	rig_desc(&rig, 1, (struct desc){ RIG_GPA, 0x200, DESC_WRITE, 0 });
	memcpy(table, rig.desc, sizeof(table));
	rig_avail(&rig, 0);
	rig_avail(&rig, 1);
	assert_int_equal(rig_take(&rig, 2), 2);
	give_backwards(written);
	rig_avail(&rig, 1);
	assert_int_equal(rig_take(&rig, 2), 1);
	give_backwards(again);
	ring_kick_disable_any(&rig.ring);
	assert_memory_equal(rig.device, used, sizeof(used));
	assert_memory_equal(rig.desc, table, sizeof(table));
	rig_close(&rig);

	rig_open(&rig, 2, VIRTIO_F_EVENT_IDX);
	rig_desc(&rig, 1, (struct desc){ RIG_GPA, 0x200, DESC_WRITE, 0 });
	rig_avail(&rig, 1);
	assert_int_equal(rig_take(&rig, 2), 1);
	give_backwards(nine);
	ring_kick_disable_any(&rig.ring);
	assert_false(ring_kick_enable_any(&rig.ring));
	assert_memory_equal(rig.device, used_event, sizeof(used_event));
	rig_close(&rig);
}

/* 2.8.13: a descriptor is addr (8), len (4), id (2), flags (2). 2.8.1: AVAIL is
 * bit 7, USED bit 15. First lap, wrap counter 1: offered is AVAIL alone, 0x80;
 * second lap, counter 0: USED alone, 0x8000. 2.8.14: an event structure is
 * off_wrap (2) and flags (2). [spec: packed.wrap.marks]
 * [spec: packed.wrap.start-one] [spec: packed.next.id-in-last] */
static void test_packed_driver(void **state)
{
	static const uint8_t desc[] = {
		/* 0: A's first piece: AVAIL | NEXT. Ours put the id into every
		 * descriptor, only the last one's counts */
		0x00, 0x10, 0, 0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0, 0, 0x81, 0,
		/* 1: A's second: AVAIL | WRITE, id 0 */
		0x00, 0x20, 0, 0, 0, 0, 0, 0, 0x11, 0, 0, 0, 0, 0, 0x82, 0,
		/* 2: B, to read: AVAIL, id 1 */
		0x00, 0x30, 0, 0, 0, 0, 0, 0, 0x05, 0, 0, 0, 1, 0, 0x80, 0,
	};
	static const uint8_t lap_two[] = {
		/* 0: C, offered in the second lap: USED | WRITE; id 2 waited
		 * longest */
		0x00, 0x70, 0, 0, 0, 0, 0, 0, 0x09, 0, 0, 0, 2, 0, 0x02, 0x80,
		/* 1: D's only piece, to read: USED; then id 1, B's */
		0x00, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0, 1, 0, 0x00, 0x80,
		/* 2: both ends jumped over it: as it was in lap one */
		0x00, 0x30, 0, 0, 0, 0, 0, 0, 0x05, 0, 0, 0, 1, 0, 0x80, 0,
	};
	static const uint8_t off[] = { 0, 0, 1, 0 };   /* DISABLE = 1 */
	static const uint8_t on[] = { 0, 0, 0, 0 };    /* ENABLE = 0 */
	static const uint8_t at[] = { 0x01, 0, 2, 0 }; /* DESC = 2: slot 1 of
	                                                   lap two, counter 0 */
	struct desc b = { 0, 0, 0, 1 }, a = { 0, 0x11, DESC_WRITE, 0 };

	(void)state;
	for (unsigned event = 0; event < 2; event++) {
		desk_open(&desk, 3,
		          VIRTIO_F_RING_PACKED |
		                  (event ? VIRTIO_F_EVENT_IDX : 0));
		add(1, 1, 0x1000, 0x10);
		add(1, 0, 0x3000, 5);
		drv_publish(&desk.drv);
		assert_memory_equal(desk.desc, desc, sizeof(desc));

		/* B comes back in slot 0; A, two slots long, in slot 1 since
		 * B took one: the driver goes on at 1 + 2, lap two. */
		desk_use_packed(&desk, 0, true, b);
		desk_use_packed(&desk, 1, true, a);
		assert_int_equal(drv_reap(&desk.drv, desk.done, 4), 2);
		assert_int_equal(desk.done[1].written, 0x11);
		add(0, 1, 0x7000, 9);
		add(1, 0, 0x8000, 2);
		drv_publish(&desk.drv);
		assert_memory_equal(desk.desc, lap_two, sizeof(lap_two));

		drv_call_disable(&desk.drv);
		assert_memory_equal(desk.driver, off, sizeof(off));
		drv_call_enable(&desk.drv, 2);
		assert_memory_equal(desk.driver, event ? at : on, sizeof(on));
	}
}

/* 2.8.7: entries of a packed table follow each other, with WRITE as the only
 * flag and no id [spec: packed.indirect.only-write-flag]. */
static void test_packed_driver_indirect(void **state)
{
	static const uint8_t desc[] = {
		/* the last of four tables of three entries, 0x70090, two of
		 * them in use; AVAIL | INDIRECT */
		0x90, 0x00, 0x07, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0x84, 0,
	};
	static const uint8_t table[] = {
		0x00, 0x10, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0,
		0x00, 0x20, 0, 0, 0, 0, 0, 0, 0x21, 0, 0, 0, 0, 0, 2, 0,
	};

	(void)state;
	desk_open(&desk, 3, VIRTIO_F_RING_PACKED | VIRTIO_F_INDIRECT_DESC);
	add(1, 1, 0x1000, 0x20);
	drv_publish(&desk.drv);
	assert_memory_equal(desk.desc, desc, sizeof(desc));
	assert_memory_equal(&desk.table[(DESK_TABLES - 1) * 3], table,
	                    sizeof(table));
}

/* 2.8.6: a list of two is used by one descriptor, in the slot where the next
 * used one belongs, and the device goes on two slots further. Used is both
 * marks in the first lap, none in the second [spec: packed.next.one-used]
 * [spec: packed.used.write-flag] [spec: packed.desc.no-change-after-used]. */
static void test_packed_device(void **state)
{
	static const uint8_t desc[] = {
		/* 0: the single one, id 7, 0x102 bytes written: AVAIL | USED |
		 * WRITE; address and the rest of slot 0 as the driver left
		 * them */
		0x00, 0x00, 0x01, 0, 0, 0, 0, 0, 0x02, 0x01, 0, 0, 7, 0, 0x82,
		0x80,
		/* 1: the list, id 5, nothing written: AVAIL | USED */
		0x40, 0x00, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0x80, 0x80,
		/* 2: jumped over, as it was */
		0x80, 0x00, 0x01, 0, 0, 0, 0, 0, 0x00, 0x02, 0, 0, 7, 0, 0x82,
		0,
	};
	static const uint8_t slot_0[] = {
		/* second lap: used is neither mark; one byte written: WRITE */
		0x00, 0x00, 0x01, 0, 0, 0, 0, 0, 1, 0, 0, 0, 7, 0, 0x02, 0,
	};
	static const uint8_t off[] = { 0, 0, 1, 0 };
	static const uint8_t on[] = { 0, 0, 0, 0 };
	static const uint8_t at[] = { 0x01, 0, 2, 0 }; /* slot 1, counter 0 */
	static const uint32_t written[] = { 0, 0x102 }, one[] = { 1 };

	(void)state;
	for (unsigned event = 0; event < 2; event++) {
		rig_open(&rig, 3,
		         VIRTIO_F_RING_PACKED |
		                 (event ? VIRTIO_F_EVENT_IDX : 0));
		rig_desc(&rig, 0, (struct desc){ RIG_GPA, 4, 0x81, 0 });
		rig_desc(&rig, 1, (struct desc){ RIG_GPA + 0x40, 4, 0x80, 5 });
		rig_desc(&rig, 2,
		         (struct desc){ RIG_GPA + 0x80, 0x200, 0x82, 7 });
		assert_int_equal(rig_take(&rig, 3), 2);
		assert_int_equal(rig.chain[0].id, 5);
		assert_int_equal(rig.chain[0].ndesc, 2);
		give_backwards(written);
		assert_memory_equal(rig.desc, desc, sizeof(desc));

		rig_desc(&rig, 0, (struct desc){ RIG_GPA, 4, 0x8002, 7 });
		assert_int_equal(rig_take(&rig, 3), 1);
		give_backwards(one);
		assert_memory_equal(rig.desc, slot_0, sizeof(slot_0));
		ring_kick_disable_any(&rig.ring);
		assert_memory_equal(rig.device, off, sizeof(off));
		assert_false(ring_kick_enable_any(&rig.ring));
		assert_memory_equal(rig.device, event ? at : on, sizeof(on));
		rig_close(&rig);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split_driver),
		cmocka_unit_test(test_split_driver_indirect),
		cmocka_unit_test(test_split_device),
		cmocka_unit_test(test_packed_driver),
		cmocka_unit_test(test_packed_driver_indirect),
		cmocka_unit_test(test_packed_device),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
