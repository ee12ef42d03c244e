/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_base_log.c - levels, silence, cut lines, one line a second.
 */
#include "base/log.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct {
	unsigned n;
	enum log_level level;
	char tag[64];
	char text[2048];
} got;

static void keep(void *ctx, enum log_level level, const char *tag,
                 const char *text)
{
	assert_ptr_equal(ctx, &got);
	got.n++;
	got.level = level;
	strncpy(got.tag, tag, sizeof(got.tag) - 1);
	strncpy(got.text, text, sizeof(got.text) - 1);
}

static void test_levels(void **state)
{
	(void)state;
	log_error("x", "nobody listens");
	log_set(keep, &got, LOG_LEVEL_INFO);
	log_debug("net0", "too much");
	assert_int_equal(got.n, 0);
	log_info("net0/q1", "ring stopped index=%u", 7u);
	assert_int_equal(got.n, 1);
	assert_int_equal(got.level, LOG_LEVEL_INFO);
	assert_string_equal(got.tag, "net0/q1");
	assert_string_equal(got.text, "ring stopped index=7");
	log_error(NULL, "no tag");
	assert_string_equal(got.tag, "main");
	log_set(NULL, NULL, LOG_LEVEL_DEBUG);
	log_error("x", "silence");
	assert_int_equal(got.n, 2);
}

static void test_text_is_tame(void **state)
{
	char word[3000];

	(void)state;
	memset(word, 'w', sizeof(word));
	word[sizeof(word) - 1] = 0;
	log_set(keep, &got, LOG_LEVEL_DEBUG);
	log_warn("t", "%s", word);
	assert_true(strlen(got.text) < 600);
	log_warn("t", "name=%s", "a\nERROR forged\033[1m");
	assert_string_equal(got.text, "name=a?ERROR forged?[1m");
	log_set(NULL, NULL, LOG_LEVEL_ERROR);
}

static void test_limit(void **state)
{
	struct log_limit l = { 0 };
	unsigned suppressed = 99;

	(void)state;
	assert_true(log_limit_pass(&l, &suppressed));
	assert_int_equal(suppressed, 0);
	for (unsigned i = 0; i < 10; i++)
		assert_false(log_limit_pass(&l, &suppressed));
	l.next_ms = 0; /* a second goes by */
	assert_true(log_limit_pass(&l, &suppressed));
	assert_int_equal(suppressed, 10);
	l.next_ms = 0;
	assert_true(log_limit_pass(&l, &suppressed));
	assert_int_equal(suppressed, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_text_is_tame),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
