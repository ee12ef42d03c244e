/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * driver.c - <viaduct/driver.h>: open, close, and what a driver says of itself.
 * The data path is in recvq.c and sendq.c, waiting in wait.c.
 */
#include <viaduct/driver.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "driver/state.h"

#define TIMEOUT_MS 5000u
#define QUEUE_SIZE 256u

#define RING_BITS                                                        \
	(VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER | \
	 VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX |                   \
	 VIRTIO_F_ORDER_PLATFORM)
#define NET_BITS                                                               \
	(VIRTIO_NET_F_CSUM | VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6 | \
	 VIRTIO_NET_F_HOST_ECN | VIRTIO_NET_F_HOST_UFO |                       \
	 VIRTIO_NET_F_HOST_USO | VIRTIO_NET_F_MRG_RXBUF | VIRTIO_NET_F_MAC |   \
	 VIRTIO_NET_F_MTU | VIRTIO_NET_F_STATUS | VIRTIO_NET_F_MQ)
/* Need a user who knows what to do with what they bring. */
#define USER_BITS                                            \
	(VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_GUEST_TSO4 | \
	 VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_GUEST_ECN |  \
	 VIRTIO_NET_F_GUEST_UFO | VIRTIO_NET_F_GUEST_USO4 |  \
	 VIRTIO_NET_F_GUEST_USO6)
/* Ours to ask for with opts.control. */
#define CONTROL_BITS                                                     \
	(VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_CTRL_RX |                   \
	 VIRTIO_NET_F_CTRL_RX_EXTRA | VIRTIO_NET_F_CTRL_VLAN |           \
	 VIRTIO_NET_F_CTRL_MAC_ADDR | VIRTIO_NET_F_CTRL_GUEST_OFFLOADS | \
	 VIRTIO_NET_F_NOTF_COAL | VIRTIO_NET_F_VQ_NOTF_COAL)
/* Everything behind these is there. */
#define PROTOCOL_BITS                                                       \
	(VHOST_USER_PROTOCOL_F_MQ | VHOST_USER_PROTOCOL_F_REPLY_ACK |       \
	 VHOST_USER_PROTOCOL_F_BACKEND_REQ | VHOST_USER_PROTOCOL_F_CONFIG | \
	 VHOST_USER_PROTOCOL_F_CONFIGURE_MEM_SLOTS |                        \
	 VHOST_USER_PROTOCOL_F_INFLIGHT_SHMFD | VHOST_USER_PROTOCOL_F_STATUS)

static void fill_in(struct vd_driver_opts *o)
{
	if (!o->timeout_ms)
		o->timeout_ms = TIMEOUT_MS;
	if (!o->queue_size)
		o->queue_size = QUEUE_SIZE;
	if (!o->queue_pairs)
		o->queue_pairs = 1;
	if (!o->pieces)
		o->pieces = 1;
	if (!o->features)
		o->features = RING_BITS | NET_BITS;
	o->features &= RING_BITS | NET_BITS | USER_BITS;
	o->features |= VIRTIO_F_VERSION_1;
	if (o->control)
		o->features |= CONTROL_BITS;
	o->features &= ~o->features_off;
	/* A split queue's size is a power of two. */
	if (o->queue_size & (o->queue_size - 1))
		o->features_need |= VIRTIO_F_RING_PACKED;
}

static bool are_sound(const struct vd_driver_opts *o)
{
	return o->queue_size <= PACKED_SIZE_MAX &&
	       o->queue_pairs <= VHOST_USER_VRINGS_MAX / 2 &&
	       o->pieces <= o->queue_size &&
	       (!o->buffer_size || o->buffer_size >= 64) &&
	       o->buffer_size <= 1u << 20 &&
	       (!o->socket || strlen(o->socket) < sizeof(struct sockaddr_un) -
	                                                  sizeof(sa_family_t));
}

/* Copy what the caller has of the structure, whatever its version. */
static int copy_opts(struct vd_driver *d, const struct vd_driver_opts *opts)
{
	struct vd_driver_opts *o = &d->opts;

	if (opts->size > sizeof(*o))
		return -E2BIG;
	memcpy(o, opts, opts->size);
	fill_in(o);
	if (!are_sound(o))
		return -EINVAL;
	if (o->socket) {
		strcpy(d->path, o->socket);
		o->fd = -1;
	}
	snprintf(d->tag, sizeof(d->tag), "%s",
	         o->tag      ? o->tag
	         : o->socket ? o->socket
	                     : "driver");
	o->socket = d->path;
	o->tag = d->tag;
	return 0;
}

static int open_driver(struct vd_driver *d, const struct vd_driver_opts *opts)
{
	struct vd_driver_opts *o = &d->opts;
	int err = copy_opts(d, opts);

	if (err)
		return err;
	link_init(&d->link,
	          &(struct link_want){
			  .features = o->features,
			  .need = o->features_need | VIRTIO_F_VERSION_1,
			  .protocol = PROTOCOL_BITS & ~o->protocol_off,
			  .pairs = o->queue_pairs,
			  .control = o->control,
			  .regions = o->regions,
			  .inflight = o->inflight });
	if (o->server) {
		d->listen_fd = sock_listen(d->path);
		if (d->listen_fd < 0)
			return d->listen_fd;
	}
	err = driver_connect(d);
	if (!err)
		vd_driver_set_policy(d, &o->policy);
	return err;
}

struct vd_driver *vd_driver_open(const struct vd_driver_opts *opts, int *err)
{
	struct vd_driver *d = calloc(1, sizeof(*d));

