/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_net_segment.c - checksums and segmentation against what the standards
 * ask of the pieces, for every kind, at random lengths and memory layouts.
 *
 * The pieces are judged without the code under test: lengths, identities,
 * sequence numbers, flags, offsets and checksums are read from their bytes, and
 * the payload put together again must be the original.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/segment.h"
#include "packets.h"

static struct packet packet;
static struct segmenter segmenter;
static struct frame frame;
static struct seg seg[4096];
static uint8_t flat[PACKET_MAX], whole[PACKET_MAX];

static unsigned get16(const uint8_t *p)
{
	return (unsigned)(p[0] << 8 | p[1]);
}

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)get16(p) << 16 | get16(p + 2);
}

static void view(struct dice *d)
{
	packet_view(&packet, &frame, seg, 1 + dice_roll(d, 40), d);
}

/* The next piece into flat[]; its length, 0 when there is none. */
static uint32_t next_piece(void)
{
	const struct frame *p = segment_next(&segmenter);

	if (!p)
		return 0;
	assert_int_equal(p->hdr.gso_type, 0);
	return frame_flatten(p, flat);
}

/* Layer 3 of a piece that is @len long: its own length and checksum. */
static void check_ip(uint32_t len, uint32_t index, bool fragment)
{
	const uint8_t *ip = flat + packet.l3, *old = packet.bytes + packet.l3;

	assert_memory_equal(flat, packet.bytes, packet.l3);
	if (ip[0] >> 4 == 6) {
		assert_int_equal(get16(ip + 4), len - packet.l3 - 40);
		return;
	}
	assert_int_equal(get16(ip + 2), len - packet.l3);
	assert_true(ip_sum_is_right(flat, packet.l3));
	assert_int_equal(get16(ip + 4),
	                 (uint16_t)(get16(old + 4) + (fragment ? 0 : index)));
	assert_memory_equal(ip + 12, old + 12, packet.l4 - packet.l3 - 12);
}

/* The sum of layer 4, finished or left for the receiver. */
static void check_sum(uint32_t len, unsigned off, bool left)
{
	const struct frame_hdr *h = &segmenter.piece.hdr;
	uint8_t *field = flat + packet.l4 + off;
	uint16_t sum;

	if (!left) {
		assert_int_equal(h->flags, 0);
		assert_true(l4_sum_is_right(flat, len, packet.l3, packet.l4));
		return;
	}
	assert_int_equal(h->flags, VIRTIO_NET_HDR_F_NEEDS_CSUM);
	assert_int_equal(h->csum_start, packet.l4);
	assert_int_equal(h->csum_offset, off);
	/* Do what the receiver does. */
	sum = (uint16_t)~slow_sum(flat + packet.l4, len - packet.l4, 0);
	field[0] = (uint8_t)(sum >> 8);
	field[1] = (uint8_t)sum;
	assert_true(l4_sum_is_right(flat, len, packet.l3, packet.l4));
}

static void check_tcp(uint32_t len, uint32_t done, uint32_t i, uint32_t count)
{
	const uint8_t *tcp = flat + packet.l4, *old = packet.bytes + packet.l4;
	unsigned keep = 0xff;

	assert_int_equal(get32(tcp + 4), get32(old + 4) + done);
	if (i)
		keep &= ~0x80u;
	if (i + 1 < count)
		keep &= ~0x09u;
	assert_int_equal(tcp[13], old[13] & keep);
	assert_memory_equal(tcp, old, 4);
	assert_memory_equal(tcp + 8, old + 8, 5);
	assert_memory_equal(tcp + 14, old + 14, 2);
	assert_memory_equal(tcp + 18, old + 18, packet.data - packet.l4 - 18);
	assert_true(len > packet.data || packet.len == packet.data);
}

