/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Request/response over many connections from one thread: the load of the 2011
 * small-packet thread (100 connections x 256 bytes). BURST requests are kept in
 * flight on each connection, as netperf's burst mode does. With MAX_MS the test
 * fails if any request had to wait longer, so that a stall is seen even on a
 * connection that never came back.
 */
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define BURST_MAX	64
#define BUCKETS		640	/* ten per doubling of microseconds */

struct flow {
	int fd;
	uint64_t sent;		/* requests */
	uint64_t done;		/* responses */
	size_t partial;		/* bytes of the response under way */
	double when[BURST_MAX];
};

static struct {
	struct flow *flows;
	unsigned count;
	uint32_t size;
	unsigned burst;
	uint64_t transactions;
	uint64_t wrong;
	double worst_us;	/* longest wait, answered or not */
	unsigned latency[BUCKETS];
	uint8_t out[CHUNK_MAX];
	uint8_t in[CHUNK_MAX];
} run;

static int ask(struct flow *f)
{
	ssize_t n;

	f->when[f->sent % BURST_MAX] = now_s();
	f->sent++;
	n = send(f->fd, run.out, run.size, MSG_NOSIGNAL);
	return n == (ssize_t)run.size ? 0 : n < 0 ? -errno : -EMSGSIZE;
}

static void account(struct flow *f)
{
	double us = (now_s() - f->when[f->done % BURST_MAX]) * 1e6;
	int bucket = us < 1 ? 0 : log2(us) * 10;

	if (us > run.worst_us)
		run.worst_us = us;
	run.latency[bucket < BUCKETS ? bucket : BUCKETS - 1]++;
	run.transactions++;
	f->done++;
}

static int answered(struct flow *f, bool more)
{
	ssize_t n = recv(f->fd, run.in, sizeof(run.in), MSG_DONTWAIT);
	int err = 0;

	if (n <= 0)
		return n && errno == EAGAIN ? 0 : -ECONNRESET;
	for (ssize_t at = 0; at < n && !err;) {
		size_t want = run.size - f->partial;
		size_t got = (size_t)(n - at) < want ? (size_t)(n - at) : want;

		if (memcmp(run.in + at, run.out + f->partial, got))
			run.wrong++;
		at += got;
		f->partial += got;
		if (f->partial < run.size)
			break;
		f->partial = 0;
		account(f);
		if (more)
			err = ask(f);
	}
	return err;
}

/* A flow that has been waiting since long ago is the worst of all. */
static void account_unanswered(void)
{
	double now = now_s();

	for (unsigned i = 0; i < run.count; i++) {
		const struct flow *f = run.flows + i;
		double us = f->sent == f->done ? 0 :
			    (now - f->when[f->done % BURST_MAX]) * 1e6;

		if (us > run.worst_us)
			run.worst_us = us;
	}
}

static double percentile(double share)
{
	uint64_t below = 0;

	for (int i = 0; i < BUCKETS; i++) {
		below += run.latency[i];
		if (below >= share * run.transactions)
			return exp2((i + 1) / 10.0);
	}
	return 0;
}

static int open_flows(const char *spec, int epoll)
{
	struct request r = { .op = OP_ECHO, .size = run.size };
	uint8_t head[REQUEST_BYTES];

	request_put(&r, head);
	for (unsigned i = 0; i < run.count; i++) {
		struct flow *f = run.flows + i;
		struct epoll_event e = { .events = EPOLLIN, .data.ptr = f };

		f->fd = endpoint_connect(spec, 20);
		if (f->fd < 0)
			return f->fd;
		if (send(f->fd, head, sizeof(head), MSG_NOSIGNAL) < 0 ||
		    epoll_ctl(epoll, EPOLL_CTL_ADD, f->fd, &e) < 0)
			return -errno;
	}
	return 0;
}

static volatile sig_atomic_t told_to_end;

static void on_end(int signal)
{
	(void)signal;
	told_to_end = 1;
}

/* Until the time is up or SIGTERM comes. */
static int exchange(int epoll, double secs)
{
	struct epoll_event ready[128];
	double end = now_s() + secs;
	int err = 0, n = 1;

	for (unsigned i = 0; i < run.count; i++)
		for (unsigned b = 0; b < run.burst && !err; b++)
			err = ask(run.flows + i);
	while (!err && n > 0 && !told_to_end && now_s() < end) {
		n = epoll_wait(epoll, ready, 128, 5000);
		for (int i = 0; i < n && !err; i++)
			err = answered(ready[i].data.ptr, true);
	}
	return err ? err : n > 0 || told_to_end ? 0 : -ETIMEDOUT;
}

int rr(int argc, char **argv)
{
	int epoll = epoll_create1(0), err;
	double worst_ms = argc > 5 ? atof(argv[5]) : 0;
	double secs = atof(argv[3]), start;

	run.count = strtoul(argv[1], NULL, 0);
	run.size = strtoul(argv[2], NULL, 0);
	run.burst = argc > 4 ? strtoul(argv[4], NULL, 0) : 1;
	if (!run.size || run.size > CHUNK_MAX || !run.burst ||
	    run.burst > BURST_MAX)
		return 2;
	run.flows = calloc(run.count, sizeof(*run.flows));
	if (!run.flows)
		return 1;
	pattern_fill(run.out, run.size, 0, 0x5eed);
	err = open_flows(argv[0], epoll);
	signal(SIGTERM, on_end);
	start = now_s();
	if (!err)
		err = exchange(epoll, secs);
	secs = now_s() - start;
	account_unanswered();
	if (!err && worst_ms && run.worst_us > worst_ms * 1e3)
		err = -ETIME;
	for (unsigned i = 0; i < run.count; i++)
		close(run.flows[i].fd);
	printf("rig: rr connections=%u bytes=%u burst=%u secs=%.2f "
	       "transactions/s=%.0f p50us=%.0f p99us=%.0f maxms=%.0f "
	       "wrong=%llu %s\n",
	       run.count, run.size, run.burst, secs, run.transactions / secs,
	       percentile(0.5), percentile(0.99), run.worst_us / 1e3,
	       (unsigned long long)run.wrong,
	       err ? strerror(-err) : run.wrong ? "FAILED" : "ok");
	return err || run.wrong;
}
