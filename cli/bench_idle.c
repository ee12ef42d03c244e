/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_idle.c - what connected guests cost that say nothing.
 */
#include <errno.h>
#include <time.h>

#include <viaduct/driver.h>

#include "bench.h"

#define GUESTS_MOST 64u

static const char *const columns[] = { "wake-ups/s", "cpu %", NULL };
static const unsigned guests[] = { 0, 1, 64 };

static void sleep_for(double seconds)
{
	struct timespec ts = { (time_t)seconds,
		               (long)((seconds - (double)(time_t)seconds) *
		                      1e9) };

	nanosleep(&ts, NULL);
}

static int connect_all(struct bench_device *dev, struct vd_driver **d,
                       unsigned n)
{
	int err = 0;

	for (unsigned i = 0; !err && i < n; i++) {
		struct vd_driver_opts opts = { .size = sizeof(opts),
			                       .tag = "bench",
			                       .fd = bench_device_fd(dev, i) };

		d[i] = vd_driver_open(&opts, &err);
	}
	return err;
}

static int watch(struct bench_device *dev, double seconds, double *to)
{
	struct bench_device_count a, b;
	int err;

	sleep_for(.05);
	err = bench_device_read(dev, &a);
	sleep_for(seconds);
	if (!err)
		err = bench_device_read(dev, &b);
	if (err)
		return err;
	/* Between the two it fell asleep once: after our question. */
	to[0] = ((double)(b.wakeups - a.wakeups) - 1) / seconds;
	to[0] = max_of(to[0], 0.0);
	to[1] = (double)(b.cpu_ns - a.cpu_ns) / seconds / 1e7;
	return 0;
}

static int measure(const struct bench_opts *o, const struct bench_row *row,
                   double *to)
{
	unsigned n = *(const unsigned *)row->arg;
	struct bench_device_conf c = { .role = BENCH_SINK,
		                       .policy = PUMP_ADAPTIVE,
		                       .guests = n,
		                       .cpu = BENCH_ANY_CPU };
	struct vd_driver *d[GUESTS_MOST] = { NULL };
	struct bench_device *dev;
	int err = 0;

	dev = bench_device_start(&c, &err);
	if (!dev)
		return err;
	err = connect_all(dev, d, n);
	if (!err)
		err = watch(dev, o->seconds, to);
	for (unsigned i = 0; i < n; i++)
		vd_driver_close(d[i]);
	bench_device_stop(dev);
	return err;
}

static struct bench_row rows[] = {
	{ .name = "no guest", .arg = &guests[0] },
	{ .name = "1 guest", .arg = &guests[1] },
	{ .name = "64 guests", .arg = &guests[2] },
};

struct bench_question bench_idle = {
	.name = "idle",
	.text = "what silent guests cost the device end",
	.columns = columns,
	.rows = rows,
	.nrows = array_len(rows),
	.measure = measure,
};
