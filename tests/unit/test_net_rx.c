/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_net_rx.c - what a guest finds in its receive buffers.
 *
 * A strict driver reads them (netrig.c): every returned id was outstanding,
 * lengths sum up to the frame, num_buffers is right, nothing else was touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "netrig.h"

#define V1 VIRTIO_F_VERSION_1
#define OFFLOADS                                             \
	(VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_GUEST_TSO4 | \
	 VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_GUEST_ECN |  \
	 VIRTIO_NET_F_GUEST_UFO | VIRTIO_NET_F_GUEST_USO4 |  \
	 VIRTIO_NET_F_GUEST_USO6)

static const struct combo {
	const char *name;
	uint64_t features;
	unsigned size;
} combos[] = {
	{ "split", V1, 256 },
	{ "split, event", V1 | VIRTIO_F_EVENT_IDX, 128 },
	{ "split, legacy header", 0, 256 },
	{ "split, mergeable", V1 | VIRTIO_NET_F_MRG_RXBUF, 256 },
	{ "split, mergeable, legacy", VIRTIO_NET_F_MRG_RXBUF, 256 },
	{ "packed", V1 | VIRTIO_F_RING_PACKED, 255 },
	{ "packed, in order", V1 | VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER,
	  131 },
	{ "packed, mergeable",
	  V1 | VIRTIO_F_RING_PACKED | VIRTIO_NET_F_MRG_RXBUF, 199 },
	{ "packed, mergeable, in order",
	  V1 | VIRTIO_F_RING_PACKED | VIRTIO_NET_F_MRG_RXBUF |
	          VIRTIO_F_IN_ORDER,
	  256 },
};

static const struct net_conf conf = { .pairs = 1 };
static const struct net_events events;
static struct rig rig;
static struct packet packet;
static struct frame frame[64];
static struct seg segs[64][32];
static uint8_t got[PACKET_MAX];
static struct virtio_net_hdr hdr;

static void make(struct frame *f, unsigned slot, const struct packet_wish *w,
                 struct dice *d)
{
	packet_make(&packet, w, d);
	packet_view(&packet, f, segs[slot], 1 + dice_roll(d, 31), d);
}

static unsigned send_one(struct frame *f, unsigned flags, struct rx_result *r)
{
	unsigned n = net_send(rig.dev, &f, 1, flags, r);

	net_flush(rig.dev);
	return n;
}

/* One frame of every length around every edge, into buffers of many sizes. */
static void lengths(const struct combo *c, uint32_t len, uint32_t buf,
                    unsigned npieces)
{
	bool merge = c->features & VIRTIO_NET_F_MRG_RXBUF;
	uint32_t h = c->features & V1 || merge ? 12 : 10;
	struct dice d = { len };
	struct rx_result r = { 0 };
	unsigned posted = 0, want = 1;

	/* Ring memory is not kept across frames: a new rig is cheap enough. */
	rig_open(&rig, &conf, &events, c->features, c->size);
	while (posted < 40 && rig_post(&rig, 0, buf, npieces) >= 0)
		posted++;
	make(&frame[0], 0, &(struct packet_wish){ .payload = len }, &d);
	if (merge)
		want = (h + packet.len + buf * npieces - 1) / (buf * npieces);
	assert_int_equal(send_one(&frame[0], RX_LOSSY, &r), 1);
	if (want > posted || (!merge && h + packet.len > buf * npieces)) {
		assert_int_equal(rig_receive(&rig, 0, &hdr, got), -1);
		assert_int_equal(r.drop_bad + r.drop_full, 1);
	} else {
		assert_int_equal(rig_receive(&rig, 0, &hdr, got), packet.len);
		assert_memory_equal(got, packet.bytes, packet.len);
		assert_int_equal(hdr.flags, 0);
		assert_int_equal(hdr.gso_type, 0);
		if (h == 12)
			assert_int_equal(le16_get(hdr.num_buffers), want);
		assert_int_equal(r.frames, 1);
		assert_int_equal(r.bytes, packet.len);
	}
	rig_close(&rig);
}

static void test_lengths(void **state)
{
	static const uint32_t payload[] = { 10, 100, 500, 1446, 1448, 8946 };
	static const uint32_t bufs[] = { 60, 128, 512, 1514, 1526, 2048, 9100 };

	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		for (unsigned i = 0; i < array_len(payload); i++) {
			for (unsigned b = 0; b < array_len(bufs); b++)
				lengths(&combos[c], payload[i], bufs[b],
				        1 + b % 3);
		}
	}
}

