/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tx.h - from a guest's transmit ring to whoever the device is bound to. net
 * and the guest port include it. tx is the guest's transmit, everywhere in net.
 */
#ifndef VIADUCT_NET_TX_H
#define VIADUCT_NET_TX_H

#include "net/hdr.h"
#include "poll/queue.h"

struct net_tx;

struct steer;

/* Where frames go. Takes them in order; what it does not take stays in the
 * guest's ring, and the queue is stalled until pump_wake(). */
typedef unsigned net_input(void *ctx, struct net_tx *tx, struct frame *const *f,
                           unsigned n);

/* Frames that did not get that far: @bad were none, or their headers make no
 * sense; @down came while the queue was not enabled. */
typedef void net_dropped(void *ctx, unsigned bad, unsigned down);

struct net_tx {
	/* Set before start, then read-only. */
	struct vd_queue *q; /* NULL: never started */
	net_input *input;
	net_dropped *dropped;
	void *ctx;
	struct steer *steer;
	unsigned pair;
	struct hdr_rules rules;

	/* Owner: scratch of a burst. */
	struct frame *ptr[RING_BURST];
	uint8_t chain_of[RING_BURST]; /* which chain a frame came in */
	struct frame frame[RING_BURST];
};

/**
 * tx_visit() - one burst, from taking the chains to the interrupt
 *
 * Takes the queue's lock and holds it while the frames are on their way, for
 * they borrow the guest's memory.
 *
 * Return: chains given back; 0 the ring is empty; QUEUE_STALLED; -EBADMSG.
 */
int tx_visit(struct net_tx *tx);

#endif
