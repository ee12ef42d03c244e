/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * queue.c - a ring and its descriptors: interrupts, kicks, faults.
 */
#include "poll/queue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/order.h"

int queue_init(struct vd_queue *q, struct vd_device *device, unsigned index)
{
	struct burst *b = &q->burst;

	memset(q, 0, sizeof(*q));
	q->device = device;
	q->index = index;
	q->kick_fd = q->call_fd = q->err_fd = -1;
	pthread_mutex_init(&q->lock, NULL);
	b->max_chains = RING_BURST;
	b->max_segs = RING_SEGS;
	b->chain = calloc(b->max_chains, sizeof(*b->chain));
	b->seg = calloc(b->max_segs, sizeof(*b->seg));
	b->gpa = calloc(b->max_segs, sizeof(*b->gpa));
	return b->chain && b->seg && b->gpa ? 0 : -ENOMEM;
}

void queue_fini(struct vd_queue *q)
{
	fd_close(&q->kick_fd);
	fd_close(&q->call_fd);
	fd_close(&q->err_fd);
	free(q->burst.chain);
	free(q->burst.seg);
	free(q->burst.gpa);
	pthread_mutex_destroy(&q->lock);
}

void queue_call(struct vd_queue *q)
{
	fd_event_signal(q->call_fd);
}

void queue_flush(struct vd_queue *q)
{
	ring_publish_any(&q->ring);
	if (ring_call_wanted_any(&q->ring))
		queue_call(q);
}

bool queue_kick_drain(struct vd_queue *q)
{
	if (!fd_event_drain(q->kick_fd))
		return false;
	count_add(&q->ring.count.kicks, 1);
	return true;
}

void queue_fault_report(struct vd_queue *q)
{
	enum ring_fault f = q->ring.fault;
	char tag[64];

	if (f == RING_OK || q->fault_reported)
		return;
	q->fault_reported = true;
	snprintf(tag, sizeof(tag), "%s/q%u", q->device->tag, q->index);
	log_warn(tag, "driver broke the ring fault=%s rule=\"%s\": %s",
	         ring_fault_word(f), ring_fault_title(f), ring_fault_text(f));
	fd_event_signal(q->err_fd);
}