static void cut_and_check(unsigned allowed, struct dice *d)
{
	bool udp = packet.hdr.gso_type == VIRTIO_NET_HDR_GSO_UDP_L4;
	uint32_t done = 0, total = packet.len - packet.data, i = 0, len;
	int count;

	view(d);
	assert_true(segment_needed(&frame, allowed));
	count = segment_start(&segmenter, &frame, allowed);
	assert_true(count > 0);
	for (; (len = next_piece()); i++) {
		uint32_t n = len - packet.data;

		assert_int_equal(n, min_of(packet.hdr.gso_size, total - done));
		check_ip(len, i, false);
		if (udp)
			assert_int_equal(get16(flat + packet.l4 + 4), 8 + n);
		else
			check_tcp(len, done, i, (uint32_t)count);
		assert_memory_equal(flat + packet.data,
		                    packet.bytes + packet.data + done, n);
		check_sum(len, udp ? 6 : 16, allowed & OFFLOAD_CSUM);
		done += n;
	}
	assert_int_equal(done, total);
	assert_int_equal(i, count);
}

static void random_wish(struct packet_wish *w, struct dice *d)
{
	w->vlan = dice_roll(d, 2);
	w->options = dice_roll(d, 2);
	w->v6 = dice_roll(d, 2);
	w->payload = dice_roll(d, dice_roll(d, 2) ? 65000 : 3000);
	w->gso_size =
		(uint16_t)(1 + dice_roll(d, dice_roll(d, 2) ? 9000 : 600));
}

/* TSO4, TSO6, ECN, USO, to a destination that takes checksums or not. */
static void test_pieces(void **state)
{
	static const uint8_t types[] = { 1, 4, 0x81, 0x84, 5 };
	struct dice d = { 3 };

	(void)state;
	for (unsigned round = 0; round < 1500; round++) {
		struct packet_wish w = { .gso_type = types[round % 5] };

		random_wish(&w, &d);
		packet_make(&packet, &w, &d);
		cut_and_check(round & 1 ? OFFLOAD_CSUM : 0, &d);
	}
}

/* Where layer 4's bytes of a fragment begin, and its offset. */
static uint32_t fragment_of(uint32_t len, uint32_t split, uint32_t *off,
                            bool *more)
{
	const uint8_t *ip = flat + packet.l3;

	(void)len;
	if (ip[0] >> 4 == 4) {
		*off = (get16(ip + 6) & 0x1fff) * 8;
		*more = get16(ip + 6) & 0x2000;
		assert_int_equal(get16(ip + 6) & 0xc000, 0);
		return packet.l4;
	}
	*off = get16(flat + split + 2) & ~7u;
	*more = flat[split + 3] & 1;
	return split + 8;
}

/* IPv6: hop-by-hop is repeated, destination options are cut. */
static uint32_t split_at(void)
{
	const uint8_t *ip = packet.bytes + packet.l3;

	if (ip[0] >> 4 == 4)
		return packet.l4;
	return packet.l3 + 40 + (ip[6] == 0 ? 8 : 0);
}

static uint8_t *next_byte(uint8_t *p, uint32_t split)
{
	return split > packet.l3 + 40 ? p + packet.l3 + 40 : p + packet.l3 + 6;
}

static void check_fragments(uint32_t split, int count)
{
	uint32_t len, done = 0, ident = 0, i = 0;
	uint32_t step = packet.hdr.gso_size & ~7u;

	memcpy(whole, packet.bytes, split);
	for (; (len = next_piece()); i++) {
		uint32_t off, at;
		bool more;

		at = fragment_of(len, split, &off, &more);
		assert_int_equal(off, done);
		assert_int_equal(more, i + 1 < (uint32_t)count);
		if (more)
			assert_int_equal(len - at, step);
		else
			assert_in_range(len - at, 1, step);
		check_ip(len, i, true);
		if (flat[packet.l3] >> 4 == 6) {
			assert_int_equal(*next_byte(flat, split), 44);
			assert_int_equal(flat[split],
			                 *next_byte(packet.bytes, split));
			assert_true(!i || ident == get32(flat + split + 4));
			ident = get32(flat + split + 4);
		}
		memcpy(whole + split + done, flat + at, len - at);
		done += len - at;
	}
	assert_int_equal(i, count);
	assert_int_equal(split + done, packet.len);
}

