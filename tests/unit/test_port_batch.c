/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_port_batch.c - bursts of datagrams through one system call and through
 * many: the same answers.
 */
#include "port/batch.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

static int fd[2];
static struct batch *b;

static void open_pair(bool plain)
{
	int err = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0,
	                            fd),
	                 0);
	b = batch_new(fd[0], plain, &err);
	assert_non_null(b);
	if (plain)
		assert_true(batch_is_plain(b));
}

static void close_pair(void)
{
	batch_free(b);
	close(fd[0]);
	close(fd[1]);
}

static void moves_bursts(bool plain)
{
	static char out[BATCH_MAX][16], in[BATCH_MAX][16];
	struct batch_item item[BATCH_MAX];
	struct seg seg[BATCH_MAX][2];
	char got[16];

	open_pair(plain);
	for (unsigned n = 1; n <= BATCH_MAX; n += 7) {
		for (unsigned i = 0; i < n; i++) {
			snprintf(out[i], sizeof(out[i]), "frame %u", i);
			seg[i][0] = (struct seg){ out[i], 3 };
			seg[i][1] = (struct seg){ out[i] + 3, 13 };
			item[i] = (struct batch_item){ seg[i], 2, 0 };
		}
		batch_write(b, item, n);
		for (unsigned i = 0; i < n; i++) {
			assert_int_equal(item[i].result, 16);
			assert_int_equal(read(fd[1], got, 16), 16);
			assert_string_equal(got, out[i]);
			write(fd[1], got, 16);
		}
		/* One more than there is. */
		for (unsigned i = 0; i < BATCH_MAX; i++) {
			seg[i][0] = (struct seg){ in[i], 16 };
			item[i] = (struct batch_item){ seg[i], 1, 0 };
		}
		batch_read(b, item, BATCH_MAX);
		for (unsigned i = 0; i < BATCH_MAX; i++) {
			assert_int_equal(item[i].result, i < n ? 16 : -EAGAIN);
			if (i < n)
				assert_string_equal(in[i], out[i]);
		}
	}
	close_pair();
}

static void by_hand(void **state)
{
	(void)state;
	moves_bursts(true);
}

static void by_ring(void **state)
{
	(void)state;
	moves_bursts(false);
}

/* A pipe does not know RWF_NOWAIT on old kernels, a file may be anything: the
 * bytes arrive whatever the way. */
static void any_file(void **state)
{
	static char text[2][4] = { "one", "two" };
	struct seg seg[2] = { { text[0], 3 }, { text[1], 3 } };
	struct batch_item item[2] = { { &seg[0], 1, 0 }, { &seg[1], 1, 0 } };
	char got[8] = "";
	int p[2], err = 0;

	(void)state;
	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	b = batch_new(p[1], false, &err);
	assert_non_null(b);
	batch_write(b, item, 2);
	assert_int_equal(item[0].result, 3);
	assert_int_equal(item[1].result, 3);
	assert_int_equal(read(p[0], got, sizeof(got)), 6);
	assert_string_equal(got, "onetwo");
	batch_free(b);
	close(p[0]);
	close(p[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_hand),
		cmocka_unit_test(by_ring),
		cmocka_unit_test(any_file),
	};

	return cmocka_run_group_tests_name("port_batch", tests, NULL, NULL);
}
