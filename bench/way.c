/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * way.c - the whole way of a packet: out of one guest's transmit ring, over a
 * switch, into another guest's receive ring, interrupts decided. One thread,
 * both drivers in this process; only the device's part is measured.
 *
 *	way                 nanoseconds a packet, all cases
 *	way CASE BURSTS     one case, for callgrind
 *
 * One line a case: name, median and least of the rounds.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "netrig.h"
#include "port/guest.h"
#include "switch/vswitch.h"

#define BURST  32u
#define ROUNDS 31u
#define TX     1u
#define RX     0u

#define V1     VIRTIO_F_VERSION_1
#define PACKED VIRTIO_F_RING_PACKED
#define MERGE  VIRTIO_NET_F_MRG_RXBUF
#define SENDER (V1 | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_HOST_TSO4)
#define TAKER  (VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_GUEST_TSO4)

static const struct way {
	const char *name;
	uint64_t from, to; /* features */
	uint32_t len, buffer;
	uint16_t gso_size;
} ways[] = {
	{ "split-60", V1, V1, 60, 2048, 0 },
	{ "split-1514", V1, V1, 1514, 2048, 0 },
	{ "split-merge-1514", V1, V1 | MERGE, 1514, 2048, 0 },
	{ "packed-60", V1 | PACKED, V1 | PACKED, 60, 2048, 0 },
	{ "packed-1514", V1 | PACKED, V1 | PACKED, 1514, 2048, 0 },
	{ "split-9014", V1, V1 | MERGE, 9014, 2048, 0 },
	{ "tso-17k-whole", SENDER, V1 | MERGE | TAKER, 17430, 4096, 1448 },
	{ "tso-17k-cut", SENDER, V1, 17430, 2048, 1448 },
};

static struct loop *loop;
static struct vswitch *sw;
static struct guest *guest[2];
static struct rig rig[2];
static struct packet packet;
static struct virtio_net_hdr hdr;

static void open_guest(unsigned i, uint64_t features)
{
	struct guest_conf c = { .name = i ? "b" : "a", .net = { .pairs = 1 } };
	struct vswitch_port_opts o;
	int err;

	guest[i] = guest_new(&c, loop, &err);
	assert(guest[i]);
	rig_open_device(&rig[i], guest_device(guest[i]), loop, features, 256);
	vswitch_port_opts_init(&o);
	assert(!vswitch_attach(sw, guest_port(guest[i]), loop, &o));
}

static noinline int measured_visit(void)
{
	return rig[0].ops->queue_ready(rig[0].dev, &rig[0].queue[TX].q);
}

static void transmit(unsigned from)
{
	struct rig_bytes b = {
		.hdr = hdr, .data = packet.bytes, .len = packet.len, .cut = 4096
	};

	packet.bytes[5] = (uint8_t)!from;
	packet.bytes[11] = (uint8_t)from;
	assert(rig_transmit(&rig[from], TX, &b) >= 0);
}

static void take_back(unsigned i, unsigned queue)
{
	uint32_t written;

	while (rig_reap(&rig[i], queue, &written) >= 0)
		;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* @n packets through the way; nanoseconds. At most as many at once as the
 * receive ring has room for. */
static uint64_t pass(const struct way *w, unsigned n)
{
	uint64_t ns = 0, began;
	unsigned most = BURST;
	int k;

	if (packet.len > 2000)
		most = 256u / (packet.len / 1448 + 1);
	most = min_of(most, BURST);
	while (n) {
		unsigned burst = min_of(n, most);

		while (rig_post(&rig[1], RX, w->buffer, 1) >= 0)
			;
		for (unsigned i = 0; i < burst; i++)
			transmit(0);
		began = now_ns();
		k = measured_visit();
		ns += now_ns() - began;
		assert(k == (int)burst);
		take_back(0, TX);
		take_back(1, RX);
		n -= burst;
	}
	return ns;
}

static void make(const struct way *w)
{
	struct packet_wish wish = {
		.gso_type = w->gso_size ? VIRTIO_NET_HDR_GSO_TCPV4 : 0,
		.gso_size = w->gso_size,
		.payload = w->len - 54,
	};
	struct dice d = { 1 };

	packet_make(&packet, &wish, &d);
	memcpy(packet.bytes, "\2\0\0\0\0\0\2\0\0\0\0\0", 12);
	hdr = (struct virtio_net_hdr){
		.flags = packet.hdr.flags,
		.gso_type = packet.hdr.gso_type,
		.hdr_len = le16_make(packet.hdr.hdr_len),
		.gso_size = le16_make(packet.hdr.gso_size),
		.csum_start = le16_make(packet.hdr.csum_start),
		.csum_offset = le16_make(packet.hdr.csum_offset),
	};
}

static void open_way(const struct way *w)
{
	int err;

	loop = loop_new(&err);
	sw = vswitch_new(VSWITCH_AGE_S, &err);
	assert(loop && sw);
	open_guest(0, w->from);
	open_guest(1, w->to);
	/* The switch learns where the receiver is. */
	make(&ways[0]);
	transmit(1);
	rig[1].ops->queue_ready(rig[1].dev, &rig[1].queue[TX].q);
	take_back(1, TX);
	make(w);
}

static void close_way(void)
{
	for (unsigned i = 0; i < 2; i++) {
		vswitch_detach(sw, guest_port(guest[i]));
		rig_close(&rig[i]);
		vswitch_forget(sw, guest_port(guest[i]));
		guest_free(guest[i]);
	}
	vswitch_free(sw);
	loop_free(loop);
}

static int by_value(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void measure(const struct way *w)
{
	unsigned n = BURST * 100;
	uint64_t ns[ROUNDS];

	open_way(w);
	pass(w, n);
	for (unsigned i = 0; i < ROUNDS; i++)
		ns[i] = pass(w, n);
	close_way();
	qsort(ns, ROUNDS, sizeof(ns[0]), by_value);
	printf("%s %.1f %.1f\n", w->name, (double)ns[ROUNDS / 2] / n,
	       (double)ns[0] / n);
}

int main(int argc, char **argv)
{
	for (size_t i = 0; i < array_len(ways); i++) {
		if (argc < 3) {
			measure(&ways[i]);
		} else if (!strcmp(ways[i].name, argv[1])) {
			open_way(&ways[i]);
			pass(&ways[i], (unsigned)atoi(argv[2]) * BURST);
			close_way();
		}
	}
	return 0;
}
