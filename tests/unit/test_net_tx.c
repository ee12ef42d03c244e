/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_net_tx.c - from a guest's transmit ring to the device's input: what is
 * delivered, what goes back, what stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "netrig.h"

#define V1 VIRTIO_F_VERSION_1
#define TX 1u

static const uint64_t combos[] = {
	0,
	V1,
	V1 | VIRTIO_F_EVENT_IDX,
	V1 | VIRTIO_F_RING_PACKED,
	V1 | VIRTIO_F_RING_PACKED | VIRTIO_F_EVENT_IDX,
	V1 | VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER,
};

/* What the input was given, and how much it takes. */
static struct sink {
	unsigned calls, frames, room;
	unsigned bad, down;
	uint32_t len[512];
	uint8_t first[512]; /* byte 20 of each */
	uint8_t bytes[PACKET_MAX];
	struct frame_hdr hdr;
} sink;

static unsigned on_input(void *ctx, struct net_tx *tx, struct frame *const *f,
                         unsigned n)
{
	unsigned take = min_of(n, sink.room);

	assert_ptr_equal(ctx, &sink);
	assert_int_equal(tx->pair, 0);
	assert_in_range(n, 1, RING_BURST);
	sink.calls++;
	sink.room -= take;
	for (unsigned i = 0; i < take; i++) {
		sink.len[sink.frames] = frame_flatten(f[i], sink.bytes);
		sink.first[sink.frames++] = sink.bytes[20];
		sink.hdr = f[i]->hdr;
	}
	return take;
}

static void on_dropped(void *ctx, unsigned bad, unsigned down)
{
	assert_ptr_equal(ctx, &sink);
	sink.bad += bad;
	sink.down += down;
}

static const struct net_events events = { .ctx = &sink,
	                                  .input = on_input,
	                                  .dropped = on_dropped };
static const struct net_conf conf = { .pairs = 1 };
static struct rig rig;
static struct packet packet;

static void open_rig(uint64_t features)
{
	sink = (struct sink){ .room = 100000 };
	rig_open(&rig, &conf, &events, features, 128);
}

static int visit(void)
{
	return rig.ops->queue_ready(rig.dev, &rig.queue[TX].q);
}

/* Used lengths of what is back are 0 (C19); how many. */
static unsigned reap(void)
{
	uint32_t written = 1;
	unsigned n = 0;

	while (rig_reap(&rig, TX, &written) >= 0) {
		assert_int_equal(written, 0);
		n++;
	}
	return n;
}

/* Frames of all lengths, in pieces of all sizes, arrive byte by byte. */
static void test_bytes(void **state)
{
	static const uint32_t cuts[] = { 1, 7, 12, 13, 71, 72, 73, 500, 9000 };
	struct dice d = { 1 };

	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		open_rig(combos[c]);
		for (unsigned i = 0; i < 300; i++) {
			struct packet_wish w = {
				.payload = dice_roll(&d, i % 3 ? 100 : 9000)
			};
			struct rig_bytes b = { .cut = cuts[i % 9] };

			packet_make(&packet, &w, &d);
			b.data = packet.bytes;
			b.len = packet.len;
			assert_true(rig_transmit(&rig, TX, &b) >= 0);
			assert_int_equal(visit(), 1);
			assert_int_equal(sink.len[i], packet.len);
			assert_memory_equal(sink.bytes, packet.bytes,
			                    packet.len);
			assert_int_equal(reap(), 1);
		}
		assert_int_equal(visit(), 0);
		assert_int_equal(sink.bad, 0);
		rig_close(&rig);
	}
}

/* The header reaches the frame, and DATA_VALID from a guest does not. */
static void test_header(void **state)
{
	struct packet_wish w = { .gso_type = 1,
		                 .payload = 3000,
		                 .gso_size = 1400 };
	struct rig_bytes b = { .cut = 9999 };
	struct dice d = { 2 };

	(void)state;
	open_rig(V1 | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_HOST_TSO4);
	packet_make(&packet, &w, &d);
	b.hdr = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM |
		         VIRTIO_NET_HDR_F_DATA_VALID,
		.gso_type = 1,
		.gso_size = le16_make(1400),
		.hdr_len = le16_make((uint16_t)packet.data),
		.csum_start = le16_make((uint16_t)packet.l4),
		.csum_offset = le16_make(16),
	};
	b.data = packet.bytes;
	b.len = packet.len;
	rig_transmit(&rig, TX, &b);
	assert_int_equal(visit(), 1);
	assert_int_equal(sink.hdr.flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
	assert_int_equal(sink.hdr.gso_size, 1400);
	assert_int_equal(sink.hdr.csum_start, packet.l4);
	/* Not negotiated: no frame. */
	b.hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
	rig_transmit(&rig, TX, &b);
	assert_int_equal(visit(), 1);
	assert_int_equal(sink.frames, 1);
	assert_int_equal(sink.bad, 1);
	assert_int_equal(reap(), 2);
	rig_close(&rig);
}

