/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_rr.c - what each way to notify is worth with requests and responses,
 * and what the strong barriers cost.
 *
 * The rows are those of a mail thread of 2011 about small packets; the first
 * one is how virtio-net worked then: a notification a packet in both
 * directions, unless the other end is awake and says so.
 */
#include "bench.h"
#include "bench_load.h"
#include "bench_bare.h"
#include "wire/net.h"

#define NO_EVENT VIRTIO_F_EVENT_IDX

/* What makes a row. */
struct way {
	struct vd_driver_policy policy;
	uint64_t features_off, features_need;
	unsigned burst;
	enum pump_policy device;
	unsigned flows; /* 0: as asked */
	bool bare;
};

#define KICK_5_2000  VD_KICK_LATER, 5, 2000
#define KICK_EACH    VD_KICK_NOW, 0, 0
#define KICK_IF_IDLE VD_KICK_ADAPTIVE, 0, 0

static const struct way ways[] = {
	{ { VD_TX_FREE_EAGER, KICK_EACH, VD_CALLS_ALWAYS },
	  .features_off = NO_EVENT,
	  .burst = 1 },
	{ { VD_TX_FREE_LAZY, KICK_EACH, VD_CALLS_ALWAYS },
	  .features_off = NO_EVENT,
	  .burst = 1 },
	{ { VD_TX_FREE_LAZY, KICK_5_2000, VD_CALLS_ALWAYS },
	  .features_off = NO_EVENT,
	  .burst = 1 },
	{ { VD_TX_FREE_EAGER, KICK_EACH, VD_CALLS_ALWAYS }, .burst = 1 },
	{ { VD_TX_FREE_EAGER, KICK_EACH, VD_CALLS_ALWAYS },
	  .features_off = NO_EVENT,
	  .burst = 1,
	  .device = PUMP_ADAPTIVE },
	{ { VD_TX_FREE_LAZY, KICK_IF_IDLE, VD_CALLS_NAPI },
	  .burst = LOAD_BURST,
	  .device = PUMP_ADAPTIVE },
	{ { VD_TX_FREE_LAZY, KICK_EACH, VD_CALLS_NEVER },
	  .burst = LOAD_BURST,
	  .device = PUMP_POLL },
	{ .bare = true },
};

static const char *const columns[] = {
	"transactions/s", "packets/s",    "kicks/s",     "empty kicks/s",
	"interrupts/s",   "kicks/packet", "intr/packet", "device cpu %",
	"driver cpu %",   "p50 us",       "p99 us",      "p99.9 us",
	"% of bare",      NULL,
};

#define COLUMN_BARE 12u

static int measure(const struct bench_opts *o, const struct bench_row *row,
                   double *to)
{
	static struct load_result r;
	const struct way *w = row->arg;
	struct load l = { .kind = LOAD_RR,
		          .device = { .role = BENCH_ECHO,
		                      .policy = w->device,
		                      .guests = 1,
		                      .cpu = BENCH_ANY_CPU },
		          .policy = w->policy,
		          .features_off = w->features_off,
		          .features_need = w->features_need,
		          .burst = w->burst,
		          .flows = w->flows   ? w->flows
		                   : o->flows ? o->flows
		                              : 100,
		          .size = o->size ? o->size : 256,
		          .seconds = o->seconds,
		          .cpu = BENCH_ANY_CPU };
	int err = w->bare ? bare_run(&l, &r) : load_run(&l, &r);
	double s = r.seconds, packets = max_of((double)r.packets, 1.0);

	if (err)
		return err;
	to[0] = (double)r.done / s;
	to[1] = (double)r.packets / s;
	to[2] = (double)r.driver.kicks / s;
	to[3] = (double)r.device.kicks_empty / s;
	to[4] = (double)r.device.calls / s;
	to[5] = (double)r.driver.kicks / packets;
	to[6] = (double)r.device.calls / packets;
	to[7] = (double)r.device.cpu_ns / s / 1e7;
	to[8] = (double)r.cpu_ns / s / 1e7;
	to[9] = load_latency_us(&r, .5);
	to[10] = load_latency_us(&r, .99);
	to[11] = load_latency_us(&r, .999);
	to[12] = 0;
	return 0;
}

