/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.c - our own messages to the front end.
 */
#include "vhost/channel.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "wire/vhost.h"

static void channel_write(struct channel *c)
{
	struct vhost_user_hdr h = {
		.request = VHOST_USER_BACKEND_CONFIG_CHANGE_MSG,
		.flags = VHOST_USER_VERSION,
	};
	ssize_t n;

	/* Twelve bytes go whole or not at all through a unix socket. */
	n = send(c->fd, &h, sizeof(h), MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && errno == EAGAIN) {
		c->config_pending = true;
		if (!c->watch.loop)
			loop_watch_add(c->loop, &c->watch, c->fd, EPOLLOUT);
		return;
	}
	c->config_pending = false;
	loop_watch_remove(&c->watch);
	if (n != (ssize_t)sizeof(h))
		channel_set(c, -1);
}

static void on_writable(struct loop_watch *w, uint32_t events)
{
	(void)events;
	channel_write(container_of(w, struct channel, watch));
}

void channel_init(struct channel *c, struct loop *l)
{
	*c = (struct channel){ .loop = l,
		               .watch = { .fn = on_writable },
		               .fd = -1 };
}

void channel_set(struct channel *c, int fd)
{
	loop_watch_remove(&c->watch);
	c->config_pending = false;
	fd_replace(&c->fd, fd);
}

void channel_config_changed(struct channel *c)
{
	if (c->fd >= 0 && !c->config_pending)
		channel_write(c);
}
