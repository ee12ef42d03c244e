/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_switch_model.c - the switch beside a plain model: frames as flat bytes,
 * one at a time, tables as lists. Both get the same random ports, bursts, full
 * destinations and detached ports; everything they say and send must be equal.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fakeport.h"
#include "switch/vswitch.h"

#define PORTS    6u
#define BURST    100u
#define STATIONS 8u
#define ROUNDS   20000u

/* What the model knows. */
struct model_port {
	bool here;
	bool access, isolated, guarded;
	int native; /* -1: untagged is refused */
	bool member[4096];
	bool allowed[STATIONS];

	unsigned room;
	unsigned n;
	struct flat got[FAKE_KEEP];
	uint64_t in, bad, policy, full, down;
};

struct model_station {
	int mac, vlan;
	unsigned port;
};

static struct model_port model[PORTS];
static struct model_station heard[1000];
static unsigned nheard;

static struct loop *loop;
static struct vswitch *sw;
static struct fake_port port[PORTS];
static struct vswitch_port_opts opts[PORTS];
static struct made made[BURST];
static uint32_t seed = 1;

static unsigned any(unsigned n)
{
	seed = seed * 1664525u + 1013904223u;
	return (seed >> 8) % n;
}

static const int vlans[] = { 0, 1, 10, 20, 4094 };

static void model_send(struct model_port *to, const struct flat *f, int vlan)
{
	struct flat *g = &to->got[to->n++];
	unsigned type = (unsigned)f->byte[12] << 8 | f->byte[13];
	unsigned tci = (unsigned)f->byte[14] << 8 | f->byte[15];
	bool tagged = type == 0x8100;
	unsigned skip = tagged ? 16 : 12, put = 12;

	assert_true(to->n <= FAKE_KEEP);
	memcpy(g->byte, f->byte, 12);
	if (vlan != (to->native < 0 ? 0 : to->native) ||
	    (vlan == 0 && tagged)) {
		unsigned prio = tagged ? tci & 0xf000 : 0;

		g->byte[12] = 0x81;
		g->byte[13] = 0;
		g->byte[14] = (uint8_t)((prio | (unsigned)vlan) >> 8);
		g->byte[15] = (uint8_t)vlan;
		put = 16;
	}
	memcpy(g->byte + put, f->byte + skip, f->len - skip);
	g->len = f->len - skip + put;
}

static bool model_take(struct model_port *to, const struct flat *f, int vlan,
                       bool lossy)
{
	if (!to->room) {
		to->full += lossy;
		return lossy;
	}
	if (to->room != UINT_MAX)
		to->room--;
	model_send(to, f, vlan);
	return true;
}

static int model_where(int mac, int vlan)
{
	for (unsigned i = 0; i < nheard; i++) {
		if (heard[i].mac == mac && heard[i].vlan == vlan)
			return (int)heard[i].port;
	}
	return -1;
}

static void model_learn(int mac, int vlan, unsigned p)
{
	for (unsigned i = 0; i < nheard; i++) {
		if (heard[i].mac == mac && heard[i].vlan == vlan) {
			heard[i].port = p;
			return;
		}
	}
	heard[nheard++] = (struct model_station){ mac, vlan, p };
}

static void model_forget(unsigned p)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < nheard; i++) {
		if (heard[i].port != p)
			heard[kept++] = heard[i];
	}
	nheard = kept;
}

static int model_vlan(const struct model_port *p, const struct flat *f)
{
	int vid = 0;

	if (f->byte[12] == 0x81 && f->byte[13] == 0)
		vid = (f->byte[14] & 0xf) << 8 | f->byte[15];
	if (!vid)
		return p->native;
	return !p->access && p->member[vid] ? vid : -1;
}

static bool model_reaches(unsigned from, unsigned to, int vlan)
{
	return model[to].here && model[to].member[vlan] &&
	       !(model[from].isolated && model[to].isolated);
}

/* Is the frame done? */
static bool model_frame(unsigned from, const struct flat *f, bool lossy)
{
	struct model_port *p = &model[from];
	int src = f->byte[11], dst = f->byte[5], vlan, to;

	if (f->byte[6] & 1) {
		p->bad++;
		return true;
	}
	vlan = model_vlan(p, f);
	if (vlan < 0 || (p->guarded && !p->allowed[src])) {
		p->policy++;
		return true;
	}
	model_learn(src, vlan, from);
	to = f->byte[0] & 1 ? -1 : model_where(dst, vlan);
	if (to < 0) {
		for (unsigned i = 0; i < PORTS; i++) {
			if (i != from && model_reaches(from, i, vlan))
				model_take(&model[i], f, vlan, true);
		}
		return true;
	}
	if ((unsigned)to == from || !model_reaches(from, (unsigned)to, vlan)) {
		p->policy++;
		return true;
	}
	return model_take(&model[to], f, vlan, lossy);
}

