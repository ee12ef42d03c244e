/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * device.c - a virtio network device, as vhost sees it and as a port uses it.
 *
 * Which vring is what depends on the driver's features: with MQ the control
 * queue follows the last pair, without it is vring 2. A front end that keeps
 * the control queue to itself does not negotiate CTRL_VQ with us and says with
 * SET_VRING_ENABLE which pairs are in use.
 *
 * Spec: virtio 1.3, 5.1.2 Virtqueues; 5.1.3 Feature bits; 5.1.4 Device
 * configuration layout.
 */
#include "net/device.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "net/layers.h"
#include "net/state.h"
#include "poll/pump.h"

#define MTU_MIN 68u
#define MTU_MAX 65535u

#define FEATURES                                                             \
	(VIRTIO_F_VERSION_1 | VIRTIO_F_ANY_LAYOUT | VIRTIO_F_INDIRECT_DESC | \
	 VIRTIO_F_EVENT_IDX | VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER |     \
	 VIRTIO_F_ORDER_PLATFORM | VIRTIO_F_RING_RESET |                     \
	 VIRTIO_NET_F_MRG_RXBUF | VIRTIO_NET_F_CSUM |                        \
	 VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_HOST_TSO4 |                  \
	 VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_HOST_ECN |                    \
	 VIRTIO_NET_F_HOST_UFO | VIRTIO_NET_F_HOST_USO |                     \
	 VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6 |                 \
	 VIRTIO_NET_F_GUEST_ECN | VIRTIO_NET_F_GUEST_UFO |                   \
	 VIRTIO_NET_F_GUEST_USO4 | VIRTIO_NET_F_GUEST_USO6 |                 \
	 VIRTIO_NET_F_STATUS | VIRTIO_NET_F_CTRL_VQ | VIRTIO_NET_F_CTRL_RX | \
	 VIRTIO_NET_F_CTRL_RX_EXTRA | VIRTIO_NET_F_CTRL_VLAN |               \
	 VIRTIO_NET_F_CTRL_MAC_ADDR | VIRTIO_NET_F_CTRL_GUEST_OFFLOADS |     \
	 VIRTIO_NET_F_GUEST_ANNOUNCE | VIRTIO_NET_F_NOTF_COAL |              \
	 VIRTIO_NET_F_VQ_NOTF_COAL)

/* --- which queue is what ------------------------------------------------ */

static bool is_pair(const struct net_device *d, unsigned index)
{
	return index / 2 < (d->features & VIRTIO_NET_F_MQ ? d->conf.pairs : 1);
}

static bool is_ctrl(const struct net_device *d, unsigned index)
{
	return d->features & VIRTIO_NET_F_CTRL_VQ &&
	       index == (d->features & VIRTIO_NET_F_MQ ? d->conf.pairs * 2 : 2);
}

static void set_bit(uint64_t *bits, unsigned i, bool on)
{
	if (on)
		*bits |= UINT64_C(1) << i;
	else
		*bits &= ~(UINT64_C(1) << i);
}

/* --- telling the queues ------------------------------------------------- */

static bool pair_is_active(const struct net_device *d, unsigned pair)
{
	return pair < (d->ctrl.q ? d->ctrl.pairs : d->conf.pairs);
}

static void rx_settle(struct net_device *d, struct net_rx *rx)
{
	rx->set = d->set;
	rx->set.active = pair_is_active(d, rx->pair);
}

/* Steer among the pairs that are live now. */
static void steer_settle(struct net_device *d)
{
	uint64_t live = d->started & d->enabled;

	for (unsigned i = 0; i < d->conf.pairs; i++) {
		if (!pair_is_active(d, i))
			live &= ~(UINT64_C(1) << i);
	}
	if (live != ld64(&d->steer.live))
		steer_set(&d->steer, live);
}

void device_apply(struct net_device *d)
{
	for (unsigned i = 0; i < d->conf.pairs; i++) {
		struct net_rx *rx = &d->rx[i];

		if (!rx->q)
			continue;
		vd_queue_lock(rx->q);
		rx_settle(d, rx);
		vd_queue_unlock(rx->q);
	}
	steer_settle(d);
}

/* --- device_ops --------------------------------------------------------- */

static void set_defaults(struct net_device *d)
{
	struct rx_settings *s = &d->set;
	uint64_t f = d->features;
	struct hdr_rules rules;

	hdr_rules_set(&rules, f);
	s->hdr_len = rules.len;
	s->cap = f & VIRTIO_NET_F_MRG_RXBUF ? RX_CAP : 1;
	s->csum = f & VIRTIO_NET_F_GUEST_CSUM;
	s->allowed = segment_allowed(f);
	filter_init(&s->filter, d->config.mac);
	for (unsigned i = 0; i < d->conf.pairs; i++)
		d->tx[i].rules = rules;
	ctrl_reset(d);
}

