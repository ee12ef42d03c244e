/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_port_guest.c - guests on a switch: frames from ring to ring, and what
 * happens to everybody when one of them does not read.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/order.h"
#include "netrig.h"
#include "port/guest.h"
#include "switch/vswitch.h"

#define GUESTS 3u
#define RX     0u
#define TX     1u
#define V1     VIRTIO_F_VERSION_1

static const uint64_t offload_bits[] = {
	VIRTIO_NET_F_CSUM | VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6 |
		VIRTIO_NET_F_HOST_UFO | VIRTIO_NET_F_HOST_USO |
		VIRTIO_NET_F_HOST_ECN,
	VIRTIO_NET_F_GUEST_CSUM,
	VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6,
	VIRTIO_NET_F_GUEST_ECN,
	VIRTIO_NET_F_GUEST_UFO,
	VIRTIO_NET_F_GUEST_USO4 | VIRTIO_NET_F_GUEST_USO6,
	VIRTIO_NET_F_MRG_RXBUF,
	VIRTIO_F_RING_PACKED,
};

static struct loop *loop;
static struct vswitch *sw;
static struct guest *guest[GUESTS];
static struct rig rig[GUESTS];
static struct packet packet;
static uint8_t got[PACKET_MAX];

static uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void open_guest(unsigned i, uint64_t features, uint64_t wait_ns)
{
	static const char *const names[] = { "a", "b", "c" };
	struct guest_conf c = { .name = names[i],
		                .net = { .pairs = 1 },
		                .wait_ns = wait_ns };
	struct vswitch_port_opts opts;
	int err;

	guest[i] = guest_new(&c, loop, &err);
	assert_non_null(guest[i]);
	rig_open_device(&rig[i], guest_device(guest[i]), loop, features, 256);
	vswitch_port_opts_init(&opts);
	assert_int_equal(vswitch_attach(sw, guest_port(guest[i]), loop, &opts),
	                 0);
}

static void open_all(uint64_t features, uint64_t wait_ns)
{
	int err;

	loop = loop_new(&err);
	sw = vswitch_new(VSWITCH_AGE_S, &err);
	assert_non_null(loop);
	assert_non_null(sw);
	for (unsigned i = 0; i < GUESTS; i++)
		open_guest(i, features, wait_ns);
}

static void close_all(void)
{
	for (unsigned i = 0; i < GUESTS; i++) {
		vswitch_detach(sw, guest_port(guest[i]));
		rig_close(&rig[i]);
		vswitch_forget(sw, guest_port(guest[i]));
		guest_free(guest[i]);
	}
	vswitch_free(sw);
	loop_free(loop);
}

static void turns(unsigned n)
{
	while (n--)
		assert_int_equal(loop_turn(loop, 0), 0);
}

static void transmit(unsigned from, unsigned to, const uint8_t *data,
                     uint32_t len, const struct virtio_net_hdr *h)
{
	static uint8_t bytes[PACKET_MAX];
	struct rig_bytes b = { .data = bytes, .len = len, .cut = 4000 };

	memcpy(bytes, data, len);
	memcpy(bytes, "\2\0\0\0\0", 5);
	memcpy(bytes + 6, "\2\0\0\0\0", 5);
	bytes[5] = (uint8_t)to;
	bytes[11] = (uint8_t)from;
	if (h)
		b.hdr = *h;
	assert_true(rig_transmit(&rig[from], TX, &b) >= 0);
	rig_kick(&rig[from], TX);
}

/* Let the switch learn where everybody is. */
static void introduce(void)
{
	uint8_t data[60] = { 0 };
	struct virtio_net_hdr h;
	uint32_t written;

	for (unsigned i = 0; i < GUESTS; i++) {
		for (unsigned k = 0; k < GUESTS; k++) {
			if (k != i)
				rig_post(&rig[k], RX, 1600, 1);
		}
		transmit(i, 9, data, 60, NULL);
		turns(4);
		assert_true(rig_reap(&rig[i], TX, &written) >= 0);
		for (unsigned k = 0; k < GUESTS; k++)
			assert_int_equal(rig_receive(&rig[k], RX, &h, got),
			                 k == i ? -1 : 60);
	}
}

