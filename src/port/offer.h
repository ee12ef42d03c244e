/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * offer.h - frames that wait until the switch takes them. port includes it.
 *
 * A port that reads into buffers of its own keeps what a full destination left,
 * reads nothing meanwhile, and offers it again: every 100 microseconds, for the
 * port's wait_ns (usually 10 ms), and then so that what still does not fit is
 * lost.
 */
#ifndef VIADUCT_PORT_OFFER_H
#define VIADUCT_PORT_OFFER_H

#include "base/loop.h"
#include "port/port.h"

#define OFFER_BURST 32u

struct offer {
	struct port *port;
	struct loop *loop;
	/* All were taken: read on. Not called when offer_put() said so. */
	void (*resumed)(struct offer *o);
	struct loop_timer timer;
	unsigned n, at, tries;
	struct frame *frame[OFFER_BURST];
};

void offer_init(struct offer *o, struct port *port, struct loop *l,
                void (*resumed)(struct offer *o));
/* Nothing waits any more; what did is forgotten. */
void offer_fini(struct offer *o);

/* Offer o->frame[0 .. n). True: all were taken. False: wait for resumed(); the
 * frames have to stay. */
bool offer_put(struct offer *o, unsigned n);

static inline bool offer_is_waiting(const struct offer *o)
{
	return o->at < o->n;
}

/* A frame of @len contiguous bytes, in a burst of its own. */
void offer_frame_init(struct frame *f, struct seg *seg, uint8_t *byte,
                      uint32_t len);

#endif