static int on_features(void *ctx, uint64_t features)
{
	struct net_device *d = ctx;

	features &= ~(VHOST_F_LOG_ALL | VHOST_USER_F_PROTOCOL_FEATURES);
	if (features == d->features)
		return 0;
	d->features = features;
	set_defaults(d);
	device_apply(d);
	return 0;
}

/* Commands given to a ring's former life count no more. */
static void ctrl_start(struct net_device *d, struct vd_queue *q)
{
	bool fresh = ring_position(&q->ring) ==
	             ring_position_initial(q->ring.packed);

	d->ctrl.q = q;
	if (fresh)
		set_defaults(d);
	else
		d->ctrl.pairs = d->conf.pairs;
	device_apply(d);
}

static void on_start(void *ctx, struct vd_queue *q)
{
	struct net_device *d = ctx;

	if (is_ctrl(d, q->index)) {
		ctrl_start(d, q);
	} else if (is_pair(d, q->index) && q->index & 1) {
		d->tx[q->index / 2].q = q;
	} else if (is_pair(d, q->index)) {
		struct net_rx *rx = &d->rx[q->index / 2];

		rx->q = q;
		set_bit(&d->started, rx->pair, true);
		set_bit(&d->enabled, rx->pair, q->enabled);
		rx->stuck = false;
		st16(&rx->pending, 0);
		rx->at = rx->burst.n = rx->burst.nseg = 0;
		rx_settle(d, rx);
		if (q->pump)
			pump_set_on_demand(q->pump, true);
		steer_settle(d);
	}
}

static void on_stop(void *ctx, struct vd_queue *q)
{
	struct net_device *d = ctx;

	if (q == d->ctrl.q) {
		d->ctrl.q = NULL;
		device_apply(d);
	} else if (is_pair(d, q->index) && q->index & 1) {
		struct net_tx *tx = &d->tx[q->index / 2];

		if (tx->q && d->events.tx_stopped)
			d->events.tx_stopped(d->events.ctx, tx);
	} else if (is_pair(d, q->index)) {
		set_bit(&d->started, q->index / 2, false);
		steer_settle(d);
	}
}

static void on_enable(void *ctx, struct vd_queue *q, bool on)
{
	struct net_device *d = ctx;

	if (on)
		ctrl_queue_enabled(d, q->index);
	if (!is_pair(d, q->index) || q->index & 1)
		return;
	set_bit(&d->enabled, q->index / 2, on);
	steer_settle(d);
}

static int on_ready(void *ctx, struct vd_queue *q)
{
	struct net_device *d = ctx;
	unsigned pair = q->index / 2;

	if (q == d->ctrl.q)
		return ctrl_visit(d);
	if (q->index & 1 && pair < d->conf.pairs && d->tx[pair].q == q)
		return tx_visit(&d->tx[pair]);
	return 0;
}

static int on_get_config(void *ctx, void *to, size_t off, size_t len)
{
	const struct net_device *d = ctx;

	if (off > sizeof(d->config) || len > sizeof(d->config) - off)
		return -EINVAL;
	memcpy(to, (const uint8_t *)&d->config + off, len);
	return 0;
}

/* Legacy drivers write their address; nothing else is writable. */
static int on_set_config(void *ctx, const void *from, size_t off, size_t len,
                         bool migration)
{
	struct net_device *d = ctx;

	if (off > sizeof(d->config) || len > sizeof(d->config) - off || !len)
		return -EINVAL;
	if (!migration && (d->features & VIRTIO_F_VERSION_1 || off + len > 6))
		return -EPERM;
	memcpy((uint8_t *)&d->config + off, from, len);
	memcpy(d->set.filter.mac, d->config.mac, 6);
	device_apply(d);
	return 0;
}

static int on_mtu(void *ctx, uint64_t mtu)
{
	struct net_device *d = ctx;

	if (mtu < MTU_MIN || mtu > MTU_MAX)
		return -EINVAL;
	d->config.mtu = le16_make((uint16_t)mtu);
	return 0;
}

/* A reverse ARP request for the guest's own address, from it to everybody. */
static int on_rarp(void *ctx, const uint8_t mac[6])
{
	static const uint8_t fixed[] = { 0x80, 0x35, 0, 1, 8, 0, 6, 4, 0, 3 };
	struct net_device *d = ctx;
	struct frame f = { .len = FRAME_HEAD,
		           .head_len = FRAME_HEAD,
		           .head_at = FRAME_HEAD_ROOM };
	uint8_t *p = f.room + FRAME_HEAD_ROOM;

	memset(p, 0xff, 6);
	memcpy(p + 6, mac, 6);
	memcpy(p + 12, fixed, sizeof(fixed));
	memcpy(p + 22, mac, 6);
	memcpy(p + 32, mac, 6);
	if (d->events.announce)
		d->events.announce(d->events.ctx, &f);
	return 0;
}

