/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * backend.c - life of a back end: it waits for a front end, serves it
 * (session.c), and waits for the next.
 *
 * As a server it keeps listening; a second front end is turned away while one
 * is served. As a client it tries again for ever, each time a little later, up
 * to two seconds. A descriptor that was connected when it was given is served
 * once.
 */
#include "vhost/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "vhost/listen.h"
#include "vhost/session.h"

#define RETRY_FIRST_NS (50 * UINT64_C(1000000))
#define RETRY_MOST_NS  (2000 * UINT64_C(1000000))

/* What vhost and the rings bring to every device. */
#define COMMON_FEATURES                                                     \
	(VIRTIO_F_VERSION_1 | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX | \
	 VIRTIO_F_RING_PACKED | VIRTIO_F_ORDER_PLATFORM |                   \
	 VIRTIO_F_ANY_LAYOUT | VHOST_F_LOG_ALL |                            \
	 VHOST_USER_F_PROTOCOL_FEATURES)

#define COMMON_PROTOCOL                                                        \
	(VHOST_USER_PROTOCOL_F_MQ | VHOST_USER_PROTOCOL_F_LOG_SHMFD |          \
	 VHOST_USER_PROTOCOL_F_REPLY_ACK | VHOST_USER_PROTOCOL_F_BACKEND_REQ | \
	 VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD |                                \
	 VHOST_USER_PROTOCOL_F_RESET_DEVICE |                                  \
	 VHOST_USER_PROTOCOL_F_CONFIGURE_MEM_SLOTS |                           \
	 VHOST_USER_PROTOCOL_F_STATUS)

static uint64_t protocol_of(const struct device_ops *ops)
{
	uint64_t p = COMMON_PROTOCOL;

	if (ops->config_size && ops->get_config)
		p |= VHOST_USER_PROTOCOL_F_CONFIG;
	if (ops->send_rarp)
		p |= VHOST_USER_PROTOCOL_F_RARP;
	if (ops->set_mtu)
		p |= VHOST_USER_PROTOCOL_F_MTU;
	return p;
}

/* --- server ------------------------------------------------------------- */

static void refuse_second(struct vhost_backend *b)
{
	unsigned more;

	if (log_limit_pass(&b->limit, &more))
		log_warn(b->tag,
		         "second front end turned away, one is served "
		         "suppressed=%u",
		         more);
}

static void on_listener(struct loop_watch *w, uint32_t events)
{
	struct vhost_backend *b =
		container_of(w, struct vhost_backend, listener);
	int fd, err;

	(void)events;
	fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd < 0)
		return;
	/* The one before may have hung up a moment ago. */
	if (session_is_open(b) && session_is_stale(b))
		session_close(b, -ECONNRESET);
	if (session_is_open(b)) {
		refuse_second(b);
		fd_close(&fd);
		return;
	}
	err = session_open(b, fd);
	if (err)
		log_error(b->tag, "cannot serve: %s", strerror(-err));
}

static int watch_listener(struct vhost_backend *b, int fd)
{
	int err;

	b->listener.fn = on_listener;
	err = loop_watch_add(b->loop, &b->listener, fd, EPOLLIN);
	if (err)
		fd_close(&fd);
	return err;
}

static int serve(struct vhost_backend *b, const struct vhost_backend_conf *conf)
{
	struct stat st;
	int fd = listen_open(conf);

	if (fd == -EADDRINUSE)
		log_error(b->tag,
		          "somebody listens there already, or it is no socket "
		          "path=%s",
		          conf->path);
	if (fd < 0)
		return fd;
	if (!lstat(conf->path, &st)) {
		b->has_file = true;
		b->file_dev = st.st_dev;
		b->file_ino = st.st_ino;
	}
	log_info(b->tag, "listening path=%s", conf->path);
	return watch_listener(b, fd);
}

/* --- client ------------------------------------------------------------- */

static void retry_later(struct vhost_backend *b)
{
	loop_timer_set(b->loop, &b->retry, b->retry_ns);
	b->retry_ns = min_of(2 * b->retry_ns, RETRY_MOST_NS);
}

static void try_connect(struct loop_timer *t)
{
	struct vhost_backend *b = container_of(t, struct vhost_backend, retry);
	int fd = listen_connect(b->path), err = fd;

	if (fd >= 0)
		err = session_open(b, fd);
	if (err >= 0) {
		b->complained = false;
		return;
	}
	if (!b->complained)
		log_warn(b->tag, "cannot connect yet path=%s: %s", b->path,
		         strerror(-err));
	b->complained = true;
	retry_later(b);
}

/* --- both --------------------------------------------------------------- */

void backend_session_over(struct vhost_backend *b)
{
	if (!b->client)
		return;
	if (b->s.heard) /* it was a real one */
		b->retry_ns = RETRY_FIRST_NS;
	retry_later(b);
}

/* Takes the descriptor out of @given, if there is one. */
static int open_socket(struct vhost_backend *b,
                       const struct vhost_backend_conf *conf, int *given)
{
	int err;

	if (conf->path && conf->client)
		return loop_timer_set(b->loop, &b->retry, 0);
	if (conf->path)
		return serve(b, conf);
	err = fd_set_nonblock(*given);
	if (err)
		return err;
	return listen_is_listening(*given) ? watch_listener(b, fd_move(given))
	                                   : session_open(b, fd_move(given));
}

