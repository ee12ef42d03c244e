/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fuzz_switch.c - frames of hostile guests on a switch with VLANs of all kinds.
 *
 * Input: frames, each a byte of choices, two of csum_start, one of length, and
 * its bytes. Whatever goes out is as long as it says, has its checksum within
 * itself if it had when it came, and looks as its port's VLAN has it; and the
 * sender's frame is afterwards what it was before.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "switch/vswitch.h"

#define PORTS  4u
#define FRAMES 8u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct sink {
	struct port port;
	struct vswitch_port_opts opts;
};

static struct loop *loop;
static struct sink sink[PORTS];

static unsigned sink_send(struct port *p, struct frame *const *f, unsigned n,
                          unsigned flags)
{
	const struct sink *s = container_of(p, struct sink, port);
	bool taken = p->count.out_frames++ % 5;

	for (unsigned i = 0; i < n; i++) {
		uint32_t tag = vlan_tag_get(f[i]), len = f[i]->head_len;

		for (unsigned k = 0; k < f[i]->nseg; k++)
			len += (uint32_t)f[i]->seg[k].len;
		assert(len == f[i]->len && len >= 14);
		assert(f[i]->head_at + f[i]->head_len <=
		       (int)sizeof(f[i]->room));
		if (f[i]->hdr.flags)
			assert(f[i]->hdr.csum_start >= 14 &&
			       f[i]->hdr.csum_start <= f[i]->len);
		if ((tag & 0xfff) && !s->opts.vlan.access)
			assert(vlan_is_member(&s->opts.vlan, tag & 0xfff) ||
			       s->opts.vlan.native);
	}
	return taken || (flags & SEND_LOSSY) ? n : n / 2;
}

static const struct port_ops sink_ops = { "sink", sink_send, NULL, NULL };

static void begin(void)
{
	int err = 0;

	if (loop)
		return;
	loop = loop_new(&err);
	assert(loop);
	loop_turn(loop, 0);
	for (unsigned i = 0; i < PORTS; i++) {
		vswitch_port_opts_init(&sink[i].opts);
		sink[i].port.ops = &sink_ops;
		sink[i].port.name = "sink";
	}
	vlan_port_access(&sink[1].opts.vlan, 1);
	vlan_port_trunk(&sink[2].opts.vlan);
	vlan_port_add(&sink[2].opts.vlan, 1);
	vlan_port_native(&sink[2].opts.vlan, 2);
	sink[3].opts.rate_frames = 1000;
}

struct made {
	struct frame frame, was;
	struct seg seg;
	uint8_t *behind;
};

/* Returns bytes used, 0 at the end. */
static size_t make(struct made *m, const uint8_t *d, size_t n, unsigned *port)
{
	struct frame *f = &m->frame;
	uint32_t len;

	if (n < 4)
		return 0;
	len = (uint32_t)min_of((size_t)d[3], n - 4);
	memset(m, 0, sizeof(*m));
	*port = d[0] % PORTS;
	f->len = len;
	f->head_len = (uint8_t)min_of(len, FRAME_HEAD);
	f->head_at = FRAME_HEAD_ROOM;
	memcpy(f->room + f->head_at, d + 4, f->head_len);
	m->behind = malloc(len - f->head_len);
	memcpy(m->behind, d + 4 + f->head_len, len - f->head_len);
	m->seg = (struct seg){ m->behind, len - f->head_len };
	f->seg = &m->seg;
	f->nseg = 1;
	/* As net checks it: within the frame. */
	f->hdr.csum_start = (uint16_t)(d[1] << 8 | d[2]);
	f->hdr.hdr_len = f->hdr.csum_start;
	if (f->hdr.csum_start < len)
		f->hdr.flags = d[0] >> 7;
	m->was = *f;
	return 4 + len;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct made made[FRAMES];
	struct frame *f[FRAMES];
	struct vswitch *sw;
	size_t used = 1;
	int err = 0;

	begin();
	sw = vswitch_new(300, &err);
	assert(sw);
	for (unsigned i = 0; i < PORTS; i++)
		vswitch_attach(sw, &sink[i].port, loop, &sink[i].opts);
	while (used) {
		unsigned n = 0, port = 0;

		while (n < FRAMES) {
			used = make(&made[n], data, size, &port);
			if (!used)
				break;
			data += used;
			size -= used;
			f[n] = &made[n].frame;
			n++;
		}
		sink[port].port.input(&sink[port].port, f, n, 0);
		for (unsigned i = 0; i < n; i++) {
			assert(made[i].frame.len == made[i].was.len);
			assert(!memcmp(&made[i].frame.hdr, &made[i].was.hdr,
			               sizeof(made[i].was.hdr)));
			assert(!memcmp(frame_head(f[i]),
			               frame_head(&made[i].was),
			               made[i].was.head_len));
			free(made[i].behind);
		}
	}
	for (unsigned i = 0; i < PORTS; i++) {
		vswitch_detach(sw, &sink[i].port);
		vswitch_forget(sw, &sink[i].port);
	}
	vswitch_free(sw);
	return 0;
}
