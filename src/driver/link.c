/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * link.c - negotiate with a device and start its queues, message by message.
 */
#include "driver/link.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/log.h"

#define PROTOCOL(bit) (l->front.protocol & VHOST_USER_PROTOCOL_F_##bit)

void link_init(struct link *l, const struct link_want *w)
{
	*l = (struct link){ .want = *w, .inflight_fd = -1 };
	front_open(&l->front, -1, 0, NULL);
}

void link_close(struct link *l)
{
	front_close(&l->front);
	fd_close(&l->inflight_fd);
	l->status = 0;
}

/* --- status ------------------------------------------------------------ */

/* 3.1.1: the bits are set one by one and stay. */
static int add_status(struct link *l, uint8_t bits)
{
	l->status |= bits;
	if (!PROTOCOL(STATUS))
		return 0;
	return front_set_u64(&l->front, VHOST_USER_SET_STATUS, l->status);
}

/* FEATURES_OK has to be read back: the device may not agree. */
static int check_features_ok(struct link *l)
{
	uint64_t status;
	int err;

	if (!PROTOCOL(STATUS))
		return 0;
	err = front_get_u64(&l->front, VHOST_USER_GET_STATUS, &status);
	if (err)
		return err;
	return status & VIRTIO_STATUS_FEATURES_OK ? 0 : -ENOTSUP;
}

/* --- negotiation ------------------------------------------------------- */

static int agree_protocol(struct link *l)
{
	uint64_t offered, chosen;
	int err;

	l->has_protocol = (l->offered & VHOST_USER_F_PROTOCOL_FEATURES) &&
	                  l->want.protocol;
	if (!l->has_protocol)
		return 0;
	err = front_get_u64(&l->front, VHOST_USER_GET_PROTOCOL_FEATURES,
	                    &offered);
	if (err)
		return err;
	chosen = offered & l->want.protocol;
	return front_set_u64(&l->front, VHOST_USER_SET_PROTOCOL_FEATURES,
	                     chosen);
}

static int agree_pairs(struct link *l)
{
	uint64_t pairs = 1;
	int err;

	if (PROTOCOL(MQ)) {
		err = front_get_u64(&l->front, VHOST_USER_GET_QUEUE_NUM,
		                    &pairs);
		if (err)
			return err;
	}
	if (!(l->offered & VIRTIO_NET_F_MQ))
		pairs = 1;
	if (pairs == 0)
		return -EPROTO;
	l->pairs_max =
		(unsigned)min_of(pairs, (uint64_t)VHOST_USER_VRINGS_MAX / 2);
	l->pairs = min_of(l->pairs_max, l->want.pairs);
	return 0;
}

int link_read_config(struct link *l)
{
	struct virtio_net_config c = { .status = { 0 } };
	int err;

	if (!PROTOCOL(CONFIG))
		return -EOPNOTSUPP;
	/* mac, status, max_virtqueue_pairs, mtu: what net devices agree on. */
	err = front_get_config(&l->front, &c, 0,
	                       offsetof(struct virtio_net_config, speed));
	if (!err)
		l->config = c;
	return err;
}

/* A feature and those of which it needs one (5.1.3.1 Feature bit requirements).
 * In this order one pass is enough. */
static const struct {
	uint64_t feature, needs;
} requirements[] = {
	{ VIRTIO_NET_F_HOST_TSO4, VIRTIO_NET_F_CSUM },
	{ VIRTIO_NET_F_HOST_TSO6, VIRTIO_NET_F_CSUM },
	{ VIRTIO_NET_F_HOST_UFO, VIRTIO_NET_F_CSUM },
	{ VIRTIO_NET_F_HOST_USO, VIRTIO_NET_F_CSUM },
	{ VIRTIO_NET_F_HOST_ECN,
	  VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6 },
	{ VIRTIO_NET_F_GUEST_TSO4, VIRTIO_NET_F_GUEST_CSUM },
	{ VIRTIO_NET_F_GUEST_TSO6, VIRTIO_NET_F_GUEST_CSUM },
	{ VIRTIO_NET_F_GUEST_UFO, VIRTIO_NET_F_GUEST_CSUM },
	{ VIRTIO_NET_F_GUEST_USO4, VIRTIO_NET_F_GUEST_CSUM },
	{ VIRTIO_NET_F_GUEST_USO6, VIRTIO_NET_F_GUEST_CSUM },
	{ VIRTIO_NET_F_CTRL_RX, VIRTIO_NET_F_CTRL_VQ },
	{ VIRTIO_NET_F_CTRL_RX_EXTRA, VIRTIO_NET_F_CTRL_VQ },
	{ VIRTIO_NET_F_CTRL_VLAN, VIRTIO_NET_F_CTRL_VQ },
	{ VIRTIO_NET_F_CTRL_MAC_ADDR, VIRTIO_NET_F_CTRL_VQ },
	{ VIRTIO_NET_F_CTRL_GUEST_OFFLOADS, VIRTIO_NET_F_CTRL_VQ },
	{ VIRTIO_NET_F_NOTF_COAL, VIRTIO_NET_F_CTRL_VQ },
	{ VIRTIO_NET_F_VQ_NOTF_COAL, VIRTIO_NET_F_CTRL_VQ },
	{ VIRTIO_NET_F_GUEST_ECN,
	  VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6 },
};

/* What only means something beside a field of the configuration space. */
#define CONFIG_BITS (VIRTIO_NET_F_MAC | VIRTIO_NET_F_MTU | VIRTIO_NET_F_STATUS)

