/* SPDX-License-Identifier: BSD-2-Clause */
/* test_net_csum.c - sums against a slow reader, at all seams. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "net/csum.h"
#include "packets.h"

static uint16_t stored(uint16_t x)
{
	uint8_t b[2];

	memcpy(b, &x, 2);
	return (uint16_t)(b[0] << 8 | b[1]);
}

static void fill(uint8_t *p, uint32_t n, struct dice *d)
{
	while (n--)
		*p++ = (uint8_t)dice_roll(d, 256);
}

/* Every length from 0 to 300 at every alignment. */
static void test_lengths(void **state)
{
	struct dice d = { 1 };
	uint8_t b[320];

	(void)state;
	fill(b, sizeof(b), &d);
	for (uint32_t at = 0; at < 9; at++) {
		for (uint32_t n = 0; n <= 300; n++) {
			struct csum c = { 0 };

			csum_feed(&c, b + at, n);
			assert_int_equal(stored(csum_partial(&c)),
			                 slow_sum(b + at, n, 0));
		}
	}
}

/* Cut anywhere, odd pieces too, fed or joined. */
static void test_pieces(void **state)
{
	struct dice d = { 2 };
	uint8_t b[2000];

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct csum c = { 0 };
		uint32_t len = dice_roll(&d, sizeof(b)), at = 0;

		fill(b, len, &d);
		while (at < len) {
			struct csum part = { 0 };
			uint32_t n = 1 + dice_roll(&d, len - at);

			if (dice_roll(&d, 2)) {
				csum_feed(&c, b + at, n);
			} else {
				csum_feed(&part, b + at, n);
				csum_join(&c, &part);
			}
			at += n;
		}
		assert_int_equal(stored(csum_partial(&c)), slow_sum(b, len, 0));
	}
}

/* Carries out of all words, and the two zeros. */
static void test_extremes(void **state)
{
	static uint8_t ones[65536];
	struct csum c = { 0 };
	struct csum zero = { 0 };

	(void)state;
	memset(ones, 0xff, sizeof(ones));
	for (unsigned i = 0; i < 1000; i++)
		csum_feed(&c, ones, sizeof(ones));
	assert_int_equal(csum_partial(&c), 0xffff);
	assert_int_equal(csum_final(&c), 0xffff);
	assert_int_equal(csum_final(&zero), 0xffff);
	csum_feed_number(&zero, 0x1234);
	assert_int_equal(stored(csum_partial(&zero)), 0x1234);
	assert_int_equal(stored(csum_final(&zero)), 0xedcb);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_extremes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
