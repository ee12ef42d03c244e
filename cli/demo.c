/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo.c - `viaduct demo`: the main job, shown (`make run`).
 *
 * Starts viaductd with two guest ports and a tap, in a network namespace of its
 * own. Attaches two embedded guests, resolves addresses, pings, moves bulk data
 * both ways between the guests and between a guest and the kernel, checks all
 * of it, prints what it came to, and takes everything down again. Exit status 0
 * only when every step went well.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/order.h"
#include "command.h"
#include "demo_bulk.h"
#include "demo_guest.h"
#include "demo_host.h"
#include "demo_world.h"
#include "table.h"
#include "wire/net.h"

#define PINGS       100
#define ANSWER_MS   10000
#define WINDOW      64u
#define HOST_WINDOW 32u /* what a UDP socket's default buffer surely holds */

/* One end of a bulk transfer and what it cost. */
struct end {
	struct bulk b;
	double seconds; /* to send */
	struct vd_driver_stats before, after;
	bool driver; /* the two above mean something */
	int err;
};

struct demo {
	struct world w;
	struct guest guest[2];
	struct host host;
	struct end end[4]; /* a and b, then a and the host */
	double seconds;    /* of each bulk phase */
	bool colour;
	const char *program;
};

/* --- printing ---------------------------------------------------------- */

static void step(const struct demo *d, const char *word, const char *text)
{
	const char *on = "", *off = "";

	if (d->colour) {
		on = *word == 'o' ? "\033[32m" : "\033[33m";
		off = "\033[0m";
	}
	printf("  %s%-4s%s %s\n", on, word, off, text);
	fflush(stdout);
}

static int failed(const struct demo *d, const char *sentence)
{
	fflush(stdout);
	fprintf(stderr, "%sviaduct demo failed:%s %s.\n",
	        d->colour ? "\033[31m" : "", d->colour ? "\033[0m" : "",
	        sentence);
	world_print_log(&d->w);
	return 1;
}

static void print_picture(const struct demo *d)
{
	printf("\n"
	       "   embedded guest a              viaductd\n"
	       "   10.77.0.11  [virtio-net]=====[guest port a]--.\n"
	       "               shared memory                    |\n");
	if (d->w.tap)
		printf("                                                +-- "
		       "[tap0] the kernel, " WORLD_ADDRESS "\n"
		       "   embedded guest b              switch         |\n");
	else
		printf("   embedded guest b              switch         |\n");
	printf("   10.77.0.12  [virtio-net]=====[guest port b]--'\n"
	       "               shared memory\n\n");
}

static void feature_words(char *to, size_t size, uint64_t f)
{
	snprintf(to, size, "%s ring%s%s%s%s%s",
	         f & VIRTIO_F_RING_PACKED ? "packed" : "split",
	         f & VIRTIO_NET_F_MRG_RXBUF ? ", mergeable" : "",
	         f & VIRTIO_F_INDIRECT_DESC ? ", indirect" : "",
	         f & VIRTIO_F_EVENT_IDX ? ", event index" : "",
	         f & VIRTIO_F_IN_ORDER ? ", in order" : "",
	         f & VIRTIO_NET_F_CSUM ? ", checksum offload" : "");
}

/* --- steps ------------------------------------------------------------- */

static int start_daemon(struct demo *d)
{
	char text[160];

	if (world_open(&d->w) || world_start(&d->w, d->program))
		return failed(d, d->w.failure);
	snprintf(text, sizeof(text), "viaductd listens, after %.0f ms",
	         d->w.listening_s * 1e3);
	step(d, "ok", text);
	if (d->w.tap)
		step(d, "ok",
		     "tap0 is up with " WORLD_ADDRESS
		     ", in a network namespace of its own");
	else
		step(d, "skip", d->w.why_not);
	return 0;
}

static int attach(struct demo *d, unsigned i)
{
	static const char *names[] = { "guest a", "guest b" };
	struct vd_driver_info info = { .size = sizeof(info) };
	char text[200], words[128];
	int err;

	err = guest_open(&d->guest[i], names[i], d->w.socket[i],
	                 (uint8_t)(11 + i));
	if (err) {
		if (world_check(&d->w))
			return failed(d, d->w.failure);
		snprintf(text, sizeof(text), "%s cannot attach: %s", names[i],
		         strerror(-err));
		return failed(d, text);
	}
	vd_driver_info(d->guest[i].d, &info);
	feature_words(words, sizeof(words), info.features);
	snprintf(text, sizeof(text), "%s attached: %s", names[i], words);
	step(d, "ok", text);
	return 0;
}

/* A guest that answers while another one asks. */
struct answerer {
	struct guest *g;
	pthread_t thread;
	uint64_t stop; /* a counter: 0 go on */
};

static void *answerer_main(void *arg)
{
	struct answerer *a = arg;

	while (!count_get(&a->stop))
		if (guest_poll(a->g, 20) < 0)
			break;
	return NULL;
}

