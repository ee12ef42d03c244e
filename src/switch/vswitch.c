/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vswitch.c - where a frame that came from one port goes.
 *
 * The way of a burst:
 *
 *	vswitch_input   the port has n frames
 *	  admit         is this one allowed, which VLAN, learn its source,
 *	                where does it go, is it within the limits
 *	  run_finish    consecutive frames with one destination are one send
 *	    run_flood   or a send to each port of the VLAN, never back
 *	  touched_flush each port that was sent to is flushed once
 *
 * The answer is how many frames are done, from the first. It is short when a
 * unicast destination took less than it was offered; nothing was counted,
 * charged or learned for the rest, which the source offers again. So a frame
 * that changes something waits until those before it are done. Copies of a
 * flooded frame go where there is room.
 *
 * Nothing here allocates, waits or logs.
 */
#include "switch/vswitch.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "switch/limit.h"

#define ETH_LEN       14u
#define SECOND_NS     1000000000ull
#define TOUCHED_WORDS (VSWITCH_PORTS / 64)

/* What the switch knows of a port. Written before it is in the table, then
 * read by every worker; the limits belong to the port's own. */
struct slot {
	struct port *port;
	struct loop *loop;
	bool limited; /* any of the limits is set */
	struct vswitch_port_opts opts;

	struct limit bits cache_aligned;
	struct limit frames;
	struct limit storm;
};

struct vswitch {
	struct mac_table *macs;
	pthread_mutex_t lock;                /* attach, detach */
	struct slot *leaving[VSWITCH_PORTS]; /* detached, not yet forgotten */

	le32 high;                 /* no port at or above; only grows */
	void *slot[VSWITCH_PORTS]; /* ld_ptr, st_ptr */
};

/* Where a frame goes. */
struct way_out {
	int to; /* place of the port, or FLOOD */
	uint16_t vlan;
};

#define FLOOD (-1)

/* Consecutive frames that go the same way; those before f are done. */
struct run {
	struct frame *const *f;
	unsigned n;
	struct way_out out;
};

/* One call of vswitch_input. */
struct turn {
	struct vswitch *sw;
	struct slot *from;
	unsigned from_index;
	unsigned flags;
	uint64_t now_ns;
	uint32_t now_s;

	/* The last station learned and the last one looked up: frames come in
	 * trains. */
	uint64_t learned;
	uint64_t looked_up;
	int found;

	uint64_t touched[TOUCHED_WORDS];
};

static struct slot *slot_at(struct vswitch *sw, unsigned index)
{
	return ld_ptr(&sw->slot[index]);
}

/* Frames on the wire: what a super-frame will be cut into, about. */
static uint64_t wire_frames(const struct frame *f)
{
	if (!f->hdr.gso_type || !f->hdr.gso_size)
		return 1;
	return 1 + (f->len - 1) / f->hdr.gso_size;
}

static bool is_multicast(const uint8_t *mac)
{
	return mac[0] & 1;
}

/* 01:80:c2:00:00:0x, between neighbours: no bridge forwards them. */
static bool is_link_local(const uint8_t *mac)
{
	static const uint8_t prefix[5] = { 0x01, 0x80, 0xc2, 0x00, 0x00 };

	return !memcmp(mac, prefix, sizeof(prefix)) && !(mac[5] & 0xf0);
}

static bool source_is_allowed(const struct vswitch_port_opts *o,
                              const uint8_t *mac)
{
	for (unsigned i = 0; i < o->nallow; i++) {
		if (!memcmp(o->allow[i], mac, 6))
			return true;
	}
	return !o->nallow;
}

/* May a frame of @vlan go from one to the other? */
static bool may_pass(const struct slot *from, const struct slot *to,
                     uint16_t vlan)
{
	return vlan_is_member(&to->opts.vlan, vlan) &&
	       !(from->opts.isolated && to->opts.isolated);
}

/* Was the source here before? False: learn() it. */
static bool hear(struct turn *t, uint64_t key)
{
	if (key == t->learned)
		return true;
	if (!mac_table_refresh(t->sw->macs, key, t->from_index, t->now_s))
		return false;
	t->learned = key;
	return true;
}

static void learn(struct turn *t, uint64_t key)
{
	mac_table_learn(t->sw->macs, key, t->from_index, t->now_s);
	t->learned = key;
	t->looked_up = 0; /* it may have moved from where we found it */
}

