/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.h - a driver's understanding with its device: what was offered, what was
 * chosen, and the order of messages that makes queues run. Only driver includes
 * it.
 *
 *   link_negotiate   owner, protocol features, configuration, features
 *   ... the caller lays out its memory for what was agreed ...
 *   link_start       memory, in-flight record, every vring, DRIVER_OK
 *   link_enable      a vring on or off, any time
 *   link_stop        off, position back, status 0
 *
 * Works with any back end: each step that hangs on a feature is left out when
 * the feature is not there. Spec: vhost-user; virtio 1.3, 3.1.1 Driver
 * Requirements: Device Initialization.
 */
#ifndef VIADUCT_DRIVER_LINK_H
#define VIADUCT_DRIVER_LINK_H

#include "driver/front.h"
#include "driver/vring.h"
#include "wire/net.h"

/* What the driver would like. */
struct link_want {
	uint64_t features; /* accept these when offered */
	uint64_t need;     /* refuse a device without these */
	uint64_t protocol; /* protocol features to use when offered */
	unsigned pairs;
	bool control; /* there will be a control queue */
	unsigned regions;
	bool inflight;
};

struct link {
	struct front front;
	struct link_want want;

	/* By link_negotiate(). */
	uint64_t offered;
	uint64_t features; /* without vhost's own bits */
	bool has_protocol; /* rings are enabled by message */
	unsigned pairs_max;
	unsigned pairs;
	struct virtio_net_config config; /* zeros: not said */

	struct vhost_user_inflight inflight;
	int inflight_fd;
	uint8_t status;
};

void link_init(struct link *l, const struct link_want *w);
/* Forget the session, close the socket. */
void link_close(struct link *l);

/* Return: 0; -ENOTSUP a needed feature is missing; or what front.h lists. */
int link_negotiate(struct link *l);

/* @v: all vrings, the one with the highest index last; @n of them. */
int link_start(struct link *l, const struct arena *a, const struct vring *v,
               unsigned n);
int link_enable(struct link *l, unsigned index, bool on);
/* Best effort: the device may be gone. */
void link_stop(struct link *l, const struct vring *v, unsigned n);

/* The vring number of the control queue (5.1.2 Virtqueues). */
unsigned link_control_index(const struct link *l);

/* Read the configuration space again; -EOPNOTSUPP: the device shows none. */
int link_read_config(struct link *l);
bool link_is_up(const struct link *l);

#endif