static uint64_t choose_features(const struct link *l)
{
	uint64_t chosen = l->offered & l->want.features;

	/* MQ without more than one pair means nothing. */
	if (l->pairs < 2)
		chosen &= ~VIRTIO_NET_F_MQ;
	if (!PROTOCOL(CONFIG))
		chosen &= ~CONFIG_BITS;
	if (!l->want.control)
		chosen &= ~VIRTIO_NET_F_CTRL_VQ;
	for (size_t i = 0; i < array_len(requirements); i++)
		if (!(chosen & requirements[i].needs))
			chosen &= ~requirements[i].feature;
	return chosen;
}

unsigned link_control_index(const struct link *l)
{
	return l->features & VIRTIO_NET_F_MQ ? 2 * l->pairs_max : 2;
}

static int agree_features(struct link *l)
{
	uint64_t chosen = choose_features(l);

	if (~chosen & l->want.need)
		return -ENOTSUP;
	l->features = chosen;
	if (l->has_protocol)
		chosen |= VHOST_USER_F_PROTOCOL_FEATURES;
	return front_set_u64(&l->front, VHOST_USER_SET_FEATURES, chosen);
}

int link_negotiate(struct link *l)
{
	int err;

	l->status = 0;
	memset(&l->config, 0, sizeof(l->config));
	err = front_tell(&l->front, VHOST_USER_SET_OWNER);
	if (!err)
		err = front_get_u64(&l->front, VHOST_USER_GET_FEATURES,
		                    &l->offered);
	if (!err)
		err = agree_protocol(l);
	if (!err)
		err = agree_pairs(l);
	if (!err && PROTOCOL(BACKEND_REQ))
		err = front_open_back(&l->front);
	if (!err)
		err = add_status(l, VIRTIO_STATUS_ACKNOWLEDGE |
		                            VIRTIO_STATUS_DRIVER);
	if (!err)
		err = link_read_config(l);
	/* A device may have no configuration to show. */
	if (!err || ((err == -EREMOTEIO || err == -EOPNOTSUPP) &&
	             front_is_open(&l->front)))
		err = agree_features(l);
	if (!err)
		err = add_status(l, VIRTIO_STATUS_FEATURES_OK);
	if (!err)
		err = check_features_ok(l);
	return err;
}

bool link_is_up(const struct link *l)
{
	if (!(l->features & VIRTIO_NET_F_STATUS) || !PROTOCOL(CONFIG))
		return true;
	return le16_get(l->config.status) & VIRTIO_NET_S_LINK_UP;
}

/* --- start and stop ---------------------------------------------------- */

static int tell_memory(struct link *l, const struct arena *a)
{
	struct vhost_user_region r[VHOST_USER_REGIONS_MAX];
	unsigned n =
		min_of(max_of(l->want.regions, 1u), VHOST_USER_REGIONS_MAX);

	n = arena_regions(a, r, n);
	return front_set_memory(&l->front, r, n, a->fd);
}

/* A fresh record each time: our rings begin anew too. */
static int tell_inflight(struct link *l, const struct vring *v, unsigned n)
{
	int err;

	if (!PROTOCOL(INFLIGHT_SHMFD) || !l->want.inflight)
		return 0;
	fd_close(&l->inflight_fd);
	l->inflight = (struct vhost_user_inflight){
		.num_queues = (uint16_t)(v[n - 1].index + 1),
		.queue_size = (uint16_t)v[0].size,
	};
	err = front_get_inflight(&l->front, &l->inflight, &l->inflight_fd);
	if (err)
		return err;
	return front_set_inflight(&l->front, &l->inflight, l->inflight_fd);
}

static int start_vring(struct link *l, const struct arena *a,
                       const struct vring *v)
{
	struct vhost_user_vring_addr addr = {
		.index = v->index,
		.desc = arena_uva(a, v->desc),
		.used = arena_uva(a, v->device),
		.avail = arena_uva(a, v->driver),
	};
	struct front *f = &l->front;
	int err;

	err = front_set_vring(f, VHOST_USER_SET_VRING_NUM, v->index, v->size);
	if (!err)
		err = front_set_vring(f, VHOST_USER_SET_VRING_BASE, v->index,
		                      v->position);
	if (!err)
		err = front_set_vring_addr(f, &addr);
	if (!err)
		err = front_set_vring_fd(f, VHOST_USER_SET_VRING_ERR, v->index,
		                         v->err_fd);
	if (!err)
		err = front_set_vring_fd(f, VHOST_USER_SET_VRING_CALL, v->index,
		                         v->call_fd);
	if (!err)
		err = front_set_vring_fd(f, VHOST_USER_SET_VRING_KICK, v->index,
		                         v->kick_fd);
	return err;
}

int link_start(struct link *l, const struct arena *a, const struct vring *v,
               unsigned n)
{
	int err;

	err = tell_memory(l, a);
	if (!err)
		err = tell_inflight(l, v, n);
	for (unsigned i = 0; !err && i < n; i++)
		err = start_vring(l, a, &v[i]);
	if (!err)
		err = add_status(l, VIRTIO_STATUS_DRIVER_OK);
	return err;
}

int link_enable(struct link *l, unsigned index, bool on)
{
	if (!l->has_protocol)
		return on ? 0 : -EOPNOTSUPP; /* they are on from the start */
	return front_set_vring(&l->front, VHOST_USER_SET_VRING_ENABLE, index,
	                       on);
}

void link_stop(struct link *l, const struct vring *v, unsigned n)
{
	uint32_t base;

	for (unsigned i = 0; i < n && l->has_protocol; i++)
		link_enable(l, v[i].index, false);
	for (unsigned i = 0; i < n && front_is_open(&l->front); i++)
		front_get_vring_base(&l->front, v[i].index, &base);
	l->status = 0;
	add_status(l, 0);
}
