/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_mem_guard.c - memory that is pulled away behind our back.
 */
#include "mem/guard.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "mem/map.h"

#define PAGES 16u

static struct mem_region map_file(int *fd)
{
	struct mem_region r = { .size = PAGES * 4096, .gpa = 0 };

	*fd = memfd_create("guest", MFD_CLOEXEC);
	assert_int_equal(ftruncate(*fd, (off_t)r.size), 0);
	assert_int_equal(mem_map_region(&r, *fd), 0);
	return r;
}

static volatile char *missing;

static void look(int nr, siginfo_t *info, void *context)
{
	(void)nr;
	(void)context;
	_exit(info->si_addr == missing ? 0 : 1);
}

/* User-mode emulators do not all say where a SIGBUS happened. */
static bool machine_says_where(void)
{
	struct sigaction sa = { .sa_sigaction = look, .sa_flags = SA_SIGINFO };
	int fd = memfd_create("x", MFD_CLOEXEC), status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		missing = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
		sigaction(SIGBUS, &sa, NULL);
		_exit(*missing + 2);
	}
	close(fd);
	waitpid(pid, &status, 0);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void test_pulled_away(void **state)
{
	uint64_t before = mem_guard_hits();
	struct mem_region r, other;
	int fd, other_fd;

	(void)state;
	if (!machine_says_where())
		skip();
	r = map_file(&fd);
	other = map_file(&other_fd);
	/* cmocka has put a handler of its own before each test */
	assert_int_equal(mem_guard_install(), 0);
	r.host[0] = 1;
	r.host[5 * 4096] = 5;
	other.host[5 * 4096] = 6;
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(r.host[0], 1);
	assert_int_equal(r.host[5 * 4096], 0); /* gone, and harmless */
	r.host[15 * 4096 + 4095] = 7;
	assert_int_equal(r.host[15 * 4096 + 4095], 7);
	assert_int_equal(mem_guard_hits(), before + 2);
	assert_int_equal(other.host[5 * 4096], 6);
	mem_unmap_region(&r);
	mem_unmap_region(&other);
	close(fd);
	close(other_fd);
}

/* What is not guest memory ends the process as ever. */
static void test_others_still_die(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		int fd = memfd_create("x", 0);
		volatile char *p =
			mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

		mem_guard_install();
		alarm(5);
		_exit(*p + 100);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGBUS);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pulled_away),
		cmocka_unit_test(test_others_still_die),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
