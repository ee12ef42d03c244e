/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The shared memory: what is given out does not overlap, counting and giving
 * agree, regions cover it without a gap and leave the front whole, and nobody
 * who has the file can shrink it.
 */
#include "driver/arena.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void test_counting_and_giving_agree(void **state)
{
	static const size_t sizes[] = { 1, 16, 4096, 7, 100000, 64, 0, 3 };
	struct arena count = arena_counting(), a;
	size_t end = 0;

	(void)state;
	for (size_t i = 0; i < array_len(sizes); i++)
		arena_take(&count, sizes[i], 64);
	assert_int_equal(arena_open(&a, count.used, false), 0);
	for (size_t i = 0; i < array_len(sizes); i++) {
		size_t at = arena_take(&a, sizes[i], 64);

		assert_int_equal(at % 64, 0);
		assert_true(at >= end);
		end = at + sizes[i];
		memset(arena_at(&a, at), 1, sizes[i]);
	}
	assert_int_equal(a.used, count.used);
	assert_true(a.used <= a.size);
	arena_close(&a);
}

static void check_regions(const struct arena *a, unsigned wanted)
{
	struct vhost_user_region r[VHOST_USER_REGIONS_MAX];
	unsigned n = arena_regions(a, r, wanted);
	uint64_t at = 0;

	assert_true(n >= 1 && n <= max_of(wanted, 1u));
	assert_true(n == 1 || r[0].size >= a->whole);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(r[i].offset, at);
		assert_int_equal(r[i].gpa, ARENA_GPA + at);
		assert_int_equal(r[i].uva, arena_uva(a, at));
		assert_true(r[i].size && r[i].size % ARENA_ALIGN == 0);
		at += r[i].size;
	}
	assert_int_equal(at, a->size);
}

static void test_regions(void **state)
{
	static const size_t rings[] = { 0, 100, 5000, 40000 };
	static const size_t buffers[] = { 1, 4096, 50000 };

	(void)state;
	for (size_t i = 0; i < array_len(rings); i++)
		for (size_t k = 0; k < array_len(buffers); k++) {
			struct arena a;

			assert_int_equal(arena_open(&a,
			                            rings[i] + buffers[k] +
			                                    ARENA_ALIGN,
			                            false),
			                 0);
			arena_take(&a, rings[i], 64);
			arena_keep_whole(&a);
			arena_take(&a, buffers[k], 64);
			for (unsigned n = 0; n <= VHOST_USER_REGIONS_MAX; n++)
				check_regions(&a, n);
			arena_close(&a);
		}
}

static void test_nobody_shrinks_it(void **state)
{
	struct arena a;

	(void)state;
	assert_int_equal(arena_open(&a, 3 * ARENA_ALIGN, false), 0);
	assert_int_equal(ftruncate(a.fd, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(a.fd, 1 << 20), -1);
	memset(a.base, 0xff, a.size);
	arena_close(&a);
	assert_int_equal(a.fd, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counting_and_giving_agree),
		cmocka_unit_test(test_regions),
		cmocka_unit_test(test_nobody_shrinks_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
