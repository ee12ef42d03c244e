/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_inflight.c - a device is killed, its successor goes on: every
 * buffer comes back exactly once.
 *
 * The killing is real: the device is a child that takes, gives and publishes at
 * random over shared memory until SIGKILL meets it somewhere, again and again.
 * The driver end finds a buffer returned twice by itself.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "ring/dev.h"
#include "ring/drv.h"

#define GPA             UINT64_C(0x100000)
#define ARENA           ((size_t)1 << 20)
#define RECORD          ((size_t)4096) /* more than any of the records here */
#define SIZE_MAX_TESTED 64u

struct rig {
	uint8_t *arena; /* shared: rings, tables, data */
	void *record;   /* shared */
	struct mem *mem;
	uint64_t features;
	uint32_t size;

	struct drv drv;
	struct drv_slot slot[SIZE_MAX_TESTED];
	uint16_t free_id[SIZE_MAX_TESTED], free_table[SIZE_MAX_TESTED];

	struct ring ring;
	struct inflight inflight;
	uint16_t scratch[2 * SIZE_MAX_TESTED];
	struct chain chain[SIZE_MAX_TESTED];
	struct seg seg[1024];
	struct burst burst;
};

static void *share(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
	               MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static void rig_open(struct rig *g, uint64_t features, uint32_t size)
{
	struct mem_region region = { .gpa = GPA, .size = ARENA };
	struct drv_conf c = { .features = features, .size = size };
	int err;

	memset(g, 0, sizeof(*g));
	g->arena = region.host = share(ARENA);
	g->record =
		share(inflight_bytes(features & VIRTIO_F_RING_PACKED, size));
	g->mem = mem_new(&region, 1, &err);
	assert_non_null(g->mem);
	g->features = features;
	g->size = size;
	g->burst = (struct burst){ .chain = g->chain,
		                   .seg = g->seg,
		                   .max_chains = SIZE_MAX_TESTED,
		                   .max_segs = array_len(g->seg) };
	c.desc = g->arena;
	c.driver = g->arena + 4096;
	c.device = g->arena + 8192;
	c.table = g->arena + 12288;
	c.table_gpa = GPA + 12288;
	c.slot = g->slot;
	c.free_id = g->free_id;
	c.free_table = g->free_table;
	c.ntables = min_of(size / 2, 64u);
	c.table_descs = min_of(size, 8u);
	assert_int_equal(drv_start(&g->drv, &c), 0);
}

static void rig_close(struct rig *g)
{
	mem_put(g->mem);
	munmap(g->record, RECORD);
	munmap(g->arena, ARENA);
}

/* What a successor does: the position a front end would send after a crash. */
static int device_start(struct rig *g)
{
	bool packed = g->features & VIRTIO_F_RING_PACKED;
	struct ring_conf c = {
		.features = g->features,
		.size = g->size,
		.desc = g->arena,
		.driver = g->arena + 4096,
		.device = g->arena + 8192,
		.mem = g->mem,
		.position = ring_position_initial(packed),
	};

	if (!packed)
		c.position =
			ld16(&((struct split_used *)(g->arena + 8192))->idx);
	assert_int_equal(ring_start(&g->ring, &c), 0);
	g->burst.n = g->burst.nseg = 0;
	return inflight_attach(&g->ring, &g->inflight, g->record, g->scratch);
}

/* A turn of a device that keeps some chains for later and returns the others
 * in any order. */
static void device_turn(struct rig *g, unsigned *seed)
{
	struct burst *b = &g->burst;
	bool in_order = g->features & VIRTIO_F_IN_ORDER;

	unsigned held = b->n;

	b->nseg = 0; /* the segments of what is kept are not needed */
	assert_true(ring_take_any(&g->ring, b, rand_r(seed) % 9) >= 0);
	if (rand_r(seed) % 4 == 0 && b->n > held)
		ring_untake_any(&g->ring, b, 1);
	for (unsigned n = rand_r(seed) % (b->n + 1); n; n--) {
		unsigned i = in_order ? 0 : rand_r(seed) % b->n;

		ring_give_any(&g->ring, b, &b->chain[i], 0);
		memmove(&b->chain[i], &b->chain[i + 1],
		        (--b->n - i) * sizeof(*b->chain));
	}
	if (rand_r(seed) % 2)
		ring_publish_any(&g->ring);
}

static void driver_add(struct rig *g, uint64_t *next, uint64_t last,
                       unsigned *seed)
{
	while (*next < last) {
		struct drv_piece p[6];
		unsigned n = 1 + rand_r(seed) % min_of(6u, g->size);
		struct drv_buf b = { p, n, 0, *next };

		for (unsigned i = 0; i < n; i++)
			p[i] = (struct drv_piece){ GPA + 24576 + i, 1 };
		if (drv_add(&g->drv, &b))
			break;
		++*next;
	}
	drv_publish(&g->drv);
}

static unsigned driver_reap(struct rig *g, uint8_t *seen)
{
	struct drv_done done[16];
	unsigned sum = 0;
	int n;

	while ((n = drv_reap(&g->drv, done, 16)) > 0) {
		for (int i = 0; i < n; i++) {
			assert_int_equal(seen[done[i].token], 0);
			seen[done[i].token] = 1;
		}
		sum += n;
	}
	assert_int_equal(n, 0); /* or drv.fault says what came back wrong */
	return sum;
}

static pid_t device_spawn(struct rig *g, unsigned seed)
{
	pid_t pid = fork();

	if (pid == 0) {
		if (device_start(g) < 0)
			_exit(1);
		for (;;)
			device_turn(g, &seed);
	}
	assert_true(pid > 0);
	return pid;
}

static void nap(long us)
{
	nanosleep(&(struct timespec){ 0, us * 1000 }, NULL);
}

static void kill_at_random(uint64_t features, uint32_t size)
{
	enum { TOTAL = 20000, KILLS = 60 };
	static uint8_t seen[TOTAL];
	uint64_t next = 0, reaped = 0;
	unsigned seed = size, kills = 0;
	struct rig g;

	memset(seen, 0, sizeof(seen));
	rig_open(&g, features, size);
	while (kills < KILLS || reaped < TOTAL) {
		pid_t pid = device_spawn(&g, seed);
		int naps = 20 + rand_r(&seed) % 30;
		int status;

		/* The last kills leave some work for the last device. */
		while (naps-- > 0 || (kills + 1 >= KILLS && reaped < TOTAL)) {
			driver_add(&g, &next,
			           kills + 1 < KILLS ? TOTAL - 1 : TOTAL,
			           &seed);
			reaped += driver_reap(&g, seen);
			if (rand_r(&seed) % 2)
				nap(rand_r(&seed) % 60);
			assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		}
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		reaped += driver_reap(&g, seen);
		kills++;
	}
	assert_int_equal(reaped, TOTAL);
	assert_int_equal(g.drv.fault, RING_OK);
	rig_close(&g);
}

static void split_survives_kills(void **state)
{
	(void)state;
	kill_at_random(0, 64);
	kill_at_random(VIRTIO_F_INDIRECT_DESC, 8);
	kill_at_random(VIRTIO_F_IN_ORDER, 16);
}

static void packed_survives_kills(void **state)
{
	(void)state;
	kill_at_random(VIRTIO_F_RING_PACKED, 64);
	kill_at_random(VIRTIO_F_RING_PACKED | VIRTIO_F_INDIRECT_DESC, 7);
	kill_at_random(VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER, 16);
}

/* What the victim of the next test does: every store of the record is in it. */
static void victim(struct rig *g)
{
	struct burst *b = &g->burst;

	if (device_start(g) < 0)
		_exit(1);
	ptrace(PTRACE_TRACEME, 0, NULL, NULL);
	raise(SIGSTOP);
	ring_take_any(&g->ring, b, 4);
	ring_untake_any(&g->ring, b, 1);
	ring_give_any(&g->ring, b, &b->chain[2], 0);
	ring_give_any(&g->ring, b, &b->chain[0], 0);
	ring_publish_any(&g->ring);
	ring_take_any(&g->ring, b, 1);
	ring_give_any(&g->ring, b, &b->chain[3], 0);
	ring_publish_any(&g->ring);
	_exit(0);
}

/* Not under qemu-user, nor in every sandbox. */
static bool ptrace_is_permitted(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) ? 1 : 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) && !WEXITSTATUS(status);
}