/* A frame of 14 to 60 bytes arrives with zeros up to 60, when they fit. */
static void test_pad(void **state)
{
	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		rig_open(&rig, &conf, &events, combos[c].features, 64);
		for (unsigned len = 14; len <= 62; len++) {
			struct rx_result r = { 0 };
			struct frame f = { .len = len,
				           .head_len = min_of(len, 60u),
				           .head_at = FRAME_HEAD_ROOM,
				           .seg = segs[0],
				           .nseg = len > 60 };

			memset(f.room, 0x77, sizeof(f.room));
			segs[0][0] = (struct seg){ f.room, len - f.head_len };
			assert_true(rig_post(&rig, 0, 100, 1) >= 0);
			assert_int_equal(send_one(&f, 0, &r), 1);
			assert_int_equal(rig_receive(&rig, 0, &hdr, got),
			                 max_of(len, 60u));
			for (unsigned i = 0; i < max_of(len, 60u); i++)
				assert_int_equal(got[i], i < len ? 0x77 : 0);
		}
		rig_close(&rig);
	}
}

/* C8: buffers of 0 to 13 bytes. None is written beyond its end, all that
 * cannot hold a header come back empty, a frame arrives in the good one. */
static void test_runt_buffers(void **state)
{
	struct dice d = { 1 };

	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		bool merge = combos[c].features & VIRTIO_NET_F_MRG_RXBUF;
		uint32_t h = combos[c].features & V1 || merge ? 12 : 10;

		for (unsigned len = 0; len <= 13; len++) {
			struct rx_result r = { 0 };
			uint32_t written = 1;
			int token;

			rig_open(&rig, &conf, &events, combos[c].features, 64);
			token = rig_post(&rig, 0, len, 1);
			assert_true(rig_post(&rig, 0, 2000, 1) >= 0);
			make(&frame[0], 0,
			     &(struct packet_wish){ .payload = 500 }, &d);
			assert_int_equal(send_one(&frame[0], 0, &r), 1);
			if (len < h) {
				assert_int_equal(rig_reap(&rig, 0, &written),
				                 token);
				assert_int_equal(written, 0);
			}
			if (len < h || merge) {
				assert_int_equal(rig_receive(&rig, 0, &hdr,
				                             got),
				                 packet.len);
				assert_memory_equal(got, packet.bytes,
				                    packet.len);
			} else {
				/* The short one is first, and stays so. */
				assert_int_equal(r.drop_bad, 1);
			}
			rig_close(&rig);
		}
	}
}

/* Every burst size against every number of buffers: exactly as many frames as
 * fit are taken, in order; the rest is refused, and goes in later. */
static void bursts(const struct combo *c, unsigned n, unsigned room)
{
	struct frame *f[64];
	struct rx_result r = { 0 };
	struct dice d = { n * 64 + room };
	unsigned done;

	rig_open(&rig, &conf, &events, c->features, 64);
	for (unsigned i = 0; i < room; i++)
		assert_true(rig_post(&rig, 0, 1600, 1) >= 0);
	for (unsigned i = 0; i < n; i++) {
		make(&frame[i], i, &(struct packet_wish){ .payload = 40 }, &d);
		frame[i].nseg = 0;
		frame[i].len = frame[i].head_len = 60;
		frame[i].room[FRAME_HEAD_ROOM + 20] = (uint8_t)i;
		f[i] = &frame[i];
	}
	done = net_send(rig.dev, f, n, 0, &r);
	assert_int_equal(done, min_of(n, room));
	net_flush(rig.dev);
	for (unsigned i = room; i < n; i++)
		rig_post(&rig, 0, 1600, 1);
	done += net_send(rig.dev, f + done, n - done, 0, &r);
	net_flush(rig.dev);
	assert_int_equal(done, n);
	assert_int_equal(r.frames, n);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(rig_receive(&rig, 0, &hdr, got), 60);
		assert_int_equal(got[20], i);
	}
	assert_int_equal(rig_receive(&rig, 0, &hdr, got), -1);
	rig_close(&rig);
}

static void test_bursts(void **state)
{
	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		for (unsigned n = 1; n <= 64; n += 1 + n / 8) {
			for (unsigned room = 0; room <= n; room += 1 + n / 5)
				bursts(&combos[c], n, room);
		}
	}
}