static int queues_new(struct vhost_backend *b, enum pump_policy policy)
{
	unsigned n = b->ops->queues;
	int err;

	if (!n || n > VHOST_BACKEND_QUEUES_MAX)
		return -EINVAL;
	b->vring = aligned_alloc(_Alignof(struct vring), n * sizeof(*b->vring));
	if (!b->vring)
		return -ENOMEM;
	memset(b->vring, 0, n * sizeof(*b->vring));
	while (b->nvrings < n) {
		struct vd_queue *q = &b->vring[b->nvrings].q;

		err = queue_init(q, &b->device, b->nvrings++);
		if (err)
			return err;
		pump_new(b->loop, q, policy, &err);
		if (err)
			return err;
	}
	return 0;
}

static void queues_free(struct vhost_backend *b)
{
	for (unsigned i = 0; i < b->nvrings; i++) {
		pump_free(b->vring[i].q.pump);
		queue_fini(&b->vring[i].q);
	}
	free(b->vring);
}

static int backend_init(struct vhost_backend *b,
                        const struct vhost_backend_conf *conf)
{
	b->s.io.fd = -1;
	b->s.channel.fd = -1;
	b->listener.fd = -1;
	b->retry.fn = try_connect;
	b->retry_ns = RETRY_FIRST_NS;
	b->client = conf->path && conf->client;
	b->tag = strdup(conf->tag ? conf->tag : conf->path ? conf->path : "fd");
	b->path = conf->path ? strdup(conf->path) : NULL;
	if (!b->tag || (conf->path && !b->path))
		return -ENOMEM;
	b->device.tag = b->tag;
	b->device.ops = b->ops;
	b->device.ctx = b->ctx;
	b->offered = b->ops->features | COMMON_FEATURES;
	b->protocol_offered = protocol_of(b->ops);
	return queues_new(b, conf->policy);
}

struct vhost_backend *vhost_backend_new(struct loop *l,
                                        const struct device_ops *ops, void *ctx,
                                        const struct vhost_backend_conf *conf,
                                        int *err)
{
	struct vhost_backend *b = calloc(1, sizeof(*b));
	int given = conf->path ? -1 : conf->fd;

	*err = -ENOMEM;
	if (!b)
		goto fail;
	b->loop = l;
	b->ops = ops;
	b->ctx = ctx;
	*err = backend_init(b, conf);
	if (*err)
		goto fail;
	*err = open_socket(b, conf, &given);
	if (*err)
		goto fail;
	return b;
fail:
	fd_close(&given);
	vhost_backend_free(b);
	return NULL;
}

static void remove_file(struct vhost_backend *b)
{
	struct stat st;

	/* Somebody may have put another one there. */
	if (b->has_file && !lstat(b->path, &st) && st.st_dev == b->file_dev &&
	    st.st_ino == b->file_ino)
		unlink(b->path);
}

void vhost_backend_free(struct vhost_backend *b)
{
	int fd;

	if (!b)
		return;
	b->client = false; /* no more */
	session_close(b, -ECANCELED);
	loop_timer_cancel(&b->retry);
	fd = b->listener.fd;
	loop_watch_remove(&b->listener);
	fd_close(&fd);
	remove_file(b);
	queues_free(b);
	free(b->tag);
	free(b->path);
	free(b);
}

void vhost_backend_config_changed(struct vhost_backend *b)
{
	uint64_t need = VHOST_USER_PROTOCOL_F_BACKEND_REQ |
	                VHOST_USER_PROTOCOL_F_CONFIG;

	if (session_is_open(b) && (b->s.protocol_features & need) == need)
		channel_config_changed(&b->s.channel);
}

/* --- looks from outside -------------------------------------------------- */

struct vd_queue *vhost_backend_queue(struct vhost_backend *b, unsigned index)
{
	struct vring *v = vring_at(b, index);

	return v ? &v->q : NULL;
}

void vhost_backend_info(const struct vhost_backend *b, struct vhost_info *to)
{
	const struct session *s = &b->s;

	*to = (struct vhost_info){
		.tag = b->tag,
		.path = b->path,
		.client = b->client,
		.connected = session_is_open(b),
		.sessions = b->sessions,
		.messages = b->messages,
		.refused = b->refused,
		.features = b->device.features,
		.offered = b->offered,
		.protocol_features = s->protocol_features,
		.dirty_log = s->log && s->features & VHOST_F_LOG_ALL,
		.status = s->status,
		.queues = b->nvrings,
	};
	for (unsigned i = 0; s->mem && i < s->mem->nregions; i++) {
		to->mem_regions++;
		to->mem_bytes += s->mem->region[i].size;
	}
}

int vhost_backend_queue_info(struct vhost_backend *b, unsigned index,
                             struct vhost_queue_info *to)
{
	struct vring *v = vring_at(b, index);

	if (!v)
		return -ENOENT;
	vd_queue_lock(&v->q);
	*to = (struct vhost_queue_info){
		.index = index,
		.size = v->size,
		.packed = b->device.features & VIRTIO_F_RING_PACKED,
		.started = v->q.started,
		.enabled = v->q.enabled,
		.fault = ring_fault_word(v->q.ring.fault),
		.position =
			v->q.started ? ring_position(&v->q.ring) : v->position,
		.count = v->q.ring.count,
	};
	vd_queue_unlock(&v->q);
	return 0;
}
