/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mem_dirty.c - the dirty log against a model, and its edges.
 */
#include "mem/dirty.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE  4096u
#define BYTES 8u

struct box {
	uint8_t before[8];
	uint8_t bits[BYTES];
	uint8_t after[8];
};

static void box_init(struct box *b)
{
	memset(b, 0, sizeof(*b));
	memset(b->before, 0xa5, sizeof(b->before));
	memset(b->after, 0xa5, sizeof(b->after));
}

static void box_check(const struct box *b)
{
	for (unsigned i = 0; i < 8; i++) {
		assert_int_equal(b->before[i], 0xa5);
		assert_int_equal(b->after[i], 0xa5);
	}
}

/* Every start and length around page borders, bit by bit. */
static void test_model(void **state)
{
	(void)state;
	for (unsigned start = 0; start < 70 * PAGE; start += 511) {
		for (unsigned len = 0; len < 4 * PAGE; len += 257) {
			struct dirty_log log;
			struct box b;

			box_init(&b);
			log = (struct dirty_log){ b.bits, BYTES };
			dirty_mark(&log, start, len);
			for (unsigned p = 0; p < 8 * BYTES; p++) {
				unsigned first = p * PAGE, end = first + PAGE;
				bool want = len && start < end &&
				            start + len > first;

				assert_int_equal(b.bits[p / 8] >> (p % 8) & 1,
				                 want);
			}
			box_check(&b);
		}
	}
}

static void test_edges(void **state)
{
	struct dirty_log log, nothing = { NULL, 0 };
	struct box b;

	(void)state;
	box_init(&b);
	log = (struct dirty_log){ b.bits, BYTES };
	dirty_mark(NULL, 0, 1);
	dirty_mark(&nothing, 0, UINT64_MAX);
	dirty_mark(&log, 0, 0);
	dirty_mark(&log, UINT64_MAX, 1);
	dirty_mark(&log, UINT64_MAX, UINT64_MAX); /* does not come round */
	dirty_mark(&log, (uint64_t)8 * BYTES * PAGE, 1);
	for (unsigned i = 0; i < BYTES; i++)
		assert_int_equal(b.bits[i], 0);
	dirty_mark(&log, (uint64_t)8 * BYTES * PAGE - 1, 2);
	assert_int_equal(b.bits[BYTES - 1], 0x80);
	dirty_mark(&log, 0, UINT64_MAX);
	for (unsigned i = 0; i < BYTES; i++)
		assert_int_equal(b.bits[i], 0xff);
	box_check(&b);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_edges),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