	if (!d) {
		*err = -ENOMEM;
		return NULL;
	}
	d->listen_fd = -1;
	d->arena.fd = -1;
	link_init(&d->link, &(struct link_want){ 0 });
	*err = open_driver(d, opts);
	if (*err) {
		vd_driver_close(d);
		return NULL;
	}
	return d;
}

void vd_driver_close(struct vd_driver *d)
{
	if (!d)
		return;
	if (d->connected)
		link_stop(&d->link, d->vring, driver_nvrings(d));
	link_close(&d->link);
	for (unsigned i = 0; d->pair && i < d->npairs; i++) {
		recvq_fini(&d->pair[i].rx);
		sendq_fini(&d->pair[i].tx);
	}
	if (d->has_control)
		ctrlq_fini(&d->ctrl);
	for (unsigned i = 0; d->vring && i < driver_nvrings(d); i++)
		vring_close(&d->vring[i]);
	free(d->pair);
	free(d->vring);
	arena_close(&d->arena);
	if (d->listen_fd >= 0)
		unlink(d->path);
	fd_close(&d->listen_fd);
	free(d);
}

/* --- control ----------------------------------------------------------- */

int vd_driver_service(struct vd_driver *d)
{
	return driver_service(d);
}

int vd_driver_control(struct vd_driver *d, const struct vd_control *c)
{
	if (!d->connected)
		return -ENOTCONN;
	if (!d->has_control)
		return -EOPNOTSUPP;
	return ctrlq_command(&d->ctrl, c, d->opts.timeout_ms);
}

static int enable_pair(struct vd_driver *d, unsigned i, bool on)
{
	int err = link_enable(&d->link, 2 * i, on);

	return err ? err : link_enable(&d->link, 2 * i + 1, on);
}

int vd_driver_set_pairs(struct vd_driver *d, unsigned n)
{
	int err = 0;

	if (n == 0 || n > d->npairs)
		return -EINVAL;
	if (!d->connected)
		return -ENOTCONN;
	for (; !err && d->active_pairs < n; d->active_pairs += !err)
		err = enable_pair(d, d->active_pairs, true);
	for (; !err && d->active_pairs > n; d->active_pairs -= !err)
		err = enable_pair(d, d->active_pairs - 1, false);
	return err ? err : driver_tell_pairs(d);
}

static void set_calls(struct drv *ring, bool always)
{
	if (always)
		drv_call_enable(ring, 1);
	else
		drv_call_disable(ring);
}

void vd_driver_set_policy(struct vd_driver *d, const struct vd_driver_policy *p)
{
	bool always = p->calls == VD_CALLS_ALWAYS;

	d->opts.policy = *p;
	for (unsigned i = 0; i < d->npairs; i++) {
		struct pair *pair = &d->pair[i];

		sendq_flush(&pair->tx);
		pair->tx.policy = *p;
		pair->rx.calls_always = always;
		set_calls(&pair->rx.q.ring, always);
		set_calls(&pair->tx.q.ring, always);
	}
}

void vd_driver_info(const struct vd_driver *d, struct vd_driver_info *to)
{
	struct vd_driver_info i = {
		.size = to->size,
		.features = d->link.features,
		.device_features = d->link.offered,
		.protocol = d->link.front.protocol,
		.queue_pairs = d->npairs,
		.queue_pairs_max = d->link.pairs_max,
		.connected = d->connected,
		.link_up = d->connected && link_is_up(&d->link),
	};

	if (d->link.features & VIRTIO_NET_F_MTU)
		i.mtu = le16_get(d->link.config.mtu);
	if (d->link.features & VIRTIO_NET_F_MAC)
		memcpy(i.mac, d->link.config.mac, sizeof(i.mac));
	memcpy(to, &i, min_of(to->size, sizeof(i)));
}

const char *vd_driver_fault(const struct vd_driver *d, unsigned pair)
{
	const struct pair *p = &d->pair[pair];

	if (p->rx.q.ring.fault)
		return ring_fault_word(p->rx.q.ring.fault);
	return ring_fault_word(p->tx.q.ring.fault);
}

/* --- counters ---------------------------------------------------------- */

static void add_queue(struct vd_driver_stats *s, const struct netq *q)
{
	const struct drv_counters *c = &q->ring.count;

	s->kicks += count_get(&q->kicks);
	s->kicks_suppressed += count_get(&c->kicks_suppressed);
	s->calls += count_get(&q->calls);
	s->indirect += count_get(&c->indirect);
	s->fallbacks += count_get(&c->fallbacks);
	s->faults += count_get(&c->faults) != 0;
}

static void add_pair(struct vd_driver_stats *s, const struct pair *p)
{
	add_queue(s, &p->rx.q);
	add_queue(s, &p->tx.q);
	s->rx_packets += count_get(&p->rx.packets);
	s->rx_bytes += count_get(&p->rx.bytes);
	s->bad_packets += count_get(&p->rx.bad);
	s->tx_packets += count_get(&p->tx.packets);
	s->tx_bytes += count_get(&p->tx.bytes);
	s->tx_full += count_get(&p->tx.full);
	s->kicks_delayed += count_get(&p->tx.delayed);
	s->lost += count_get(&p->tx.lost);
	s->waits += count_get(&p->waits);
}

void vd_driver_stats(const struct vd_driver *d, int pair,
                     struct vd_driver_stats *to)
{
	struct vd_driver_stats s = { .size = to->size };

	for (unsigned i = 0; i < d->npairs; i++)
		if (pair < 0 || (unsigned)pair == i)
			add_pair(&s, &d->pair[i]);
	s.reconnects = d->reconnects;
	memcpy(to, &s, min_of(to->size, sizeof(s)));
}
