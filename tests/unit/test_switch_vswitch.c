/* SPDX-License-Identifier: BSD-2-Clause */
/* test_switch_vswitch.c - the switch, one feature a test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fakeport.h"
#include "switch/vswitch.h"

#define PORTS 4u

static struct loop *loop;
static struct vswitch *sw;
static struct fake_port port[PORTS];
static struct vswitch_port_opts opts[PORTS];
static struct made made[64];
static struct frame *burst[64];
static unsigned nburst;

#define BCAST 0xff

/* Stations are numbers: 02:00:00:00:00:nr. */
static void put_mac(uint8_t *to, uint8_t nr)
{
	memset(to, nr == BCAST ? 0xff : 0, 6);
	if (nr != BCAST) {
		to[0] = 2;
		to[5] = nr;
	}
}

static struct frame *add(uint8_t src, uint8_t dst, uint32_t len)
{
	static uint8_t byte[70000];
	struct made *m = &made[nburst];

	put_mac(byte, dst);
	put_mac(byte + 6, src);
	byte[12] = 8;
	byte[13] = 0;
	made_init(m, byte, len);
	burst[nburst++] = &m->frame;
	return &m->frame;
}

static unsigned from_flags(unsigned p, unsigned flags)
{
	unsigned n = nburst;

	nburst = 0;
	return port[p].port.input(&port[p].port, burst, n, flags);
}

static unsigned from(unsigned p)
{
	return from_flags(p, 0);
}

static unsigned one(unsigned p, uint8_t src, uint8_t dst)
{
	add(src, dst, 64);
	return from(p);
}

static void forget_frames(void)
{
	for (unsigned i = 0; i < PORTS; i++)
		port[i].n = port[i].sends = port[i].flushes = 0;
}

static void attach_all(uint32_t age_s)
{
	int err = 0;

	sw = vswitch_new(age_s, &err);
	assert_non_null(sw);
	for (unsigned i = 0; i < PORTS; i++) {
		fake_port_init(&port[i], "fake");
		assert_int_equal(vswitch_attach(sw, &port[i].port, loop,
		                                &opts[i]),
		                 0);
	}
}

static void detach_all(void)
{
	for (unsigned i = 0; i < PORTS; i++) {
		vswitch_detach(sw, &port[i].port);
		vswitch_forget(sw, &port[i].port);
	}
	vswitch_free(sw);
	sw = NULL;
}

/* Every port sends one frame to nowhere: station i is on port i. */
static void introduce(void)
{
	for (unsigned i = 0; i < PORTS; i++)
		one(i, (uint8_t)i, BCAST);
	forget_frames();
}

static int setup(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PORTS; i++)
		vswitch_port_opts_init(&opts[i]);
	nburst = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	if (sw)
		detach_all();
	return 0;
}

static int group_setup(void **state)
{
	int err = 0;

	(void)state;
	loop = loop_new(&err);
	return loop ? loop_turn(loop, 0) : err;
}

