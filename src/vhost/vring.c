/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vring.c - starting and stopping rings.
 *
 * A ring starts as soon as all is known that it needs: features, memory, size,
 * addresses and a kick descriptor (or the word that there is none). It does not
 * wait for a first kick. Started and enabled are two flags; enabled is tracked
 * while it is stopped. Spec: vhost-user, Ring states.
 */
#include "vhost/session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/order.h"

struct vring *vring_at(struct vhost_backend *b, uint64_t index)
{
	return index < b->nvrings ? &b->vring[index] : NULL;
}

static bool is_packed(const struct vhost_backend *b)
{
	return b->s.features & VIRTIO_F_RING_PACKED;
}

/* Where the three areas are here, each wholly mapped; false: somewhere else. */
static bool vring_translate(struct vhost_backend *b, const struct vring *v,
                            struct ring_conf *c)
{
	uva_t desc = { v->addr.desc }, driver = { v->addr.avail };
	uva_t device = { v->addr.used };
	uint32_t n = v->size;

	c->mem = b->s.mem;
	if (is_packed(b)) {
		c->desc = mem_at_uva(c->mem, desc, PACKED_DESC_BYTES(n));
		c->driver =
			mem_at_uva(c->mem, driver, sizeof(struct packed_event));
		c->device =
			mem_at_uva(c->mem, device, sizeof(struct packed_event));
	} else {
		c->desc = mem_at_uva(c->mem, desc, SPLIT_DESC_BYTES(n));
		c->driver = mem_at_uva(c->mem, driver, SPLIT_AVAIL_BYTES(n));
		c->device = mem_at_uva(c->mem, device, SPLIT_USED_BYTES(n));
	}
	return c->desc && c->driver && c->device;
}

/*
 * Where writes to the ring itself are logged. Of a split ring that is the log
 * address of the used ring. What a front end calls so for a packed ring is only
 * the small device area; the elements are written into the descriptor ring,
 * whose place in the guest follows from its address.
 */
static gpa_t used_in_guest(const struct vhost_backend *b, const struct vring *v)
{
	gpa_t told = { v->addr.log };
	uva_t desc = { v->addr.desc };

	return is_packed(b) ? mem_gpa_of_uva(b->s.mem, desc, told) : told;
}

/* Under the queue's lock. */
static void vring_follow_log(struct vhost_backend *b, struct vring *v)
{
	struct ring *r = &v->q.ring;
	bool on = b->s.log && b->s.features & VHOST_F_LOG_ALL;

	r->log = on ? &b->s.log->bits : NULL;
	r->log_used = v->addr.flags & VHOST_USER_VRING_F_LOG;
	r->used_gpa = used_in_guest(b, v).v;
}

static void vring_log(struct vhost_backend *b, struct vring *v,
                      const char *what)
{
	char tag[64];

	snprintf(tag, sizeof(tag), "%s/q%u", b->tag, v->q.index);
	log_debug(tag, "ring %s size=%u layout=%s enabled=%d position=%#x",
	          what, v->size, is_packed(b) ? "packed" : "split",
	          v->q.enabled, ring_position(&v->q.ring));
}

/* Under the queue's lock: from here on others may enter. */
static int vring_run(struct vhost_backend *b, struct vring *v,
                     const struct ring_conf *c)
{
	struct vd_queue *q = &v->q;
	int err;

	if (ring_start(&q->ring, c))
		return -EINVAL;
	err = vring_attach_inflight(b, v);
	if (err) {
		vring_detach_inflight(v);
		return err;
	}
	q->mem = mem_get(b->s.mem);
	q->burst.n = q->burst.nseg = 0;
	q->started = true;
	q->fault_reported = false;
	vring_follow_log(b, v);
	if (b->ops->queue_start)
		b->ops->queue_start(b->ctx, q);
	if (q->enabled && b->ops->queue_enable)
		b->ops->queue_enable(b->ctx, q, true);
	err = pump_start(q->pump);
	/* Something may have been published before a crash of ours, and not
	 * told: one interrupt too many is harmless. */
	if (c->position != ring_position_initial(q->ring.packed))
		queue_call(q);
	return err;
}

/* A front end that does not say where means the beginning, or, on a ring that
 * was in use, behind what was returned. */
static uint32_t position_unsaid(const struct ring_conf *c, bool packed)
{
	const struct split_used *used = c->device;

	return packed ? ring_position_initial(true) : ld16(&used->idx);
}

/*
 * Some front ends (DPDK's virtio-user) tell only the available half of a packed
 * position. Taken at its word it would mean that the device holds all of the
 * ring or more; they mean that it holds nothing.
 */
static uint32_t position_to_start(const struct vring *v,
                                  const struct ring_conf *c, bool packed)
{
	uint32_t p = v->position;

	if (!v->has_position)
		return position_unsaid(c, packed);
	if (packed && p <= UINT16_MAX && p & PACKED_WRAP)
		return p | p << 16;
	return p;
}