/* UFO: put together again, the datagram with its checksum finished. */
static void test_fragments(void **state)
{
	struct dice d = { 4 };

	(void)state;
	for (unsigned round = 0; round < 1500; round++) {
		struct packet_wish w = { .gso_type = VIRTIO_NET_HDR_GSO_UDP };
		uint32_t split, sum_at;
		int count;

		random_wish(&w, &d);
		w.gso_size += 80;
		w.payload += w.gso_size;
		w.payload = min_of(w.payload, 65400);
		packet_make(&packet, &w, &d);
		split = split_at();
		view(&d);
		count = segment_start(&segmenter, &frame,
		                      round & 1 ? OFFLOAD_CSUM : 0);
		assert_true(count > 1);
		check_fragments(split, count);
		assert_true(l4_sum_is_right(whole, packet.len, packet.l3,
		                            packet.l4));
		sum_at = packet.l4 + 6;
		memcpy(whole + sum_at, packet.bytes + sum_at, 2);
		assert_memory_equal(whole, packet.bytes, packet.len);
	}
}

/* A checksum only, any layer 4, any layout. */
static void test_whole(void **state)
{
	struct dice d = { 5 };

	(void)state;
	for (unsigned round = 0; round < 3000; round++) {
		struct packet_wish w = { .unfinished = true };
		uint32_t at, len;

		random_wish(&w, &d);
		w.udp = dice_roll(&d, 2);
		packet_make(&packet, &w, &d);
		view(&d);
		assert_false(segment_needed(&frame, OFFLOAD_CSUM));
		assert_true(segment_needed(&frame, 0));
		assert_int_equal(segment_start(&segmenter, &frame, 0), 1);
		len = next_piece();
		assert_int_equal(len, packet.len);
		assert_int_equal(segmenter.piece.hdr.flags, 0);
		assert_true(l4_sum_is_right(flat, len, packet.l3, packet.l4));
		at = packet.l4 + (w.udp ? 6 : 16);
		memcpy(flat + at, packet.bytes + at, 2);
		assert_memory_equal(flat, packet.bytes, len);
		assert_null(segment_next(&segmenter));
	}
}

/* UDP whose sum is 0 says 0xffff, or it would say that it has none. */
static void test_udp_zero(void **state)
{
	struct packet_wish w = { .unfinished = true,
		                 .udp = true,
		                 .payload = 2 };
	struct dice d = { 6 };
	uint16_t sum;

	(void)state;
	packet_make(&packet, &w, &d);
	memset(packet.bytes + packet.data, 0, 2);
	sum = (uint16_t)~slow_sum(packet.bytes + packet.l4, 10, 0);
	packet.bytes[packet.data] = (uint8_t)(sum >> 8);
	packet.bytes[packet.data + 1] = (uint8_t)sum;
	view(&d);
	assert_int_equal(segment_start(&segmenter, &frame, 0), 1);
	next_piece();
	assert_int_equal(get16(flat + packet.l4 + 6), 0xffff);
}

/* Every type against every set of what is allowed. */
static void test_needed(void **state)
{
	static const struct {
		uint8_t type;
		bool v6;
		unsigned asks;
	} rows[] = {
		{ 1, false, OFFLOAD_CSUM | OFFLOAD_TSO4 },
		{ 4, true, OFFLOAD_CSUM | OFFLOAD_TSO6 },
		{ 0x81, false, OFFLOAD_CSUM | OFFLOAD_TSO4 | OFFLOAD_ECN },
		{ 0x84, true, OFFLOAD_CSUM | OFFLOAD_TSO6 | OFFLOAD_ECN },
		{ 3, false, OFFLOAD_CSUM | OFFLOAD_UFO },
		{ 3, true, OFFLOAD_CSUM | OFFLOAD_UFO },
		{ 5, false, OFFLOAD_CSUM | OFFLOAD_USO4 },
		{ 5, true, OFFLOAD_CSUM | OFFLOAD_USO6 },
		{ 0, true, 0 },
	};
	struct dice d = { 7 };

	(void)state;
	for (unsigned i = 0; i < array_len(rows); i++) {
		struct packet_wish w = { .gso_type = rows[i].type,
			                 .v6 = rows[i].v6,
			                 .vlan = i & 1,
			                 .payload = 2000,
			                 .gso_size = 500 };

		packet_make(&packet, &w, &d);
		view(&d);
		for (unsigned allowed = 0; allowed < 128; allowed++)
			assert_int_equal(segment_needed(&frame, allowed),
			                 !!(rows[i].asks & ~allowed));
	}
}

