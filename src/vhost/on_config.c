/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_config.c - the device's configuration space, and the few things a front
 * end tells the device outside of it.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "vhost/handlers.h"

/* Does the message hold what it says, and is that inside the space? */
static bool config_is_sane(const struct vhost_backend *b, const struct msg *m)
{
	const struct vhost_user_config *c = &m->body.config;

	return m->hdr.size - VHOST_USER_CONFIG_HDR_BYTES == c->size &&
	       c->size && c->offset <= b->ops->config_size &&
	       c->size <= b->ops->config_size - c->offset;
}

/* The answer has the size of the question; no payload at all is an error. */
int on_get_config(struct vhost_backend *b, struct msg *m)
{
	struct vhost_user_config *c = &m->body.config;

	if (!config_is_sane(b, m) || !b->ops->get_config ||
	    b->ops->get_config(b->ctx, c->bytes, c->offset, c->size))
		m->hdr.size = 0;
	return 0;
}

int on_set_config(struct vhost_backend *b, struct msg *m)
{
	const struct vhost_user_config *c = &m->body.config;

	if (!config_is_sane(b, m) || c->flags > VHOST_USER_CONFIG_MIGRATION)
		return -EPROTO;
	if (!b->ops->set_config)
		return -EACCES;
	return b->ops->set_config(b->ctx, c->bytes, c->offset, c->size,
	                          c->flags == VHOST_USER_CONFIG_MIGRATION);
}

int on_send_rarp(struct vhost_backend *b, struct msg *m)
{
	uint8_t mac[6];

	if (!b->ops->send_rarp)
		return 0;
	memcpy(mac, &m->body.u64, sizeof(mac));
	return b->ops->send_rarp(b->ctx, mac);
}

int on_net_set_mtu(struct vhost_backend *b, struct msg *m)
{
	if (!b->ops->set_mtu)
		return -EOPNOTSUPP;
	return b->ops->set_mtu(b->ctx, m->body.u64);
}

int on_set_backend_req(struct vhost_backend *b, struct msg *m)
{
	struct stat st;

	if (fstat(m->fd[0], &st) || !S_ISSOCK(st.st_mode))
		return -EBADF;
	channel_set(&b->s.channel, fd_move(&m->fd[0]));
	return 0;
}
