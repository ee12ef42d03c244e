/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.c - what one chain costs at each end of a ring.
 *
 * The end under test runs in bursts of 32 chains of one descriptor; the other
 * end refills between them, outside the measurement. Nanoseconds are the
 * minimum and the median over many bursts. Instructions come from callgrind,
 * which collects inside the functions called measured_* only: see bench/ring.
 *
 *   ring-bench           the table of nanoseconds
 *   ring-bench NAME N    N bursts of one row, for callgrind
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ring/dev.h"
#include "ring/drv.h"

#define GPA   UINT64_C(0x40000000)
#define ARENA ((size_t)1 << 20)
#define SIZE  256u

struct bench {
	uint8_t *arena;
	struct mem *mem;
	struct drv drv;
	struct drv_slot slot[SIZE];
	uint16_t free_id[SIZE];
	struct ring ring;
	struct chain chain[RING_BURST];
	struct seg seg[2 * RING_BURST];
	struct burst burst;
	struct drv_done done[RING_BURST];
};

static void die(const char *what)
{
	fprintf(stderr, "ring-bench: %s\n", what);
	exit(1);
}

/* --- what is measured ---------------------------------------------------- */

/* Device end: take, give and publish a burst. */
static always_inline void device_burst(struct bench *t, const unsigned v)
{
	struct burst *b = &t->burst;
	int n;

	b->n = b->nseg = 0;
	n = ring_take(&t->ring, b, RING_BURST, v);
	if (n != RING_BURST)
		die("the device end took less than a burst");
	for (int i = 0; i < n; i++)
		ring_give(&t->ring, b, &b->chain[i], 0, v);
	ring_publish(&t->ring, v);
}

static noinline void measured_device_split(struct bench *t)
{
	device_burst(t, 0);
}

static noinline void measured_device_packed(struct bench *t)
{
	device_burst(t, V_PACKED);
}

/* Driver end: add and publish a burst, and reap the one before. */
static noinline void measured_driver_add(struct bench *t)
{
	for (unsigned i = 0; i < RING_BURST; i++) {
		struct drv_piece p = { GPA + 65536 + 2048 * i, 64 };
		struct drv_buf b = { &p, 1, 0, i };

		if (drv_add(&t->drv, &b))
			die("the driver end has no room for a burst");
	}
	drv_publish(&t->drv);
}

static noinline void measured_driver_reap(struct bench *t)
{
	if (drv_reap(&t->drv, t->done, RING_BURST) != RING_BURST)
		die("the driver end reaped less than a burst");
}

/* --- set-up -------------------------------------------------------------- */

static void bench_open(struct bench *t, bool packed)
{
	struct mem_region region = { .gpa = GPA, .size = ARENA };
	struct drv_conf dc = { .size = SIZE };
	struct ring_conf rc = { .size = SIZE };
	int err;

	memset(t, 0, sizeof(*t));
	t->arena = aligned_alloc(4096, ARENA);
	if (!t->arena)
		die("no memory");
	memset(t->arena, 0, ARENA);
	region.host = t->arena;
	t->mem = mem_new(&region, 1, &err);
	if (!t->mem)
		die("no memory");
	dc.features = rc.features = packed ? VIRTIO_F_RING_PACKED : 0;
	dc.desc = rc.desc = t->arena;
	dc.driver = rc.driver = t->arena + 16384;
	dc.device = rc.device = t->arena + 32768;
	dc.slot = t->slot;
	dc.free_id = t->free_id;
	rc.mem = t->mem;
	rc.position = ring_position_initial(packed);
	t->burst = (struct burst){ .chain = t->chain,
		                   .seg = t->seg,
		                   .max_chains = RING_BURST,
		                   .max_segs = array_len(t->seg) };
	if (drv_start(&t->drv, &dc) || ring_start(&t->ring, &rc))
		die("the ring does not start");
}

static void bench_close(struct bench *t)
{
	mem_put(t->mem);
	free(t->arena);
}

/* One burst all the way round; the row's functions are the ones measured. */
static void turn(struct bench *t, bool packed)
{
	measured_driver_add(t);
	if (packed)
		measured_device_packed(t);
	else
		measured_device_split(t);
	measured_driver_reap(t);
}

/* --- time ---------------------------------------------------------------- */

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * UINT64_C(1000000000) + ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

#define SAMPLES 2000u
#define REPEAT  8u /* bursts a sample; the clock is read around them */

/* A sample is REPEAT bursts of one end back to back: SIZE / RING_BURST fit. */
static void time_rows(bool packed)
{
	static double add[SAMPLES], dev[SAMPLES], reap[SAMPLES];
	const double chains = RING_BURST * REPEAT;
	const char *layout = packed ? "packed" : "split";
	static struct bench t;

	bench_open(&t, packed);
	for (unsigned s = 0; s < SAMPLES; s++) {
		uint64_t at[4];

		at[0] = now_ns();
		for (unsigned i = 0; i < REPEAT; i++)
			measured_driver_add(&t);
		at[1] = now_ns();
		for (unsigned i = 0; i < REPEAT; i++)
			packed ? measured_device_packed(&t)
			       : measured_device_split(&t);
		at[2] = now_ns();
		for (unsigned i = 0; i < REPEAT; i++)
			measured_driver_reap(&t);
		at[3] = now_ns();
		add[s] = (at[1] - at[0]) / chains;
		dev[s] = (at[2] - at[1]) / chains;
		reap[s] = (at[3] - at[2]) / chains;
	}
	bench_close(&t);
	qsort(add, SAMPLES, sizeof(*add), compare);
	qsort(dev, SAMPLES, sizeof(*dev), compare);
	qsort(reap, SAMPLES, sizeof(*reap), compare);
	printf("device_%s %.2f %.2f\n", layout, dev[0], dev[SAMPLES / 2]);
	printf("driver_%s %.2f %.2f\n", layout, add[0] + reap[0],
	       add[SAMPLES / 2] + reap[SAMPLES / 2]);
}

int main(int argc, char **argv)
{
	static struct bench t;
	bool packed;

	if (argc == 1) {
		time_rows(false);
		time_rows(true);
		return 0;
	}
	if (argc != 3)
		die("usage: ring-bench [split|packed BURSTS]");
	packed = !strcmp(argv[1], "packed");
	bench_open(&t, packed);
	for (long n = atol(argv[2]); n > 0; n--)
		turn(&t, packed);
	bench_close(&t);
	return 0;
}