static struct virtio_net_hdr header(void)
{
	return (struct virtio_net_hdr){
		.flags = packet.hdr.flags,
		.gso_type = packet.hdr.gso_type,
		.hdr_len = le16_make(packet.hdr.hdr_len),
		.gso_size = le16_make(packet.hdr.gso_size),
		.csum_start = le16_make(packet.hdr.csum_start),
		.csum_offset = le16_make(packet.hdr.csum_offset),
	};
}

/* What arrived is whole: NEEDS_CSUM with the right sum, or a right one. */
static void check_received(const struct virtio_net_hdr *h, uint32_t len,
                           uint64_t features)
{
	const uint8_t *ip = got + packet.l3;
	uint32_t said = ip[0] >> 4 == 4 ? (uint32_t)(ip[2] << 8 | ip[3])
	                                : 40u + (uint32_t)(ip[4] << 8 | ip[5]);
	uint16_t sum;
	uint32_t at;

	assert_true(packet.l3 + said <= len);
	len = packet.l3 + said;
	if (h->flags) {
		assert_int_equal(h->flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
		assert_true(features & VIRTIO_NET_F_GUEST_CSUM);
		assert_int_equal(le16_get(h->csum_start), packet.l4);
		at = packet.l4 + le16_get(h->csum_offset);
		sum = (uint16_t)~slow_sum(got + packet.l4, len - packet.l4, 0);
		got[at] = (uint8_t)(sum >> 8);
		got[at + 1] = (uint8_t)sum;
	}
	assert_true(l4_sum_is_right(got, len, packet.l3, packet.l4));
}

/* C25: guest to guest, every set of offloads on either side, all types. */
static void test_offloads(void **state)
{
	static const uint8_t types[] = { 0, 1, 4, 5, 0x81, 0x84 };
	struct dice d = { 1 };

	(void)state;
	for (unsigned mask = 0; mask < 256; mask += 1 + mask % 3) {
		uint64_t f = V1 | offload_bits[0];

		for (unsigned i = 1; i < 8; i++)
			f |= mask >> i & 1 ? offload_bits[i] : 0;
		open_all(f, 0);
		introduce();
		for (unsigned t = 0; t < 12; t++) {
			struct packet_wish w = {
				.gso_type = types[t % 6],
				.v6 = t & 1,
				.udp = t & 2,
				.options = mask & 1,
				.unfinished = true,
				.payload = 1400 + dice_roll(&d, 100) +
				           (t % 6 ? 8000u : 0),
				.gso_size = 1300,
			};
			struct virtio_net_hdr h;
			uint32_t data = 0;
			int len;

			w.payload -= w.gso_type ? 0 : 100;
			packet_make(&packet, &w, &d);
			h = header();
			for (unsigned i = 0; i < 60; i++)
				rig_post(&rig[1], RX, mask & 64 ? 1536 : 12000,
				         1);
			transmit(0, 1, packet.bytes, packet.len, &h);
			turns(3);
			while ((len = rig_receive(&rig[1], RX, &h, got)) >= 0) {
				check_received(&h, (uint32_t)len, f);
				data += (uint32_t)len - packet.data;
			}
			assert_int_equal(data, w.payload);
			assert_int_equal(rig_receive(&rig[2], RX, &h, got), -1);
		}
		close_all();
	}
}

/* Numbered frames in order; how many arrived. */
static unsigned drain(unsigned i, unsigned next)
{
	struct virtio_net_hdr h;
	unsigned n = 0;

	while (rig_receive(&rig[i], RX, &h, got) >= 0) {
		assert_int_equal(got[20] | got[21] << 8, next + n);
		n++;
	}
	return n;
}

static unsigned reap_tx(unsigned i)
{
	uint32_t written;
	unsigned n = 0;

	while (rig_reap(&rig[i], TX, &written) >= 0)
		n++;
	return n;
}

/* A slow reader loses nothing: its sender's own ring backs up. */
static void test_back_pressure(void **state)
{
	unsigned sent = 0, arrived = 0, back = 0;
	uint8_t data[60] = { 0 };

	(void)state;
	open_all(V1, 500000000);
	introduce();
	while (arrived < 3000) {
		for (unsigned i = 0; i < 64 && sent < 3000; i++, sent++) {
			if (sent - back == 256)
				break;
			data[20] = (uint8_t)sent;
			data[21] = (uint8_t)(sent >> 8);
			transmit(0, 1, data, 60, NULL);
		}
		for (unsigned i = 0; i < 20; i++)
			rig_post(&rig[1], RX, 100, 1);
		assert_int_equal(loop_turn(loop, 1), 0);
		arrived += drain(1, arrived);
		back += reap_tx(0);
	}
	assert_int_equal(arrived, sent);
	assert_int_equal(guest_port(guest[1])->count.drop_full, 0);
	close_all();
}

/* C80: one that never reads costs one wait; the other loses nothing. */
static void test_stuck(void **state)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC), cpu, idle;
	unsigned sent = 0, arrived = 0, back = 0;
	uint8_t data[60] = { 0 };
	const struct port_counters *c;

	(void)state;
	open_all(V1, 20000000);
	introduce();
	while (arrived < 3000) {
		for (unsigned i = 0; i < 64 && sent < 3000; i++, sent++) {
			if (2 * sent - back > 250)
				break;
			data[20] = (uint8_t)sent;
			data[21] = (uint8_t)(sent >> 8);
			transmit(0, 1, data, 60, NULL);
			transmit(0, 2, data, 60, NULL);
		}
		for (unsigned i = 0; i < 64; i++)
			rig_post(&rig[2], RX, 100, 1);
		assert_int_equal(loop_turn(loop, 1), 0);
		arrived += drain(2, arrived);
		back += reap_tx(0);
	}
	c = &guest_port(guest[1])->count;
	assert_int_equal(c->drop_full, 3000);
	assert_int_equal(guest_port(guest[2])->count.drop_full, 0);
	assert_int_equal(guest_port(guest[2])->count.out_frames, 3002);
	/* It waited, once, and not once a frame. */
	began = clock_ns(CLOCK_MONOTONIC) - began;
	assert_true(began > 20000000);
	assert_true(began < 45u * UINT64_C(1000000000));
	/* Nothing to do: the loop sleeps. */
	turns(5);
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	idle = clock_ns(CLOCK_MONOTONIC) + 50000000;
	while (clock_ns(CLOCK_MONOTONIC) < idle)
		assert_int_equal(loop_turn(loop, 50), 0);
	assert_true(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu < 10000000);
	/* It reads again, and gets what comes from now on. */
	for (unsigned i = 0; i < 40; i++)
		rig_post(&rig[1], RX, 100, 1);
	memset(data, 0, sizeof(data));
	transmit(0, 1, data, 60, NULL);
	turns(3);
	assert_int_equal(drain(1, 0), 1);
	close_all();
}