static int resolve(struct demo *d, uint32_t ip, const char *whom)
{
	const uint8_t *m;
	char text[120];
	int err;

	err = guest_resolve(&d->guest[0], ip, ANSWER_MS);
	if (err) {
		snprintf(text, sizeof(text),
		         "guest a asked for the address of %s: %s", whom,
		         strerror(-err));
		return failed(d, text);
	}
	m = d->guest[0].peer[d->guest[0].npeers - 1].mac;
	snprintf(text, sizeof(text),
	         "ARP: %s is at %02x:%02x:%02x:%02x:%02x:%02x", whom, m[0],
	         m[1], m[2], m[3], m[4], m[5]);
	step(d, "ok", text);
	return 0;
}

static int ping(struct demo *d, uint32_t ip, const char *whom)
{
	double min = 1e9, max = 0, sum = 0;
	char text[160];

	for (int i = 0; i < PINGS; i++) {
		int err = guest_ping(&d->guest[0], ip, ANSWER_MS);
		double us = d->guest[0].ping_rtt_ns / 1e3;

		if (err) {
			snprintf(text, sizeof(text),
			         "ping %d of guest a to %s: %s", i + 1, whom,
			         strerror(-err));
			return failed(d, text);
		}
		min = min_of(min, us);
		max = max_of(max, us);
		sum += us;
	}
	snprintf(text, sizeof(text),
	         "ping: %d to %s, all answered, min %.0f, mean %.0f, "
	         "max %.0f us",
	         PINGS, whom, min, sum / PINGS, max);
	step(d, "ok", text);
	return 0;
}

static int ask_around(struct demo *d)
{
	struct answerer b = { .g = &d->guest[1] };
	uint32_t host = inet_addr(WORLD_ADDRESS);
	int err;

	if (pthread_create(&b.thread, NULL, answerer_main, &b))
		return failed(d, "no thread can be started");
	err = resolve(d, d->guest[1].ip, "guest b");
	if (!err && d->w.tap)
		err = resolve(d, host, "the kernel");
	if (!err)
		err = ping(d, d->guest[1].ip, "guest b");
	if (!err && d->w.tap)
		err = ping(d, host, "the kernel");
	count_add(&b.stop, 1);
	pthread_join(b.thread, NULL);
	return err;
}

/* --- bulk -------------------------------------------------------------- */

/* A guest, and whom it sends to. */
struct guest_way {
	struct guest *g;
	uint32_t to;
};

static int way_guest_send(void *ctx, const void *payload, unsigned len)
{
	struct guest_way *w = ctx;

	return guest_send_udp(w->g, w->to, payload, len);
}

static int way_guest_poll(void *ctx, int timeout_ms)
{
	return guest_poll(((struct guest_way *)ctx)->g, timeout_ms);
}

static int way_guest_flush(void *ctx)
{
	return guest_flush(((struct guest_way *)ctx)->g);
}

static int way_host_send(void *ctx, const void *payload, unsigned len)
{
	return host_send(ctx, payload, len);
}

static int way_host_poll(void *ctx, int timeout_ms)
{
	return host_poll(ctx, timeout_ms);
}

static int way_host_flush(void *ctx)
{
	(void)ctx;
	return 0;
}

static void input(void *ctx, const uint8_t *p, unsigned len)
{
	bulk_input(ctx, p, len);
}

static void *end_main(void *arg)
{
	struct end *e = arg;

	e->err = bulk_run(&e->b, e->seconds);
	return NULL;
}

static void prepare(struct end *e, const struct bulk_way *way, const char *here,
                    const char *there)
{
	e->b.here = here;
	e->b.there = there;
	bulk_init(&e->b, way, UINT64_C(0x9e3779b97f4a7c15) * (uintptr_t)e);
}

static void prepare_guest(struct end *e, struct guest_way *w, unsigned window,
                          const char *there)
{
	struct bulk_way way = { way_guest_send,  way_guest_poll,
		                way_guest_flush, w,
		                GUEST_UDP,       window };

	prepare(e, &way, w->g->name, there);
	w->g->input = input;
	w->g->ctx = &e->b;
	e->driver = true;
	e->before.size = e->after.size = sizeof(e->before);
}

static int run_two(struct demo *d, struct end *x, struct guest *gx,
                   struct end *y, struct guest *gy)
{
	pthread_t thread;

	x->seconds = y->seconds = d->seconds;
	vd_driver_stats(gx->d, -1, &x->before);
	if (gy)
		vd_driver_stats(gy->d, -1, &y->before);
	if (pthread_create(&thread, NULL, end_main, y))
		return failed(d, "no thread can be started");
	end_main(x);
	pthread_join(thread, NULL);
	vd_driver_stats(gx->d, -1, &x->after);
	if (gy)
		vd_driver_stats(gy->d, -1, &y->after);
	if (world_check(&d->w))
		return failed(d, d->w.failure);
	if (x->err || y->err)
		return failed(d, x->err ? x->b.failure : y->b.failure);
	return 0;
}

