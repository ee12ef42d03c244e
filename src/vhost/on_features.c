/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_features.c - what both sides can do.
 *
 * Two sets: feature bits, the driver's and two of vhost's own, and protocol
 * features of the conversation itself. A front end that does not know of the
 * latter (no bit 30) has all its rings enabled at once.
 */
#include <endian.h>
#include <errno.h>

#include "vhost/handlers.h"

/* Bits of vhost, which the device does not see. */
#define VHOST_BITS (VHOST_F_LOG_ALL | VHOST_USER_F_PROTOCOL_FEATURES)

int on_get_features(struct vhost_backend *b, struct msg *m)
{
	return answer_u64(m, b->offered);
}

/* A ring's layout cannot change under it; logging can. */
static int features_are_legal(struct vhost_backend *b, uint64_t features)
{
	uint64_t changed = (features ^ b->s.features) & ~VHOST_BITS;

	if (features & ~b->offered)
		return -EINVAL;
	if (changed && vrings_any_started(b))
		return -EBUSY;
	/* A legacy driver's rings have the guest's byte order. */
	if (BYTE_ORDER == BIG_ENDIAN && !(features & VIRTIO_F_VERSION_1))
		return -EOPNOTSUPP;
	return 0;
}

static int device_set_features(struct vhost_backend *b, uint64_t features)
{
	if (b->s.has_features && features == b->device.features)
		return 0;
	if (!b->ops->set_features)
		return 0;
	return b->ops->set_features(b->ctx, features);
}

int on_set_features(struct vhost_backend *b, struct msg *m)
{
	uint64_t features = m->body.u64;
	int err;

	err = features_are_legal(b, features);
	if (err)
		return err;
	err = device_set_features(b, features & ~VHOST_BITS);
	if (err)
		return err;
	b->device.features = features & ~VHOST_BITS;
	b->s.features = features;
	b->s.has_features = true;
	vrings_follow_log(b);
	for (unsigned i = 0; i < b->nvrings; i++) {
		struct vring *v = &b->vring[i];

		if (!(features & VHOST_USER_F_PROTOCOL_FEATURES))
			vring_set_enabled(b, v, true);
		err = vring_try_start(b, v);
		if (err)
			return err;
	}
	return 0;
}

int on_get_protocol(struct vhost_backend *b, struct msg *m)
{
	return answer_u64(m, b->protocol_offered);
}

/* Bits we do not know are left out, except one that nothing would work with. */
int on_set_protocol(struct vhost_backend *b, struct msg *m)
{
	uint64_t features = m->body.u64;

	if (features & VHOST_USER_PROTOCOL_F_INBAND_NOTIFICATIONS)
		return -EPROTO;
	b->s.protocol_features = features & b->protocol_offered;
	return 0;
}

int on_get_queue_num(struct vhost_backend *b, struct msg *m)
{
	unsigned n = b->ops->queue_num;

	return answer_u64(m, n ? n : b->nvrings);
}
