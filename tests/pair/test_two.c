/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_two.c - the ends in two threads, or in two processes that have the
 * memory at different addresses. Each sleeps when there is nothing to do and is
 * woken by the other, if it asked to be: a wake-up that gets lost is a poll()
 * that runs into its limit.
 *
 * [spec: split.avail.idx.barrier] [spec: packed.desc.flags-barrier]
 * [spec: split.avail-notify.barrier] [spec: packed.avail-notify.barrier]
 * [spec: split.used.len-before-idx] [spec: split.used-notify.spurious]
 * [spec: split.avail-notify.spurious] [spec: packed.desc.avail-observed]
 * [spec: packed.desc.used-observed] [spec: queue.order-platform.barriers]
 */
#include "ends.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT_MS 40000

/* What both ends have of each other. */
struct line {
	const struct row *row;
	struct arena arena;
	int kick, call; /* eventfds */
	uint8_t *at;    /* threads: of both */
	struct front f;
	struct back d;
	/* In shared memory, so that the parent reads what the child counted. */
	struct tally {
		uint64_t kicks, calls, naps;
	} * tally;
};

static void wake(const struct line *l, int fd)
{
	uint64_t one = 1;

	CHECK(l->row, write(fd, &one, sizeof(one)) == sizeof(one));
}

static void nap(const struct line *l, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	uint64_t n;

	count_add(&l->tally[fd == l->kick].naps, 1);
	CHECK(l->row, poll(&p, 1, LIMIT_MS) == 1); /* lost wake-up? */
	CHECK(l->row, read(fd, &n, sizeof(n)) == sizeof(n));
}

/* --- the driver ---------------------------------------------------------- */

/* Add some and show them: true when there is no room for more. */
static bool offer(struct line *l)
{
	struct front *f = &l->f;
	uint32_t n = 1 + rng_below(&f->rng, min_of(l->row->size, 40u));
	bool full = false;

	while (n-- && !full)
		full = f->next == l->row->buffers || !front_add(f);
	drv_publish(&f->drv);
	if (drv_kick_wanted(&f->drv)) {
		count_add(&l->tally[0].kicks, 1);
		wake(l, l->kick);
	}
	if (rng_one_in(&f->rng, 4096)) /* nothing new: does no harm */
		wake(l, l->kick);
	return full;
}

static void drive(struct line *l)
{
	struct front *f = &l->f;

	while (f->reaped < l->row->buffers) {
		bool full = offer(l);

		if (front_reap(f, 1 + rng_below(&f->rng, REAP_MAX)) ||
		    !f->drv.outstanding || (!full && !rng_one_in(&f->rng, 8)))
			continue;
		if (!drv_call_enable(&f->drv, 1 + rng_below(&f->rng, 9)))
			nap(l, l->call);
		drv_call_disable(&f->drv);
	}
	CHECK(l->row, !f->drv.outstanding && f->drv.nfree == l->row->size);
}

/* --- the device ---------------------------------------------------------- */

static void show(struct line *l)
{
	struct back *d = &l->d;

	back_verbs(d)->publish(&d->ring);
	if (rng_one_in(&d->rng, 8) && back_held(d))
		return; /* asked for the next one's as well, then */
	if (back_verbs(d)->call_wanted(&d->ring)) {
		count_add(&l->tally[1].calls, 1);
		wake(l, l->call);
	}
	if (rng_one_in(&d->rng, 4096)) /* nothing used: does no harm */
		wake(l, l->call);
}

static void serve(struct line *l)
{
	struct back *d = &l->d;

	while (d->taken < l->row->buffers || back_held(d)) {
		unsigned n = back_take(d, 1 + rng_below(&d->rng, RING_BURST));

		if (rng_one_in(&d->rng, 16))
			back_untake(d);
		for (unsigned i = rng_below(&d->rng, RING_BURST + 1);
		     i && back_held(d); i--)
			back_give(d);
		show(l);
		if (n || back_held(d))
			continue;
		if (rng_one_in(&d->rng, 16))
			back_restart(d);
		if (!back_verbs(d)->kick_enable(&d->ring) &&
		    d->taken < l->row->buffers)
			nap(l, l->kick);
		back_verbs(d)->kick_disable(&d->ring);
	}
}

static void *serve_thread(void *arg)
{
	serve(arg);
	return NULL;
}

/* --- rows ---------------------------------------------------------------- */