static int group_teardown(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

static void floods_what_it_does_not_know(void **state)
{
	(void)state;
	attach_all(300);
	assert_int_equal(one(0, 0, 9), 1);
	assert_int_equal(port[0].n, 0);
	for (unsigned i = 1; i < PORTS; i++)
		assert_int_equal(port[i].n, 1);
}

static void learns(void **state)
{
	(void)state;
	attach_all(300);
	introduce();
	assert_int_equal(one(0, 0, 2), 1);
	assert_int_equal(port[2].n, 1);
	assert_int_equal(port[1].n + port[3].n, 0);
	assert_int_equal(port[2].got[0].len, 64);
	/* Station 2 moves to port 3. */
	one(3, 2, BCAST);
	forget_frames();
	one(0, 0, 2);
	assert_int_equal(port[2].n, 0);
	assert_int_equal(port[3].n, 1);
}

static void forgets_the_silent(void **state)
{
	static const struct timespec wait = { 1, 100000000 };

	(void)state;
	attach_all(1);
	introduce();
	nanosleep(&wait, NULL);
	loop_turn(loop, 0);
	one(0, 0, 2);
	assert_int_equal(port[1].n, 1);
	assert_int_equal(port[2].n, 1);
}

static void never_back(void **state)
{
	(void)state;
	attach_all(300);
	introduce();
	one(0, 5, BCAST); /* a second station behind port 0 */
	forget_frames();
	assert_int_equal(one(0, 0, 5), 1);
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(port[i].n, 0);
	assert_int_equal(port[0].port.count.drop_policy, 1);
}

static void runs_are_one_send(void **state)
{
	(void)state;
	attach_all(300);
	introduce();
	for (unsigned i = 0; i < 10; i++)
		add(0, 1, 100);
	for (unsigned i = 0; i < 10; i++)
		add(0, 2, 100);
	for (unsigned i = 0; i < 10; i++)
		add(0, 1, 100);
	assert_int_equal(from(0), 30);
	assert_int_equal(port[1].n, 20);
	assert_int_equal(port[1].sends, 2);
	assert_int_equal(port[1].flushes, 1);
	assert_int_equal(port[2].n, 10);
	assert_int_equal(port[2].sends, 1);
	assert_int_equal(port[2].flushes, 1);
	assert_int_equal(port[3].flushes, 0);
	assert_int_equal(port[0].port.count.in_frames, 31);
	assert_int_equal(port[0].port.count.in_bytes, 64 + 3000);
}

static void stops_where_it_is_full(void **state)
{
	(void)state;
	attach_all(300);
	introduce();
	port[1].room = 3;
	for (unsigned i = 0; i < 5; i++)
		add(0, 1, 100);
	add(0, 2, 100);
	assert_int_equal(from(0), 3);
	assert_int_equal(port[1].n, 3);
	assert_int_equal(port[2].n, 0);
	assert_int_equal(port[1].flushes, 1);
	assert_int_equal(port[0].port.count.in_frames, 1 + 3);

	/* Offered again without patience. */
	for (unsigned i = 0; i < 2; i++)
		add(0, 1, 100);
	add(0, 2, 100);
	assert_int_equal(from_flags(0, SEND_LOSSY), 3);
	assert_int_equal(port[1].n, 3);
	assert_int_equal(port[1].port.count.drop_full, 2);
	assert_int_equal(port[2].n, 1);
}

static void full_ports_do_not_stop_a_flood(void **state)
{
	(void)state;
	attach_all(300);
	introduce();
	port[1].room = 0;
	assert_int_equal(one(0, 0, BCAST), 1);
	assert_int_equal(port[1].port.count.drop_full, 1);
	assert_int_equal(port[2].n, 1);
	assert_int_equal(port[3].n, 1);
}

static void refuses_nonsense(void **state)
{
	static const uint8_t pause[6] = { 1, 0x80, 0xc2, 0, 0, 1 };
	struct frame *f;

	(void)state;
	attach_all(300);
	add(0, 1, 13);
	add(0, 1, 0);
	f = add(0, 1, 64);
	f->room[FRAME_HEAD_ROOM + 6] |= 1; /* a group as the source */
	assert_int_equal(from(0), 3);
	assert_int_equal(port[0].port.count.drop_bad, 3);
	f = add(0, 1, 64);
	memcpy(f->room + FRAME_HEAD_ROOM, pause, 6);
	assert_int_equal(from(0), 1);
	assert_int_equal(port[0].port.count.drop_policy, 1);
	for (unsigned i = 0; i < PORTS; i++)
		assert_int_equal(port[i].n, 0);
}

static void keeps_isolated_apart(void **state)
{
	(void)state;
	opts[1].isolated = opts[2].isolated = true;
	attach_all(300);
	introduce();
	one(1, 1, BCAST);
	assert_int_equal(port[0].n, 1);
	assert_int_equal(port[2].n, 0);
	assert_int_equal(port[3].n, 1);
	one(1, 1, 2);
	assert_int_equal(port[2].n, 0);
	assert_int_equal(port[1].port.count.drop_policy, 1);
	one(1, 1, 0);
	one(0, 0, 1);
	assert_int_equal(port[0].n, 2);
	assert_int_equal(port[1].n, 1);
}

static void allows_only_its_addresses(void **state)
{
	(void)state;
	opts[0].nallow = 2;
	put_mac(opts[0].allow[0], 0);
	put_mac(opts[0].allow[1], 7);
	attach_all(300);
	introduce();
	one(0, 7, 1);
	one(0, 0, 1);
	assert_int_equal(port[1].n, 2);
	one(0, 2, 1); /* claims to be station 2 */
	assert_int_equal(port[1].n, 2);
	assert_int_equal(port[0].port.count.drop_policy, 1);
	forget_frames();
	one(1, 1, 2); /* ... and was not believed */
	assert_int_equal(port[2].n, 1);
	assert_int_equal(port[0].n, 0);
}

static void limits_frames(void **state)
{
	(void)state;
	opts[0].rate_frames = 640; /* 64 in 100 ms */
	attach_all(300);
	introduce(); /* that was one */
	for (unsigned i = 0; i < 64; i++)
		add(0, 1, 64);
	assert_int_equal(from(0), 64);
	assert_int_equal(port[1].n, 63);
	assert_int_equal(port[0].port.count.drop_rate, 1);
	/* Only the port's own frames: not those that go to it. */
	assert_int_equal(one(1, 1, 0), 1);
	assert_int_equal(port[0].n, 1);
}

static void limits_bits_and_refunds(void **state)
{
	(void)state;
	/* 100 ms of it are 100,000 bytes: ten frames of 10,000. */
	opts[0].rate_bits = 8000000;
	attach_all(300);
	one(1, 1, BCAST);
	one(2, 2, BCAST);
	port[1].room = 2;
	for (unsigned i = 0; i < 9; i++)
		add(0, 1, 10000);
	assert_int_equal(from(0), 2);
	port[1].room = UINT_MAX;
	/* What was not taken was not charged. */
	for (unsigned i = 0; i < 9; i++)
		add(0, 1, 10000);
	assert_int_equal(from(0), 9);
	assert_int_equal(port[1].n, 2 + 8 + 1);
	assert_int_equal(port[0].port.count.drop_rate, 1);
}

static void limits_storms(void **state)
{
	(void)state;
	opts[0].storm_frames = 10; /* at least 64 at once */
	attach_all(300);
	introduce(); /* one of them */
	for (unsigned i = 0; i < 40; i++)
		add(0, BCAST, 64);
	assert_int_equal(from(0), 40);
	for (unsigned i = 0; i < 40; i++)
		add(0, 99, 64); /* unknown */
	assert_int_equal(from(0), 40);
	assert_int_equal(port[1].n, 63);
	assert_int_equal(port[0].port.count.drop_rate, 17);
	one(0, 0, 1);
	assert_int_equal(port[1].n, 64);
}

/* An access port of VLAN 10, another of 20, a trunk and one as it comes. */
static void vlans(void **state)
{
	struct frame *f;

	(void)state;
	vlan_port_access(&opts[0].vlan, 10);
	vlan_port_access(&opts[1].vlan, 20);
	vlan_port_trunk(&opts[2].vlan);
	vlan_port_add(&opts[2].vlan, 10);
	attach_all(300);

	one(0, 0, BCAST);
	assert_int_equal(port[1].n, 0);
	assert_int_equal(port[2].n, 1);
	assert_int_equal(port[3].n, 1);
	assert_memory_equal(port[2].got[0].byte + 12,
	                    "\x81\x00\x00\x0a\x08\x00", 6);
	assert_int_equal(port[2].got[0].len, 68);

	/* Untagged is no VLAN of this trunk. */
	one(2, 2, 0);
	assert_int_equal(port[0].n, 0);
	assert_int_equal(port[2].port.count.drop_policy, 1);

	f = add(2, 0, 64);
	memcpy(f->room + FRAME_HEAD_ROOM + 12, "\x81\x00\xa0\x0a\x08\x00", 6);
	assert_int_equal(from(2), 1);
	assert_int_equal(port[0].n, 1);
	assert_int_equal(port[0].got[0].len, 60);
	assert_memory_equal(port[0].got[0].byte + 12, "\x08\x00", 2);
	assert_int_equal(port[3].n, 1);
	/* The sender's frame is as it was. */
	assert_int_equal(f->len, 64);
	assert_memory_equal(frame_head(f) + 12, "\x81\x00\xa0\x0a", 4);

	/* Whatever it says of its headers' length. */
	for (uint16_t len = 0; len < 30; len++) {
		f = add(2, 0, 64);
		memcpy(f->room + FRAME_HEAD_ROOM + 12,
		       "\x81\x00\xa0\x0a\x08\x00", 6);
		f->hdr.hdr_len = len;
		assert_int_equal(from(2), 1);
		assert_int_equal(f->hdr.hdr_len, len);
		assert_int_equal(port[0].got[port[0].n - 1].hdr.hdr_len,
		                 len < 18 ? len : len - 4);
	}

	/* A guest on an access port chooses no VLAN. */
	f = add(0, BCAST, 64);
	memcpy(f->room + FRAME_HEAD_ROOM + 12, "\x81\x00\x00\x14\x08\x00", 6);
	assert_int_equal(from(0), 1);
	assert_int_equal(port[1].n, 0);
	assert_int_equal(port[0].port.count.drop_policy, 1);
}

static void ports_come_and_go(void **state)
{
	(void)state;
	attach_all(300);
	introduce();
	vswitch_detach(sw, &port[2].port);
	assert_int_equal(one(2, 2, BCAST), 1); /* nowhere */
	assert_int_equal(port[2].port.count.drop_down, 1);
	one(0, 0, 2); /* nobody knows station 2 any more: flooded */
	assert_int_equal(port[2].n, 0);
	assert_int_equal(port[1].n, 1);
	vswitch_forget(sw, &port[2].port);
	assert_int_equal(vswitch_attach(sw, &port[2].port, loop, &opts[2]), 0);
	assert_int_equal(port[2].port.sw_index, 2);
	one(0, 0, BCAST);
	assert_int_equal(port[2].n, 1);
}

static void count_stations(void *ctx, const struct mac_entry *e,
                           const char *name)
{
	unsigned *n = ctx;

	assert_string_equal(name, "fake");
	assert_int_equal(e->port, e->mac[5]);
	(*n)++;
}

static void lists_stations(void **state)
{
	unsigned n = 0;

	(void)state;
	attach_all(300);
	introduce();
	vswitch_walk(sw, (uint32_t)(loop_now_ns(loop) / 1000000000),
	             count_stations, &n);
	assert_int_equal(n, PORTS);
}

static void has_places_for_so_many(void **state)
{
	static struct fake_port more[VSWITCH_PORTS];
	unsigned n = 0;

	(void)state;
	attach_all(300);
	for (; n < VSWITCH_PORTS - PORTS; n++) {
		fake_port_init(&more[n], "more");
		assert_int_equal(vswitch_attach(sw, &more[n].port, loop,
		                                &opts[0]),
		                 0);
	}
	assert_int_equal(vswitch_attach(sw, &more[n].port, loop, &opts[0]),
	                 -ENOSPC);
	one(0, 0, BCAST);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(more[i].n, 1);
		vswitch_detach(sw, &more[i].port);
		vswitch_forget(sw, &more[i].port);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
		T(floods_what_it_does_not_know),
		T(learns),
		T(forgets_the_silent),
		T(never_back),
		T(runs_are_one_send),
		T(stops_where_it_is_full),
		T(full_ports_do_not_stop_a_flood),
		T(refuses_nonsense),
		T(keeps_isolated_apart),
		T(allows_only_its_addresses),
		T(limits_frames),
		T(limits_bits_and_refunds),
		T(limits_storms),
		T(vlans),
		T(ports_come_and_go),
		T(lists_stations),
		T(has_places_for_so_many),
#undef T
	};

	return cmocka_run_group_tests_name("switch_vswitch", tests, group_setup,
	                                   group_teardown);
}
