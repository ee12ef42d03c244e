/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bench_load.c - the driver end of a measurement.
 *
 * The way of a measurement: the device end is started, the driver connects,
 * the load runs for a tenth of its time unmeasured, the counts are read, the
 * load runs, the counts are read again.
 *
 * Latencies stand in a histogram of 16 slots a power of two: 6 % apart.
 */
#include "bench_load.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "wire/net.h"

#define FRAME_MOST 1518u
#define FLOW_AT    14u /* of the flow's number in a frame */

struct run {
	const struct load *l;
	struct vd_driver *d;
	uint64_t end_ns;
	uint64_t done, sent;
	uint64_t sent_ns[LOAD_FLOWS];
	uint8_t byte[LOAD_BURST][FRAME_MOST];
	struct iovec iov[LOAD_BURST];
	struct vd_packet packet[LOAD_BURST], got[LOAD_BURST];
	unsigned mixed;
	struct load_result *to;
};

static uint64_t clock_ns(clockid_t which)
{
	struct timespec ts;

	clock_gettime(which, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* --- latencies ---------------------------------------------------------- */

static unsigned latency_slot(uint64_t ns)
{
	unsigned power = 63 - (unsigned)__builtin_clzll(ns | 16);

	return min_of((power - 4) * 16 + (unsigned)(ns >> (power - 4) & 15),
	              LOAD_SLOTS - 1);
}

void load_latency_add(struct load_result *r, uint64_t ns)
{
	r->latency[latency_slot(ns)]++;
}

static double slot_ns(unsigned slot)
{
	return (double)((uint64_t)(16 + slot % 16) << slot / 16);
}

double load_latency_us(const struct load_result *r, double part)
{
	uint64_t all = 0, below = 0;
	unsigned i;

	for (i = 0; i < LOAD_SLOTS; i++)
		all += r->latency[i];
	if (!all)
		return 0;
	for (i = 0; i < LOAD_SLOTS - 1; i++) {
		below += r->latency[i];
		if ((double)below >= part * (double)all)
			break;
	}
	return slot_ns(i) / 1e3;
}

/* --- packets ------------------------------------------------------------ */

static void prepare(struct run *r)
{
	for (unsigned i = 0; i < LOAD_BURST; i++) {
		memset(r->byte[i], 0, sizeof(r->byte[i]));
		memset(r->byte[i], 0xff, 6);
		r->byte[i][6] = 2;
		r->byte[i][12] = 0x88;
		r->byte[i][13] = 0xb5;
		r->iov[i] = (struct iovec){ r->byte[i], r->l->size };
		r->packet[i] =
			(struct vd_packet){ .iov = &r->iov[i], .niov = 1 };
	}
}

/* Send @n prepared packets, @burst at a time; the queue has room in the end. */
static int send_all(struct run *r, unsigned n)
{
	unsigned at = 0;

	for (unsigned i = 0; !r->l->size && i < n; i++)
		r->iov[i].iov_len = bench_mixed_size(r->mixed++);
	while (at < n) {
		int got = vd_driver_send(r->d, 0, r->packet + at,
		                         min_of(n - at, r->l->burst));

		if (got < 0)
			return got;
		at += (unsigned)got;
		if (got)
			continue;
		got = vd_driver_wait(r->d, 0, VD_WAIT_SEND, 1000);
		if (got <= 0)
			return got ? got : -ETIMEDOUT;
	}
	r->sent += n;
	return 0;
}

static void ask_flow(struct run *r, unsigned slot, unsigned flow)
{
	r->byte[slot][FLOW_AT] = (uint8_t)flow;
	r->sent_ns[flow] = now_ns();
}

/* What came, at most @n; each one's flow in slot order. */
static int take_answers(struct run *r, unsigned n)
{
	int got = vd_driver_receive(r->d, 0, r->got, n);
	uint64_t now = now_ns();

	for (int i = 0; i < got; i++) {
		const uint8_t *p = r->got[i].iov[0].iov_base;
		unsigned flow;

		if (r->got[i].iov[0].iov_len <= FLOW_AT ||
		    p[FLOW_AT] >= LOAD_FLOWS)
			return -EBADMSG;
		flow = p[FLOW_AT];
		load_latency_add(r->to, now - r->sent_ns[flow]);
		ask_flow(r, (unsigned)i, flow);
	}
	vd_driver_release(r->d, 0);
	if (got > 0)
		r->done += (unsigned)got;
	return got;
}

/* --- loads -------------------------------------------------------------- */

static int fill_flows(struct run *r)
{
	int err = 0;

	for (unsigned i = 0; !err && i < r->l->flows; i++) {
		ask_flow(r, 0, i);
		err = send_all(r, 1);
	}
	return err;
}

static int run_rr(struct run *r)
{
	int n, err = 0;

	while (!err && now_ns() < r->end_ns) {
		n = take_answers(r, LOAD_BURST);
		if (n > 0)
			err = send_all(r, (unsigned)n);
		else if (n < 0)
			return n;
		else
			err = min_of(vd_driver_wait(r->d, 0, VD_WAIT_RECEIVE,
			                            100),
			             0);
	}
	return err;
}

static void sleep_until(uint64_t ns)
{
	struct timespec ts = { (time_t)(ns / 1000000000u),
		               (long)(ns % 1000000000u) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* Requests at fixed times; late ones follow as soon as they can. */
static int run_paced(struct run *r)
{
	uint64_t gap = (uint64_t)(1e9 / r->l->rate), at = now_ns();
	int n, err;

	for (; at < r->end_ns; at += gap) {
		uint64_t now = now_ns();

		if (at > now + 100000)
			sleep_until(at - 60000);
		while (now_ns() < at)
			;
		if (at + 10 * gap < now)
			at = now; /* it cannot keep up */
		ask_flow(r, 0, 0);
		err = send_all(r, 1);
		if (err)
			return err;
		do {
			n = take_answers(r, 1);
			if (!n &&
			    vd_driver_wait(r->d, 0, VD_WAIT_RECEIVE, 1000) <= 0)
				return -ETIMEDOUT;
		} while (!n);
		if (n < 0)
			return n;
	}
	sleep_until(r->end_ns);
	return 0;
}

static int run_send(struct run *r)
{
	int err = 0;

	while (!err && now_ns() < r->end_ns)
		err = send_all(r, LOAD_BURST);
	r->done = r->sent;
	return err;
}

static int run_receive(struct run *r)
{
	int n;

	while (now_ns() < r->end_ns) {
		n = vd_driver_receive(r->d, 0, r->got, LOAD_BURST);
		vd_driver_release(r->d, 0);
		if (n == 0)
			n = min_of(vd_driver_wait(r->d, 0, VD_WAIT_RECEIVE,
			                          100),
			           0);
		if (n < 0)
			return n;
		r->done += (unsigned)n;
	}
	return 0;
}

static int run_for(struct run *r, double seconds)
{
	static int (*const run[])(struct run * r) = {
		[LOAD_RR] = run_rr,
		[LOAD_PACED] = run_paced,
		[LOAD_SEND] = run_send,
		[LOAD_RECEIVE] = run_receive,
	};

	r->end_ns = now_ns() + (uint64_t)(seconds * 1e9);
	return run[r->l->kind](r);
}

/* --- a measurement ------------------------------------------------------ */

/* What there is at one moment. */
struct moment {
	uint64_t ns, cpu_ns, done;
	struct vd_driver_stats driver;
	struct bench_device_count device;
};

static int moment_take(struct moment *m, const struct run *r,
                       struct bench_device *dev)
{
	m->driver.size = sizeof(m->driver);
	vd_driver_stats(r->d, -1, &m->driver);
	m->ns = now_ns();
	m->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	m->done = r->done;
	return bench_device_read(dev, &m->device);
}

/* Structures of nothing but uint64_t. */
static void subtract(void *to, const void *b, const void *a, size_t size)
{
	uint64_t *t = to;

	for (size_t i = 0; i < size / sizeof(*t); i++)
		t[i] = ((const uint64_t *)b)[i] - ((const uint64_t *)a)[i];
}

static void result_make(struct load_result *to, const struct moment *a,
                        const struct moment *b)
{
	to->seconds = (double)(b->ns - a->ns) / 1e9;
	to->cpu_ns = b->cpu_ns - a->cpu_ns;
	to->done = b->done - a->done;
	subtract(&to->driver, &b->driver, &a->driver, sizeof(to->driver));
	subtract(&to->device, &b->device, &a->device, sizeof(to->device));
	to->packets = to->driver.tx_packets + to->driver.rx_packets;
}

static int measure(struct run *r, struct bench_device *dev,
                   struct load_result *to)
{
	struct moment a, b;
	int err = 0;

	if (r->l->kind == LOAD_RR)
		err = fill_flows(r);
	if (!err)
		err = run_for(r, r->l->seconds / 10);
	memset(to->latency, 0, sizeof(to->latency));
	if (!err)
		err = moment_take(&a, r, dev);
	if (!err)
		err = run_for(r, r->l->seconds);
	if (!err)
		err = moment_take(&b, r, dev);
	if (!err)
		result_make(to, &a, &b);
	return err;
}

int load_run(const struct load *l, struct load_result *to)
{
	struct vd_driver_opts opts = { .size = sizeof(opts),
		                       .tag = "bench",
		                       .features_off = l->features_off,
		                       .features_need = l->features_need,
		                       .policy = l->policy };
	static struct run r;
	struct bench_device *dev;
	int err = 0;

	r = (struct run){ .l = l, .to = to };
	prepare(&r);
	dev = bench_device_start(&l->device, &err);
	if (!dev)
		return err;
	bench_pin(l->cpu);
	opts.fd = bench_device_fd(dev, 0);
	r.d = vd_driver_open(&opts, &err);
	if (r.d)
		err = measure(&r, dev, to);
	vd_driver_close(r.d);
	bench_device_stop(dev);
	return err;
}