static int look_up(struct turn *t, uint64_t key)
{
	if (key != t->looked_up) {
		t->found = mac_table_find(t->sw->macs, key, t->now_s);
		t->looked_up = key;
	}
	return t->found;
}

/* Where to? Returns the counter of the reason why not, or NULL. */
static uint64_t *route(struct turn *t, const uint8_t *dst, struct way_out *out)
{
	struct slot *to;

	out->to = FLOOD;
	if (is_link_local(dst))
		return &t->from->port->count.drop_policy;
	if (is_multicast(dst))
		return NULL;
	out->to = look_up(t, mac_key(dst, out->vlan));
	if (out->to == FLOOD)
		return NULL;
	to = slot_at(t->sw, (unsigned)out->to);
	if (!to) {
		out->to = FLOOD; /* just detached */
		return NULL;
	}
	if (to == t->from || !may_pass(t->from, to, out->vlan))
		return &t->from->port->count.drop_policy;
	return NULL;
}

/* All limits or none. */
static bool limits_take(struct turn *t, const struct frame *f, bool flood)
{
	struct slot *s = t->from;

	if (!s->limited)
		return true;
	if (!limit_fits(&s->bits, t->now_ns, 8ull * f->len) ||
	    !limit_fits(&s->frames, t->now_ns, wire_frames(f)) ||
	    (flood && !limit_fits(&s->storm, t->now_ns, wire_frames(f))))
		return false;
	limit_take(&s->bits, t->now_ns, 8ull * f->len);
	limit_take(&s->frames, t->now_ns, wire_frames(f));
	if (flood)
		limit_take(&s->storm, t->now_ns, wire_frames(f));
	return true;
}

static void limits_refund(struct turn *t, struct frame *const *f, unsigned n,
                          bool flood)
{
	for (unsigned i = 0; t->from->limited && i < n; i++) {
		limit_refund(&t->from->bits, 8ull * f[i]->len);
		limit_refund(&t->from->frames, wire_frames(f[i]));
		if (flood)
			limit_refund(&t->from->storm, wire_frames(f[i]));
	}
}

/* Is it allowed, and in which VLAN? Returns the counter of the reason why not,
 * or NULL. */
static uint64_t *check(struct turn *t, const struct frame *f,
                       struct way_out *out)
{
	struct port_counters *count = &t->from->port->count;
	const uint8_t *h = frame_head(f);
	int vlan;

	if (f->len < ETH_LEN || !vlan_frame_is_sane(f) || is_multicast(h + 6))
		return &count->drop_bad;
	vlan = vlan_ingress(&t->from->opts.vlan, vlan_tag_get(f));
	if (vlan < 0 || !source_is_allowed(&t->from->opts, h + 6))
		return &count->drop_policy;
	out->vlan = (uint16_t)vlan;
	return NULL;
}

/* Send frames that carry another tag on @to, and put the tags back. */
static unsigned send_retagged(struct slot *to, const struct run *r,
                              unsigned flags)
{
	uint32_t was[VSWITCH_BURST], is[VSWITCH_BURST];
	uint16_t hdr_len[VSWITCH_BURST];
	unsigned n;

	for (unsigned i = 0; i < r->n; i++) {
		was[i] = vlan_tag_get(r->f[i]);
		is[i] = vlan_egress(&to->opts.vlan, r->out.vlan, was[i]);
		hdr_len[i] = r->f[i]->hdr.hdr_len;
		vlan_tag_change(r->f[i], was[i], is[i]);
	}
	n = to->port->ops->send(to->port, r->f, r->n, flags);
	for (unsigned i = 0; i < r->n; i++) {
		vlan_tag_change(r->f[i], is[i], was[i]);
		r->f[i]->hdr.hdr_len = hdr_len[i];
	}
	return n;
}

static unsigned run_send(struct turn *t, struct slot *to, const struct run *r,
                         unsigned flags)
{
	unsigned index = to->port->sw_index;

	t->touched[index / 64] |= 1ull << (index % 64);
	if (r->out.vlan || to->opts.vlan.native)
		return send_retagged(to, r, flags);
	return to->port->ops->send(to->port, r->f, r->n, flags);
}

