/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_rules_drv.c - rules of the specification that the driver end keeps
 * and no other test shows: one function for each of them, or for a few that are
 * seen on the same ring. docs/spec-map.md has all.
 */
#include "desk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct desk desk;
static const uint64_t layouts[] = { 0, VIRTIO_F_RING_PACKED };

/* Three chains of three on a ring of eight: 0 1 2, 3 4 5, 6 7 0
 * [spec: split.desc.in-order-next]. */
static void test_in_order_next(void **state)
{
	struct desk *k = &desk;

	(void)state;
	desk_open(k, 8, VIRTIO_F_IN_ORDER);
	for (unsigned n = 0; n < 3; n++) {
		if (n == 2) {
			desk_use_split(k, 0, 0);
			desk_use_split(k, 3, 0);
			assert_int_equal(drv_reap(&k->drv, k->done, 8), 2);
		}
		assert_int_equal(desk_add(k, 3, 0), 0);
		drv_publish(&k->drv);
		for (unsigned i = 0; i < 2; i++) {
			const struct split_desc *d = &k->sdesc[3 * n + i];

			assert_int_equal(ld16(&d->flags), DESC_NEXT);
			assert_int_equal(ld16(&d->next), (3 * n + i + 1) % 8);
		}
	}
	assert_int_equal(ld16(&k->sdesc[0].flags), 0);
}

static const void *table_of(const struct desk *k, const le64 *addr)
{
	return (const uint8_t *)k->table + (ld64(addr) - DESK_TABLE);
}

/* Tables: split ones are linked 1, 2 .. in order, packed ones hold no flag but
 * WRITE, and no descriptor that points to one has NEXT
 * [spec: split.indirect.in-order-sequence] [spec: packed.indirect.no-chain]
 * [spec: packed.indirect.only-write-flag]. */
static void test_table_entries(void **state)
{
	struct desk *k = &desk;

	(void)state;
	desk_open(k, 8, VIRTIO_F_INDIRECT_DESC | VIRTIO_F_IN_ORDER);
	assert_int_equal(desk_add(k, 2, 2), 0);
	assert_int_equal(ld16(&k->sdesc[0].flags), DESC_INDIRECT);
	for (unsigned i = 0; i < 4; i++) {
		const struct split_desc *e = table_of(k, &k->sdesc[0].addr);

		assert_int_equal(ld16(&e[i].flags),
		                 (i < 3 ? DESC_NEXT : 0) |
		                         (i < 2 ? 0 : DESC_WRITE));
		assert_int_equal(ld16(&e[i].next), i < 3 ? i + 1 : 0);
	}

	desk_open(k, 8, VIRTIO_F_INDIRECT_DESC | VIRTIO_F_RING_PACKED);
	assert_int_equal(desk_add(k, 2, 2), 0);
	drv_publish(&k->drv);
	assert_int_equal(ld16(&k->pdesc[0].flags),
	                 DESC_INDIRECT | PACKED_AVAIL);
	for (unsigned i = 0; i < 4; i++) {
		const struct packed_desc *e = table_of(k, &k->pdesc[0].addr);

		assert_int_equal(ld16(&e[i].flags), i < 2 ? 0 : DESC_WRITE);
	}
}

/* No list is longer than the queue, no table longer than a table: what does
 * not fit one goes direct [spec: packed.list.device-limit]
 * [spec: packed.indirect.device-limit]. */
static void test_limits(void **state)
{
	struct desk *k = &desk;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		desk_open(k, 8, layouts[l] | VIRTIO_F_INDIRECT_DESC);
		assert_int_equal(desk_add(k, 5, 4), DRV_EINVAL);
		assert_int_equal(desk_add(k, 5, 3), 0);
		assert_int_equal(count_get(&k->drv.count.fallbacks), 1);
		assert_int_equal(count_get(&k->drv.count.indirect), 0);
		assert_int_equal(k->drv.nfree, 0);
	}
}

/* A list for which there is no room is not begun
 * [spec: packed.list.no-waiting] [spec: packed.list.space-first]. */
static void test_no_half_list(void **state)
{
	struct desk *k = &desk;
	uint8_t before[sizeof(k->desc)];

	(void)state;
	desk_open(k, 4, VIRTIO_F_RING_PACKED);
	assert_int_equal(desk_add(k, 3, 0), 0);
	drv_publish(&k->drv);
	memcpy(before, k->desc, sizeof(before));
	assert_int_equal(desk_add(k, 1, 1), DRV_ENOSPC);
	drv_publish(&k->drv);
	assert_memory_equal(k->desc, before, sizeof(before));
	assert_int_equal(desk_add(k, 1, 0), 0);
}

/* [spec: split.used-notify.driver-flags]
 * [spec: split.used-notify.driver-flags-zero] */