int vring_try_start(struct vhost_backend *b, struct vring *v)
{
	struct ring_conf c = { .features = b->s.features, .size = v->size };
	int err;

	if (v->q.started || !b->s.has_features || !b->s.mem || !v->size ||
	    !v->has_addr || !v->has_kick)
		return 0;
	if (!vring_translate(b, v, &c))
		return -EFAULT;
	c.position = position_to_start(v, &c, is_packed(b));
	vd_queue_lock(&v->q);
	err = vring_run(b, v, &c);
	vd_queue_unlock(&v->q);
	if (err) {
		vring_stop(b, v);
		return err;
	}
	vring_log(b, v, "started");
	return 0;
}

/* Nothing is taken from it or signalled for it from here on
 * [spec: queue.reset.no-execution]. */
void vring_stop(struct vhost_backend *b, struct vring *v)
{
	struct vd_queue *q = &v->q;

	if (!q->started)
		return;
	vd_queue_lock(q);
	pump_stop(q->pump);
	if (b->ops->queue_stop)
		b->ops->queue_stop(b->ctx, q);
	q->started = false;
	v->position = ring_position(&q->ring);
	v->has_position = true;
	mem_put(q->mem);
	q->mem = NULL;
	ring_set_mem(&q->ring, NULL);
	q->ring.log = NULL;
	vring_detach_inflight(v);
	vd_queue_unlock(q);
	vring_log(b, v, "stopped");
}

void vring_halt(struct vhost_backend *b, struct vring *v)
{
	vring_stop(b, v);
	v->has_kick = false;
	fd_close(&v->q.kick_fd);
}

void vring_set_enabled(struct vhost_backend *b, struct vring *v, bool on)
{
	struct vd_queue *q = &v->q;

	if (q->enabled == on)
		return;
	vd_queue_lock(q);
	q->enabled = on;
	if (q->started && b->ops->queue_enable)
		b->ops->queue_enable(b->ctx, q, on);
	vd_queue_unlock(q);
	/* What came while it was disabled may be waiting. */
	if (on && q->started)
		pump_wake(q->pump);
}

void vring_set_call(struct vring *v, int fd)
{
	struct vd_queue *q = &v->q;

	vd_queue_lock(q);
	fd_replace(&q->call_fd, fd);
	if (q->started)
		queue_call(q); /* the old one may have got the news */
	vd_queue_unlock(q);
}

int vring_set_kick(struct vhost_backend *b, struct vring *v, int fd)
{
	struct vd_queue *q = &v->q;
	int err = 0;

	v->has_kick = true;
	if (q->started)
		err = pump_set_kick(q->pump, fd);
	fd_replace(&q->kick_fd, fd);
	if (err)
		return err;
	if (q->started)
		pump_wake(q->pump);
	return vring_try_start(b, v);
}

void vring_forget(struct vhost_backend *b, struct vring *v)
{
	vring_stop(b, v);
	vd_queue_lock(&v->q);
	v->q.enabled = false;
	fd_close(&v->q.kick_fd);
	fd_close(&v->q.call_fd);
	fd_close(&v->q.err_fd);
	vd_queue_unlock(&v->q);
	v->size = 0;
	v->has_position = v->has_addr = v->has_kick = false;
	memset(&v->addr, 0, sizeof(v->addr));
}

/* --- all of them -------------------------------------------------------- */

void vrings_stop(struct vhost_backend *b)
{
	for (unsigned i = 0; i < b->nvrings; i++)
		vring_stop(b, &b->vring[i]);
}

void vrings_forget(struct vhost_backend *b)
{
	for (unsigned i = 0; i < b->nvrings; i++)
		vring_forget(b, &b->vring[i]);
}

bool vrings_any_started(struct vhost_backend *b)
{
	for (unsigned i = 0; i < b->nvrings; i++) {
		if (b->vring[i].q.started)
			return true;
	}
	return false;
}

static void vring_follow_memory(struct vhost_backend *b, struct vring *v)
{
	struct vd_queue *q = &v->q;
	struct ring_conf c = { 0 };

	if (!q->started) {
		vring_try_start(b, v);
		return;
	}
	if (!vring_translate(b, v, &c)) {
		log_warn(b->tag, "ring lost its memory queue=%u", q->index);
		vring_stop(b, v);
		return;
	}
	vd_queue_lock(q);
	ring_set_areas(&q->ring, &c);
	mem_put(q->mem);
	q->mem = mem_get(b->s.mem);
	vring_follow_log(b, v);
	vd_queue_unlock(q);
}

void vrings_follow_memory(struct vhost_backend *b)
{
	for (unsigned i = 0; i < b->nvrings; i++)
		vring_follow_memory(b, &b->vring[i]);
}

void vrings_follow_log(struct vhost_backend *b)
{
	for (unsigned i = 0; i < b->nvrings; i++) {
		struct vring *v = &b->vring[i];

		vd_queue_lock(&v->q);
		if (v->q.started)
			vring_follow_log(b, v);
		vd_queue_unlock(&v->q);
	}
}
