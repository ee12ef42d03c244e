/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_drv.c - the driver end's verbs one by one, the device played by
 * hand: what add, publish, reap and detach do at their edges.
 */
#include "desk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct desk desk;
static const uint64_t layouts[] = { 0, VIRTIO_F_RING_PACKED };

/* What is added and not published yet moves neither the window in which the
 * device's event is looked for nor the position in a kick
 * [spec: split.avail-notify.event-sends] [spec: queue.notify-data.position]
 * [spec: packed.notify-data.position]. */
static void test_kick_counts_published_only(void **state)
{
	struct desk *k = &desk;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		uint16_t wrap = layouts[l] ? PACKED_WRAP : 0;

		desk_open(k, 4, layouts[l] | VIRTIO_F_EVENT_IDX);
		/* The device waits for the very first element. */
		if (wrap)
			st32(&k->device_event->both,
			     PACKED_EVENT_DESC << 16 | PACKED_WRAP | 0);
		desk_add(k, 1, 0);
		drv_publish(&k->drv);
		for (unsigned i = 1; i < 4; i++)
			desk_add(k, 1, 0);
		assert_int_equal(drv_kick_data(&k->drv), 1 | wrap);
		assert_true(drv_kick_wanted(&k->drv));
		assert_false(drv_kick_wanted(&k->drv));
		drv_publish(&k->drv);
		assert_int_equal(drv_kick_data(&k->drv), wrap ? 0 : 4);
		assert_false(drv_kick_wanted(&k->drv));
	}
}

/* A queue that cannot be is refused; one that starts again is a fresh one
 * [spec: queue.reset.full-setup] [spec: split.size] [spec: packed.size]. */
static void test_start(void **state)
{
	struct desk *k = &desk;
	struct drv_conf c;
	struct drv d = { 0 };

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		desk_open(k, 4, layouts[l] | VIRTIO_F_INDIRECT_DESC);
#define REFUSED(field, value)                                    \
	do {                                                     \
		c = k->conf;                                     \
		c.field = value;                                 \
		assert_int_equal(drv_start(&d, &c), DRV_EINVAL); \
	} while (0)
		REFUSED(size, 0);
		REFUSED(size, layouts[l] ? 32769 : 3);
		REFUSED(desc, NULL);
		REFUSED(driver, NULL);
		REFUSED(device, NULL);
		REFUSED(slot, NULL);
		REFUSED(free_id, NULL);
		REFUSED(table, NULL);
		REFUSED(free_table, NULL);
		REFUSED(table_descs, 0);
		REFUSED(table_descs, 5);
		REFUSED(ntables, UINT16_MAX);
#undef REFUSED
		assert_int_equal(desk_add(k, 1, 1), 0);
		drv_publish(&k->drv);
		desk_restart(k);
		assert_int_equal(k->drv.outstanding, 0);
		assert_int_equal(k->drv.nfree, 4);
		assert_int_equal(k->drv.tables_free, DESK_TABLES);
		assert_int_equal(drv_kick_data(&k->drv),
		                 layouts[l] ? PACKED_WRAP : 0);
		assert_false(drv_kick_wanted(&k->drv));
		assert_int_equal(drv_reap(&k->drv, k->done, 4), 0);
	}
}

/* No room means nothing was written: a list waits until the whole of it fits
 * [spec: packed.list.no-waiting] [spec: packed.list.space-first]
 * [spec: packed.list.device-limit] [spec: packed.indirect.device-limit]. */
static void test_room(void **state)
{
	struct desk *k = &desk;
	uint8_t before[sizeof(k->desc)];

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		desk_open(k, 4, layouts[l]);
		assert_int_equal(desk_add(k, 0, 0), DRV_EINVAL);
		assert_int_equal(desk_add(k, 3, 2), DRV_EINVAL);
		assert_int_equal(desk_add(k, 2, 1), 0);
		memcpy(before, k->desc, sizeof(before));
		assert_int_equal(desk_add(k, 1, 1), DRV_ENOSPC);
		assert_memory_equal(k->desc, before, sizeof(before));
		assert_int_equal(count_get(&k->drv.count.full), 1);
		assert_int_equal(desk_add(k, 0, 1), 0);
		assert_int_equal(desk_add(k, 0, 1), DRV_ENOSPC);
		assert_int_equal(count_get(&k->drv.count.full), 2);
	}
}