/* C30c: jumbo frames, ring nearly full, every burst size; and 64 KiB ones. */
static void test_jumbo(void **state)
{
	struct dice d = { 11 };

	(void)state;
	for (unsigned c = 3; c < array_len(combos); c++) {
		if (!(combos[c].features & VIRTIO_NET_F_MRG_RXBUF))
			continue;
		rig_open(&rig, &conf, &events, combos[c].features,
		         combos[c].size);
		for (unsigned round = 0; round < 60; round++) {
			struct rx_result r = { 0 };
			uint32_t len = round % 10 ? 8900 : 65400;
			unsigned more = 64;

			while (more-- && rig_post(&rig, 0, 1536, 1) >= 0)
				;
			make(&frame[0], 0,
			     &(struct packet_wish){ .payload = len }, &d);
			assert_int_equal(send_one(&frame[0], 0, &r), 1);
			assert_int_equal(r.frames, 1);
			assert_int_equal(rig_receive(&rig, 0, &hdr, got),
			                 packet.len);
			assert_memory_equal(got, packet.bytes, packet.len);
		}
		rig_close(&rig);
	}
}

/* C28: one buffer that is too small for what comes, then refills. */
static void test_too_small(void **state)
{
	struct dice d = { 12 };

	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		bool merge = combos[c].features & VIRTIO_NET_F_MRG_RXBUF;
		struct rx_result r = { 0 };

		rig_open(&rig, &conf, &events, combos[c].features, 64);
		assert_true(rig_post(&rig, 0, 300, 1) >= 0);
		make(&frame[0], 0, &(struct packet_wish){ .payload = 1000 },
		     &d);
		/* Merging could use more; else it never fits. */
		assert_int_equal(send_one(&frame[0], 0, &r), !merge);
		assert_int_equal(r.drop_bad, !merge);
		/* Nobody waited: no reason not to wait for others. */
		assert_int_equal(send_one(&frame[0], RX_LOSSY, &r), 1);
		assert_int_equal(send_one(&frame[0], 0, &r), !merge);
		/* The bounded wait is over: dropped, and at once from now. */
		assert_int_equal(send_one(&frame[0], RX_LOSSY | RX_WAITED, &r),
		                 1);
		assert_int_equal(send_one(&frame[0], 0, &r), 1);
		assert_int_equal(r.drop_full + r.drop_bad, merge ? 3 : 5);
		assert_int_equal(r.frames, 0);
		assert_int_equal(rig_receive(&rig, 0, &hdr, got), -1);
		/* It was left where it was, and a small frame fits. */
		make(&frame[0], 0, &(struct packet_wish){ .payload = 100 }, &d);
		assert_int_equal(send_one(&frame[0], 0, &r), 1);
		assert_int_equal(rig_receive(&rig, 0, &hdr, got), packet.len);
		/* Progress: the next one that does not fit waits again. */
		make(&frame[0], 0, &(struct packet_wish){ .payload = 1000 },
		     &d);
		assert_int_equal(send_one(&frame[0], 0, &r), 0);
		for (unsigned i = 0; i < 4; i++)
			rig_post(&rig, 0, merge ? 300 : 1200, 1);
		assert_int_equal(send_one(&frame[0], 0, &r), 1);
		assert_int_equal(rig_receive(&rig, 0, &hdr, got), packet.len);
		assert_memory_equal(got, packet.bytes, packet.len);
		rig_close(&rig);
	}
}

/* A buffer with a part that we may only read: it is not written. */
static void test_readable_part(void **state)
{
	struct dice d = { 13 };

	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		struct rx_result r = { 0 };
		struct drv_piece p[2];
		uint32_t written;
		int token;

		rig_open(&rig, &conf, &events, combos[c].features, 64);
		p[0] = (struct drv_piece){ rig_alloc(&rig, 2000), 2000 };
		p[1] = (struct drv_piece){ rig_alloc(&rig, 2000), 2000 };
		memset(rig_at(&rig, p[0].gpa), 9, 2000);
		token = rig_offer(&rig, 0, p, 1, 1);
		drv_publish(&rig.queue[0].drv);
		make(&frame[0], 0, &(struct packet_wish){ .payload = 900 }, &d);
		assert_int_equal(send_one(&frame[0], 0, &r), 1);
		assert_int_equal(rig_reap(&rig, 0, &written), token);
		assert_int_equal(rig_at(&rig, p[0].gpa)[0], 9);
		assert_int_equal(rig_at(&rig, p[0].gpa)[1999], 9);
		assert_memory_equal(rig_at(&rig, p[1].gpa) + written -
		                            packet.len,
		                    packet.bytes, packet.len);
		rig_close(&rig);
	}
}

/* The frame as one piece or many, checksums right whatever the guest takes:
 * C22, C23, C25. A frame is whole when NEEDS_CSUM is set with the right place
 * and sum, or its checksum is right. */