static void on_reset(void *ctx)
{
	struct net_device *d = ctx;

	memcpy(d->config.mac, d->conf.mac, 6);
	d->config.status = le16_make(VIRTIO_NET_S_LINK_UP);
	d->features = 0;
	set_defaults(d);
	device_apply(d);
}

/* --- life --------------------------------------------------------------- */

static void make_ops(struct net_device *d)
{
	static const uint8_t none[6];
	uint64_t features = FEATURES;

	if (memcmp(d->conf.mac, none, 6))
		features |= VIRTIO_NET_F_MAC;
	if (d->conf.mtu)
		features |= VIRTIO_NET_F_MTU;
	if (d->conf.pairs > 1)
		features |= VIRTIO_NET_F_MQ;
	d->ops = (struct device_ops){
		.kind = "net",
		.features = features & ~d->conf.features_off,
		.queues = d->conf.pairs * 2 + 1,
		.queue_num = d->conf.pairs,
		.config_size = sizeof(d->config),
		.set_features = on_features,
		.queue_start = on_start,
		.queue_stop = on_stop,
		.queue_enable = on_enable,
		.queue_ready = on_ready,
		.get_config = on_get_config,
		.set_config = on_set_config,
		.set_mtu = on_mtu,
		.send_rarp = on_rarp,
		.reset = on_reset,
	};
}

static int make_queues(struct net_device *d)
{
	unsigned n = d->conf.pairs;
	int err = 0;

	d->rx = calloc(n, sizeof(*d->rx));
	d->tx = calloc(n, sizeof(*d->tx));
	d->ctrl.coal = calloc((size_t)n * 2, sizeof(*d->ctrl.coal));
	if (!d->rx || !d->tx || !d->ctrl.coal)
		return -ENOMEM;
	for (unsigned i = 0; i < n && !err; i++) {
		err = rx_init(&d->rx[i], i);
		d->tx[i].pair = i;
		d->tx[i].input = d->events.input;
		d->tx[i].dropped = d->events.dropped;
		d->tx[i].ctx = d->events.ctx;
		d->tx[i].steer = &d->steer;
	}
	return err;
}

struct net_device *net_device_new(const struct net_conf *c,
                                  const struct net_events *e, int *err)
{
	struct net_device *d;

	*err = !c->pairs || c->pairs > NET_PAIRS_MAX || c->mac[0] & 1 ||
	                       (c->mtu && c->mtu < MTU_MIN)
	               ? -EINVAL
	               : 0;
	if (*err)
		return NULL;
	d = calloc(1, sizeof(*d));
	if (!d) {
		*err = -ENOMEM;
		return NULL;
	}
	d->conf = *c;
	d->events = *e;
	d->config.max_virtqueue_pairs = le16_make((uint16_t)c->pairs);
	d->config.mtu = le16_make(c->mtu);
	make_ops(d);
	*err = make_queues(d);
	if (*err) {
		net_device_free(d);
		return NULL;
	}
	steer_set(&d->steer, 0);
	on_reset(d);
	return d;
}

void net_device_free(struct net_device *d)
{
	if (!d)
		return;
	for (unsigned i = 0; d->rx && i < d->conf.pairs; i++)
		rx_fini(&d->rx[i]);
	free(d->rx);
	free(d->tx);
	free(d->ctrl.coal);
	free(d);
}

const struct device_ops *net_device_ops(const struct net_device *d)
{
	return &d->ops;
}

/* --- the port's side ---------------------------------------------------- */

/* How many of the frames from the first on go to the same pair. */
static unsigned run_of(const struct net_device *d, struct frame *const *f,
                       unsigned n, unsigned *pair)
{
	unsigned run = 1;

	*pair = steer_pick(&d->steer, f[0]);
	if (likely(ld16(&d->steer.only) != STEER_NONE))
		return n;
	while (run < n && steer_pick(&d->steer, f[run]) == *pair)
		run++;
	return run;
}

unsigned net_send(struct net_device *d, struct frame *const *f, unsigned n,
                  unsigned flags, struct rx_result *result)
{
	unsigned done = 0, pair, run, got;

	while (done < n) {
		run = run_of(d, f + done, n - done, &pair);
		if (pair == STEER_NONE) {
			result->drop_down += run;
			done += run;
			continue;
		}
		got = rx_send(&d->rx[pair], f + done, run, flags, result);
		done += got;
		if (got < run)
			break;
	}
	return done;
}

void net_flush(struct net_device *d)
{
	for (unsigned i = 0; i < d->conf.pairs; i++)
		rx_flush(&d->rx[i]);
}
