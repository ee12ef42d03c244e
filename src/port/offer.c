/* SPDX-License-Identifier: BSD-2-Clause */
/* offer.c - frames that wait until the switch takes them; see offer.h. */
#include "port/offer.h"

#include <string.h>

#define RETRY_NS 100000u
#define WAIT_NS  10000000u

static bool offer_try(struct offer *o)
{
	uint64_t wait_ns = o->port->wait_ns ? o->port->wait_ns : WAIT_NS;
	unsigned flags =
		o->tries >= wait_ns / RETRY_NS ? SEND_LOSSY | SEND_WAITED : 0;
	unsigned n;

	n = o->port->input(o->port, o->frame + o->at, o->n - o->at, flags);
	o->at += n;
	if (o->at == o->n)
		return true;
	o->tries = n ? 1 : o->tries + 1;
	loop_timer_set(o->loop, &o->timer, RETRY_NS);
	return false;
}

static void offer_again(struct loop_timer *t)
{
	struct offer *o = container_of(t, struct offer, timer);

	if (offer_try(o))
		o->resumed(o);
}

void offer_init(struct offer *o, struct port *port, struct loop *l,
                void (*resumed)(struct offer *o))
{
	memset(o, 0, sizeof(*o));
	o->port = port;
	o->loop = l;
	o->resumed = resumed;
	o->timer.fn = offer_again;
}

void offer_fini(struct offer *o)
{
	loop_timer_cancel(&o->timer);
	o->n = o->at = 0;
}

bool offer_put(struct offer *o, unsigned n)
{
	o->n = n;
	o->at = 0;
	o->tries = 0;
	return offer_try(o);
}

void offer_frame_init(struct frame *f, struct seg *seg, uint8_t *byte,
                      uint32_t len)
{
	uint8_t head = (uint8_t)min_of(len, FRAME_HEAD);

	f->hdr = (struct frame_hdr){ .flags = 0 };
	f->len = len;
	f->nseg = len > head;
	f->seg = seg;
	f->head_len = head;
	f->head_at = FRAME_HEAD_ROOM;
	memcpy(f->room + FRAME_HEAD_ROOM, byte, head);
	*seg = (struct seg){ byte + head, len - head };
}
