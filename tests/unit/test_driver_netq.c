/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_driver_netq.c - a queue that starts in memory which was used before.
 */
#include "driver/netq.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* All areas are zero when the device sees them first, whatever stood there
 * [spec: split.avail-notify.flags-init]. */
static void test_areas_start_zeroed(void **state)
{
	static const uint64_t layouts[] = { 0, VIRTIO_F_RING_PACKED };
	const uint8_t zero[SPLIT_USED_BYTES(8)] = { 0 };

	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		struct vring v = { .size = 8, .packed = layouts[l] };
		struct netq_conf c = { &v, 2048, 1 };
		struct arena count = arena_counting(), a = { 0 };
		struct netq q = { 0 };

		assert_int_equal(netq_init(&q, &c), 0);
		netq_layout_ring(&q, &count);
		netq_layout_bufs(&q, &count);
		assert_int_equal(arena_open(&a, count.used, false), 0);
		netq_layout_ring(&q, &a);
		netq_layout_bufs(&q, &a);
		memset(arena_at(&a, v.desc), 0xff, SPLIT_DESC_BYTES(8));
		memset(arena_at(&a, v.device), 0xff, 4);
		memset(arena_at(&a, v.driver), 0xff, 4);
		assert_int_equal(netq_start(&q, &a, layouts[l]), 0);
		assert_memory_equal(arena_at(&a, v.desc), zero, 64);
		assert_memory_equal(arena_at(&a, v.device), zero, 4);
		assert_memory_equal(arena_at(&a, v.driver), zero, 4);
		netq_fini(&q);
		arena_close(&a);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_areas_start_zeroed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