/* Tables while there are some and the buffer fits one; then direct. A buffer
 * that found no room has not fallen back to anything. */
static void test_fallback(void **state)
{
	struct drv_counters *n = &desk.drv.count;

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		desk_open(&desk, 16, layouts[l] | VIRTIO_F_INDIRECT_DESC);
		assert_int_equal(desk_add(&desk, 1, 0), 0);
		assert_int_equal(desk_add(&desk, 3, 2), 0); /* too long */
		assert_int_equal(count_get(&n->indirect), 0);
		assert_int_equal(count_get(&n->fallbacks), 1);
		for (unsigned i = 0; i < DESK_TABLES; i++)
			assert_int_equal(desk_add(&desk, 2, 2), 0);
		assert_int_equal(count_get(&n->indirect), DESK_TABLES);
		assert_int_equal(desk.drv.nfree, 6);
		assert_int_equal(desk_add(&desk, 2, 2), 0); /* none left */
		assert_int_equal(count_get(&n->fallbacks), 2);
		assert_int_equal(desk.drv.nfree, 2);
		assert_int_equal(desk_add(&desk, 2, 2), DRV_ENOSPC);
		assert_int_equal(count_get(&n->fallbacks), 2);
	}
}

/* More than the device could count is refused: 2^32 bytes to write would come
 * back as a length of none [spec: split.desc.total-4g]. */
static void test_too_much(void **state)
{
	static const struct drv_piece half = { 0x1000, 1u << 31 };
	const struct drv_piece piece[] = { half, half, half };
	struct drv_buf b = { piece, 1, 2, 7 };

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		desk_open(&desk, 4, layouts[l]);
		assert_int_equal(drv_add(&desk.drv, &b), DRV_EINVAL);
		b.nread = b.nwrite = 1;
		assert_int_equal(drv_add(&desk.drv, &b), DRV_EINVAL);
		b.nwrite = 0;
		assert_int_equal(drv_add(&desk.drv, &b), 0);
		b.nread = 1;
		b.nwrite = 2;
	}
}

/* The driver leaves flags and events of the other end alone, and looks at the
 * one of the two that counts [spec: split.avail-notify.flags-init]
 * [spec: split.avail-notify.event-ignored]
 * [spec: split.avail-notify.flags-ignored]. */
static void test_wish_of_device(void **state)
{
	struct desk *k = &desk;

	(void)state;
	for (unsigned event = 0; event < 2; event++) {
		desk_open(k, 4, event ? VIRTIO_F_EVENT_IDX : 0);
		assert_int_equal(ld16(&k->used->flags), 0);
		/* Flags say no, the event says yes; then the other way. */
		st16(&k->used->flags, SPLIT_NO_NOTIFY);
		st16((le16 *)(void *)&k->used->ring[4], 0);
		assert_int_equal(desk_add(k, 1, 0), 0);
		drv_publish(&k->drv);
		assert_int_equal(drv_kick_wanted(&k->drv), event);
		st16(&k->used->flags, 0);
		st16((le16 *)(void *)&k->used->ring[4], 77);
		assert_int_equal(desk_add(k, 1, 0), 0);
		drv_publish(&k->drv);
		assert_int_equal(drv_kick_wanted(&k->drv), !event);
	}
}

/* What was offered stays as it is while the device has it, whatever is added
 * and taken back around it [spec: packed.desc.no-change-after-avail]. */
static void test_offered_stays(void **state)
{
	struct desk *k = &desk;
	struct packed_desc mine;

	(void)state;
	desk_open(k, 4, VIRTIO_F_RING_PACKED);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(desk_add(k, 1, 0), 0);
	drv_publish(&k->drv);
	mine = k->pdesc[3];
	for (unsigned i = 0; i < 3; i++) {
		desk_use_packed(k, i, true, (struct desc){ 0, 0, 0, i });
		assert_int_equal(drv_reap(&k->drv, k->done, 4), 1);
		assert_int_equal(desk_add(k, 1, 0), 0);
		drv_publish(&k->drv);
		assert_memory_equal(&mine, &k->pdesc[3], sizeof(mine));
	}
	assert_int_equal(desk_add(k, 1, 0), DRV_ENOSPC);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kick_counts_published_only),
		cmocka_unit_test(test_start),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_fallback),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test(test_wish_of_device),
		cmocka_unit_test(test_offered_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