static void test_allowed(void **state)
{
	(void)state;
	assert_int_equal(segment_allowed(~(uint64_t)0), 127);
	assert_int_equal(segment_allowed(~VIRTIO_NET_F_GUEST_CSUM), 0);
	assert_int_equal(segment_allowed(VIRTIO_NET_F_GUEST_CSUM), 1);
	assert_int_equal(segment_allowed(VIRTIO_NET_F_GUEST_CSUM |
	                                 VIRTIO_NET_F_GUEST_USO6 |
	                                 VIRTIO_NET_F_GUEST_TSO4),
	                 OFFLOAD_CSUM | OFFLOAD_USO6 | OFFLOAD_TSO4);
}

static int start_spoiled(uint32_t at, uint8_t value, struct dice *d)
{
	uint8_t keep = packet.bytes[at];
	int got;

	packet.bytes[at] = value;
	view(d);
	got = segment_start(&segmenter, &frame, 0);
	packet.bytes[at] = keep;
	return got;
}

/* Headers that contradict what the frame asks for are refused by name. */
static void test_refused(void **state)
{
	struct packet_wish w = { .gso_type = 1,
		                 .payload = 3000,
		                 .gso_size = 500 };
	struct dice d = { 8 };

	(void)state;
	packet_make(&packet, &w, &d);
	assert_int_equal(start_spoiled(0, 2, &d), 6);
	assert_int_equal(start_spoiled(13, 6, &d), -EINVAL); /* not IP */
	assert_int_equal(start_spoiled(packet.l3, 0x44, &d), -EINVAL);
	assert_int_equal(start_spoiled(packet.l3, 0x65, &d), -EINVAL);
	assert_int_equal(start_spoiled(packet.l3, 0x46, &d), -EINVAL);
	assert_int_equal(start_spoiled(packet.l3 + 9, 17, &d), -EINVAL);
	assert_int_equal(start_spoiled(packet.l3 + 6, 0x20, &d), -EINVAL);
	assert_int_equal(start_spoiled(packet.l4 + 12, 0x40, &d), -EINVAL);
	packet.hdr.gso_type = VIRTIO_NET_HDR_GSO_TCPV6;
	assert_int_equal(start_spoiled(0, 2, &d), -EINVAL);
	packet.hdr.gso_type = 9;
	assert_int_equal(start_spoiled(0, 2, &d), -EINVAL);
	packet.hdr.gso_type = 1;
	packet.hdr.csum_offset = 6;
	assert_int_equal(start_spoiled(0, 2, &d), -EINVAL);
	/* A field behind the headers that are copied. */
	packet.hdr = (struct frame_hdr){ .flags = 1, .csum_start = 400 };
	assert_int_equal(start_spoiled(0, 2, &d), -EINVAL);
	w = (struct packet_wish){ .gso_type = 3,
		                  .payload = 3000,
		                  .gso_size = 7 };
	packet_make(&packet, &w, &d);
	assert_int_equal(start_spoiled(0, 2, &d), -EINVAL);
}

/* Random headers never make it read or write elsewhere (ASan watches), and
 * what comes out is never longer than what went in and headers. */
static void test_garbage(void **state)
{
	static const uint8_t types[] = { 1, 3, 4, 5, 0x81, 0x84 };
	struct dice d = { 9 };

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct packet_wish w = { .gso_type = types[round % 6] };
		uint32_t sum = 0, len;
		int count;

		random_wish(&w, &d);
		w.payload %= 700;
		packet_make(&packet, &w, &d);
		for (unsigned i = 1 + dice_roll(&d, 4); i; i--)
			packet.bytes[12 + dice_roll(&d, 80)] =
				(uint8_t)dice_roll(&d, 256);
		view(&d);
		count = segment_start(&segmenter, &frame, round & 1);
		for (int i = 0; i < count; i++) {
			len = next_piece();
			assert_true(len > 0);
			sum += len;
		}
		if (count > 0) {
			assert_null(segment_next(&segmenter));
			assert_true(sum <= packet.len + (uint32_t)count * 328);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pieces),
		cmocka_unit_test(test_fragments),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_udp_zero),
		cmocka_unit_test(test_needed),
		cmocka_unit_test(test_allowed),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
