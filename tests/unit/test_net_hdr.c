/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_net_hdr.c - headers in pieces, too short, and with every edge of
 * csum_start, csum_offset, hdr_len and gso_size.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "net/hdr.h"
#include "packets.h"

#define ALL                                                                \
	(VIRTIO_F_VERSION_1 | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_HOST_TSO4 | \
	 VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_HOST_ECN |                  \
	 VIRTIO_NET_F_HOST_UFO | VIRTIO_NET_F_HOST_USO)

struct input {
	struct virtio_net_hdr hdr;
	uint8_t data[200];
};

/* A chain over exactly sized blocks, so that ASan sees one byte too far. */
struct rig {
	struct seg seg[256], keep[256];
	struct burst burst;
	struct chain chain;
	struct frame frame;
	unsigned n;
};

static void rig_add(struct rig *g, const void *p, size_t len)
{
	void *block = malloc(len ? len : 1);

	memcpy(block, p, len);
	g->seg[g->n] = g->keep[g->n] = (struct seg){ block, len };
	g->n++;
	g->chain.read_len += (uint32_t)len;
	g->chain.nread++;
}

static int rig_read(struct rig *g, uint64_t features)
{
	struct hdr_rules rules;

	hdr_rules_set(&rules, features);
	g->burst.seg = g->seg;
	return hdr_read(&rules, &g->burst, &g->chain, &g->frame);
}

static void rig_clear(struct rig *g)
{
	for (unsigned i = 0; i < g->n; i++)
		free(g->keep[i].base);
	*g = (struct rig){ 0 };
}

static void input_make(struct input *in)
{
	*in = (struct input){ 0 };
	for (unsigned i = 0; i < sizeof(in->data); i++)
		in->data[i] = (uint8_t)(i * 7 + 1);
	in->hdr = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = le16_make(54),
		.gso_size = le16_make(1000),
		.csum_start = le16_make(34),
		.csum_offset = le16_make(16),
	};
}

static void check_frame(const struct rig *g, const struct input *in,
                        uint32_t len)
{
	uint8_t flat[256];

	assert_int_equal(g->frame.len, len);
	assert_int_equal(g->frame.head_len, min_of(len, FRAME_HEAD));
	assert_int_equal(frame_flatten(&g->frame, flat), len);
	assert_memory_equal(flat, in->data, len);
}

/* C7: a header over 1 to 12 descriptors of one byte, and the rest in any
 * split; also all of it in one-byte descriptors. */
static void test_split(void **state)
{
	struct rig g = { 0 };
	struct input in;

	(void)state;
	input_make(&in);
	for (unsigned ones = 0; ones <= 12; ones++) {
		for (unsigned len = 54; len <= 200; len += 15) {
			const uint8_t *p = (const uint8_t *)&in;

			for (unsigned i = 0; i < ones; i++)
				rig_add(&g, p + i, 1);
			rig_add(&g, p + ones, 0);
			rig_add(&g, p + ones, 12 + len - ones);
			assert_int_equal(rig_read(&g, ALL), 0);
			check_frame(&g, &in, len);
			assert_int_equal(g.frame.hdr.csum_start, 34);
			assert_int_equal(g.frame.hdr.csum_offset, 16);
			assert_int_equal(g.frame.hdr.gso_size, 1000);
			assert_int_equal(g.frame.hdr.gso_type,
			                 VIRTIO_NET_HDR_GSO_TCPV4);
			rig_clear(&g);
		}
	}
	for (unsigned i = 0; i < 12 + 200; i++)
		rig_add(&g, (const uint8_t *)&in + i, 1);
	assert_int_equal(rig_read(&g, ALL), 0);
	check_frame(&g, &in, 200);
	rig_clear(&g);
}

/* Frames are used again: a plain packet after one to be cut says nothing of
 * what that one said. (A tap refused it for the old hdr_len.) */