static void bulk_step(struct demo *d, const struct end *x, const struct end *y)
{
	char text[200];

	snprintf(text, sizeof(text),
	         "bulk: %s and %s sent each other %.0f and %.0f MB, checksums "
	         "right",
	         x->b.here, x->b.there, x->b.bytes_sent / 1e6,
	         y->b.bytes_sent / 1e6);
	step(d, "ok", text);
}

static int bulk_guests(struct demo *d)
{
	struct guest_way a = { &d->guest[0], d->guest[1].ip };
	struct guest_way b = { &d->guest[1], d->guest[0].ip };

	prepare_guest(&d->end[0], &a, WINDOW, "guest b");
	prepare_guest(&d->end[1], &b, WINDOW, "guest a");
	if (run_two(d, &d->end[0], a.g, &d->end[1], b.g))
		return 1;
	bulk_step(d, &d->end[0], &d->end[1]);
	return 0;
}

static int bulk_host(struct demo *d)
{
	struct guest_way a = { &d->guest[0], inet_addr(WORLD_ADDRESS) };
	struct bulk_way host = { way_host_send, way_host_poll, way_host_flush,
		                 &d->host,      GUEST_UDP,     HOST_WINDOW };
	int err;

	err = host_open(&d->host, WORLD_ADDRESS, d->guest[0].ip, GUEST_PORT);
	if (err)
		return failed(d, "the kernel gives no UDP socket");
	prepare_guest(&d->end[2], &a, HOST_WINDOW, "the kernel");
	prepare(&d->end[3], &host, "the kernel", "guest a");
	d->host.input = input;
	d->host.ctx = &d->end[3].b;
	err = run_two(d, &d->end[2], a.g, &d->end[3], NULL);
	host_close(&d->host);
	if (!err)
		bulk_step(d, &d->end[2], &d->end[3]);
	return err;
}

/* --- the table --------------------------------------------------------- */

static void put_row(struct table *t, const struct end *e,
                    const struct end *other)
{
	const struct vd_driver_stats *x = &e->before, *y = &e->after;
	double packets = (double)(y->tx_packets - x->tx_packets) +
	                 (double)(y->rx_packets - x->rx_packets);
	double s = e->b.seconds;

	table_put(t, "%s to %s", e->b.here, e->b.there);
	table_put(t, "%llu", (unsigned long long)e->b.sent);
	table_put(t, "%.1f", e->b.bytes_sent / 1e6);
	table_put(t, "%.1f", e->b.sent / s / 1e3);
	table_put(t, "%.2f", e->b.bytes_sent * 8 / s / 1e9);
	if (e->driver) {
		table_put(t, "%.4f", (y->kicks - x->kicks) / packets);
		table_put(t, "%.4f", (y->calls - x->calls) / packets);
	} else {
		table_put(t, "-");
		table_put(t, "-");
	}
	table_put(t, "%llu",
	          (unsigned long long)(e->b.sent - other->b.received));
}

static void print_table(const struct demo *d)
{
	static const char *heads[] = { "bulk",     "packets", "MB",
		                       "kpkt/s",   "Gbit/s",  "kicks/pkt",
		                       "intr/pkt", "drops" };
	struct table t;

	table_init(&t, array_len(heads));
	for (size_t i = 0; i < array_len(heads); i++)
		table_put(&t, "%s", heads[i]);
	for (unsigned i = 0; i < (d->w.tap ? 4u : 2u); i += 2) {
		put_row(&t, &d->end[i], &d->end[i + 1]);
		put_row(&t, &d->end[i + 1], &d->end[i]);
	}
	printf("\n");
	table_print(&t, 2, stdout);
	table_fini(&t);
}

static int check_sums(const struct demo *d)
{
	uint64_t bad = d->guest[0].bad_checksums + d->guest[1].bad_checksums;
	char text[80];

	if (!bad)
		return 0;
	snprintf(text, sizeof(text), "%llu packets came with wrong checksums",
	         (unsigned long long)bad);
	return failed(d, text);
}

static int show(struct demo *d)
{
	printf("viaduct demo: two embedded guests and the kernel on one "
	       "switch\n\n");
	if (start_daemon(d) || attach(d, 0) || attach(d, 1) || ask_around(d) ||
	    bulk_guests(d) || (d->w.tap && bulk_host(d)) || check_sums(d))
		return 1;
	print_table(d);
	print_picture(d);
	step(d, "ok", "all steps went well");
	return 0;
}

int cmd_demo(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "seconds", required_argument, NULL, 's' },
		{ "viaductd", required_argument, NULL, 'p' },
		{ NULL, 0, NULL, 0 },
	};
	static struct demo d = { .seconds = 3 };
	int c, rc;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 's' && atof(optarg) > 0) {
			d.seconds = atof(optarg);
		} else if (c == 'p') {
			d.program = optarg;
		} else {
			fprintf(c == 'h' ? stdout : stderr,
			        "usage: viaduct demo [--seconds S] "
			        "[--viaductd PROGRAM]\n");
			return c == 'h' ? 0 : 2;
		}
	}
	d.colour = isatty(1);
	rc = show(&d);
	guest_close(&d.guest[0]);
	guest_close(&d.guest[1]);
	world_close(&d.w);
	return rc;
}
