/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * connect.c - the life of a driver's connection.
 *
 *   get a socket (connect, accept, or the one we were given)
 *   negotiate               link.c
 *   the first time: lay out queues and buffers for what was agreed
 *   fresh rings, start      link.c
 *   ... until the socket hangs up; then, if wanted, all over again with pauses
 *   that double up to a cap, for ever
 *
 * A device that comes back starts with fresh rings: what it held is lost and
 * counted. What was agreed first has to be agreed again, because the memory is
 * laid out for it.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "driver/clock.h"
#include "driver/state.h"

#define FIRST_PAUSE_MS 10u
#define BUFFER_SIZE    2048u
#define BUFFER_GSO     (65536u + 64u) /* the longest packet in one buffer */

#define GUEST_GSO                                            \
	(VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6 | \
	 VIRTIO_NET_F_GUEST_UFO | VIRTIO_NET_F_GUEST_USO4 |  \
	 VIRTIO_NET_F_GUEST_USO6)

static int get_socket(struct vd_driver *d, unsigned timeout_ms)
{
	uint64_t deadline = clock_ns() + timeout_ms * CLOCK_NS_PER_MS;

	if (d->listen_fd >= 0)
		return sock_accept(d->listen_fd, deadline);
	if (d->path[0])
		return sock_connect(d->path, deadline);
	return d->opts.fd >= 0 ? fd_move(&d->opts.fd) : -ENOTCONN;
}

/* --- memory, once ------------------------------------------------------ */

static unsigned rx_buffer_size(const struct vd_driver *d)
{
	uint64_t f = d->link.features;
	unsigned mtu = le16_get(d->link.config.mtu);
	unsigned size = d->opts.buffer_size ? d->opts.buffer_size : BUFFER_SIZE;

	if (d->opts.buffer_size || f & VIRTIO_NET_F_MRG_RXBUF)
		return size;
	if (f & GUEST_GSO)
		return BUFFER_GSO;
	if (f & VIRTIO_NET_F_MTU)
		size = max_of(size, (mtu + 18u + NET_HDR + 63u) & ~63u);
	return size;
}

static void lay_out(struct vd_driver *d, struct arena *a)
{
	for (unsigned i = 0; i < d->npairs; i++) {
		netq_layout_ring(&d->pair[i].rx.q, a);
		netq_layout_ring(&d->pair[i].tx.q, a);
	}
	if (d->has_control)
		netq_layout_ring(&d->ctrl.q, a);
	arena_keep_whole(a);
	for (unsigned i = 0; i < d->npairs; i++) {
		netq_layout_bufs(&d->pair[i].rx.q, a);
		netq_layout_bufs(&d->pair[i].tx.q, a);
	}
	if (d->has_control)
		netq_layout_bufs(&d->ctrl.q, a);
}

static int init_pair(struct vd_driver *d, unsigned i)
{
	struct vring *v = &d->vring[2 * i];
	unsigned size = rx_buffer_size(d);
	struct pair *p = &d->pair[i];
	int err;

	for (unsigned k = 0; k < 2; k++) {
		v[k].index = 2 * i + k;
		v[k].size = d->opts.queue_size;
		v[k].packed = d->link.features & VIRTIO_F_RING_PACKED;
	}
	err = recvq_init(&p->rx,
	                 &(struct netq_conf){ &v[0], size, d->opts.pieces });
	if (err)
		return err;
	size = d->opts.buffer_size ? d->opts.buffer_size : BUFFER_SIZE;
	return sendq_init(&p->tx,
	                  &(struct netq_conf){ &v[1], size, d->opts.pieces });
}

static int init_control(struct vd_driver *d)
{
	struct vring *v = &d->vring[2 * d->npairs];

	v->index = link_control_index(&d->link);
	v->size = min_of(d->opts.queue_size, CTRLQ_SIZE);
	v->packed = d->link.features & VIRTIO_F_RING_PACKED;
	return ctrlq_init(&d->ctrl, v);
}

static int set_up(struct vd_driver *d)
{
	struct arena count = arena_counting();
	int err = 0;

	d->npairs = d->active_pairs = d->link.pairs;
	d->has_control = d->link.features & VIRTIO_NET_F_CTRL_VQ;
	d->vring = calloc(driver_nvrings(d), sizeof(*d->vring));
	d->pair = aligned_alloc(_Alignof(struct pair),
	                        d->npairs * sizeof(*d->pair));
	if (!d->vring || !d->pair)
		return -ENOMEM;
	memset(d->pair, 0, d->npairs * sizeof(*d->pair));
	for (unsigned i = 0; i < driver_nvrings(d); i++)
		d->vring[i].kick_fd = d->vring[i].call_fd = d->vring[i].err_fd =
			-1;
	for (unsigned i = 0; !err && i < d->npairs; i++)
		err = init_pair(d, i);
	if (!err && d->has_control)
		err = init_control(d);
	if (err)
		return err;
	lay_out(d, &count);
	err = arena_open(&d->arena, count.used, d->opts.hugepages);
	if (!err)
		lay_out(d, &d->arena);
	return err;
}

/* --- start ------------------------------------------------------------- */

