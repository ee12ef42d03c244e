/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_event.c - the arithmetic of EVENT_IDX against a walk that goes over
 * the published elements one by one.
 */
#include "ring/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Every event for a publisher at @now that published @added elements. */
static void check_split(uint16_t now, uint32_t added)
{
	static uint8_t passed[65536];
	uint16_t at = now;

	memset(passed, 0, sizeof(passed));
	for (uint32_t i = 0; i < added; i++)
		passed[--at] = 1;
	for (uint32_t event = 0; event < 65536; event++) {
		if (event_passed(event, now, added) != passed[event])
			fail_msg("event %u now %u added %u", event, now, added);
	}
}

/* [spec: split.used-notify.event-sends] [spec: split.avail-notify.event-sends]
 */
static void test_split(void **state)
{
	static const uint16_t nows[] = { 0,     1,     2,     255,
		                         32767, 32768, 65534, 65535 };

	(void)state;
	for (unsigned i = 0; i < array_len(nows); i++) {
		for (uint32_t added = 0; added < 20; added++)
			check_split(nows[i], added);
		for (uint32_t p = 32; p <= 65536; p *= 2) {
			check_split(nows[i], p - 1);
			check_split(nows[i], p);
			if (p < 65536)
				check_split(nows[i], p + 1);
		}
	}
}

/* Was the slot @event of the lap @wrap among the @added before @at? */
static bool walk_packed(struct event_packed at, uint32_t event, bool wrap)
{
	for (uint32_t i = 0; i < at.added; i++) {
		if (!at.now) {
			at.now = at.size;
			at.wrap = !at.wrap;
		}
		at.now--;
		if (at.now == event && at.wrap == wrap)
			return true;
	}
	return false;
}

static void check_packed(struct event_packed at, uint32_t event, bool wrap)
{
	uint32_t both =
		event | (wrap ? PACKED_WRAP : 0) | PACKED_EVENT_DESC << 16;
	bool got = event_packed_passed(both, at);
	bool want = walk_packed(at, event, wrap);

	/* Beyond a lap it may tell once too often, never too seldom. */
	if (at.added > at.size ? want && !got : want != got)
		fail_msg("size %u now %u/%d added %u event %u/%d", at.size,
		         at.now, at.wrap, at.added, event, wrap);
}

/* Everything there is for small sizes. */
static void test_packed_small(void **state)
{
	(void)state;
	for (uint32_t size = 1; size <= 12; size++) {
		for (uint32_t i = 0; i < 2 * size * 2 * size; i++) {
			struct event_packed at = { .size = size,
				                   .now = i % size,
				                   .wrap = i / size % 2,
				                   .event_idx = true };
			uint32_t event = i / size / 2 % size;
			bool wrap = i / size / 2 / size;

			for (at.added = 1; at.added <= 3 * size; at.added++)
				check_packed(at, event, wrap);
		}
	}
}

/* Edges of large ones: 15 bits and their neighbours. */
static void test_packed_large(void **state)
{
	static const uint32_t sizes[] = { 255, 1000, 32767, 32768 };

	(void)state;
	for (unsigned i = 0; i < 4 * 6 * 6 * 6 * 4; i++) {
		uint32_t size = sizes[i % 4];
		const uint32_t edge[] = { 0,        1,        size / 2,
			                  size / 3, size - 2, size - 1 };
		struct event_packed at = { .size = size,
			                   .now = edge[i / 4 % 6],
			                   .added = 1 + edge[i / 24 % 6],
			                   .wrap = i / 864 % 2,
			                   .event_idx = true };

		check_packed(at, edge[i / 144 % 6], i / 1728);
		check_packed(at, at.now, i / 1728);
	}
}

/* Flags say always or never whatever the position; DESC without EVENT_IDX and
 * the reserved value are taken for always [spec: packed.event.flags]. */
static void test_packed_flags(void **state)
{
	struct event_packed at = { .size = 8, .now = 3, .added = 2 };

	(void)state;
	for (unsigned i = 0; i < 1u << 17; i++) {
		uint32_t off_wrap = i & 0xffff;

		at.event_idx = i >> 16;
		assert_true(event_packed_passed(PACKED_EVENT_ENABLE << 16 |
		                                        off_wrap,
		                                at));
		assert_false(event_packed_passed(PACKED_EVENT_DISABLE << 16 |
		                                         off_wrap,
		                                 at));
		assert_true(event_packed_passed(3u << 16 | off_wrap, at));
		if (!at.event_idx)
			assert_true(
				event_packed_passed(PACKED_EVENT_DESC << 16 |
			                                    off_wrap,
			                            at));
	}
}

static void test_add(void **state)
{
	(void)state;
	assert_int_equal(event_add(0, 0), 0);
	assert_int_equal(event_add(65535, 1), 65536);
	assert_int_equal(event_add(65536, 32768), 65536);
	assert_int_equal(event_add(40000, 32768), 65536);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_packed_small),
		cmocka_unit_test(test_packed_large),
		cmocka_unit_test(test_packed_flags),
		cmocka_unit_test(test_add),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
