/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vd_backend.c - <viaduct/device.h>: a back end with a loop of its own, and
 * callbacks of the application behind those that vhost knows.
 */
#include <viaduct/device.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vhost/backend.h"
#include "vhost/vd_queue.h"

#define TURNS_A_PROCESS 64u

struct vd_backend {
	struct loop *loop;
	struct vhost_backend *vhost;
	struct vd_device_ops user;
	void *user_ctx;
	struct device_ops ops;
};

/* --- from vhost to the application -------------------------------------- */

static void on_connected(void *ctx)
{
	struct vd_backend *b = ctx;

	if (b->user.connected)
		b->user.connected(b->user_ctx);
}

static void on_disconnected(void *ctx)
{
	struct vd_backend *b = ctx;

	if (b->user.disconnected)
		b->user.disconnected(b->user_ctx);
}

static int on_features(void *ctx, uint64_t features)
{
	struct vd_backend *b = ctx;

	if (!b->user.set_features)
		return 0;
	return b->user.set_features(b->user_ctx, features);
}

static void on_queue_start(void *ctx, struct vd_queue *q)
{
	struct vd_backend *b = ctx;

	held_clear(q->priv);
	if (b->user.queue_start)
		b->user.queue_start(b->user_ctx, q);
}

static void on_queue_stop(void *ctx, struct vd_queue *q)
{
	struct vd_backend *b = ctx;

	if (b->user.queue_stop)
		b->user.queue_stop(b->user_ctx, q);
	held_clear(q->priv);
}

/* What became of a visit: something was taken; there is nothing; or the
 * application does not want what there is (or cannot hold more). */
static int on_queue_ready(void *ctx, struct vd_queue *q)
{
	struct vd_backend *b = ctx;
	struct held *h = q->priv;
	uint64_t before = h->taken;

	b->user.queue_ready(b->user_ctx, q);
	if (q->ring.fault)
		return -EBADMSG;
	if (h->taken != before && !h->full)
		return (int)(h->taken - before);
	h->idle = h->full || ring_has_work_any(&q->ring);
	return h->idle ? QUEUE_STALLED : 0;
}

static int on_get_config(void *ctx, void *to, size_t off, size_t len)
{
	struct vd_backend *b = ctx;

	return b->user.get_config(b->user_ctx, to, off, len);
}

static int on_set_config(void *ctx, const void *from, size_t off, size_t len,
                         bool migration)
{
	struct vd_backend *b = ctx;

	(void)migration;
	if (!b->user.set_config)
		return -EACCES;
	return b->user.set_config(b->user_ctx, from, off, len);
}

static void on_reset(void *ctx)
{
	struct vd_backend *b = ctx;

	if (b->user.reset)
		b->user.reset(b->user_ctx);
}

/* --- options ------------------------------------------------------------ */

/* The application may know fewer fields than we do, or more: then the unknown
 * ones have to be zero. */
static int copy_sized(void *to, size_t room, const void *from)
{
	const unsigned char *byte = from;
	size_t size;

	memcpy(&size, from, sizeof(size));
	if (size < sizeof(size))
		return -EINVAL;
	memset(to, 0, room);
	memcpy(to, from, min_of(size, room));
	for (size_t i = room; i < size; i++) {
		if (byte[i])
			return -E2BIG;
	}
	return 0;
}

static int make_ops(struct vd_backend *b)
{
	const struct vd_device_ops *u = &b->user;

	if (!u->queue_ready || !u->queues || (u->config_size && !u->get_config))
		return -EINVAL;
	b->ops = (struct device_ops){
		.kind = "custom",
		.features = u->features,
		.queues = u->queues,
		.queue_num = u->queue_pairs ? u->queue_pairs : u->queues,
		.config_size = u->config_size,
		.connected = on_connected,
		.disconnected = on_disconnected,
		.set_features = on_features,
		.queue_start = on_queue_start,
		.queue_stop = on_queue_stop,
		.queue_ready = on_queue_ready,
		.get_config = on_get_config,
		.set_config = on_set_config,
		.reset = on_reset,
	};
	return 0;
}

/* --- from the application ----------------------------------------------- */

static int queues_prepare(struct vd_backend *b)
{
	struct vd_queue *q;

	for (unsigned i = 0; (q = vhost_backend_queue(b->vhost, i)); i++) {
		q->priv = held_new();
		if (!q->priv)
			return -ENOMEM;
	}
	return 0;
}

static int backend_open(struct vd_backend *b, const struct vd_backend_opts *o)
{
	struct vhost_backend_conf c = {
		.tag = o->tag,
		.path = o->socket,
		.fd = o->fd,
		.client = o->client,
		.mode = o->socket_mode,
		.policy = PUMP_ADAPTIVE,
	};
	int err;

	b->loop = loop_new(&err);
	if (!b->loop)
		return err;
	b->vhost = vhost_backend_new(b->loop, &b->ops, b, &c, &err);
	return b->vhost ? queues_prepare(b) : err;
}

struct vd_backend *vd_backend_new(const struct vd_device_ops *ops, void *ctx,
                                  const struct vd_backend_opts *opts, int *err)
{
	struct vd_backend *b = calloc(1, sizeof(*b));
	struct vd_backend_opts o;
	int ret = -ENOMEM;

	if (!b)
		goto fail;
	b->user_ctx = ctx;
	ret = copy_sized(&b->user, sizeof(b->user), ops);
	if (!ret)
		ret = copy_sized(&o, sizeof(o), opts);
	if (!ret)
		ret = make_ops(b);
	if (!ret)
		ret = backend_open(b, &o);
	if (!ret)
		return b;
fail:
	vd_backend_free(b);
	if (err)
		*err = ret;
	return NULL;
}

void vd_backend_free(struct vd_backend *b)
{
	struct held *held[VHOST_BACKEND_QUEUES_MAX];
	struct vd_queue *q;
	unsigned n = 0;

	if (!b)
		return;
	while (b->vhost && (q = vhost_backend_queue(b->vhost, n)))
		held[n++] = q->priv;
	vhost_backend_free(b->vhost); /* stops the queues, which use it */
	while (n)
		held_free(held[--n]);
	loop_free(b->loop);
	free(b);
}

void vd_backend_config_changed(struct vd_backend *b)
{
	vhost_backend_config_changed(b->vhost);
}

int vd_backend_run(struct vd_backend *b)
{
	return loop_run(b->loop);
}

void vd_backend_stop(struct vd_backend *b)
{
	loop_stop(b->loop);
}

int vd_backend_fd(struct vd_backend *b)
{
	return loop_fd(b->loop);
}

int vd_backend_process(struct vd_backend *b)
{
	int err = loop_turn(b->loop, 0);

	for (unsigned i = 0; !err && i < TURNS_A_PROCESS; i++) {
		if (!loop_is_busy(b->loop))
			break;
		err = loop_turn(b->loop, 0);
	}
	return err;
}
