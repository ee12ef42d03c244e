/* SPDX-License-Identifier: BSD-2-Clause */
/* fakeport.c - a port that remembers what it was sent, and frames to send. */
#include "fakeport.h"

#include <limits.h>
#include <string.h>

#include "base/iov.h"
#include "base/order.h"

void flat_of(struct flat *to, const struct frame *f)
{
	uint32_t head = f->head_len; /* a byte, less than FAKE_LEN */

	to->len = f->len;
	to->hdr = f->hdr;
	memcpy(to->byte, frame_head(f), head);
	iov_read(f->seg, f->nseg, 0, to->byte + head, FAKE_LEN - head);
}

static void remember(struct fake_port *p, const struct frame *f)
{
	if (p->n < FAKE_KEEP)
		flat_of(&p->got[p->n], f);
	p->n++;
}

static unsigned fake_send(struct port *port, struct frame *const *f, unsigned n,
                          unsigned flags)
{
	struct fake_port *p = container_of(port, struct fake_port, port);
	unsigned take = min_of(n, p->room);

	p->sends++;
	for (unsigned i = 0; i < take; i++) {
		remember(p, f[i]);
		count_add(&port->count.out_bytes, f[i]->len);
	}
	if (p->room != UINT_MAX)
		p->room -= take;
	count_add(&port->count.out_frames, take);
	if (!(flags & SEND_LOSSY))
		return take;
	count_add(&port->count.drop_full, n - take);
	return n;
}

static void fake_flush(struct port *port)
{
	container_of(port, struct fake_port, port)->flushes++;
}

static const struct port_ops fake_ops = { "fake", fake_send, fake_flush, NULL };

void fake_port_init(struct fake_port *p, const char *name)
{
	memset(p, 0, sizeof(*p));
	p->port.ops = &fake_ops;
	p->port.name = name;
	p->room = UINT_MAX;
}

unsigned fake_input(struct port *p, struct frame *const *f, unsigned n,
                    unsigned flags)
{
	struct fake_port *into = p->sw;

	return fake_send(&into->port, f, n, flags);
}

void fake_input_into(struct port *from, struct fake_port *into)
{
	from->sw = into;
	from->input = fake_input;
}

void made_init(struct made *m, const uint8_t *byte, uint32_t len)
{
	struct frame *f = &m->frame;
	uint32_t head = min_of(len, FRAME_HEAD);
	uint32_t half = (len - head) / 2;

	memcpy(m->byte, byte, len);
	m->len = len;
	m->seg[0] = (struct seg){ m->byte + head, half };
	m->seg[1] = (struct seg){ m->byte + head + half, len - head - half };
	memset(f, 0, sizeof(*f));
	f->len = len;
	f->nseg = 2;
	f->seg = m->seg;
	f->head_len = (uint8_t)head;
	f->head_at = FRAME_HEAD_ROOM;
	memcpy(f->room + FRAME_HEAD_ROOM, byte, head);
}
