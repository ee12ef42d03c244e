/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * loop - send packets through somebody's device and check what comes out
 *
 *   loop [-n PACKETS] [-o OPTION,...] SOCKET [SOCKET]
 *
 * With one socket the device sends everything back; with two it carries packets
 * from each to the other. Every packet has a number, a length and bytes that
 * follow from the number, and they come out once each, in order, unchanged, or
 * this program fails and says which did not. A window keeps a device from
 * having to drop.
 *
 * Options: split, packed, mergeable, plain, noindirect, noevent, noorder,
 * server, poll, lazy, half, later, adaptive, pieces=N, size=N, buffer=N,
 * regions=N, inflight, noproto, window=N, len=N (fixed length), swap (the
 * device exchanges the two addresses)
 */
#include <viaduct/driver.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "wire/net.h"

#define BURST     32u
#define LEN_MIN   60u
#define LEN_MAX   1514u
#define ETHERTYPE 0xb588u /* 0x88b5, local experimental, as it lies there */
#define STALL_MS  5000

struct head {
	uint8_t dst[6], src[6];
	uint16_t type;
	uint16_t len;
	uint64_t seq;
} __attribute__((packed));

struct end {
	struct vd_driver *d;
	unsigned number;
	uint64_t sent, received; /* counted where they come out */
	uint8_t frame[BURST][LEN_MAX];
	struct iovec iov[BURST];
	struct vd_packet p[BURST];
};

static struct {
	uint64_t packets;
	unsigned window, len;
	bool swap; /* whoever sends back exchanges the two addresses */
	struct vd_driver_opts opts;
} conf = { .packets = 200000,
	   .window = 96,
	   .opts = { .size = sizeof(struct vd_driver_opts),
	             .timeout_ms = 20000,
	             .features_off = VIRTIO_F_RING_PACKED } };

static struct end ends[2];
static unsigned nends;

static uint64_t scramble(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

static unsigned length_of(uint64_t seq)
{
	if (conf.len)
		return conf.len;
	return LEN_MIN + (unsigned)(scramble(seq) % (LEN_MAX - LEN_MIN + 1));
}

/* The whole frame that has this number, as it is sent or as it comes back. */
static unsigned make(uint8_t *at, unsigned from, uint64_t seq, bool back)
{
	unsigned len = length_of(seq);
	uint8_t to = (uint8_t)(nends == 1 ? 1 : nends - 1 - from);
	struct head h = { .dst = { 2, 0, 0, 0, 0, to },
		          .src = { 2, 0, 0, 0, 0, (uint8_t)from },
		          .type = ETHERTYPE,
		          .len = (uint16_t)len,
		          .seq = seq };
	uint64_t x = scramble(seq + from);

	if (back && conf.swap) {
		h.dst[5] = h.src[5];
		h.src[5] = to;
	}
	memcpy(at, &h, sizeof(h));
	for (unsigned i = sizeof(h); i < len; i += 8) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
		memcpy(at + i, &x, len - i < 8 ? len - i : 8);
	}
	return len;
}

static void fail(const struct end *e, uint64_t seq, const char *what)
{
	fprintf(stderr, "loop: end %u: packet %llu: %s\n", e->number,
	        (unsigned long long)seq, what);
	exit(1);
}

static void must(int n, const struct end *e, const char *what)
{
	if (n >= 0)
		return;
	fprintf(stderr, "loop: end %u: %s: %s (%s)\n", e->number, what,
	        strerror(-n), vd_driver_fault(e->d, 0));
	exit(1);
}

static void check(struct end *e, const struct vd_packet *p)
{
	static uint8_t want[LEN_MAX];
	unsigned len = make(want, nends - 1 - e->number, e->received, true);
	size_t off = 0;

	if (p->len != len)
		fail(e, e->received, "wrong length, lost or out of order");
	for (unsigned i = 0; i < p->niov; off += p->iov[i++].iov_len)
		if (memcmp(p->iov[i].iov_base, want + off, p->iov[i].iov_len))
			fail(e, e->received, "wrong bytes");
	e->received++;
}