static void test_split_flags(void **state)
{
	struct desk *k = &desk;

	(void)state;
	desk_open(k, 4, 0);
	drv_call_disable(&k->drv);
	assert_int_equal(ld16(&k->avail->flags), 1);
	drv_call_enable(&k->drv, 1);
	assert_int_equal(ld16(&k->avail->flags), 0);
	desk_open(k, 4, VIRTIO_F_EVENT_IDX);
	drv_call_disable(&k->drv);
	assert_int_equal(ld16(&k->avail->flags), 0);
	drv_call_enable(&k->drv, 1);
	assert_int_equal(ld16(&k->avail->flags), 0);
}

/* Offer one buffer; is a kick wanted? */
static bool kick_after_one(uint64_t features, uint16_t flags, uint16_t event)
{
	struct desk *k = &desk;

	desk_open(k, 4, features);
	st16(&k->used->flags, flags);
	st16((le16 *)&k->used->ring[4], event);
	assert_int_equal(desk_add(k, 1, 0), 0);
	drv_publish(&k->drv);
	return drv_kick_wanted(&k->drv);
}

/* [spec: split.avail-notify.event-ignored]
 * [spec: split.avail-notify.flags-ignored] */
static void test_flags_or_event(void **state)
{
	(void)state;
	for (uint16_t event = 0; event < 3; event++) {
		assert_true(kick_after_one(0, 0, event));
		assert_false(kick_after_one(0, 1, event));
	}
	for (uint16_t flags = 0; flags < 2; flags++) {
		assert_true(kick_after_one(VIRTIO_F_EVENT_IDX, flags, 0));
		assert_false(kick_after_one(VIRTIO_F_EVENT_IDX, flags, 1));
	}
}

/* The caller learns how many bytes the device vouches for, not how many it was
 * offered [spec: split.used.nothing-beyond-len]. */
static void test_written(void **state)
{
	static const uint32_t len[] = { 0, 1, 511, 512 };
	struct desk *k = &desk;

	(void)state;
	for (unsigned i = 0; i < array_len(len); i++) {
		desk_open(k, 4, 0);
		assert_int_equal(desk_add(k, 1, 2), 0);
		drv_publish(&k->drv);
		desk_use_split(k, 0, len[i]);
		assert_int_equal(drv_reap(&k->drv, k->done, 4), 1);
		assert_int_equal(k->done[0].written, len[i]);
	}
}

/* Two laps of a ring of three, lists of one and two: marks of the right lap in
 * each descriptor, the id in the last, and nothing that changes what was
 * offered [spec: packed.wrap.marks] [spec: packed.next.id-in-last]
 * [spec: packed.desc.no-change-after-avail]. */
static void test_packed_offers(void **state)
{
	struct desk *k = &desk;
	struct packed_desc before[3];
	uint16_t id;

	(void)state;
	desk_open(k, 3, VIRTIO_F_RING_PACKED | VIRTIO_F_EVENT_IDX);
	for (unsigned n = 0; n < 6; n += 3) {
		uint16_t marks = n ? PACKED_USED : PACKED_AVAIL;

		assert_int_equal(desk_add(k, 1, 1), 0);
		drv_publish(&k->drv);
		assert_int_equal(ld16(&k->pdesc[0].flags), marks | DESC_NEXT);
		assert_int_equal(ld16(&k->pdesc[1].flags), marks | DESC_WRITE);
		memcpy(before, k->pdesc, sizeof(before));
		drv_kick_wanted(&k->drv);
		drv_call_disable(&k->drv);
		drv_call_enable(&k->drv, 1);
		assert_int_equal(desk_add(k, 1, 0), 0);
		drv_publish(&k->drv);
		assert_memory_equal(k->pdesc, before, 2 * sizeof(before[0]));
		assert_int_equal(ld16(&k->pdesc[2].flags), marks);

		id = ld16(&k->pdesc[1].id);
		desk_use_packed(k, 0, !n, (struct desc){ .last = id });
		id = ld16(&k->pdesc[2].id);
		desk_use_packed(k, 2, !n, (struct desc){ .last = id });
		assert_int_equal(drv_reap(&k->drv, k->done, 4), 2);
	}
}

/* After a reset all of the queue is set up again
 * [spec: queue.reset.full-setup]. */
static void test_reset(void **state)
{
	struct desk *k = &desk;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		desk_open(k, 4, layouts[l]);
		assert_int_equal(desk_add(k, 2, 1), 0);
		drv_publish(&k->drv);
		drv_break(&k->drv, USED_BAD_ID);
		assert_int_equal(desk_add(k, 1, 0), DRV_EBADMSG);
		k->conf.size = 8;
		desk_restart(k);
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(desk_add(k, 1, 0), 0);
		assert_int_equal(desk_add(k, 1, 0), DRV_ENOSPC);
		assert_int_equal(drv_kick_data(&k->drv),
		                 layouts[l] ? PACKED_WRAP : 0);
		drv_publish(&k->drv);
		assert_int_equal(drv_kick_data(&k->drv), layouts[l] ? 0 : 8);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order_next),
		cmocka_unit_test(test_table_entries),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_no_half_list),
		cmocka_unit_test(test_split_flags),
		cmocka_unit_test(test_flags_or_event),
		cmocka_unit_test(test_written),
		cmocka_unit_test(test_packed_offers),
		cmocka_unit_test(test_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