static void attach_randomly(unsigned i)
{
	struct model_port *m = &model[i];
	struct vswitch_port_opts *o = &opts[i];

	memset(m, 0, sizeof(*m));
	m->here = true;
	m->room = UINT_MAX;
	fake_port_init(&port[i], "p");
	vswitch_port_opts_init(o);
	o->isolated = m->isolated = any(3) == 0;
	m->guarded = any(4) == 0;
	for (unsigned k = 0; m->guarded && k < 4; k++) {
		uint8_t mac[6] = { 2, 0, 0, 0, 0, (uint8_t)any(STATIONS) };

		m->allowed[mac[5]] = true;
		memcpy(o->allow[o->nallow++], mac, 6);
	}
	switch (any(3)) {
	case 0:
		memset(m->member, 1, sizeof(m->member));
		m->member[4095] = false;
		break;
	case 1:
		m->access = true;
		m->native = vlans[1 + any(4)];
		m->member[m->native] = true;
		vlan_port_access(&o->vlan, (uint16_t)m->native);
		break;
	default:
		m->native = -1;
		vlan_port_trunk(&o->vlan);
		for (unsigned k = 0; k < 3; k++) {
			int v = vlans[1 + any(4)];

			m->member[v] = true;
			vlan_port_add(&o->vlan, (uint16_t)v);
		}
		if (any(2)) {
			m->native = vlans[1 + any(4)];
			m->member[m->native] = true;
			vlan_port_native(&o->vlan, (uint16_t)m->native);
		}
	}
	assert_int_equal(vswitch_attach(sw, &port[i].port, loop, o), 0);
	assert_int_equal(port[i].port.sw_index, i);
}

static void detach(unsigned i)
{
	vswitch_detach(sw, &port[i].port);
	vswitch_forget(sw, &port[i].port);
	model[i].here = false;
	model_forget(i);
}

/* Frames come in trains, so that there are runs. */
static void make_burst(unsigned n, struct frame **f)
{
	static uint8_t byte[200];
	uint32_t len = 64;

	for (unsigned i = 0; i < n; i++) {
		if (i == 0 || any(3) == 0) {
			int vlan = vlans[any(5)];

			memset(byte, 0, 16);
			byte[0] = byte[6] = 2;
			byte[5] = (uint8_t)any(STATIONS);
			byte[11] = (uint8_t)any(STATIONS);
			byte[0] |= any(8) == 0;
			byte[6] |= any(20) == 0;
			len = 18 + any(180);
			byte[12] = 8;
			if (vlan || any(8) == 0) {
				byte[12] = 0x81;
				byte[14] = (uint8_t)(any(16) << 4 | vlan >> 8);
				byte[15] = (uint8_t)vlan;
			}
		}
		for (unsigned k = 16; k < len; k++)
			byte[k] = (uint8_t)any(256);
		made_init(&made[i], byte, len);
		f[i] = &made[i].frame;
	}
}

static void compare(unsigned i)
{
	struct model_port *m = &model[i];
	struct fake_port *p = &port[i];

	assert_int_equal(p->n, m->n);
	for (unsigned k = 0; k < m->n; k++) {
		assert_int_equal(p->got[k].len, m->got[k].len);
		assert_memory_equal(p->got[k].byte, m->got[k].byte,
		                    m->got[k].len);
	}
	assert_int_equal(p->room, m->room);
	assert_int_equal(p->flushes, p->sends > 0);
	assert_int_equal(p->port.count.in_frames, m->in);
	assert_int_equal(p->port.count.drop_bad, m->bad);
	assert_int_equal(p->port.count.drop_policy, m->policy);
	assert_int_equal(p->port.count.drop_full, m->full);
	p->n = m->n = p->sends = p->flushes = 0;
}

static void one_round(void)
{
	static struct flat flat;
	struct frame *f[BURST];
	unsigned from, n = 1 + any(BURST), done = 0, got;
	bool lossy = any(4) == 0;

	do {
		from = any(PORTS);
	} while (!model[from].here);
	for (unsigned i = 0; i < PORTS; i++)
		model[i].room = port[i].room = any(3) ? UINT_MAX : any(BURST);
	make_burst(n, f);
	while (done < n) {
		flat_of(&flat, f[done]);
		if (!model_frame(from, &flat, lossy))
			break;
		done++;
	}
	model[from].in += done;
	got = port[from].port.input(&port[from].port, f, n,
	                            lossy ? SEND_LOSSY : 0);
	assert_int_equal(got, done);
	for (unsigned i = 0; i < n; i++) {
		flat_of(&flat, f[i]);
		assert_int_equal(flat.len, made[i].len);
		assert_memory_equal(flat.byte, made[i].byte,
		                    min_of(made[i].len, FRAME_HEAD));
	}
	for (unsigned i = 0; i < PORTS; i++) {
		if (model[i].here)
			compare(i);
	}
}

static void same_as_the_model(void **state)
{
	int err = 0;

	(void)state;
	loop = loop_new(&err);
	assert_non_null(loop);
	loop_turn(loop, 0);
	sw = vswitch_new(300, &err);
	assert_non_null(sw);
	for (unsigned i = 0; i < PORTS; i++)
		attach_randomly(i);
	for (unsigned r = 0; r < ROUNDS; r++) {
		unsigned i = 0;

		while (i < PORTS && model[i].here)
			i++;
		if (i < PORTS && any(10) == 0)
			attach_randomly(i); /* the first free place */
		i = 1 + any(PORTS - 1);
		if (any(40) == 0 && model[i].here)
			detach(i);
		one_round();
	}
	for (unsigned i = 0; i < PORTS; i++) {
		if (model[i].here)
			detach(i);
	}
	vswitch_free(sw);
	loop_free(loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_as_the_model),
	};

	return cmocka_run_group_tests_name("switch_model", tests, NULL, NULL);
}