static void line_open(struct line *l, const struct row *w)
{
	memset(l, 0, sizeof(*l));
	l->row = w;
	arena_open(&l->arena, w);
	l->kick = eventfd(0, EFD_CLOEXEC);
	l->call = eventfd(0, EFD_CLOEXEC);
	CHECK(w, l->kick >= 0 && l->call >= 0);
	l->tally = mmap(NULL, 2 * sizeof(*l->tally), PROT_READ | PROT_WRITE,
	                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(w, l->tally != MAP_FAILED);
	l->at = arena_map(&l->arena);
	front_open(&l->f, &l->arena, l->at);
}

static void line_close(struct line *l)
{
	const struct tally *t = l->tally;

	printf("# %s: %llu kicks, %llu calls, driver slept %llu times, "
	       "device %llu\n",
	       l->row->name, (unsigned long long)count_get(&t[0].kicks),
	       (unsigned long long)count_get(&t[1].calls),
	       (unsigned long long)count_get(&t[0].naps),
	       (unsigned long long)count_get(&t[1].naps));
	pair_ok(l->row);
	front_close(&l->f);
	arena_unmap(&l->arena, l->at);
	munmap(l->tally, 2 * sizeof(*l->tally));
	close(l->kick);
	close(l->call);
	arena_close(&l->arena);
}

static void run_threads(struct line *l)
{
	pthread_t t;

	back_open(&l->d, &l->arena, l->at);
	CHECK(l->row, !pthread_create(&t, NULL, serve_thread, l));
	drive(l);
	CHECK(l->row, !pthread_join(t, NULL));
	back_close(&l->d);
}

static void run_processes(struct line *l)
{
	pid_t child;
	int status;

	fflush(stdout);
	child = fork();
	CHECK(l->row, child >= 0);
	if (!child) {
		/* Mapped before the other goes, so it is somewhere else. */
		uint8_t *at = arena_map(&l->arena);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		arena_unmap(&l->arena, l->at);
		back_open(&l->d, &l->arena, at);
		serve(l);
		back_close(&l->d);
		_exit(0);
	}
	drive(l);
	CHECK(l->row, waitpid(child, &status, 0) == child);
	CHECK(l->row, WIFEXITED(status) && !WEXITSTATUS(status));
}

/* Sizes and layouts in turn, beside every combination of the features that
 * matter to order and notification. */
static uint64_t run_rows(void (*run)(struct line *), uint64_t slow)
{
	static const struct {
		uint32_t split, packed;
		enum layout layout;
		uint64_t buffers;
	} places[] = {
		{ 256, 255, LAYOUT_ONE, 30000 },
		{ 1, 1, LAYOUT_SEVERAL, 3000 },
		{ 1024, 1000, LAYOUT_CROSSING, 20000 },
		{ 2, 3, LAYOUT_ONE, 5000 },
		{ 32768, 32768, LAYOUT_SEVERAL, 60000 },
		{ 8, 7, LAYOUT_BYTES, 8000 },
		{ 128, 100, LAYOUT_ONE, 30000 },
	};
	static struct line l;
	uint64_t total = 0;

	for (unsigned i = 0; i < 32; i++) {
		unsigned p = i * 3 % array_len(places);
		bool packed = i & 1;
		struct row w = { .layout = places[p].layout,
			         .size = packed ? places[p].packed
			                        : places[p].split,
			         .tables = i % 3,
			         .tracked = i / 8 % 2,
			         .buffers = places[p].buffers / slow + 50,
			         .seed = UINT64_C(79) << 32 | i };

		w.features = packed ? VIRTIO_F_RING_PACKED : 0;
		w.features |= i & 2 ? VIRTIO_F_EVENT_IDX : 0;
		w.features |= i & 4 ? VIRTIO_F_IN_ORDER : 0;
		w.features |= i & 16 ? VIRTIO_F_ORDER_PLATFORM : 0;
		w.features |= w.tables ? VIRTIO_F_INDIRECT_DESC : 0;
		row_name(&w);
		line_open(&l, &w);
		run(&l);
		line_close(&l);
		total += w.buffers;
	}
	return total;
}

int main(int argc, char **argv)
{
	bool threads = argc > 1 && !strcmp(argv[1], "threads");

	pair_plan(run_rows(threads ? run_threads : run_processes,
	                   pair_slow(argc, argv)));
	return 0;
}
