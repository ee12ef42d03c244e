/* SPDX-License-Identifier: BSD-2-Clause */
/* test_switch_vlan.c - tags pushed and popped, and who is a member of what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "fakeport.h"
#include "switch/vlan.h"

static struct made made;
static struct flat flat;

static void make(uint32_t len, const uint8_t *behind, uint32_t n)
{
	uint8_t byte[2048];

	for (unsigned i = 0; i < sizeof(byte); i++)
		byte[i] = (uint8_t)i;
	memcpy(byte + 12, behind, n);
	made_init(&made, byte, len);
}

static const uint8_t ip[] = { 0x08, 0x00, 0x45 };
static const uint8_t tagged[] = { 0x81, 0x00, 0x60, 0x0a, 0x08, 0x00 };
static const uint8_t twice[] = {
	0x81, 0x00, 0x00, 0x0a, 0x81, 0x00, 0x00, 0x14
};

static void reads_tags(void **state)
{
	(void)state;
	make(100, ip, sizeof(ip));
	assert_int_equal(vlan_tag_get(&made.frame), 0);
	make(100, tagged, sizeof(tagged));
	assert_int_equal(vlan_tag_get(&made.frame), VLAN_TAGGED | 0x600a);
	make(17, tagged, sizeof(tagged));
	assert_int_equal(vlan_tag_get(&made.frame), 0);
	assert_false(vlan_frame_is_sane(&made.frame));
}

static void push_and_pop(void **state)
{
	static const uint32_t len[] = { 14, 15, 18, 59, 60, 61, 1514, 2000 };

	(void)state;
	for (size_t i = 0; i < array_len(len); i++) {
		make(len[i], ip, 2);
		vlan_tag_change(&made.frame, 0, VLAN_TAGGED | 0xe064);
		flat_of(&flat, &made.frame);
		assert_int_equal(flat.len, len[i] + 4);
		assert_memory_equal(flat.byte, made.byte, 12);
		assert_memory_equal(flat.byte + 12, "\x81\x00\xe0\x64", 4);
		assert_memory_equal(flat.byte + 16, made.byte + 12,
		                    len[i] - 12);

		vlan_tag_change(&made.frame, VLAN_TAGGED | 0xe064, 0);
		flat_of(&flat, &made.frame);
		assert_int_equal(flat.len, len[i]);
		assert_memory_equal(flat.byte, made.byte, len[i]);
	}
}

/* Popping the outer tag of two and putting it back. */
static void two_tags(void **state)
{
	(void)state;
	make(200, twice, sizeof(twice));
	vlan_tag_change(&made.frame, VLAN_TAGGED | 10, 0);
	flat_of(&flat, &made.frame);
	assert_int_equal(flat.len, 196);
	assert_memory_equal(flat.byte + 12, "\x81\x00\x00\x14", 4);
	vlan_tag_change(&made.frame, 0, VLAN_TAGGED | 10);
	flat_of(&flat, &made.frame);
	assert_int_equal(flat.len, 200);
	assert_memory_equal(flat.byte, made.byte, 200);
}

static void header_follows(void **state)
{
	(void)state;
	make(1514, ip, sizeof(ip));
	made.frame.hdr = (struct frame_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = VIRTIO_NET_HDR_GSO_TCPV4,
		.hdr_len = 54,
		.csum_start = 34,
		.csum_offset = 16,
	};
	assert_true(vlan_frame_is_sane(&made.frame));
	vlan_tag_change(&made.frame, 0, VLAN_TAGGED | 5);
	assert_int_equal(made.frame.hdr.csum_start, 38);
	assert_int_equal(made.frame.hdr.csum_offset, 16);
	assert_int_equal(made.frame.hdr.hdr_len, 58);
	vlan_tag_change(&made.frame, VLAN_TAGGED | 5, 0);
	assert_int_equal(made.frame.hdr.csum_start, 34);
	assert_int_equal(made.frame.hdr.hdr_len, 54);
}

/* An offset that a pop or push would wrap is refused beforehand. */
static void insane_offsets(void **state)
{
	static const struct {
		uint16_t start;
		bool tagged, sane;
	} row[] = {
		{ 0, true, false },      { 17, true, false },
		{ 18, true, true },      { 13, false, false },
		{ 14, false, true },     { 65531, false, true },
		{ 65532, false, false },
	};

	(void)state;
	for (size_t i = 0; i < array_len(row); i++) {
		make(1514, row[i].tagged ? tagged : ip, 2);
		made.frame.hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		made.frame.hdr.csum_start = row[i].start;
		assert_int_equal(vlan_frame_is_sane(&made.frame), row[i].sane);
	}
}

static void membership(void **state)
{
	struct vlan_port p;

	(void)state;
	vlan_port_init(&p);
	assert_int_equal(vlan_ingress(&p, 0), 0);
	assert_int_equal(vlan_ingress(&p, VLAN_TAGGED | 0x2000), 0);
	assert_int_equal(vlan_ingress(&p, VLAN_TAGGED | 4094), 4094);
	assert_int_equal(vlan_ingress(&p, VLAN_TAGGED | 4095), -1);
	assert_int_equal(vlan_egress(&p, 0, 0), 0);
	assert_int_equal(vlan_egress(&p, 0, VLAN_TAGGED), VLAN_TAGGED);
	assert_int_equal(vlan_egress(&p, 9, 0), VLAN_TAGGED | 9);

	vlan_port_access(&p, 10);
	assert_int_equal(vlan_ingress(&p, 0), 10);
	assert_int_equal(vlan_ingress(&p, VLAN_TAGGED | 0x2000), 10);
	assert_int_equal(vlan_ingress(&p, VLAN_TAGGED | 10), -1);
	assert_false(vlan_is_member(&p, 0));
	assert_int_equal(vlan_egress(&p, 10, VLAN_TAGGED | 10), 0);

	vlan_port_trunk(&p);
	vlan_port_add(&p, 10);
	assert_int_equal(vlan_ingress(&p, 0), -1);
	assert_int_equal(vlan_ingress(&p, VLAN_TAGGED | 10), 10);
	assert_int_equal(vlan_ingress(&p, VLAN_TAGGED | 11), -1);
	vlan_port_native(&p, 20);
	assert_int_equal(vlan_ingress(&p, 0), 20);
	assert_int_equal(vlan_egress(&p, 20, VLAN_TAGGED | 20), 0);
	assert_int_equal(vlan_egress(&p, 10, VLAN_TAGGED | 0x400a),
	                 VLAN_TAGGED | 0x400a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_tags),
		cmocka_unit_test(push_and_pop),
		cmocka_unit_test(two_tags),
		cmocka_unit_test(header_follows),
		cmocka_unit_test(insane_offsets),
		cmocka_unit_test(membership),
	};

	return cmocka_run_group_tests_name("switch_vlan", tests, NULL, NULL);
}
