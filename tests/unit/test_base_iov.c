/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_base_iov.c - lists of segments against flat memory.
 */
#include "base/iov.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES 96u

static uint32_t rnd(void)
{
	static uint32_t x = 88172645u;

	x ^= x << 13;
	x ^= x >> 17;
	return x ^= x << 5;
}

/* Cut @mem into segments, some empty. */
static unsigned cut(struct seg *s, uint8_t *mem)
{
	unsigned n = 0, at = 0;

	while (at < BYTES) {
		unsigned len = rnd() % 12;

		len = min_of(len, BYTES - at);
		s[n++] = (struct seg){ mem + at, len };
		at += len;
	}
	return n;
}

static void fill(uint8_t *mem)
{
	for (unsigned i = 0; i < BYTES; i++)
		mem[i] = (uint8_t)rnd();
}

static void test_read_write(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 3000; turn++) {
		uint8_t a[BYTES], want[BYTES], buf[2 * BYTES];
		struct seg s[16 * BYTES];
		unsigned n = cut(s, a), off = rnd() % (BYTES + 9);
		unsigned len = rnd() % (BYTES + 9);
		size_t real = off < BYTES ? min_of(len, BYTES - off) : 0;

		fill(a);
		fill(buf);
		assert_int_equal(iov_bytes(s, n), BYTES);
		memcpy(want, a, BYTES);
		if (real)
			memcpy(want + off, buf, real);
		assert_int_equal(iov_write(s, n, off, buf, len), real);
		assert_memory_equal(a, want, BYTES);
		memset(buf, 0, sizeof(buf));
		assert_int_equal(iov_read(s, n, off, buf, len), real);
		if (real)
			assert_memory_equal(buf, a + off, real);
		assert_int_equal(buf[real], 0);
	}
}

static void test_copy(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 3000; turn++) {
		uint8_t a[BYTES], b[BYTES], want[BYTES];
		struct seg sa[16 * BYTES], sb[16 * BYTES];
		struct iov_span from = { sa, cut(sa, a), rnd() % BYTES };
		struct iov_span to = { sb, cut(sb, b), rnd() % BYTES };
		size_t len = rnd() % (2 * BYTES), real;

		fill(a);
		fill(b);
		real = min_of(len, BYTES - max_of(from.off, to.off));
		memcpy(want, b, BYTES);
		memcpy(want + to.off, a + from.off, real);
		assert_int_equal(iov_copy(to, from, len), real);
		assert_memory_equal(b, want, BYTES);
	}
}

static void test_slice(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 3000; turn++) {
		uint8_t a[BYTES], flat[BYTES];
		struct seg s[16 * BYTES], out[BYTES];
		unsigned n = cut(s, a), off = rnd() % BYTES, made;
		size_t len = rnd() % (2 * BYTES);
		size_t real = min_of(len, BYTES - off);

		fill(a);
		made = iov_slice(out, BYTES, (struct iov_span){ s, n, off },
		                 len);
		assert_int_equal(iov_bytes(out, made), real);
		assert_int_equal(iov_read(out, made, 0, flat, BYTES), real);
		assert_memory_equal(flat, a + off, real);
		made = iov_slice(out, 2, (struct iov_span){ s, n, off }, len);
		assert_true(made <= 2);
		assert_true(iov_bytes(out, made) <= real);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read_write),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_slice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