static bool receive(struct end *e)
{
	struct vd_packet p[BURST];
	int n = vd_driver_receive(e->d, 0, p, BURST);

	must(n, e, "receive");
	for (int i = 0; i < n; i++)
		check(e, &p[i]);
	vd_driver_release(e->d, 0);
	return n > 0;
}

static bool send(struct end *e, const struct end *to)
{
	uint64_t flight = e->sent - to->received;
	unsigned n = 0;
	int done;

	while (n < BURST && flight + n < conf.window &&
	       e->sent + n < conf.packets) {
		e->iov[n].iov_base = e->frame[n];
		e->iov[n].iov_len =
			make(e->frame[n], e->number, e->sent + n, false);
		e->p[n].iov = &e->iov[n];
		e->p[n].niov = 1;
		n++;
	}
	if (!n)
		return false;
	done = vd_driver_send(e->d, 0, e->p, n);
	must(done, e, "send");
	e->sent += (unsigned)done;
	return done > 0;
}

static void stalled(void)
{
	for (unsigned i = 0; i < nends; i++)
		fprintf(stderr, "loop: end %u: sent %llu, received %llu (%s)\n",
		        i, (unsigned long long)ends[i].sent,
		        (unsigned long long)ends[i].received,
		        vd_driver_fault(ends[i].d, 0));
	fprintf(stderr, "loop: nothing came for %d ms\n", STALL_MS);
	exit(1);
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}

static void run(void)
{
	double last = now();

	for (;;) {
		bool moved = false, done = true;

		for (unsigned i = 0; i < nends; i++) {
			struct end *e = &ends[i];

			moved |= send(e, &ends[nends - 1 - i]);
			moved |= receive(e);
			done &= e->received == conf.packets;
		}
		if (done)
			return;
		if (moved) {
			last = now();
			continue;
		}
		if (now() - last > STALL_MS / 1e3)
			stalled();
		for (unsigned i = 0; i < nends; i++)
			must(vd_driver_wait(ends[i].d, 0, VD_WAIT_RECEIVE,
			                    nends == 1 ? 100 : i),
			     &ends[i], "wait");
	}
}

/* --- options ----------------------------------------------------------- */

static const struct flag {
	const char *name;
	uint64_t off, need;
} flags[] = {
	{ "split", VIRTIO_F_RING_PACKED, 0 },
	{ "mergeable", 0, VIRTIO_NET_F_MRG_RXBUF },
	{ "plain", VIRTIO_NET_F_MRG_RXBUF, 0 },
	{ "noindirect", VIRTIO_F_INDIRECT_DESC, 0 },
	{ "noevent", VIRTIO_F_EVENT_IDX, 0 },
	{ "inorder", 0, VIRTIO_F_IN_ORDER },
	{ "noorder", VIRTIO_F_IN_ORDER, 0 },
};

static const struct number {
	const char *name;
	unsigned *to;
} numbers[] = {
	{ "pieces", &conf.opts.pieces },      { "size", &conf.opts.queue_size },
	{ "buffer", &conf.opts.buffer_size }, { "regions", &conf.opts.regions },
	{ "window", &conf.window },           { "len", &conf.len },
};

static bool set_number(const char *word)
{
	const char *eq = strchr(word, '=');

	for (size_t i = 0; eq && i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!strncmp(word, numbers[i].name, (size_t)(eq - word))) {
			*numbers[i].to = (unsigned)strtoul(eq + 1, NULL, 0);
			return true;
		}
	return false;
}

static bool set_flag(const char *word)
{
	struct vd_driver_opts *o = &conf.opts;

	for (size_t i = 0; i < sizeof(flags) / sizeof(*flags); i++)
		if (!strcmp(word, flags[i].name)) {
			o->features_off |= flags[i].off;
			o->features_need |= flags[i].need;
			return true;
		}
	if (!strcmp(word, "packed")) {
		o->features_off &= ~VIRTIO_F_RING_PACKED;
		o->features_need |= VIRTIO_F_RING_PACKED;
	} else if (!strcmp(word, "server")) {
		o->server = true;
	} else if (!strcmp(word, "inflight")) {
		o->inflight = true;
	} else if (!strcmp(word, "swap")) {
		conf.swap = true;
	} else if (!strcmp(word, "noproto")) {
		o->protocol_off = ~UINT64_C(0);
	} else {
		return false;
	}
	return true;
}