/* Everything that outlives the device, as it is now. */
struct moment {
	uint8_t arena[ARENA];
	uint8_t record[RECORD];
	struct rig rig;
};

static void moment_keep(struct moment *m, const struct rig *g)
{
	memcpy(m->arena, g->arena, ARENA);
	memcpy(m->record, g->record, sizeof(m->record));
	m->rig = *g;
}

static void moment_restore(const struct moment *m, struct rig *g)
{
	*g = m->rig;
	memcpy(g->arena, m->arena, ARENA);
	memcpy(g->record, m->record, sizeof(m->record));
}

static bool moment_is_over(const struct moment *m, const struct rig *g)
{
	return memcmp(m->arena, g->arena, ARENA) ||
	       memcmp(m->record, g->record, sizeof(m->record));
}

/* A device that starts now brings back each of the @n buffers once. */
static void successor_finds_all(struct rig *g, unsigned n)
{
	uint8_t seen[8] = { 0 };
	unsigned reaped = driver_reap(g, seen);

	assert_true(device_start(g) >= 0);
	while (ring_take_any(&g->ring, &g->burst, 16) > 0)
		;
	assert_int_equal(g->ring.fault, RING_OK);
	for (unsigned i = 0; i < g->burst.n; i++)
		ring_give_any(&g->ring, &g->burst, &g->chain[i], 0);
	ring_publish_any(&g->ring);
	reaped += driver_reap(g, seen);
	assert_int_equal(reaped, n);
}

