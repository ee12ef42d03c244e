/* SPDX-License-Identifier: BSD-2-Clause */
/* test_switch_limit.c - the token bucket against a plain sum. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>

#include "switch/limit.h"

#define SECOND 1000000000ull

/* Offer @n units every @step_ns for @seconds; how many pass? */
static uint64_t passed(struct limit *l, uint64_t n, uint64_t step_ns,
                       unsigned seconds)
{
	uint64_t sum = 0;

	for (uint64_t t = SECOND; t < (1 + seconds) * SECOND; t += step_ns) {
		if (!limit_fits(l, t, n))
			continue;
		limit_take(l, t, n);
		sum += n;
	}
	return sum;
}

static void none_is_none(void **state)
{
	struct limit l;

	(void)state;
	limit_init(&l, 0, 0);
	assert_true(limit_fits(&l, 0, UINT32_MAX));
	limit_take(&l, 0, UINT32_MAX);
	limit_refund(&l, UINT32_MAX);
	assert_true(limit_fits(&l, 0, UINT32_MAX));
}

static void keeps_the_rate(void **state)
{
	static const struct {
		uint64_t rate, burst, n, step_ns;
	} row[] = {
		{ 1000, 64, 1, 100000 },             /* 10 times too many */
		{ 10000000, 524000, 12000, 100000 }, /* 120 Mbit/s at 10 */
		{ 100000000000, 524000, 524000, 1000 },
		{ 7, 1, 1, 1000000 },
	};
	struct limit l;

	(void)state;
	for (size_t i = 0; i < array_len(row); i++) {
		uint64_t want = 4 * row[i].rate;
		uint64_t more = max_of(row[i].rate / 10, row[i].burst);
		uint64_t sum;

		limit_init(&l, row[i].rate, row[i].burst);
		sum = passed(&l, row[i].n, row[i].step_ns, 4);
		assert_in_range(sum, want - want / 50, want + want / 50 + more);
	}
}

/* A bucket for slow lines must hold the longest frame, or it never passes. */
static void longest_frame_passes(void **state)
{
	struct limit l;

	(void)state;
	limit_init(&l, 100000, 524592);
	assert_true(limit_fits(&l, SECOND, 524592));
	limit_take(&l, SECOND, 524592);
	assert_false(limit_fits(&l, SECOND, 1));
	assert_false(limit_fits(&l, 5 * SECOND, 524592));
	assert_true(limit_fits(&l, 7 * SECOND, 524592));
}

static void refund_undoes(void **state)
{
	struct limit l;

	(void)state;
	limit_init(&l, 10, 10);
	limit_take(&l, SECOND, 10);
	assert_false(limit_fits(&l, SECOND, 1));
	limit_refund(&l, 4);
	assert_true(limit_fits(&l, SECOND, 4));
	assert_false(limit_fits(&l, SECOND, 5));
}

/* What was not used long ago is no credit. */
static void idle_fills_once(void **state)
{
	struct limit l;

	(void)state;
	limit_init(&l, 1000, 64);
	limit_take(&l, SECOND, 100);
	assert_true(limit_fits(&l, 1000 * SECOND, 100));
	assert_false(limit_fits(&l, 1000 * SECOND, 101));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_is_none),
		cmocka_unit_test(keeps_the_rate),
		cmocka_unit_test(longest_frame_passes),
		cmocka_unit_test(refund_undoes),
		cmocka_unit_test(idle_fills_once),
	};

	return cmocka_run_group_tests_name("switch_limit", tests, NULL, NULL);
}