/* A flooded frame waits for nobody. That a guest had no room for it is no
 * reason to treat it as stuck: what is for it alone still waits. */
static void test_flood_full(void **state)
{
	uint8_t data[60] = { 0 };

	(void)state;
	open_all(V1, 1000000000);
	introduce();
	transmit(0, 9, data, 60, NULL);
	turns(4);
	assert_int_equal(reap_tx(0), 1);
	assert_int_equal(guest_port(guest[1])->count.drop_full, 1);
	transmit(0, 1, data, 60, NULL);
	turns(4);
	assert_int_equal(reap_tx(0), 0);
	rig_post(&rig[1], RX, 100, 1);
	for (unsigned i = 0; i < 20 && !reap_tx(0); i++)
		assert_int_equal(loop_turn(loop, 1), 0);
	assert_int_equal(drain(1, 0), 1);
	assert_int_equal(guest_port(guest[1])->count.drop_full, 1);
	close_all();
}

/* C28 through the whole path: one buffer that is too small, a big frame. */
static void test_too_small(void **state)
{
	uint8_t data[1500] = { 0 };
	struct virtio_net_hdr h;
	uint64_t cpu, until;

	(void)state;
	open_all(V1 | VIRTIO_NET_F_MRG_RXBUF, 0);
	introduce();
	rig_post(&rig[1], RX, 200, 1);
	transmit(0, 1, data, sizeof(data), NULL);
	cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	until = clock_ns(CLOCK_MONOTONIC) + 60000000;
	while (clock_ns(CLOCK_MONOTONIC) < until)
		assert_int_equal(loop_turn(loop, 20), 0);
	assert_true(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu < 20000000);
	assert_int_equal(reap_tx(0), 1);
	assert_int_equal(guest_port(guest[1])->count.drop_full, 1);
	for (unsigned i = 0; i < 9; i++)
		rig_post(&rig[1], RX, 200, 1);
	transmit(0, 1, data, sizeof(data), NULL);
	turns(3);
	assert_int_equal(rig_receive(&rig[1], RX, &h, got), 1500);
	assert_int_equal(le16_get(h.num_buffers), 8);
	close_all();
}

