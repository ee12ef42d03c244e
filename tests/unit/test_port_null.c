/* SPDX-License-Identifier: BSD-2-Clause */
/* test_port_null.c - it takes everything and counts it. */
#include "port/null.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "fakeport.h"

static struct made made[3];

static void counts(void **state)
{
	struct frame *f[3];
	struct port *p;
	int err = 0;

	(void)state;
	p = null_port_new("sink", &err);
	assert_non_null(p);
	assert_string_equal(p->name, "sink");
	assert_string_equal(p->ops->kind, "null");
	for (unsigned i = 0; i < 3; i++) {
		static const uint8_t byte[1000];

		made_init(&made[i], byte, 100 * (i + 1));
		f[i] = &made[i].frame;
	}
	assert_int_equal(p->ops->send(p, f, 3, 0), 3);
	p->ops->flush(p);
	assert_int_equal(p->count.out_frames, 3);
	assert_int_equal(p->count.out_bytes, 600);
	p->ops->close(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts),
	};

	return cmocka_run_group_tests_name("port_null", tests, NULL, NULL);
}