static void check_truth(const uint8_t *p, uint32_t len, uint64_t features)
{
	uint32_t l3 = packet.l3, l4 = packet.l4;
	static uint8_t copy[PACKET_MAX];
	uint16_t sum;
	uint32_t at;

	memcpy(copy, p, len);
	if (hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		assert_true(features & VIRTIO_NET_F_GUEST_CSUM);
		assert_int_equal(le16_get(hdr.csum_start), l4);
		at = l4 + le16_get(hdr.csum_offset);
		sum = (uint16_t)~slow_sum(copy + l4, len - l4, 0);
		copy[at] = (uint8_t)(sum >> 8);
		copy[at + 1] = (uint8_t)sum;
	} else {
		assert_int_equal(hdr.flags, 0);
		assert_int_equal(hdr.gso_type, 0);
	}
	if (hdr.gso_type)
		assert_true(hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
	assert_true(l4_sum_is_right(copy, len, l3, l4));
	if (p[l3] >> 4 == 4)
		assert_true(ip_sum_is_right(p, l3));
}

/* A short frame was padded: what IP says is the length. */
static uint32_t trim(const uint8_t *p, uint32_t len)
{
	const uint8_t *ip = p + packet.l3;
	uint32_t l = ip[0] >> 4 == 4 ? (uint32_t)(ip[2] << 8 | ip[3])
	                             : 40u + (uint32_t)(ip[4] << 8 | ip[5]);

	l += packet.l3;
	assert_true(l <= len && (l == len || len == 60));
	return l;
}

static void offload(uint64_t features, const struct packet_wish *w,
                    struct dice *d)
{
	struct rx_result r = { 0 };
	unsigned pieces = 0;
	uint32_t data = 0;
	int len;

	make(&frame[0], 0, w, d);
	while (rig_post(&rig, 0, 1536, 1) >= 0)
		;
	assert_int_equal(send_one(&frame[0], 0, &r), 1);
	while ((len = rig_receive(&rig, 0, &hdr, got)) >= 0) {
		pieces++;
		len = (int)trim(got, (uint32_t)len);
		if (w->gso_type != 3 || hdr.gso_type) {
			check_truth(got, (uint32_t)len, features);
			data += (uint32_t)len - packet.data;
		}
		assert_true(!hdr.gso_type || hdr.gso_type == w->gso_type);
	}
	assert_int_equal(pieces, r.frames);
	if (w->gso_type != 3)
		assert_int_equal(data, w->payload);
	if (w->gso_type &&
	    !segment_needed(&frame[0], segment_allowed(features)))
		assert_int_equal(pieces, 1);
}

static void test_offloads(void **state)
{
	static const uint8_t types[] = { 0, 1, 3, 4, 5, 0x81, 0x84 };
	static const uint64_t bits[] = {
		VIRTIO_NET_F_GUEST_CSUM, VIRTIO_NET_F_GUEST_TSO4,
		VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_GUEST_ECN,
		VIRTIO_NET_F_GUEST_UFO,  VIRTIO_NET_F_GUEST_USO4,
		VIRTIO_NET_F_GUEST_USO6
	};
	struct dice d = { 14 };

	(void)state;
	for (unsigned mask = 0; mask < 128; mask++) {
		uint64_t f = V1 | VIRTIO_NET_F_MRG_RXBUF;

		for (unsigned i = 0; i < 7; i++)
			f |= mask >> i & 1 ? bits[i] : 0;
		if (mask & 1)
			f |= VIRTIO_F_RING_PACKED;
		rig_open(&rig, &conf, &events, f, 256);
		for (unsigned t = 0; t < array_len(types) * 2; t++) {
			struct packet_wish w = {
				.gso_type = types[t / 2],
				.v6 = t & 1,
				.udp = mask & 2,
				.vlan = mask & 4,
				.options = mask & 8,
				.unfinished = true,
				.payload = 4000 + dice_roll(&d, 9000),
				.gso_size =
					(uint16_t)(500 + dice_roll(&d, 900)),
			};

			offload(f, &w, &d);
		}
		rig_close(&rig);
	}
}

/* All pieces of a frame that is cut, or none: nothing arrives twice. */
static void test_pieces_whole(void **state)
{
	struct dice d = { 15 };
	struct packet_wish w = { .gso_type = 1,
		                 .payload = 10000,
		                 .gso_size = 1000 };

	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		struct rx_result r = { 0 };

		rig_open(&rig, &conf, &events, combos[c].features, 64);
		make(&frame[0], 0, &w, &d);
		for (unsigned i = 0; i < 9; i++)
			rig_post(&rig, 0, 1200, 1);
		assert_int_equal(send_one(&frame[0], 0, &r), 0);
		assert_int_equal(rig_receive(&rig, 0, &hdr, got), -1);
		rig_post(&rig, 0, 1200, 1);
		assert_int_equal(send_one(&frame[0], 0, &r), 1);
		assert_int_equal(r.frames, 10);
		for (unsigned i = 0; i < 10; i++)
			assert_int_equal(rig_receive(&rig, 0, &hdr, got),
			                 packet.data + 1000);
		/* When it may not wait, what fits is sent. */
		for (unsigned i = 0; i < 4; i++)
			rig_post(&rig, 0, 1200, 1);
		assert_int_equal(send_one(&frame[0], RX_LOSSY, &r), 1);
		assert_int_equal(r.frames, 14);
		assert_int_equal(r.drop_full, 1);
		rig_close(&rig);
	}
}