/* A queue that stops while it is held up is left alone, and starts again. */
static void test_stop_stalled(void **state)
{
	uint8_t data[60] = { 0 };

	(void)state;
	open_all(V1, 1000000000);
	introduce();
	transmit(0, 1, data, 60, NULL);
	turns(4);
	assert_int_equal(reap_tx(0), 0);
	rig_stop(&rig[0], TX);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(loop_turn(loop, 1), 0);
	rig_start(&rig[0], TX);
	rig_post(&rig[1], RX, 100, 1);
	transmit(0, 1, data, 60, NULL);
	turns(4);
	assert_int_equal(drain(1, 0), 1);
	close_all();
}

/* A guest that is not there, or has its queue disabled: dropped, counted. */
static void test_down(void **state)
{
	uint8_t data[60] = { 0 };

	(void)state;
	open_all(V1, 0);
	introduce();
	rig_enable(&rig[1], RX, false);
	transmit(0, 1, data, 60, NULL);
	turns(4);
	rig_stop(&rig[1], RX);
	transmit(0, 1, data, 60, NULL);
	turns(4);
	assert_int_equal(reap_tx(0), 2);
	assert_int_equal(guest_port(guest[1])->count.drop_down, 2);
	/* And the other way: what it sends while disabled goes nowhere. */
	rig_enable(&rig[1], TX, false);
	transmit(1, 0, data, 60, NULL);
	turns(4);
	assert_int_equal(reap_tx(1), 1);
	assert_int_equal(guest_port(guest[1])->count.drop_down, 3);
	close_all();
}

/* RARP says to everybody where a guest is now. */
static void test_announce(void **state)
{
	static const uint8_t mac[6] = { 2, 0, 0, 0, 0, 0 };
	uint8_t data[60] = { 0 };
	struct virtio_net_hdr h;

	(void)state;
	open_all(V1, 0);
	introduce();
	for (unsigned i = 0; i < GUESTS; i++)
		rig_post(&rig[i], RX, 100, 1);
	/* What guest a was, guest b is now. */
	assert_int_equal(rig[1].ops->send_rarp(rig[1].dev, mac), 0);
	assert_int_equal(rig_receive(&rig[0], RX, &h, got), 60);
	assert_int_equal(rig_receive(&rig[2], RX, &h, got), 60);
	assert_int_equal(rig_receive(&rig[1], RX, &h, got), -1);
	assert_memory_equal(got + 6, mac, 6);
	assert_int_equal(got[12] << 8 | got[13], 0x8035);
	rig_post(&rig[2], RX, 100, 1);
	transmit(2, 0, data, 60, NULL);
	turns(4);
	assert_int_equal(drain(1, 0), 1);
	assert_int_equal(drain(0, 0), 0);
	close_all();
}

