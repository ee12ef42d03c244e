/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.h - a ring with its notification descriptors: what a device works on.
 * Included by vhost, which makes them, and by net and vsock, which use them;
 * libviaduct's <viaduct/queue.h> is a thin cover over it.
 *
 * Ownership: the session's loop thread starts, stops and drains a queue. A
 * queue that other workers may enter (a switch's destination) is entered under
 * its lock, once a burst: vd_queue_lock()/unlock() around
 * take..publish. Control (start, stop, new memory, enable) holds the lock too,
 * so that nobody is in the ring while it changes.
 */
#ifndef VIADUCT_POLL_QUEUE_H
#define VIADUCT_POLL_QUEUE_H

#include <pthread.h>

#include "ring/ring.h"

struct pump;       /* poll/pump.h */
struct device_ops; /* poll/device.h */

/* What all queues of one front end share; vhost sets it. */
struct vd_device {
	const char *tag; /* "net0" */
	const struct device_ops *ops;
	void *ctx;
	uint64_t features; /* as the driver chose; 0 before that */
};

struct vd_queue {
	struct ring ring;

	/* Set by vhost under the lock. */
	struct vd_device *device;
	struct pump *pump;
	unsigned index; /* vring number */
	int kick_fd;    /* -1: none, the front end wants us to poll */
	int call_fd;    /* -1: none, the driver polls */
	int err_fd;
	bool started;
	bool enabled;
	bool fault_reported; /* since it was started; under the lock */

	struct mem *mem; /* our reference on the snapshot in ring.mem */

	/* The device's own (net: its half of a queue pair). */
	void *priv;

	/* Scratch for one burst, allocated at start. */
	struct burst burst;

	pthread_mutex_t lock;
};

static inline void vd_queue_lock(struct vd_queue *q)
{
	pthread_mutex_lock(&q->lock);
}

static inline void vd_queue_unlock(struct vd_queue *q)
{
	pthread_mutex_unlock(&q->lock);
}

/* Started and not broken: its ring may be used. */
static inline bool queue_is_visitable(const struct vd_queue *q)
{
	return q->started && !q->ring.fault;
}

/* Enabled, too: with side effects. */
static inline bool queue_is_live(const struct vd_queue *q)
{
	return queue_is_visitable(q) && q->enabled;
}

/* An idle queue: no ring, no descriptors, no scratch. 0 or -ENOMEM. */
int queue_init(struct vd_queue *q, struct vd_device *device, unsigned index);
void queue_fini(struct vd_queue *q);

/* Interrupt the driver: an eventfd write that never blocks; ring_call_wanted()
 * has counted it. No-op without a call fd. */
void queue_call(struct vd_queue *q);

/* ring_publish + ring_call_wanted + queue_call. */
void queue_flush(struct vd_queue *q);

/* Empty the kick eventfd and count the kick; -1 and 0 are fine.
 * Return: true when there was one. */
bool queue_kick_drain(struct vd_queue *q);

/**
 * queue_fault_report() - after a take or give answered -EBADMSG
 *
 * Whoever entered the ring calls it, under the lock if others may enter. Once
 * per start: one log line with the fault's name, rule and queue, and the err
 * eventfd signalled. Other queues live.
 */
void queue_fault_report(struct vd_queue *q);

#endif
