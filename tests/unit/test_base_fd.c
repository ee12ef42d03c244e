/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_base_fd.c - descriptors that move, descriptors that notify.
 */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void test_moves(void **state)
{
	int a = open("/dev/null", O_RDONLY), b = dup(a), was = a, kept;

	(void)state;
	kept = fd_move(&a);
	assert_int_equal(a, -1);
	assert_int_equal(kept, was);
	assert_int_equal(fd_move(&a), -1);
	fd_replace(&kept, b);
	assert_int_equal(kept, b);
	assert_false(is_open(was));
	fd_replace(&kept, b); /* itself stays open */
	assert_true(is_open(b));
	fd_close(&kept);
	assert_int_equal(kept, -1);
	assert_false(is_open(b));
	fd_close(&kept);
}

static void test_flags(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(pipe(p), 0);
	assert_int_equal(fd_set_nonblock(p[0]), 0);
	assert_int_equal(fd_set_nonblock(p[0]), 0);
	assert_true(fcntl(p[0], F_GETFL) & O_NONBLOCK);
	assert_int_equal(fd_set_cloexec(p[0]), 0);
	assert_true(fcntl(p[0], F_GETFD) & FD_CLOEXEC);
	close(p[0]);
	close(p[1]);
	assert_int_equal(fd_set_nonblock(p[0]), -EBADF);
	assert_int_equal(fd_set_cloexec(-1), -EBADF);
}

static void test_event(void **state)
{
	uint64_t most = UINT64_MAX - 1;
	int fd = fd_event_new();

	(void)state;
	assert_true(fd >= 0);
	assert_false(fd_event_drain(fd));
	assert_int_equal(fd_event_signal(fd), 0);
	assert_int_equal(fd_event_signal(fd), 0);
	assert_true(fd_event_drain(fd));
	assert_false(fd_event_drain(fd));
	/* a counter that is full does not block and is no error */
	assert_int_equal(write(fd, &most, 8), 8);
	assert_int_equal(fd_event_signal(fd), 0);
	assert_true(fd_event_drain(fd));
	close(fd);
	assert_int_equal(fd_event_signal(-1), 0);
	assert_false(fd_event_drain(-1));
	assert_int_equal(fd_event_signal(fd), -EBADF);
	assert_false(fd_event_drain(fd));
}

static void test_pipe(void **state)
{
	int p[2];

	(void)state;
	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(fd_event_signal(p[1]), 0);
	assert_true(fd_event_drain(p[0]));
	close(p[1]);
	while (fd_event_drain(p[0]))
		;
	close(p[0]);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves),
		cmocka_unit_test(test_flags),
		cmocka_unit_test(test_event),
		cmocka_unit_test(test_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