/* A device that has a control queue wants to hear there how many pairs. */
int driver_tell_pairs(struct vd_driver *d)
{
	le16 n = le16_make((uint16_t)d->active_pairs);
	struct vd_control c = { .kind = VIRTIO_NET_CTRL_MQ,
		                .command = VIRTIO_NET_CTRL_MQ_VQ_PAIRS_SET,
		                .data = &n,
		                .len = sizeof(n) };

	if (!d->has_control || !(d->link.features & VIRTIO_NET_F_MQ))
		return 0;
	return ctrlq_command(&d->ctrl, &c, d->opts.timeout_ms);
}

static int start_queues(struct vd_driver *d)
{
	int err = 0;

	for (unsigned i = 0; !err && i < driver_nvrings(d); i++) {
		vring_close(&d->vring[i]);
		err = vring_open(&d->vring[i]);
	}
	for (unsigned i = 0; !err && i < d->npairs; i++) {
		err = recvq_start(&d->pair[i].rx, &d->arena, d->link.features);
		if (!err)
			err = sendq_start(&d->pair[i].tx, &d->arena,
			                  d->link.features);
	}
	if (!err && d->has_control)
		err = ctrlq_start(&d->ctrl, &d->arena, d->link.features);
	if (!err)
		err = link_start(&d->link, &d->arena, d->vring,
		                 driver_nvrings(d));
	for (unsigned i = 0; !err && i < driver_nvrings(d); i++)
		if (i >= 2 * d->npairs || i < 2 * d->active_pairs)
			err = link_enable(&d->link, d->vring[i].index, true);
	return err ? err : driver_tell_pairs(d);
}

static int connect_on(struct vd_driver *d, int fd)
{
	struct link *l = &d->link;
	int err;

	front_open(&l->front, fd, d->opts.timeout_ms, d->tag);
	d->config_seen = 0;
	err = link_negotiate(l);
	if (!err && !d->pair)
		err = set_up(d);
	if (!err && l->pairs < d->npairs)
		err = -ENOTSUP;
	if (!err)
		err = start_queues(d);
	if (err) {
		link_close(l);
		return err;
	}
	/* From now on the same again, or nothing. */
	l->want.features = l->want.need = l->features;
	d->connected = true;
	log_info(d->tag, "connected features=%#llx pairs=%u",
	         (unsigned long long)l->features, d->npairs);
	return 0;
}

int driver_connect(struct vd_driver *d)
{
	int fd = get_socket(d, d->opts.timeout_ms);

	return fd < 0 ? fd : connect_on(d, fd);
}

void driver_disconnect(struct vd_driver *d)
{
	link_close(&d->link);
	for (unsigned i = 0; i < d->npairs; i++) {
		netq_drain_calls(&d->pair[i].rx.q);
		netq_drain_calls(&d->pair[i].tx.q);
		sendq_abandon(&d->pair[i].tx);
	}
	d->connected = false;
}

/* --- afterwards -------------------------------------------------------- */

/* The device says nothing on its own: readable means gone, or gone mad. */
bool driver_has_hung_up(const struct vd_driver *d)
{
	struct pollfd p = { .fd = d->link.front.sock.fd, .events = POLLIN };

	return p.fd < 0 || (poll(&p, 1, 0) > 0 && p.revents);
}

static void serve_back(struct vd_driver *d)
{
	struct front *f = &d->link.front;
	struct pollfd p = { .fd = f->back_fd, .events = POLLIN };

	while (f->back_fd >= 0 && p.fd == f->back_fd && poll(&p, 1, 0) > 0)
		front_serve_back(f);
	if (d->config_seen == f->config_changes)
		return;
	d->config_seen = f->config_changes;
	link_read_config(&d->link);
}

static void plan_next_try(struct vd_driver *d)
{
	d->next_try_ns = clock_ns() + d->pause_ms * CLOCK_NS_PER_MS;
	d->pause_ms = min_of(d->pause_ms * 2, d->opts.reconnect_ms);
}

static void try_again(struct vd_driver *d)
{
	int fd, err;

	if (clock_ns() < d->next_try_ns)
		return;
	fd = get_socket(d, 0);
	err = fd < 0 ? fd : connect_on(d, fd);
	if (err == 0) {
		d->reconnects++;
	} else if (err == -ENOTSUP) {
		log_error(d->tag, "device came back with less than before");
		d->gone_for_good = err;
	} else {
		plan_next_try(d);
	}
}

int driver_service(struct vd_driver *d)
{
	if (d->connected && front_is_open(&d->link.front))
		serve_back(d);
	if (d->connected && driver_has_hung_up(d)) {
		log_warn(d->tag, "device went away");
		driver_disconnect(d);
		d->pause_ms = min_of(FIRST_PAUSE_MS, d->opts.reconnect_ms);
		if (!d->opts.reconnect_ms)
			d->gone_for_good = -ENOTCONN;
		else
			plan_next_try(d);
	}
	if (!d->connected && !d->gone_for_good)
		try_again(d);
	if (d->connected)
		return 1;
	return d->gone_for_good ? d->gone_for_good : -ENOTCONN;
}