static void run_flood(struct turn *t, const struct run *r)
{
	unsigned high = ld32(&t->sw->high);

	for (unsigned i = 0; i < high; i++) {
		struct slot *to = slot_at(t->sw, i);

		if (to && to != t->from && may_pass(t->from, to, r->out.vlan))
			run_send(t, to, r, t->flags | SEND_LOSSY);
	}
}

/* Send the run. False: it stopped at r->f, and the burst with it. */
static bool run_finish(struct turn *t, struct run *r)
{
	unsigned n = r->n, done = n;
	struct slot *to;

	if (!n)
		return true;
	if (r->out.to == FLOOD) {
		run_flood(t, r);
	} else {
		/* Gone since we looked: as if it had been down. */
		to = slot_at(t->sw, (unsigned)r->out.to);
		if (to)
			done = run_send(t, to, r, t->flags);
		else
			count_add(&t->from->port->count.drop_down, n);
	}
	limits_refund(t, r->f + done, n - done, false);
	r->f += done;
	r->n = 0;
	return done == n;
}

static bool run_takes(const struct run *r, const struct way_out *out)
{
	return !r->n || (r->out.to == out->to && r->out.vlan == out->vlan);
}

/* Adds one frame to the run, or drops it. False: the run before it stopped. */
static bool run_add(struct turn *t, struct run *r, struct frame *const *fp)
{
	const struct frame *f = *fp;
	struct way_out out = { FLOOD, 0 };
	uint64_t *why = check(t, f, &out);
	uint64_t source = mac_key(frame_head(f) + 6, out.vlan);

	if (!why && !hear(t, source)) {
		if (!run_finish(t, r))
			return false;
		learn(t, source);
	}
	if (!why)
		why = route(t, frame_head(f), &out);
	if (!why && !limits_take(t, f, out.to == FLOOD))
		why = &t->from->port->count.drop_rate;
	if ((why || !run_takes(r, &out)) && !run_finish(t, r)) {
		if (!why)
			limits_refund(t, fp, 1, out.to == FLOOD);
		return false;
	}
	if (why) {
		count_add(why, 1);
		r->f++;
		return true;
	}
	r->out = out;
	r->n++;
	return true;
}

/* Frames come in trains: one with the addresses and type of the frame before
 * it, which carries no tag, goes the same way without another thought. */
static bool run_repeats(const struct turn *t, const struct run *r,
                        const struct frame *f)
{
	const uint8_t *is = frame_head(f), *was;

	if (!r->n || t->from->limited || f->len < ETH_LEN)
		return false;
	was = frame_head(r->f[r->n - 1]);
	return !memcmp(is, was, 8) && !memcmp(is + 6, was + 6, 8) &&
	       !vlan_tag_get(f) && vlan_frame_is_sane(f);
}

/* At most VSWITCH_BURST frames. Returns how many are done. */
static unsigned burst(struct turn *t, struct frame *const *f, unsigned n)
{
	struct run r = { .f = f };

	for (unsigned i = 0; i < n; i++) {
		if (run_repeats(t, &r, f[i]))
			r.n++;
		else if (!run_add(t, &r, f + i))
			return (unsigned)(r.f - f);
	}
	run_finish(t, &r);
	return (unsigned)(r.f - f);
}

static void touched_flush(struct turn *t)
{
	struct slot *to;

	for (unsigned w = 0; w < TOUCHED_WORDS; w++) {
		for (uint64_t bits = t->touched[w]; bits; bits &= bits - 1) {
			to = slot_at(t->sw,
			             w * 64 + (unsigned)__builtin_ctzll(bits));
			if (to && to->port->ops->flush)
				to->port->ops->flush(to->port);
		}
	}
}

static unsigned vswitch_input(struct port *p, struct frame *const *f,
                              unsigned n, unsigned flags)
{
	struct vswitch *sw = p->sw;
	struct turn t = { .sw = sw,
		          .from = slot_at(sw, p->sw_index),
		          .from_index = p->sw_index,
		          .flags = flags };
	unsigned done = 0, ask, got;
	uint64_t bytes = 0;

	t.now_ns = loop_now_ns(t.from->loop);
	t.now_s = (uint32_t)(t.now_ns / SECOND_NS);
	while (done < n) {
		ask = min_of(n - done, VSWITCH_BURST);
		got = burst(&t, f + done, ask);
		done += got;
		if (got < ask)
			break;
	}
	touched_flush(&t);
	for (unsigned i = 0; i < done; i++)
		bytes += f[i]->len;
	count_add(&p->count.in_frames, done);
	count_add(&p->count.in_bytes, bytes);
	return done;
}