static void test_again(void **state)
{
	static const struct frame_hdr nothing;
	struct rig g = { 0 };
	struct input in;

	(void)state;
	input_make(&in);
	rig_add(&g, &in, sizeof(in));
	assert_int_equal(rig_read(&g, ALL), 0);
	assert_int_equal(g.frame.hdr.hdr_len, 54);
	in.hdr = (struct virtio_net_hdr){ .hdr_len = le16_make(77) };
	memcpy(g.keep[0].base, &in, sizeof(in));
	g.seg[0] = g.keep[0];
	assert_int_equal(rig_read(&g, ALL), 0);
	assert_memory_equal(&g.frame.hdr, &nothing, sizeof(nothing));
	rig_clear(&g);
}

/* Every place of one cut, with both header lengths. */
static void test_cut(void **state)
{
	struct rig g = { 0 };
	struct input in;

	(void)state;
	for (unsigned hdr = 10; hdr <= 12; hdr += 2) {
		uint8_t bytes[212];

		input_make(&in);
		memcpy(bytes, &in.hdr, 12);
		memcpy(bytes + hdr, in.data, 200);
		for (unsigned cut = 0; cut <= hdr + 200; cut++) {
			rig_add(&g, bytes, cut);
			rig_add(&g, bytes + cut, hdr + 200 - cut);
			assert_int_equal(
				rig_read(&g,
			                 hdr == 12 ? ALL
			                           : ALL & ~VIRTIO_F_VERSION_1),
				0);
			check_frame(&g, &in, 200);
			assert_int_equal(g.frame.hdr.hdr_len, 54);
			rig_clear(&g);
		}
	}
}

/* Chains of 0 bytes to a header and 13 more are no frames. */
static void test_runt(void **state)
{
	struct rig g = { 0 };
	struct input in;

	(void)state;
	input_make(&in);
	in.hdr = (struct virtio_net_hdr){ 0 };
	for (unsigned len = 0; len <= 12 + 14; len++) {
		rig_add(&g, &in, len);
		assert_int_equal(rig_read(&g, ALL), len < 26 ? -EINVAL : 0);
		rig_clear(&g);
	}
	rig_add(&g, &in, 26);
	g.chain.read_len = 12 + FRAME_LEN_MAX + 1;
	assert_int_equal(rig_read(&g, ALL), -EINVAL);
	rig_clear(&g);
}

/* What a frame of @len bytes may say; written down apart from the code. */
static bool may(const struct virtio_net_hdr *h, uint32_t len, uint64_t feat)
{
	uint32_t start = le16_get(h->csum_start),
		 off = le16_get(h->csum_offset);
	unsigned type = h->gso_type & 0x7f;
	bool ecn = h->gso_type & 0x80;

	if (h->flags & 1 && (start < 14 || start + off + 2 > len))
		return false;
	if (!type)
		return !ecn;
	if (!(h->flags & 1) || !le16_get(h->gso_size) ||
	    !(feat & VIRTIO_NET_F_CSUM))
		return false;
	if (ecn && !(feat & VIRTIO_NET_F_HOST_ECN))
		return false;
	switch (type) {
	case 1:
		return feat & VIRTIO_NET_F_HOST_TSO4 && start + 20 <= len;
	case 3:
		return feat & VIRTIO_NET_F_HOST_UFO && !ecn && start + 8 <= len;
	case 4:
		return feat & VIRTIO_NET_F_HOST_TSO6 && start + 20 <= len;
	case 5:
		return feat & VIRTIO_NET_F_HOST_USO && !ecn && start + 8 <= len;
	default:
		return false;
	}
}

static void try_header(const struct input *in, unsigned len, uint64_t feat,
                       unsigned *good)
{
	struct rig g = { 0 };
	bool ok = may(&in->hdr, len, feat);

	rig_add(&g, in, 12 + len);
	assert_int_equal(rig_read(&g, feat), ok ? 0 : -EINVAL);
	if (ok) {
		assert_int_equal(g.frame.hdr.flags, in->hdr.flags & 1);
		assert_int_equal(g.frame.hdr.gso_type, in->hdr.gso_type);
		if (in->hdr.gso_type) {
			assert_true(g.frame.hdr.hdr_len <= len);
			assert_true(g.frame.hdr.hdr_len >
			            g.frame.hdr.csum_start);
		}
		(*good)++;
	}
	rig_clear(&g);
}