/* Step the victim; at every change of memory, see what if it died here. */
static unsigned step_through(struct rig *g, pid_t pid, unsigned n)
{
	static struct moment m;
	unsigned moments = 0;
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	memset(&m, 0, sizeof(m));
	while (WIFSTOPPED(status)) {
		if (moment_is_over(&m, g)) {
			moment_keep(&m, g);
			successor_finds_all(g, n);
			moment_restore(&m, g);
			moments++;
		}
		assert_int_equal(ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL), 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
	}
	assert_true(WIFEXITED(status) && !WEXITSTATUS(status));
	return moments;
}

/* Killed between any two instructions, it loses nothing and doubles nothing. */
static void every_instruction_may_be_the_last(void **state)
{
	(void)state;
	if (!ptrace_is_permitted()) {
		print_message("ptrace() is not to be had here\n");
		skip();
	}
	for (unsigned i = 0; i < 4; i++) {
		uint64_t f = (i % 2 ? VIRTIO_F_RING_PACKED : 0) |
		             (i / 2 ? VIRTIO_F_INDIRECT_DESC : 0);
		unsigned seed = 3;
		uint64_t next = 0;
		struct rig g;
		pid_t pid;

		rig_open(&g, f, 16);
		driver_add(&g, &next, 5, &seed);
		pid = fork();
		if (pid == 0)
			victim(&g);
		assert_true(step_through(&g, pid, next) > 20);
		rig_close(&g);
	}
}

static const uint64_t layouts[] = { 0, VIRTIO_F_RING_PACKED };

