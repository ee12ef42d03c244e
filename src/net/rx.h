/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rx.h - frames straight into a guest's receive ring. net and the guest port
 * include it.
 */
#ifndef VIADUCT_NET_RX_H
#define VIADUCT_NET_RX_H

#include "net/filter.h"
#include "net/segment.h"
#include "poll/queue.h"

#define RX_CHAINS 256u /* buffers held at a time */
#define RX_CAP    128u /* of them, those that a merged frame may use */

/* What the driver asked for; changed under the queue's lock only. */
struct rx_settings {
	bool active; /* its pair is in use */
	uint8_t hdr_len;
	uint16_t cap;     /* buffers a frame: 1, or RX_CAP when merging */
	bool csum;        /* GUEST_CSUM: header flags are understood */
	unsigned allowed; /* OFFLOAD_* that the guest takes as they are */
	struct filter filter;
};

/* What became of the frames of one call. */
struct rx_result {
	uint64_t frames, bytes; /* written to the guest */
	uint64_t drop_full;
	uint64_t drop_down;
	uint64_t drop_bad; /* too long for the buffers the guest offers */
	uint64_t drop_offload;
};

/* The values of port.h, which net does not know. */
#define RX_LOSSY  1u /* drop and count what does not fit */
#define RX_WAITED 2u /* with it: it was waited for, the guest is stuck */

struct net_rx {
	/* NULL before the first start, then always the same. Others than the
	 * owner learn from steer.h that it is there. */
	struct vd_queue *q;
	unsigned pair;
	le16 pending; /* given, not published; any thread reads */

	/* Under the queue's lock. */
	struct rx_settings set;
	unsigned at; /* next chain of the burst that is free */
	bool stuck;  /* stayed full for a whole wait, and no progress since */
	struct burst burst;
	struct rx_result *result;
	struct segmenter *segmenter;
};

int rx_init(struct net_rx *rx, unsigned pair); /* 0 or -ENOMEM */
void rx_fini(struct net_rx *rx);

/**
 * rx_send() - write frames into the guest's buffers, not visible yet
 * @f:	    frames, in order
 * @flags:  RX_*; with RX_WAITED what does not fit is dropped at once from then
 *	    on, until there is progress
 * @result: added to
 *
 * Any thread: takes the queue's lock, once.
 *
 * Return: how many of them are done with, written or dropped.
 */
unsigned rx_send(struct net_rx *rx, struct frame *const *f, unsigned n,
                 unsigned flags, struct rx_result *result);

/* Publish what was written and interrupt if wanted. Any thread. */
void rx_flush(struct net_rx *rx);

#endif
