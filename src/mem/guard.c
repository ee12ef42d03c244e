/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guard.c - missing pages of guest memory become zeros instead of SIGBUS.
 *
 * The handler looks for the address in a fixed table that it reads without a
 * lock: a slot's length is set last and cleared first. What is in no slot (or
 * did not fit in the table) ends the process as before.
 */
#include "mem/guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/order.h"

#define SLOTS 4096u

static struct {
	le64 start;
	le64 len; /* 0: free */
} slot[SLOTS];

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t hits;
static uint64_t page = 4096;

void mem_guard_add(void *start, size_t len)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < SLOTS; i++) {
		if (ld64(&slot[i].len))
			continue;
		st64(&slot[i].start, (uintptr_t)start);
		st64_rel(&slot[i].len, len);
		break;
	}
	pthread_mutex_unlock(&lock);
}

void mem_guard_remove(void *start)
{
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < SLOTS; i++) {
		if (ld64(&slot[i].len) &&
		    ld64(&slot[i].start) == (uintptr_t)start)
			st64_rel(&slot[i].len, 0);
	}
	pthread_mutex_unlock(&lock);
}

uint64_t mem_guard_hits(void)
{
	return count_get(&hits);
}

static bool put_zeros(uint64_t at, uint64_t len)
{
	void *p =
		mmap((void *)(uintptr_t)at, (size_t)len, PROT_READ | PROT_WRITE,
	             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
	             -1, 0);

	return p != MAP_FAILED;
}

/* A huge page cannot be replaced in part: then the whole mapping goes. */
static bool mend(uint64_t at)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		uint64_t len = ld64_acq(&slot[i].len);
		uint64_t start = ld64(&slot[i].start);

		if (at - start >= len)
			continue;
		return put_zeros(at & ~(page - 1), page) ||
		       put_zeros(start, len);
	}
	return false;
}

static void on_sigbus(int nr, siginfo_t *info, void *context)
{
	int was = errno;

	(void)context;
	if (mend((uintptr_t)info->si_addr))
		count_add(&hits, 1);
	else
		signal(nr, SIG_DFL); /* the access comes again, and ends us */
	errno = was;
}

int mem_guard_install(void)
{
	struct sigaction sa = { .sa_sigaction = on_sigbus,
		                .sa_flags = SA_SIGINFO };

	page = (uint64_t)sysconf(_SC_PAGESIZE);
	return sigaction(SIGBUS, &sa, NULL) ? -errno : 0;
}