/* The input of a port that is attached nowhere. */
static unsigned nowhere_input(struct port *p, struct frame *const *f,
                              unsigned n, unsigned flags)
{
	(void)f;
	(void)flags;
	count_add(&p->count.drop_down, n);
	return n;
}

void vswitch_port_opts_init(struct vswitch_port_opts *o)
{
	*o = (struct vswitch_port_opts){ .isolated = false };
	vlan_port_init(&o->vlan);
}

struct vswitch *vswitch_new(uint32_t age_s, int *err)
{
	struct vswitch *sw = calloc(1, sizeof(*sw));

	if (!sw) {
		*err = -ENOMEM;
		return NULL;
	}
	sw->macs = mac_table_new(age_s, err);
	if (!sw->macs) {
		free(sw);
		return NULL;
	}
	pthread_mutex_init(&sw->lock, NULL);
	return sw;
}

void vswitch_free(struct vswitch *sw)
{
	if (!sw)
		return;
	for (unsigned i = 0; i < VSWITCH_PORTS; i++)
		assert(!sw->slot[i] && !sw->leaving[i]);
	pthread_mutex_destroy(&sw->lock);
	mac_table_free(sw->macs);
	free(sw);
}

static struct slot *slot_new(struct port *p, struct loop *l,
                             const struct vswitch_port_opts *opts)
{
	struct slot *s = aligned_alloc(64, sizeof(*s));

	if (!s)
		return NULL;
	*s = (struct slot){ .port = p, .loop = l, .opts = *opts };
	limit_init(&s->bits, opts->rate_bits, 8ull * FRAME_LEN_MAX);
	limit_init(&s->frames, opts->rate_frames, 64);
	limit_init(&s->storm, opts->storm_frames, 64);
	s->limited = opts->rate_bits || opts->rate_frames || opts->storm_frames;
	return s;
}

int vswitch_attach(struct vswitch *sw, struct port *p, struct loop *l,
                   const struct vswitch_port_opts *opts)
{
	struct slot *s = slot_new(p, l, opts);
	unsigned i = 0;

	if (!s)
		return -ENOMEM;
	pthread_mutex_lock(&sw->lock);
	while (i < VSWITCH_PORTS && (sw->slot[i] || sw->leaving[i]))
		i++;
	if (i == VSWITCH_PORTS) {
		pthread_mutex_unlock(&sw->lock);
		free(s);
		return -ENOSPC;
	}
	p->sw = sw;
	p->sw_index = i;
	p->input = vswitch_input;
	st_ptr(&sw->slot[i], s);
	if (ld32(&sw->high) <= i)
		st32(&sw->high, i + 1);
	pthread_mutex_unlock(&sw->lock);
	return 0;
}

void vswitch_detach(struct vswitch *sw, struct port *p)
{
	pthread_mutex_lock(&sw->lock);
	sw->leaving[p->sw_index] = sw->slot[p->sw_index];
	st_ptr(&sw->slot[p->sw_index], NULL);
	p->input = nowhere_input;
	pthread_mutex_unlock(&sw->lock);
	mac_table_forget(sw->macs, p->sw_index);
}

void vswitch_forget(struct vswitch *sw, struct port *p)
{
	pthread_mutex_lock(&sw->lock);
	free(sw->leaving[p->sw_index]);
	sw->leaving[p->sw_index] = NULL;
	pthread_mutex_unlock(&sw->lock);
}

/* Between the table of stations and the caller of vswitch_walk(). */
struct walk {
	struct vswitch *sw;
	void (*fn)(void *ctx, const struct mac_entry *e, const char *port);
	void *ctx;
};

static void walk_entry(void *ctx, const struct mac_entry *e)
{
	struct walk *w = ctx;
	struct slot *s = slot_at(w->sw, e->port);

	if (s)
		w->fn(w->ctx, e, s->port->name);
}

void vswitch_walk(struct vswitch *sw, uint32_t now_s,
                  void (*fn)(void *ctx, const struct mac_entry *e,
                             const char *port),
                  void *ctx)
{
	struct walk w = { sw, fn, ctx };

	mac_table_walk(sw->macs, now_s, walk_entry, &w);
}
