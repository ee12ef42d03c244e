/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.h - where vhost meets net, vsock and custom devices. All of them
 * include it; none of them includes another.
 *
 * vhost owns sessions and queues and calls down; a device answers. All
 * callbacks come on the backend's loop thread. A callback that is NULL is not
 * wanted.
 */
#ifndef VIADUCT_POLL_DEVICE_H
#define VIADUCT_POLL_DEVICE_H

#include "poll/queue.h"

/* What queue_ready answers besides a count. */
#define QUEUE_STALLED (-11) /* the device calls pump_wake() when it can go on */

struct device_ops {
	const char *kind; /* "net", "vsock", "custom" */
	uint64_t features;
	uint64_t protocol_features; /* beyond what vhost offers for everyone */
	unsigned queues;            /* vrings */
	unsigned queue_num;         /* what GET_QUEUE_NUM answers */
	size_t config_size;

	void (*connected)(void *ctx);
	void (*disconnected)(void *ctx);
	int (*set_features)(void *ctx, uint64_t features);
	/* Started: the ring may be used. Enabled: with side effects. Called in
	 * that order, under the queue's lock; stop before unmapping. */
	void (*queue_start)(void *ctx, struct vd_queue *q);
	void (*queue_stop)(void *ctx, struct vd_queue *q);
	void (*queue_enable)(void *ctx, struct vd_queue *q, bool on);
	/**
	 * queue_ready() - take and use what is available, one bounded visit
	 *
	 * Called without the lock (the device takes it around the ring). A
	 * started but disabled queue is visited too: take and discard, no side
	 * effects.
	 *
	 * Return: chains used, 0 when the ring was empty, QUEUE_STALLED, or
	 * -EBADMSG when the ring is broken.
	 */
	int (*queue_ready)(void *ctx, struct vd_queue *q);

	int (*get_config)(void *ctx, void *to, size_t off, size_t len);
	int (*set_config)(void *ctx, const void *from, size_t off, size_t len,
	                  bool migration);
	int (*set_mtu)(void *ctx, uint64_t mtu);
	int (*send_rarp)(void *ctx, const uint8_t mac[6]);
	void (*set_status)(void *ctx, uint8_t status);
	void (*reset)(void *ctx);
};

#endif