/* C13: all edges of all fields against each other. */
static void test_edges(void **state)
{
	static const uint16_t edges[] = {
		0, 1, 13, 14, 34, 79, 80, 81, 98, 99, 100, 101, 0x8000, 0xffff
	};
	static const uint8_t types[] = { 0, 1, 2, 3, 4, 5, 6, 31, 32, 0x7f };
	unsigned good = 0;
	struct input in;

	(void)state;
	input_make(&in);
	for (unsigned i = 0; i < array_len(edges) * array_len(edges); i++) {
		in.hdr.csum_start = le16_make(edges[i % array_len(edges)]);
		in.hdr.csum_offset = le16_make(edges[i / array_len(edges)]);
		for (unsigned t = 0; t < array_len(types) * 4; t++) {
			in.hdr.gso_type = types[t / 4] | (t & 1 ? 0x80 : 0);
			in.hdr.flags = t & 2 ? 1 : 0xfe;
			in.hdr.gso_size = le16_make(edges[i % 3 ? i % 7 : 0]);
			in.hdr.hdr_len = le16_make(edges[(i + t) % 14]);
			try_header(&in, 100, ALL, &good);
		}
	}
	assert_in_range(good, 300, 2000);
}

/* Each type needs its own feature, and CSUM. */
static void test_features(void **state)
{
	static const uint8_t types[] = { 0, 1, 3, 4, 5, 0x81, 0x84, 0x83 };
	unsigned good = 0;
	struct input in;

	(void)state;
	input_make(&in);
	for (unsigned mask = 0; mask < 64; mask++) {
		static const uint64_t bits[] = {
			VIRTIO_NET_F_CSUM,      VIRTIO_NET_F_HOST_TSO4,
			VIRTIO_NET_F_HOST_TSO6, VIRTIO_NET_F_HOST_ECN,
			VIRTIO_NET_F_HOST_UFO,  VIRTIO_NET_F_HOST_USO
		};
		uint64_t feat = VIRTIO_F_VERSION_1;

		for (unsigned i = 0; i < 6; i++)
			feat |= mask >> i & 1 ? bits[i] : 0;
		for (unsigned t = 0; t < array_len(types); t++) {
			in.hdr.gso_type = types[t];
			try_header(&in, 150, feat, &good);
		}
	}
	assert_true(good > 64);
}

/* What the receiver may see: nothing without GUEST_CSUM, num_buffers 1. */
static void test_make(void **state)
{
	struct frame f = { .len = 2000,
		           .hdr = { .flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		                    .gso_type = VIRTIO_NET_HDR_GSO_TCPV6,
		                    .hdr_len = 74,
		                    .gso_size = 1400,
		                    .csum_start = 54,
		                    .csum_offset = 16 } };
	struct virtio_net_hdr w = hdr_make(&f, true);

	(void)state;
	assert_int_equal(w.flags, 1);
	assert_int_equal(w.gso_type, VIRTIO_NET_HDR_GSO_TCPV6);
	assert_int_equal(le16_get(w.csum_start), 54);
	assert_int_equal(le16_get(w.csum_offset), 16);
	assert_int_equal(le16_get(w.gso_size), 1400);
	assert_int_equal(le16_get(w.hdr_len), 74);
	assert_int_equal(le16_get(w.num_buffers), 1);
	f.hdr = (struct frame_hdr){ .flags = VIRTIO_NET_HDR_F_DATA_VALID,
		                    .csum_start = 9 };
	w = hdr_make(&f, true);
	assert_int_equal(w.flags, VIRTIO_NET_HDR_F_DATA_VALID);
	assert_int_equal(le16_get(w.csum_start), 0);
	w = hdr_make(&f, false);
	assert_int_equal(w.flags, 0);
	assert_int_equal(le16_get(w.num_buffers), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_split), cmocka_unit_test(test_cut),
		cmocka_unit_test(test_again), cmocka_unit_test(test_runt),
		cmocka_unit_test(test_edges), cmocka_unit_test(test_features),
		cmocka_unit_test(test_make),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
