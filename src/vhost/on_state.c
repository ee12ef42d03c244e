/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_state.c - who owns the device, and how it goes back to the beginning.
 *
 * Memory and protocol features outlive a reset: the front end still owns the
 * device.
 */
#include "vhost/handlers.h"

static void device_reset(struct vhost_backend *b)
{
	vrings_forget(b);
	inflight_area_free(b->s.inflight);
	b->s.inflight = NULL;
	b->s.has_features = false;
	b->s.features = 0;
	b->device.features = 0;
	b->s.status = 0;
	if (b->ops->reset)
		b->ops->reset(b->ctx);
}

int on_set_owner(struct vhost_backend *b, struct msg *m)
{
	(void)b;
	(void)m;
	return 0;
}

/* Deprecated; the safe reading is to disable the rings and keep all else. */
int on_reset_owner(struct vhost_backend *b, struct msg *m)
{
	(void)m;
	for (unsigned i = 0; i < b->nvrings; i++)
		vring_set_enabled(b, &b->vring[i], false);
	return 0;
}

int on_reset_device(struct vhost_backend *b, struct msg *m)
{
	(void)m;
	device_reset(b);
	return 0;
}

/* The driver's reset. Some front ends (QEMU) say so before they ask for the
 * positions of the rings, also when a guest only moves elsewhere: what they
 * told us stays until they tell us anew. */
static void driver_reset(struct vhost_backend *b)
{
	for (unsigned i = 0; i < b->nvrings; i++)
		vring_halt(b, &b->vring[i]);
	if (b->ops->reset)
		b->ops->reset(b->ctx);
}

int on_set_status(struct vhost_backend *b, struct msg *m)
{
	uint8_t status = (uint8_t)m->body.u64;

	if (!status)
		driver_reset(b);
	b->s.status = status;
	if (b->ops->set_status)
		b->ops->set_status(b->ctx, status);
	return 0;
}

int on_get_status(struct vhost_backend *b, struct msg *m)
{
	return answer_u64(m, b->s.status);
}
