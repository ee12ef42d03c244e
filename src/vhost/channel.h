/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * channel.h - our own messages to the front end, on a socket that it gave us
 * (SET_BACKEND_REQ_FD). Only vhost includes it.
 *
 * We never ask for replies, so nothing waits. A message that the socket cannot
 * take now goes when it can; the same news twice is sent once.
 */
#ifndef VIADUCT_VHOST_CHANNEL_H
#define VIADUCT_VHOST_CHANNEL_H

#include "base/loop.h"

struct channel {
	struct loop *loop;
	struct loop_watch watch;
	int fd; /* -1: none */
	bool config_pending;
};

void channel_init(struct channel *c, struct loop *l);
/* Use @fd, which is the channel's from then on; -1: close. */
void channel_set(struct channel *c, int fd);
void channel_config_changed(struct channel *c);

#endif