static void send_numbered(uint8_t number, uint32_t len)
{
	struct rig_bytes b = { .len = len, .cut = 2000 };
	uint8_t data[100];

	memset(data, number, sizeof(data));
	b.data = data;
	assert_true(rig_transmit(&rig, TX, &b) >= 0);
}

/* Every burst size against every amount that the input takes, with bad frames
 * among them: exactly the finished ones go back, the rest is offered again. */
static void stall(uint64_t features, unsigned n, unsigned room, unsigned bad)
{
	unsigned good = 0, back = 0;

	open_rig(features);
	sink.room = room;
	for (unsigned i = 0; i < n; i++) {
		bool runt = bad && i % bad == bad - 1;

		send_numbered((uint8_t)i, runt ? 13 : 60);
		good += !runt;
	}
	for (unsigned i = 0; sink.frames < good; i++) {
		unsigned before = sink.frames;
		int got = visit();

		back += reap();
		assert_true(i < 2 * n + 4);
		if (before + room < good && sink.frames == before + room)
			assert_int_equal(got, QUEUE_STALLED);
		if (got == QUEUE_STALLED)
			sink.room = room + 1;
	}
	while (visit() > 0)
		;
	back += reap();
	assert_int_equal(back, n);
	for (unsigned i = 0, k = 0; i < n; i++) {
		if (!(bad && i % bad == bad - 1))
			assert_int_equal(sink.first[k++], i);
	}
	rig_close(&rig);
}

static void test_stall(void **state)
{
	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		for (unsigned n = 1; n <= 70; n += 1 + n / 6) {
			for (unsigned room = 0; room <= n; room += 1 + n / 4)
				stall(combos[c], n, room, n % 4);
		}
	}
}

/* Started and not enabled: taken and discarded, nothing is delivered. */
static void test_disabled(void **state)
{
	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		open_rig(combos[c]);
		rig_enable(&rig, TX, false);
		send_numbered(1, 60);
		send_numbered(2, 60);
		assert_int_equal(visit(), 2);
		assert_int_equal(sink.calls, 0);
		assert_int_equal(sink.down, 2);
		assert_int_equal(reap(), 2);
		rig_enable(&rig, TX, true);
		send_numbered(3, 60);
		assert_int_equal(visit(), 1);
		assert_int_equal(sink.first[0], 3);
		rig_close(&rig);
	}
}

/* C1, C7: a chain of exactly a header, and one that leaves guest memory. The
 * other queue goes on. */
static void test_hostile(void **state)
{
	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		struct drv_piece p = { RIG_BASE + RIG_MEMORY - 10, 100 };

		open_rig(combos[c]);
		send_numbered(1, 0);
		assert_int_equal(visit(), 1);
		assert_int_equal(sink.bad, 1);
		assert_int_equal(reap(), 1);
		assert_true(rig_offer(&rig, TX, &p, 1, 0) >= 0);
		drv_publish(&rig.queue[TX].drv);
		assert_int_equal(visit(), RING_EBADMSG);
		assert_int_equal(rig.queue[TX].q.ring.fault, RING_BAD_ADDRESS);
		assert_int_equal(visit(), RING_EBADMSG);
		assert_int_equal(sink.calls, 0);
		assert_false(rig.queue[0].q.ring.fault);
		rig_close(&rig);
	}
}

/* C30f: what was sent is back after one visit, for one packet too. */
static void test_no_holding_back(void **state)
{
	(void)state;
	open_rig(V1 | VIRTIO_F_RING_PACKED);
	for (unsigned i = 0; i < 200; i++) {
		send_numbered((uint8_t)i, 60);
		assert_int_equal(visit(), 1);
		assert_int_equal(reap(), 1);
	}
	rig_close(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_header),
		cmocka_unit_test(test_stall),
		cmocka_unit_test(test_disabled),
		cmocka_unit_test(test_hostile),
		cmocka_unit_test(test_no_holding_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
