/* SPDX-License-Identifier: BSD-2-Clause */
/* test_base_endpoint.c - addresses read, files made and replaced. */
#include "base/endpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char dir[] = "/tmp/viaduct-endpoint-XXXXXX";
static char path[64];
static struct endpoint at;

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/sock", dir);
	return endpoint_path(&at, path);
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

static void reads_addresses(void **state)
{
	static const struct {
		const char *text;
		int err;
	} row[] = {
		{ "127.0.0.1:5000", 0 },       { "127.9.9.9:1", 0 },
		{ "[::1]:5000", 0 },           { "10.0.0.1:5000", -EACCES },
		{ "0.0.0.0:5000", -EACCES },   { "[::]:5000", -EACCES },
		{ "127.0.0.1", -EINVAL },      { "127.0.0.1:", -EINVAL },
		{ ":5000", -EINVAL },          { "::1:5000", -EINVAL },
		{ "localhost:5000", -EINVAL }, { "127.0.0.1:http", -EINVAL },
		{ "[]:5000", -EINVAL },        { "", -EINVAL },
	};
	struct endpoint e;

	(void)state;
	for (size_t i = 0; i < array_len(row); i++) {
		int err = endpoint_loopback(&e, row[i].text);

		if (err != row[i].err)
			fail_msg("%s: %d", row[i].text, err);
	}
}

static void refuses_long_paths(void **state)
{
	char text[200];
	struct endpoint e;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[199] = '\0';
	assert_int_equal(endpoint_path(&e, text), -ENAMETOOLONG);
	text[107] = '\0';
	assert_int_equal(endpoint_path(&e, text), 0);
}

static void connects(void **state)
{
	int l, a, b;
	char c;

	(void)state;
	l = endpoint_listen(&at, NULL);
	assert_true(l >= 0);
	assert_int_equal(endpoint_accept(l), -EAGAIN);
	a = endpoint_connect(&at);
	assert_true(a >= 0);
	assert_int_equal(endpoint_connected(a), 0);
	b = endpoint_accept(l);
	assert_true(b >= 0);
	assert_int_equal(write(a, "x", 1), 1);
	assert_int_equal(read(b, &c, 1), 1);
	assert_true(fcntl(b, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(b, F_GETFD) & FD_CLOEXEC);
	close(a);
	close(b);
	close(l);
	endpoint_remove(&at);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(endpoint_connect(&at), -ENOENT);
}

static void replaces_only_the_dead(void **state)
{
	int l, again, fd;

	(void)state;
	l = endpoint_listen(&at, NULL);
	assert_true(l >= 0);
	assert_int_equal(endpoint_listen(&at, NULL), -EADDRINUSE);
	close(l); /* as if killed: the file stays */
	assert_int_equal(access(path, F_OK), 0);
	again = endpoint_listen(&at, NULL);
	assert_true(again >= 0);
	close(again);
	endpoint_remove(&at);

	fd = open(path, O_CREAT | O_WRONLY, 0600);
	close(fd);
	assert_int_equal(endpoint_listen(&at, NULL), -EADDRINUSE);
	assert_int_equal(access(path, F_OK), 0);
	unlink(path);
}

static void hands_files_over(void **state)
{
	struct endpoint_owner o = { .mode = 0660 };
	struct stat st;
	int l;

	(void)state;
	l = endpoint_listen(&at, NULL);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	close(l);
	endpoint_remove(&at);

	if (getuid() == 0) {
		o.set_owner = true;
		o.uid = 12345;
		o.gid = 54321;
	}
	l = endpoint_listen(&at, &o);
	assert_true(l >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	if (o.set_owner) {
		assert_int_equal(st.st_uid, 12345);
		assert_int_equal(st.st_gid, 54321);
	}
	close(l);
	endpoint_remove(&at);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_addresses),
		cmocka_unit_test(refuses_long_paths),
		cmocka_unit_test(connects),
		cmocka_unit_test(replaces_only_the_dead),
		cmocka_unit_test(hands_files_over),
	};

	return cmocka_run_group_tests_name("base_endpoint", tests, setup,
	                                   teardown);
}