static bool set_policy(const char *word)
{
	struct vd_driver_policy *p = &conf.opts.policy;

	if (!strcmp(word, "poll"))
		p->calls = VD_CALLS_NEVER;
	else if (!strcmp(word, "always"))
		p->calls = VD_CALLS_ALWAYS;
	else if (!strcmp(word, "lazy"))
		p->tx_free = VD_TX_FREE_LAZY;
	else if (!strcmp(word, "half"))
		p->tx_free = VD_TX_FREE_HALF;
	else if (!strcmp(word, "later"))
		p->kick = VD_KICK_LATER;
	else if (!strcmp(word, "adaptive"))
		p->kick = VD_KICK_ADAPTIVE;
	else
		return false;
	return true;
}

static void set_options(char *list)
{
	for (char *w = strtok(list, ","); w; w = strtok(NULL, ","))
		if (!set_number(w) && !set_flag(w) && !set_policy(w)) {
			fprintf(stderr, "loop: no option '%s'\n", w);
			exit(2);
		}
}

static void open_ends(char **sockets, int n)
{
	int err;

	for (; (int)nends < n; nends++) {
		conf.opts.socket = sockets[nends];
		ends[nends].number = nends;
		ends[nends].d = vd_driver_open(&conf.opts, &err);
		if (!ends[nends].d) {
			fprintf(stderr, "loop: %s: %s\n", sockets[nends],
			        strerror(-err));
			exit(1);
		}
	}
}

static void report(double seconds)
{
	struct vd_driver_info info = { .size = sizeof(info) };
	uint64_t total = conf.packets * nends;

	vd_driver_info(ends[0].d, &info);
	printf("features %#llx: %llu packets, none lost, none wrong: "
	       "%.2f s, %.3f Mpps\n",
	       (unsigned long long)info.features, (unsigned long long)total,
	       seconds, total / seconds / 1e6);
	for (unsigned i = 0; i < nends; i++) {
		struct vd_driver_stats s = { .size = sizeof(s) };

		vd_driver_stats(ends[i].d, -1, &s);
		printf("  end %u: kicks/packet %.4f, calls/packet %.4f, "
		       "indirect %llu, fallbacks %llu, waits %llu\n",
		       i, (double)s.kicks / conf.packets,
		       (double)s.calls / conf.packets,
		       (unsigned long long)s.indirect,
		       (unsigned long long)s.fallbacks,
		       (unsigned long long)s.waits);
		if (s.bad_packets || s.lost || s.faults)
			fail(&ends[i], 0, "counted as bad, lost or faulty");
	}
}

static void say(void *ctx, enum log_level level, const char *tag,
                const char *text)
{
	(void)ctx;
	(void)level;
	fprintf(stderr, "loop: %s: %s\n", tag, text);
}

int main(int argc, char **argv)
{
	double start;
	int c;

	while ((c = getopt(argc, argv, "n:o:v")) != -1) {
		if (c == 'n')
			conf.packets = strtoull(optarg, NULL, 0);
		else if (c == 'o')
			set_options(optarg);
		else if (c == 'v')
			log_set(say, NULL, LOG_LEVEL_DEBUG);
		else
			return 2;
	}
	if (argc - optind < 1 || argc - optind > 2) {
		fprintf(stderr, "usage: loop [-v] [-n PACKETS] "
		                "[-o OPTION,...] SOCKET [SOCKET]\n");
		return 2;
	}
	open_ends(argv + optind, argc - optind);
	start = now();
	run();
	report(now() - start);
	for (unsigned i = 0; i < nends; i++)
		vd_driver_close(ends[i].d);
	return 0;
}
