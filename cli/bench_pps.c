/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_pps.c - how many packets a second one queue moves: dequeue (the guest
 * sends, the device drops), enqueue (the device sends as fast as the guest
 * takes), loop (the guest sends, the device sends it back); and the same with
 * both ends on one core.
 */
#include "bench.h"
#include "bench_load.h"
#include "wire/net.h"

#define MIXED 0u

struct way {
	enum load_kind kind;
	enum bench_role role;
	unsigned size;
	uint64_t need, off;
	enum pump_policy device;
	struct vd_driver_policy driver;
	int cpu;
};

static const char *const columns[] = {
	"packets/s",    "Gbit/s",      "device cpu %", "driver cpu %",
	"kicks/packet", "intr/packet", NULL,
};

static double mean_size(unsigned size)
{
	double sum = 0;

	if (size)
		return size;
	for (unsigned i = 0; i < 12; i++)
		sum += bench_mixed_size(i);
	return sum / 12;
}

static int measure(const struct bench_opts *o, const struct bench_row *row,
                   double *to)
{
	static struct load_result r;
	const struct way *w = row->arg;
	struct load l = { .kind = w->kind,
		          .device = { .role = w->role,
		                      .policy = w->device,
		                      .guests = 1,
		                      .size = w->size,
		                      .cpu = w->cpu },
		          .policy = w->driver,
		          .features_need = w->need,
		          .features_off = w->off,
		          .burst = LOAD_BURST,
		          .flows = w->kind == LOAD_RR && w->cpu < 0 ? 128 : 1,
		          .size = w->size,
		          .seconds = o->seconds,
		          .cpu = w->cpu };
	int err = load_run(&l, &r);
	double s = r.seconds, packets = max_of((double)r.done, 1.0);

	if (err)
		return err;
	to[0] = (double)r.done / s;
	to[1] = to[0] * mean_size(w->size) * 8 / 1e9;
	to[2] = (double)r.device.cpu_ns / s / 1e7;
	to[3] = (double)r.cpu_ns / s / 1e7;
	to[4] = (double)r.driver.kicks / packets;
	to[5] = (double)r.device.calls / packets;
	return 0;
}

/* --- rows --------------------------------------------------------------- */

#define MRG VIRTIO_NET_F_MRG_RXBUF
#define PKD VIRTIO_F_RING_PACKED

#define DEQUEUE LOAD_SEND, BENCH_SINK
#define ENQUEUE LOAD_RECEIVE, BENCH_SOURCE
#define LOOP    LOAD_RR, BENCH_ECHO
#define SAVING  VD_TX_FREE_LAZY, VD_KICK_ADAPTIVE, 0, 0
#define NAPI    SAVING, VD_CALLS_NAPI

/* clang-format off */
#define WAY(what, n, need, not) \
	{ what, n, need, not, PUMP_ADAPTIVE, { NAPI }, BENCH_ANY_CPU }
#define WAYS(n)                          \
	WAY(DEQUEUE, n, 0, PKD),         \
	WAY(DEQUEUE, n, PKD, 0),         \
	WAY(ENQUEUE, n, MRG, PKD),       \
	WAY(ENQUEUE, n, MRG | PKD, 0),   \
	WAY(ENQUEUE, n, 0, MRG | PKD),   \
	WAY(ENQUEUE, n, PKD, MRG),       \
	WAY(LOOP, n, 0, PKD),            \
	WAY(LOOP, n, PKD, 0)
/* clang-format on */

#define SIZE_WAYS 8u

static const struct way ways[] = { WAYS(64), WAYS(256), WAYS(1024), WAYS(1518),
	                           WAYS(MIXED) };

#define ROW(name_, i)                          \
	{                                      \
		.name = name_, .arg = &ways[i] \
	}
#define ROWS(at, text)                                                    \
	ROW("dequeue split " text, SIZE_WAYS *at),                        \
		ROW("dequeue packed " text, SIZE_WAYS *at + 1),           \
		ROW("enqueue split mergeable " text, SIZE_WAYS *at + 2),  \
		ROW("enqueue packed mergeable " text, SIZE_WAYS *at + 3), \
		ROW("enqueue split single " text, SIZE_WAYS *at + 4),     \
		ROW("enqueue packed single " text, SIZE_WAYS *at + 5),    \
		ROW("loop split " text, SIZE_WAYS *at + 6),               \
		ROW("loop packed " text, SIZE_WAYS *at + 7)

static struct bench_row rows[] = { ROWS(0, "64"), ROWS(1, "256"),
	                           ROWS(2, "1024"), ROWS(3, "1518"),
	                           ROWS(4, "mixed") };

struct bench_question bench_pps = {
	.name = "pps",
	.text = "packets a second through one queue (single: not mergeable)",
	.columns = columns,
	.rows = rows,
	.nrows = array_len(rows),
	.measure = measure,
};

/* --- shared: one core for both ------------------------------------------ */

#define CORE 0

#define SHARED(load, role, driver, device)                             \
	{                                                              \
		load, role, 64, 0, 0, device, { SAVING, driver }, CORE \
	}

static const struct way shared_ways[] = {
	SHARED(LOAD_SEND, BENCH_SINK, VD_CALLS_NEVER, PUMP_POLL),
	SHARED(LOAD_SEND, BENCH_SINK, VD_CALLS_NAPI, PUMP_NOTIFY),
	SHARED(LOAD_SEND, BENCH_SINK, VD_CALLS_NAPI, PUMP_ADAPTIVE),
	SHARED(LOAD_RR, BENCH_ECHO, VD_CALLS_NEVER, PUMP_POLL),
	SHARED(LOAD_RR, BENCH_ECHO, VD_CALLS_NAPI, PUMP_NOTIFY),
	SHARED(LOAD_RR, BENCH_ECHO, VD_CALLS_NAPI, PUMP_ADAPTIVE),
};

static struct bench_row shared_rows[] = {
	{ .name = "dequeue 64, poll", .arg = &shared_ways[0] },
	{ .name = "dequeue 64, notify", .arg = &shared_ways[1] },
	{ .name = "dequeue 64, adaptive", .arg = &shared_ways[2] },
	{ .name = "1 flow, poll", .arg = &shared_ways[3] },
	{ .name = "1 flow, notify", .arg = &shared_ways[4] },
	{ .name = "1 flow, adaptive", .arg = &shared_ways[5] },
};

struct bench_question bench_shared = {
	.name = "shared",
	.text = "both ends on one core: does a spinning side give way?",
	.columns = columns,
	.rows = shared_rows,
	.nrows = array_len(shared_rows),
	.measure = measure,
};
