/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * pair.c - what every program of the pair matrix says and counts.
 */
#include "pair.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static unsigned rows_done;

void pair_fail(const char *row, const char *file, int line, const char *what)
{
	printf("not ok - %s: %s:%d: %s\n", row, file, line, what);
	fflush(stdout);
	_exit(1);
}

uint64_t rng_next(struct rng *g)
{
	uint64_t x = g->s += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

void row_name(struct row *w)
{
	static const char *const layouts[] = { "one", "several", "crossing",
		                               "bytes" };
	static const char *const tables[] = { "", " indirect",
		                              " indirect-few" };
	uint64_t f = w->features;

	char place[32] = "";

	if (w->size)
		snprintf(place, sizeof(place), " %u %s", w->size,
		         layouts[w->layout]);
	snprintf(w->name, sizeof(w->name), "%s%s%s%s%s%s%s%s",
	         f & VIRTIO_F_RING_PACKED ? "packed" : "split", place,
	         tables[w->tables], f & VIRTIO_F_EVENT_IDX ? " event-idx" : "",
	         f & VIRTIO_F_IN_ORDER ? " in-order" : "",
	         f & VIRTIO_F_ORDER_PLATFORM ? " platform" : "",
	         w->tracked ? " tracked" : "", w->record ? " record" : "");
}

void pair_ok(const struct row *w)
{
	printf("ok %u - %s: %llu buffers\n", ++rows_done, w->name,
	       (unsigned long long)w->buffers);
	fflush(stdout);
}

void pair_plan(uint64_t buffers)
{
	printf("# %llu buffers in %u rows\n1..%u\n",
	       (unsigned long long)buffers, rows_done, rows_done);
}

uint64_t pair_slow(int argc, char **argv)
{
	const char *env = getenv("VD_TEST_SLOW");
	uint64_t slow = env ? strtoull(env, NULL, 10) : 1;

	if (argc > 1 && !strcmp(argv[argc - 1], "--quick"))
		slow = 10;
	return slow ? slow : 1;
}