/* --- a guest that writes while it is read --------------------------------- */

static struct scribbler {
	pthread_t thread;
	le16 stop;
	uint64_t gpa; /* where the frames are */
} scribbler;

/* Headers and first bytes of all frames, with numbers that mean something. */
static void *scribble(void *ctx)
{
	static const uint8_t words[] = {
		0, 1, 3, 4, 5, 6, 8, 16, 17, 20, 34, 40, 0x45, 0x60, 0x81, 0xff
	};
	uint8_t *p = rig[0].alias + (scribbler.gpa - RIG_BASE);
	struct dice d = { 99 };

	(void)ctx;
	while (!ld16(&scribbler.stop))
		*(volatile uint8_t *)(p + dice_roll(&d, 64) * 4096 +
		                      dice_roll(&d, 140)) =
			words[dice_roll(&d, 16)];
	return NULL;
}

/* C13: whatever is rewritten meanwhile, nothing is read or written that should
 * not be, every buffer comes back, and the receiver's ring is sound. */
static void test_scribble(void **state)
{
	static const uint8_t types[] = { 0, 1, 3, 4, 5, 0x81 };
	struct dice d = { 7 };
	uint32_t written;

	(void)state;
	open_all(V1 | offload_bits[0], 1000);
	introduce();
	scribbler.gpa = rig_alloc(&rig[0], 64 * 4096);
	st16(&scribbler.stop, 0);
	pthread_create(&scribbler.thread, NULL, scribble, NULL);
	for (unsigned round = 0; round < 3000; round++) {
		uint64_t gpa = scribbler.gpa + round % 64 * 4096;
		struct drv_piece p[2] = { { gpa, 12 }, { gpa + 12, 0 } };
		struct packet_wish w = { .gso_type = types[round % 6],
			                 .v6 = round & 1,
			                 .unfinished = true,
			                 .gso_size = 512 };
		struct virtio_net_hdr h;

		w.payload = 500 + dice_roll(&d, 3000);
		packet_make(&packet, &w, &d);
		h = header();
		memcpy(rig_at(&rig[0], gpa), &h, sizeof(h));
		memcpy(rig_at(&rig[0], gpa) + 12, packet.bytes, packet.len);
		memcpy(rig_at(&rig[0], gpa) + 12, "\2\0\0\0\0\1", 6);
		p[1].len = packet.len;
		while (rig_post(&rig[1], RX, 700, 1) >= 0)
			;
		assert_true(rig_offer(&rig[0], TX, p, 2, 0) >= 0);
		drv_publish(&rig[0].queue[TX].drv);
		assert_int_equal(rig[0].ops->queue_ready(rig[0].dev,
		                                         &rig[0].queue[TX].q),
		                 1);
		assert_int_equal(reap_tx(0), 1);
		while (rig_reap(&rig[1], RX, &written) >= 0)
			assert_in_range(written, 12, 700);
	}
	st16(&scribbler.stop, 1);
	pthread_join(scribbler.thread, NULL);
	assert_int_equal(rig[0].queue[TX].q.ring.fault, RING_OK);
	assert_int_equal(rig[1].queue[RX].q.ring.fault, RING_OK);
	close_all();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_offloads),
		cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_stuck),
		cmocka_unit_test(test_flood_full),
		cmocka_unit_test(test_too_small),
		cmocka_unit_test(test_stop_stalled),
		cmocka_unit_test(test_down),
		cmocka_unit_test(test_announce),
		cmocka_unit_test(test_scribble),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