/* What cannot be cut is dropped and counted, not sent wrongly. */
static void test_uncuttable(void **state)
{
	struct dice d = { 16 };
	struct rx_result r = { 0 };

	(void)state;
	rig_open(&rig, &conf, &events, V1, 64);
	rig_post(&rig, 0, 1600, 1);
	make(&frame[0], 0,
	     &(struct packet_wish){
		     .gso_type = 1, .payload = 3000, .gso_size = 1000 },
	     &d);
	frame[0].hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
	assert_int_equal(send_one(&frame[0], 0, &r), 1);
	assert_int_equal(r.drop_offload, 1);
	assert_int_equal(rig.queue[0].q.ring.count.drops, 1);
	rig_close(&rig);
}

/* A driver that breaks its ring loses its frames; nobody waits for it. */
static void test_broken(void **state)
{
	struct dice d = { 17 };
	struct rx_result r = { 0 };

	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		struct drv_piece p = { 0x10, 2000 }; /* outside memory */

		rig_open(&rig, &conf, &events, combos[c].features, 64);
		rig_offer(&rig, 0, &p, 0, 1);
		drv_publish(&rig.queue[0].drv);
		make(&frame[0], 0, &(struct packet_wish){ .payload = 10 }, &d);
		r = (struct rx_result){ 0 };
		assert_int_equal(send_one(&frame[0], 0, &r), 1);
		assert_int_equal(r.drop_down, 1);
		assert_int_equal(rig.queue[0].q.ring.fault, RING_BAD_ADDRESS);
		assert_int_equal(send_one(&frame[0], 0, &r), 1);
		assert_int_equal(r.drop_down, 2);
		rig_close(&rig);
	}
}

/* C30h: with the dirty log on, the pages that were written are marked, and no
 * others. */
static void test_tracked(void **state)
{
	static uint8_t bits[(RIG_BASE + RIG_MEMORY) / 4096 / 8];
	static bool wrote[(RIG_BASE + RIG_MEMORY) / 4096];
	const struct dirty_log log = { bits, sizeof(bits) };
	struct dice d = { 18 };

	(void)state;
	for (unsigned c = 0; c < array_len(combos); c++) {
		memset(bits, 0, sizeof(bits));
		memset(wrote, 0, sizeof(wrote));
		rig_open(&rig, &conf, &events, combos[c].features, 64);
		rig.queue[0].q.ring.log = &log;
		for (unsigned i = 0; i < 40; i++) {
			struct packet_wish w = { .payload =
				                         dice_roll(&d, 4000) };
			struct rx_result r = { 0 };
			uint32_t written;
			int token;

			make(&frame[0], 0, &w, &d);
			rig_post(&rig, 0, 2500, 2);
			assert_int_equal(send_one(&frame[0], 0, &r), 1);
			token = rig_reap(&rig, 0, &written);
			assert_true(token >= 0);
			for (uint32_t k = 0; k < written; k++) {
				const struct drv_piece *p =
					rig.queue[0].piece[token];
				uint64_t at = k < 2500 ? p[0].gpa + k
				                       : p[1].gpa + k - 2500;

				wrote[at / 4096] = true;
			}
			/* Spread them, so that pages stay clean between. */
			rig_alloc(&rig, 9000);
		}
		for (size_t i = 0; i < array_len(wrote); i++)
			assert_int_equal(bits[i / 8] >> (i % 8) & 1, wrote[i]);
		rig.queue[0].q.ring.log = NULL;
		rig_close(&rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_pad),
		cmocka_unit_test(test_runt_buffers),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_jumbo),
		cmocka_unit_test(test_too_small),
		cmocka_unit_test(test_readable_part),
		cmocka_unit_test(test_offloads),
		cmocka_unit_test(test_pieces_whole),
		cmocka_unit_test(test_uncuttable),
		cmocka_unit_test(test_broken),
		cmocka_unit_test(test_tracked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