/* Taken again: the same chains, in the same order, before anything new. */
static void order_is_kept(void **state)
{
	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		uint64_t next = 0;
		unsigned seed = 1;
		uint16_t id[16];
		struct rig g;
		int n;

		rig_open(&g, layouts[l], 32);
		assert_int_equal(device_start(&g), 0);
		driver_add(&g, &next, 6, &seed);
		n = ring_take_any(&g.ring, &g.burst, 32);
		assert_int_equal(n, next);
		for (int i = 0; i < n; i++)
			id[i] = g.chain[i].id;
		/* The second and the last go back, out of order. */
		ring_give_any(&g.ring, &g.burst, &g.chain[n - 1], 0);
		ring_give_any(&g.ring, &g.burst, &g.chain[1], 0);
		ring_publish_any(&g.ring);
		driver_add(&g, &next, 7, &seed);

		assert_int_equal(device_start(&g), n - 2);
		assert_int_equal(inflight_left(&g.ring), n - 2);
		assert_int_equal(ring_take_any(&g.ring, &g.burst, 1), 1);
		ring_untake_any(&g.ring, &g.burst, 1);
		assert_int_equal(ring_take_any(&g.ring, &g.burst, 32), n - 2);
		assert_int_equal(g.chain[0].id, id[0]);
		for (int i = 1; i < n - 2; i++)
			assert_int_equal(g.chain[i].id, id[i + 1]);
		assert_int_equal(ring_take_any(&g.ring, &g.burst, 32),
		                 next - n);
		rig_close(&g);
	}
}

/* A head offered while the device holds it is a driver's mistake. */
static void twice_is_refused(void **state)
{
	struct split_avail *avail;
	uint64_t next = 0;
	unsigned seed = 1;
	struct rig g;

	(void)state;
	rig_open(&g, 0, 8);
	assert_int_equal(device_start(&g), 0);
	driver_add(&g, &next, 1, &seed);
	assert_int_equal(ring_take_any(&g.ring, &g.burst, 8), 1);
	avail = (struct split_avail *)(g.arena + 4096);
	st16(&avail->ring[1], ld16(&avail->ring[0]));
	st16_rel(&avail->idx, 2);
	assert_int_equal(ring_take_any(&g.ring, &g.burst, 8), RING_EBADMSG);
	assert_int_equal(g.ring.fault, RING_TWICE);
	rig_close(&g);
}

/* A record that somebody scribbled on is refused or breaks the ring; nothing
 * outside the record and the ring is touched (AddressSanitizer watches). */
static void damage_is_bounded(void **state)
{
	(void)state;
	for (unsigned round = 0; round < 4000; round++) {
		uint64_t next = 0;
		unsigned seed = round;
		size_t bytes;
		struct rig g;
		int n;

		rig_open(&g, layouts[round % 2], 16);
		bytes = inflight_bytes(round % 2, 16);
		assert_int_equal(device_start(&g), 0);
		driver_add(&g, &next, 12, &seed);
		ring_take_any(&g.ring, &g.burst, 8);
		for (unsigned i = 0; i < 1 + round % 7; i++)
			((uint8_t *)g.record)[rand_r(&seed) % bytes] =
				rand_r(&seed);
		if (round % 3) {
			n = device_start(&g);
			if (n < 0) {
				rig_close(&g);
				continue;
			}
		}
		ring_take_any(&g.ring, &g.burst, 16);
		for (unsigned i = 0; i < g.burst.n; i++)
			ring_give_any(&g.ring, &g.burst, &g.chain[i], 0);
		ring_publish_any(&g.ring);
		rig_close(&g);
	}
}

static void wrong_records_are_refused(void **state)
{
	(void)state;
	for (unsigned l = 0; l < array_len(layouts); l++) {
		struct inflight_split *head;
		struct rig g;

		rig_open(&g, layouts[l], 16);
		head = g.record; /* both begin alike */
		assert_int_equal(device_start(&g), 0);
		assert_int_equal(head->version, INFLIGHT_VERSION);
		head->desc_num = 15;
		assert_int_equal(device_start(&g), RING_EINVAL);
		head->desc_num = 16;
		head->version = 2;
		assert_int_equal(device_start(&g), RING_EINVAL);
		rig_close(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_is_kept),
		cmocka_unit_test(twice_is_refused),
		cmocka_unit_test(wrong_records_are_refused),
		cmocka_unit_test(damage_is_bounded),
		cmocka_unit_test(every_instruction_may_be_the_last),
		cmocka_unit_test(split_survives_kills),
		cmocka_unit_test(packed_survives_kills),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
