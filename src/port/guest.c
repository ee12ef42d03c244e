/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest.c - a guest as a packet endpoint.
 *
 * Towards the guest: guest_send() writes into its receive rings, guest_flush()
 * makes it visible. From the guest: net calls guest_input() with a burst of one
 * transmit queue, which goes to the switch.
 *
 * What the switch does not take, because the next frame's destination is full,
 * stays in the guest's ring; the queue is stalled and looked at again soon.
 * When a burst has been held up for wait_ns, its first frame is
 * offered with SEND_WAITED: the destination drops it, if it is still full, and
 * from then on until it makes progress drops everything at once. So a guest
 * that does not read costs each sender one wait, not one a frame.
 */
#include "port/guest.h"

#include <errno.h>
#include <stdlib.h>

#include "base/order.h"
#include "poll/pump.h"

#define RETRY_NS      50000u   /* the first look again; each later one */
#define RETRY_NS_MOST 1000000u /* after twice as long, up to this */

/* A transmit queue that is held up. Loop thread. */
struct stall {
	struct guest *guest;
	struct net_tx *tx;
	struct loop_timer timer;
	uint64_t since_ns; /* 0: is not */
	uint64_t retry_ns;
};

struct guest {
	struct port port;
	struct net_device *dev;
	struct loop *loop;
	uint64_t wait_ns;
	unsigned pairs;
	struct stall stall[];
};

_Static_assert(SEND_LOSSY == RX_LOSSY && SEND_WAITED == RX_WAITED,
               "flags go through as they are");

static struct guest *of_port(struct port *p)
{
	return container_of(p, struct guest, port);
}

/* --- to the guest ------------------------------------------------------- */

static unsigned guest_send(struct port *p, struct frame *const *f, unsigned n,
                           unsigned flags)
{
	struct rx_result r = { 0 };
	unsigned done;

	done = net_send(of_port(p)->dev, f, n, flags, &r);
	count_add_shared(&p->count.out_frames, r.frames);
	count_add_shared(&p->count.out_bytes, r.bytes);
	if (likely(r.frames == n))
		return done;
	count_add_shared(&p->count.drop_full, r.drop_full);
	count_add_shared(&p->count.drop_down, r.drop_down);
	count_add_shared(&p->count.drop_bad, r.drop_bad);
	count_add_shared(&p->count.drop_offload, r.drop_offload);
	return done;
}

static void guest_flush(struct port *p)
{
	net_flush(of_port(p)->dev);
}

static void guest_close(struct port *p)
{
	guest_free(of_port(p));
}

static const struct port_ops guest_port_ops = {
	.kind = "guest",
	.send = guest_send,
	.flush = guest_flush,
	.close = guest_close,
};

/* --- from the guest ----------------------------------------------------- */

static void on_retry(struct loop_timer *t)
{
	struct stall *s = container_of(t, struct stall, timer);

	pump_wake(s->tx->q->pump);
}

/* Held up for longer than we wait: the frame that blocks goes or is lost. */
static unsigned unblock(struct guest *g, struct stall *s,
                        struct frame *const *f)
{
	if (!s->since_ns || loop_now_ns(g->loop) - s->since_ns < g->wait_ns)
		return 0;
	return g->port.input(&g->port, f, 1, SEND_LOSSY | SEND_WAITED);
}

/* Look again soon, and less often the longer nothing moves. */
static void stall_retry(struct guest *g, struct stall *s, unsigned done)
{
	if (done || !s->retry_ns)
		s->retry_ns = RETRY_NS;
	loop_timer_set(g->loop, &s->timer, s->retry_ns);
	s->retry_ns = min_of(2 * s->retry_ns, RETRY_NS_MOST);
}

static unsigned guest_input(void *ctx, struct net_tx *tx,
                            struct frame *const *f, unsigned n)
{
	struct guest *g = ctx;
	struct stall *s = &g->stall[tx->pair];
	unsigned done = 0;

	if (unlikely(!g->port.input)) {
		count_add_shared(&g->port.count.drop_down, n);
		return n;
	}
	if (unlikely(s->since_ns))
		done = unblock(g, s, f);
	if (done < n)
		done += g->port.input(&g->port, f + done, n - done, 0);
	if (likely(done == n)) {
		s->since_ns = s->retry_ns = 0;
		return n;
	}
	if (!s->since_ns)
		s->since_ns = loop_now_ns(g->loop);
	stall_retry(g, s, done);
	s->tx = tx;
	return done;
}

static void guest_dropped(void *ctx, unsigned bad, unsigned down)
{
	struct guest *g = ctx;

	count_add_shared(&g->port.count.drop_bad, bad);
	count_add_shared(&g->port.count.drop_down, down);
}

static void guest_tx_stopped(void *ctx, struct net_tx *tx)
{
	struct guest *g = ctx;
	struct stall *s = &g->stall[tx->pair];

	loop_timer_cancel(&s->timer);
	s->since_ns = s->retry_ns = 0;
}

static void guest_announce(void *ctx, struct frame *f)
{
	struct guest *g = ctx;

	if (g->port.input)
		g->port.input(&g->port, &f, 1, SEND_LOSSY);
}

/* --- life --------------------------------------------------------------- */

struct guest *guest_new(const struct guest_conf *c, struct loop *l, int *err)
{
	struct net_events e = { .input = guest_input,
		                .dropped = guest_dropped,
		                .tx_stopped = guest_tx_stopped,
		                .announce = guest_announce };
	struct guest *g;

	g = calloc(1, sizeof(*g) + c->net.pairs * sizeof(g->stall[0]));
	if (!g) {
		*err = -ENOMEM;
		return NULL;
	}
	e.ctx = g;
	g->port.ops = &guest_port_ops;
	g->port.name = c->name;
	g->loop = l;
	g->wait_ns = c->wait_ns ? c->wait_ns : GUEST_WAIT_NS;
	g->pairs = c->net.pairs;
	for (unsigned i = 0; i < g->pairs; i++) {
		g->stall[i].guest = g;
		g->stall[i].timer.fn = on_retry;
	}
	g->dev = net_device_new(&c->net, &e, err);
	if (!g->dev) {
		free(g);
		return NULL;
	}
	return g;
}

void guest_free(struct guest *g)
{
	if (!g)
		return;
	for (unsigned i = 0; i < g->pairs; i++)
		loop_timer_cancel(&g->stall[i].timer);
	net_device_free(g->dev);
	free(g);
}

struct port *guest_port(struct guest *g)
{
	return &g->port;
}

struct net_device *guest_device(struct guest *g)
{
	return g->dev;
}

const struct device_ops *guest_ops(struct guest *g)
{
	return net_device_ops(g->dev);
}
