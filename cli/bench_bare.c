/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_bare.c - what two processes can exchange over memory, at best.
 *
 * Each end copies a message into a slot of its ring and releases its index; it
 * looks at the other's index with acquire. Nobody sleeps, nobody notifies. A
 * side that finds nothing for a while gives the core away, so that the figure
 * means something on a machine with fewer free cores than two.
 */
#include "bench_bare.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/order.h"

#define SLOTS 256u
#define BYTES 1536u
#define SPINS 2000u

struct lane {
	le32 put cache_aligned;
	le32 taken cache_aligned;
	uint8_t slot[SLOTS][BYTES] cache_aligned;
};

struct bare {
	struct lane there, back;
	uint64_t cpu_ns; /* of the other side, at its end */
	le32 over;
};

static uint64_t clock_ns(clockid_t which)
{
	struct timespec ts;

	clock_gettime(which, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* How many wait in a lane, seen by its consumer. */
static uint32_t waiting(const struct lane *l)
{
	return ld32_acq(&l->put) - ld32(&l->taken);
}

static void relax(unsigned *spins)
{
	cpu_relax();
	if (++*spins % SPINS == 0)
		sched_yield();
}

/* All that waits in @from goes to @to: copied out, copied in. */
static void answer(struct bare *b, unsigned size)
{
	uint32_t at = 0, n;
	unsigned spins = 0;

	while (!ld32_acq(&b->over)) {
		n = waiting(&b->there);
		for (uint32_t i = 0; i < n; i++, at++)
			memcpy(b->back.slot[at % SLOTS],
			       b->there.slot[at % SLOTS], size);
		if (n) {
			st32_rel(&b->there.taken, at);
			st32_rel(&b->back.put, at);
		} else {
			relax(&spins);
		}
	}
	count_add(&b->cpu_ns, clock_ns(CLOCK_PROCESS_CPUTIME_ID));
}

static void ask(struct bare *b, const struct load *l, struct load_result *r)
{
	uint64_t begin = clock_ns(CLOCK_MONOTONIC), now = begin;
	uint64_t end = begin + (uint64_t)(l->seconds * 1e9);
	uint64_t sent_ns[SLOTS];
	uint8_t message[BYTES] = { 0 };
	uint32_t put = 0, taken = 0, n = l->flows;
	unsigned spins = 0;

	while (now < end) {
		for (uint32_t i = 0; i < n; i++, put++) {
			memcpy(b->there.slot[put % SLOTS], message, l->size);
			sent_ns[put % SLOTS] = clock_ns(CLOCK_MONOTONIC);
		}
		if (n)
			st32_rel(&b->there.put, put);
		else
			relax(&spins);
		n = waiting(&b->back);
		now = clock_ns(CLOCK_MONOTONIC);
		for (uint32_t i = 0; i < n; i++, taken++) {
			memcpy(message, b->back.slot[taken % SLOTS], l->size);
			load_latency_add(r, now - sent_ns[taken % SLOTS]);
		}
		if (n)
			st32_rel(&b->back.taken, taken);
	}
	r->seconds = (double)(now - begin) / 1e9;
	r->done = taken;
	r->packets = 2 * (uint64_t)taken;
}

int bare_run(const struct load *l, struct load_result *r)
{
	struct bare *b = mmap(NULL, sizeof(*b), PROT_READ | PROT_WRITE,
	                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	pid_t pid;

	if (b == MAP_FAILED)
		return -errno;
	memset(r, 0, sizeof(*r));
	pid = fork();
	if (pid == 0) {
		answer(b, l->size);
		_exit(0);
	}
	if (pid > 0) {
		ask(b, l, r);
		st32_rel(&b->over, 1);
		waitpid(pid, NULL, 0);
		r->device.cpu_ns = count_get(&b->cpu_ns);
		r->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	}
	munmap(b, sizeof(*b));
	return pid < 0 ? -EAGAIN : 0;
}