/* The last row is the measure of all, if it was measured. */
static void compare(struct bench_question *q, unsigned k)
{
	const struct bench_row *last = &q->rows[q->nrows - 1];
	double bare;

	if (!q->nrows || last->arg != &ways[array_len(ways) - 1])
		return;
	bare = last->value[k][0];

	for (unsigned i = 0; i < q->nrows && bare > 0; i++) {
		double *v = q->rows[i].value[k];

		v[COLUMN_BARE] = 100 * v[0] / bare;
	}
}

static struct bench_row rows[] = {
	{ .name = "always notify", .arg = &ways[0] },
	{ .name = "+ lazy TX free", .arg = &ways[1] },
	{ .name = "+ delayed kick 5/2000us", .arg = &ways[2] },
	{ .name = "EVENT_IDX", .arg = &ways[3] },
	{ .name = "adaptive device", .arg = &ways[4] },
	{ .name = "all policies", .arg = &ways[5] },
	{ .name = "both poll", .arg = &ways[6] },
	{ .name = "bare", .arg = &ways[7] },
};

struct bench_question bench_rr = {
	.name = "rr",
	.text = "what each policy is worth for requests and responses",
	.columns = columns,
	.rows = rows,
	.nrows = array_len(rows),
	.measure = measure,
	.compare = compare,
};

/* --- order -------------------------------------------------------------- */

#define SMP(n)                                                              \
	{                                                                   \
		{ VD_TX_FREE_LAZY, KICK_IF_IDLE, VD_CALLS_NAPI },           \
			.burst = LOAD_BURST, .device = PUMP_ADAPTIVE,       \
			.features_off = VIRTIO_F_ORDER_PLATFORM, .flows = n \
	}
#define PLATFORM(n)                                                          \
	{                                                                    \
		{ VD_TX_FREE_LAZY, KICK_IF_IDLE, VD_CALLS_NAPI },            \
			.burst = LOAD_BURST, .device = PUMP_ADAPTIVE,        \
			.features_need = VIRTIO_F_ORDER_PLATFORM, .flows = n \
	}

static const struct way order_ways[] = { SMP(1),   PLATFORM(1),
	                                 SMP(10),  PLATFORM(10),
	                                 SMP(100), PLATFORM(100) };

static const char *const order_columns[] = {
	"transactions/s", "device cpu %", "driver cpu %",
	"per cpu",        "p50 us",       NULL,
};

static int measure_order(const struct bench_opts *o,
                         const struct bench_row *row, double *to)
{
	double v[BENCH_COLUMNS];
	int err = measure(o, row, v);

	to[0] = v[0];
	to[1] = v[7];
	to[2] = v[8];
	to[3] = v[7] + v[8] > 0 ? v[0] / (v[7] + v[8]) : 0;
	to[4] = v[9];
	return err;
}

static struct bench_row order_rows[] = {
	{ .name = "smp, 1 flow", .arg = &order_ways[0] },
	{ .name = "platform, 1 flow", .arg = &order_ways[1] },
	{ .name = "smp, 10 flows", .arg = &order_ways[2] },
	{ .name = "platform, 10 flows", .arg = &order_ways[3] },
	{ .name = "smp, 100 flows", .arg = &order_ways[4] },
	{ .name = "platform, 100 flows", .arg = &order_ways[5] },
};

struct bench_question bench_order = {
	.name = "order",
	.text = "smp against platform barriers; per cpu: transactions/s for 1 "
		"% of a core",
	.columns = order_columns,
	.rows = order_rows,
	.nrows = array_len(order_rows),
	.measure = measure_order,
};
