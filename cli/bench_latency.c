/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_latency.c - one request at a time at fixed rates: how long an answer
 * takes and what CPU time the device end spends on it, for each of its
 * policies. The driver end polls, so that the device's sleep is all there is.
 */
#include "bench.h"
#include "bench_load.h"

struct way {
	double rate;
	enum pump_policy policy;
};

static const char *const columns[] = {
	"p50 us",     "p99 us",          "device cpu %", "driver cpu %",
	"requests/s", "device sleeps/s", NULL,
};

static int measure(const struct bench_opts *o, const struct bench_row *row,
                   double *to)
{
	static struct load_result r;
	const struct way *w = row->arg;
	struct load l = { .kind = LOAD_PACED,
		          .device = { .role = BENCH_ECHO,
		                      .policy = w->policy,
		                      .guests = 1,
		                      .cpu = BENCH_ANY_CPU },
		          .policy = { .calls = VD_CALLS_NEVER },
		          .burst = 1,
		          .flows = 1,
		          .size = o->size ? o->size : 256,
		          .rate = w->rate,
		          .seconds = o->seconds,
		          .cpu = BENCH_ANY_CPU };
	int err = load_run(&l, &r);

	if (err)
		return err;
	to[0] = load_latency_us(&r, .5);
	to[1] = load_latency_us(&r, .99);
	to[2] = (double)r.device.cpu_ns / r.seconds / 1e7;
	to[3] = (double)r.cpu_ns / r.seconds / 1e7;
	to[4] = (double)r.done / r.seconds;
	to[5] = (double)r.device.sleeps / r.seconds;
	return 0;
}

#define WAYS(rate)                                  \
	{ rate, PUMP_POLL }, { rate, PUMP_NOTIFY }, \
	{                                           \
		rate, PUMP_ADAPTIVE                 \
	}

/* The last is more than anything answers. */
static const struct way ways[] = { WAYS(10),    WAYS(100),   WAYS(1000),
	                           WAYS(10000), WAYS(30000), WAYS(100000),
	                           WAYS(1e9) };

#define ROWS(at, text)                                                \
	{ .name = text " poll", .arg = &ways[3 * at] },               \
		{ .name = text " notify", .arg = &ways[3 * at + 1] }, \
	{                                                             \
		.name = text " adaptive", .arg = &ways[3 * at + 2]    \
	}

static struct bench_row rows[] = {
	ROWS(0, "10/s"),      ROWS(1, "100/s"),   ROWS(2, "1000/s"),
	ROWS(3, "10000/s"),   ROWS(4, "30000/s"), ROWS(5, "100000/s"),
	ROWS(6, "saturated"),
};

struct bench_question bench_latency = {
	.name = "latency",
	.text = "one request at a time, at fixed rates",
	.columns = columns,
	.rows = rows,
	.nrows = array_len(rows),
	.measure = measure,
};
