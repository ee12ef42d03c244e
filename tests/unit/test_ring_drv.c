/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_drv.c - the driver end's verbs one by one, the device played by
 * hand: what add, publish, reap and detach do at their edges.
 */
#include "desk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kick_counts_published_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
