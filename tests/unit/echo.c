/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * echo.c - the packets of a transmit queue into the receive queue beside it.
 */
#include "echo.h"

#include <assert.h>
#include <string.h>

#include "base/iov.h"
#include "poll/pump.h"

#define HDR sizeof(struct virtio_net_hdr)

static void on_start(void *ctx, struct vd_queue *q)
{
	struct echo *e = ctx;

	e->queue[q->index] = q;
	if (q->index % 2 == 0)
		pump_set_on_demand(q->pump, true);
}

static void on_stop(void *ctx, struct vd_queue *q)
{
	struct echo *e = ctx;

	e->queue[q->index] = NULL;
}

static int on_features(void *ctx, uint64_t features)
{
	struct echo *e = ctx;

	e->features = features;
	return 0;
}

static int on_config(void *ctx, void *to, size_t off, size_t len)
{
	struct virtio_net_config c = { .mac = { 2, 0, 0, 0, 0, 1 },
		                       .status = le16_make(1),
		                       .max_virtqueue_pairs =
		                               le16_make(ECHO_PAIRS),
		                       .mtu = le16_make(1500) };

	(void)ctx;
	if (off > sizeof(c) || len > sizeof(c) - off)
		return -1;
	memcpy(to, (uint8_t *)&c + off, len);
	return 0;
}

/* Receive chains with room for @len bytes in rx->burst; false: not enough. */
static bool take_room(struct echo *e, struct vd_queue *rx, size_t len)
{
	bool mergeable = e->features & VIRTIO_NET_F_MRG_RXBUF;
	struct burst *b = &rx->burst;
	size_t room = 0;

	b->n = b->nseg = 0;
	while (room < len && b->n < b->max_chains) {
		if (b->n && !mergeable)
			break;
		if (ring_take_any(&rx->ring, b, 1) <= 0)
			break;
		room += b->chain[b->n - 1].write_len;
	}
	if (room >= len)
		return true;
	ring_untake_any(&rx->ring, b, b->n);
	return false;
}

/* One packet into the chains that were taken for it. */
static void put_packet(struct vd_queue *rx, struct iov_span from, size_t len)
{
	struct burst *b = &rx->burst;
	le16 num = le16_make((uint16_t)b->n);

	for (unsigned i = 0; i < b->n; i++) {
		const struct chain *c = &b->chain[i];
		struct iov_span to = { &b->seg[c->first + c->nread], c->nwrite,
			               0 };
		size_t n = min_of((size_t)c->write_len, len);

		n = iov_copy(to, from, n);
		if (i == 0)
			iov_write(to.seg, to.n,
			          offsetof(struct virtio_net_hdr, num_buffers),
			          &num, sizeof(num));
		ring_give_any(&rx->ring, b, c, (uint32_t)n);
		from.off += n;
		len -= n;
	}
	b->n = b->nseg = 0;
}

static void echo_chain(struct echo *e, struct vd_queue *tx,
                       const struct chain *c)
{
	struct vd_queue *rx = e->queue[tx->index - 1];
	struct iov_span from = { &tx->burst.seg[c->first], c->nread, 0 };

	if (!queue_is_live(tx) || !rx || !queue_is_live(rx))
		return;
	if (take_room(e, rx, c->read_len)) {
		put_packet(rx, from, c->read_len);
		e->packets++;
	} else {
		e->no_room++;
	}
}

static int on_ready(void *ctx, struct vd_queue *q)
{
	struct echo *e = ctx;
	struct burst *b = &q->burst;
	int n;

	if (q->index % 2 == 0)
		return 0;
	b->n = b->nseg = 0;
	n = ring_take_any(&q->ring, b, RING_BURST);
	if (n < 0)
		queue_fault_report(q);
	for (int i = 0; i < n; i++)
		echo_chain(e, q, &b->chain[i]);
	if (e->queue[q->index - 1])
		queue_flush(e->queue[q->index - 1]);
	for (int i = 0; i < n; i++)
		ring_give_any(&q->ring, b, &b->chain[i], 0);
	b->n = b->nseg = 0;
	if (n > 0)
		queue_flush(q);
	return n;
}

static void *echo_main(void *arg)
{
	struct echo *e = arg;

	loop_run(e->loop);
	return NULL;
}

void echo_start(struct echo *e, const char *path, uint64_t features,
                enum pump_policy policy)
{
	struct vhost_backend_conf conf = { .tag = "echo",
		                           .path = path,
		                           .policy = policy };
	int err = 0;

	*e = (struct echo){ .ops = { .kind = "echo",
		                     .features = features,
		                     .queues = 2 * ECHO_PAIRS,
		                     .queue_num = ECHO_PAIRS,
		                     .config_size =
		                             sizeof(struct virtio_net_config),
		                     .set_features = on_features,
		                     .queue_start = on_start,
		                     .queue_stop = on_stop,
		                     .queue_ready = on_ready,
		                     .get_config = on_config } };
	e->loop = loop_new(&err);
	assert(e->loop);
	e->b = vhost_backend_new(e->loop, &e->ops, e, &conf, &err);
	assert(e->b);
	err = pthread_create(&e->thread, NULL, echo_main, e);
	assert(!err);
}

void echo_stop(struct echo *e)
{
	loop_stop(e->loop);
	pthread_join(e->thread, NULL);
	vhost_backend_free(e->b);
	loop_free(e->loop);
}
