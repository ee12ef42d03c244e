/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ctrl.c - commands of the driver over the control queue.
 *
 * The way of a command: ring_take, copied out once into ctrl.command (gather),
 * looked up by class and command, its length compared with the row's, handled,
 * and answered at once with one byte, OK or ERR (and for the one command that
 * asks something, the answer behind it). A command that is longer than we read
 * is an error like any other.
 *
 * Spec: virtio 1.3, 5.1.6.5 Control Virtqueue.
 */
#include "net/ctrl.h"

#include <errno.h>
#include <string.h>

#include "base/order.h"
#include "net/state.h"
#include "ring/ring.h"

#define VLAN_IDS 4096u

#define GUEST_OFFLOADS                                       \
	(VIRTIO_NET_F_GUEST_CSUM | VIRTIO_NET_F_GUEST_TSO4 | \
	 VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_GUEST_ECN |  \
	 VIRTIO_NET_F_GUEST_UFO | VIRTIO_NET_F_GUEST_USO4 |  \
	 VIRTIO_NET_F_GUEST_USO6)

/* A command as it was copied, and where an answer goes. */
struct command {
	const uint8_t *data; /* behind class and command */
	uint32_t len;
	uint8_t answer[8]; /* behind the ack */
	uint32_t answer_len;
};

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static uint32_t get32(const uint8_t *p)
{
	return get16(p) | (uint32_t)get16(p + 2) << 16;
}

/* --- receive filter ----------------------------------------------------- */

/* 0 and 1 are what the driver may say. */
static int set_flag(struct net_device *d, bool *flag, const struct command *c)
{
	*flag = c->data[0];
	filter_settle(&d->set.filter);
	device_apply(d);
	return 0;
}

static int on_promisc(struct net_device *d, struct command *c)
{
	return set_flag(d, &d->set.filter.promisc, c);
}

static int on_allmulti(struct net_device *d, struct command *c)
{
	return set_flag(d, &d->set.filter.allmulti, c);
}

static int on_alluni(struct net_device *d, struct command *c)
{
	return set_flag(d, &d->set.filter.alluni, c);
}

static int on_nomulti(struct net_device *d, struct command *c)
{
	return set_flag(d, &d->set.filter.nomulti, c);
}

static int on_nouni(struct net_device *d, struct command *c)
{
	return set_flag(d, &d->set.filter.nouni, c);
}

static int on_nobcast(struct net_device *d, struct command *c)
{
	return set_flag(d, &d->set.filter.nobcast, c);
}

/* One of the two lists: le32 entries, then so many addresses. Its bytes, or 0
 * when the command ends before. */
static uint32_t mac_list(const uint8_t *p, uint32_t len, uint32_t *entries)
{
	if (len < 4)
		return 0;
	*entries = get32(p);
	if (*entries > (len - 4) / 6)
		return 0;
	return 4 + *entries * 6;
}

/* More addresses than we keep: all of the kind, which is allowed. */
static void list_keep(uint8_t (*to)[6], uint8_t *n, const uint8_t *from,
                      uint32_t entries)
{
	*n = (uint8_t)min_of(entries, FILTER_MACS);
	memcpy(to, from + 4, *n * 6u);
}

static int on_mac_table(struct net_device *d, struct command *c)
{
	struct filter *x = &d->set.filter;
	uint32_t nuni, nmulti, first, second;
	const uint8_t *p = c->data;

	first = mac_list(p, c->len, &nuni);
	if (!first)
		return -EINVAL;
	second = mac_list(p + first, c->len - first, &nmulti);
	if (!second || first + second != c->len)
		return -EINVAL;
	list_keep(x->uni, &x->nuni, p, nuni);
	list_keep(x->multi, &x->nmulti, p + first, nmulti);
	x->uni_over = nuni > FILTER_MACS;
	x->multi_over = nmulti > FILTER_MACS;
	device_apply(d);
	return 0;
}

static int on_mac_addr(struct net_device *d, struct command *c)
{
	if (c->data[0] & 1)
		return -EINVAL;
	memcpy(d->set.filter.mac, c->data, 6);
	memcpy(d->config.mac, c->data, 6);
	device_apply(d);
	return 0;
}

static int set_vlan(struct net_device *d, const struct command *c, bool on)
{
	unsigned id = get16(c->data);

	if (id >= VLAN_IDS)
		return -EINVAL;
	filter_vlan_set(&d->set.filter, id, on);
	device_apply(d);
	return 0;
}

static int on_vlan_add(struct net_device *d, struct command *c)
{
	return set_vlan(d, c, true);
}

static int on_vlan_del(struct net_device *d, struct command *c)
{
	return set_vlan(d, c, false);
}

/* --- the rest ----------------------------------------------------------- */

static int on_announce_ack(struct net_device *d, struct command *c)
{
	uint16_t status = le16_get(d->config.status);

	(void)c;
	d->config.status =
		le16_make((uint16_t)(status & ~VIRTIO_NET_S_ANNOUNCE));
	return 0;
}

/* What we advertised bounds it, not what the protocol could number. */
static int on_pairs(struct net_device *d, struct command *c)
{
	unsigned pairs = get16(c->data);

	if (!pairs || pairs > d->conf.pairs)
		return -EINVAL;
	d->ctrl.pairs = pairs;
	device_apply(d);
	return 0;
}

static int on_offloads(struct net_device *d, struct command *c)
{
	uint64_t want = get32(c->data) | (uint64_t)get32(c->data + 4) << 32;

	if (want & ~(d->features & GUEST_OFFLOADS))
		return -EINVAL;
	d->set.allowed = segment_allowed(want);
	d->set.csum = want & VIRTIO_NET_F_GUEST_CSUM;
	device_apply(d);
	return 0;
}

static struct ctrl_coal coal_read(const uint8_t *p)
{
	return (struct ctrl_coal){ get32(p), get32(p + 4) };
}

/* Remembered and reported. We interrupt no later than without it. */
static int set_coal(struct net_device *d, const struct command *c, bool tx)
{
	struct ctrl_coal value = coal_read(c->data);

	*(tx ? &d->ctrl.coal_tx : &d->ctrl.coal_rx) = value;
	for (unsigned i = tx; i < d->conf.pairs * 2; i += 2)
		d->ctrl.coal[i] = value;
	return 0;
}

static int on_coal_tx(struct net_device *d, struct command *c)
{
	return set_coal(d, c, true);
}

static int on_coal_rx(struct net_device *d, struct command *c)
{
	return set_coal(d, c, false);
}

/* The coalescing of an enabled queue, NULL for another. */
static struct ctrl_coal *coal_of(struct net_device *d, unsigned index)
{
	const struct vd_queue *q;

	if (index >= d->conf.pairs * 2)
		return NULL;
	q = index & 1 ? d->tx[index / 2].q : d->rx[index / 2].q;
	return q && q->started && q->enabled ? &d->ctrl.coal[index] : NULL;
}

static int on_coal_vq_set(struct net_device *d, struct command *c)
{
	struct ctrl_coal *coal = coal_of(d, get16(c->data));

	if (!coal)
		return -EINVAL;
	*coal = coal_read(c->data + 4);
	return 0;
}

static int on_coal_vq_get(struct net_device *d, struct command *c)
{
	const struct ctrl_coal *coal = coal_of(d, get16(c->data));
	struct virtio_net_ctrl_coal answer;

	if (!coal)
		return -EINVAL;
	answer.max_packets = le32_make(coal->max_packets);
	answer.max_usecs = le32_make(coal->max_usecs);
	memcpy(c->answer, &answer, sizeof(answer));
	c->answer_len = sizeof(answer);
	return 0;
}

/* --- dispatch ----------------------------------------------------------- */

#define F(name)  VIRTIO_NET_F_##name
#define AT_LEAST 0x10000u

/* X(class, command, feature that it needs, bytes of data, handler) */
#define CTRL_COMMANDS(X)                                                    \
	X(RX, RX_PROMISC, F(CTRL_RX), 1, on_promisc)                        \
	X(RX, RX_ALLMULTI, F(CTRL_RX), 1, on_allmulti)                      \
	X(RX, RX_ALLUNI, F(CTRL_RX_EXTRA), 1, on_alluni)                    \
	X(RX, RX_NOMULTI, F(CTRL_RX_EXTRA), 1, on_nomulti)                  \
	X(RX, RX_NOUNI, F(CTRL_RX_EXTRA), 1, on_nouni)                      \
	X(RX, RX_NOBCAST, F(CTRL_RX_EXTRA), 1, on_nobcast)                  \
	X(MAC, MAC_TABLE_SET, F(CTRL_RX), 8 | AT_LEAST, on_mac_table)       \
	X(MAC, MAC_ADDR_SET, F(CTRL_MAC_ADDR), 6, on_mac_addr)              \
	X(VLAN, VLAN_ADD, F(CTRL_VLAN), 2, on_vlan_add)                     \
	X(VLAN, VLAN_DEL, F(CTRL_VLAN), 2, on_vlan_del)                     \
	X(ANNOUNCE, ANNOUNCE_ACK, F(GUEST_ANNOUNCE), 0, on_announce_ack)    \
	X(MQ, MQ_VQ_PAIRS_SET, F(MQ), 2, on_pairs)                          \
	X(GUEST_OFFLOADS, GUEST_OFFLOADS_SET, F(CTRL_GUEST_OFFLOADS), 8,    \
	  on_offloads)                                                      \
	X(NOTF_COAL, NOTF_COAL_TX_SET, F(NOTF_COAL), 8, on_coal_tx)         \
	X(NOTF_COAL, NOTF_COAL_RX_SET, F(NOTF_COAL), 8, on_coal_rx)         \
	X(NOTF_COAL, NOTF_COAL_VQ_SET, F(VQ_NOTF_COAL), 12, on_coal_vq_set) \
	X(NOTF_COAL, NOTF_COAL_VQ_GET, F(VQ_NOTF_COAL), 4, on_coal_vq_get)

#define X(cl, cmd, feature, bytes, fn) \
	{ VIRTIO_NET_CTRL_##cl, VIRTIO_NET_CTRL_##cmd, feature, bytes, fn },
static const struct ctrl_row {
	uint8_t class, command;
	uint64_t feature;
	uint32_t bytes;
	int (*fn)(struct net_device *d, struct command *c);
} rows[] = { CTRL_COMMANDS(X) };
#undef X

static int handle(struct net_device *d, struct command *c, uint32_t len)
{
	const uint8_t *p = d->ctrl.command;
	const struct ctrl_row *row = rows;

	if (len < 2 || len > CTRL_BYTES)
		return -EINVAL;
	while (row->class != p[0] || row->command != p[1]) {
		if (++row == rows + array_len(rows))
			return -EOPNOTSUPP;
	}
	c->data = p + 2;
	c->len = len - 2;
	if (!(d->features & row->feature))
		return -EOPNOTSUPP;
	if (row->bytes & AT_LEAST ? c->len < (row->bytes & ~AT_LEAST)
	                          : c->len != row->bytes)
		return -EINVAL;
	return row->fn(d, c);
}

static void gather(struct net_ctrl *ctrl, const struct seg *s, uint32_t len)
{
	uint8_t *to = ctrl->command;

	for (; len; s++) {
		size_t n = min_of(len, s->len);

		ld_bytes(to, s->base, n);
		to += n;
		len -= (uint32_t)n;
	}
}

/* Ack and answer into the writable part; how many bytes fit. */
static uint32_t reply(const struct seg *s, uint32_t room, uint8_t ack,
                      const struct command *c)
{
	uint8_t out[1 + sizeof(c->answer)] = { ack };
	uint32_t len = min_of(1 + c->answer_len, room), left = len;
	const uint8_t *from = out;

	memcpy(out + 1, c->answer, c->answer_len);
	for (; left; s++) {
		size_t n = min_of(left, s->len);

		memcpy(s->base, from, n);
		from += n;
		left -= (uint32_t)n;
	}
	return len;
}

/* Returns the bytes written. */
static uint32_t serve(struct net_device *d, const struct chain *c)
{
	const struct seg *s = &d->ctrl.q->burst.seg[c->first];
	struct command command = { 0 };
	uint32_t n;
	int err;

	/* No place for an ack: the command cannot be answered, so it is not
	 * carried out. */
	if (!c->write_len)
		return 0;
	gather(&d->ctrl, s, min_of(c->read_len, CTRL_BYTES));
	err = handle(d, &command, c->read_len);
	n = reply(s + c->nread, c->write_len,
	          err ? VIRTIO_NET_ERR : VIRTIO_NET_OK, &command);
	return n;
}

static int visit_locked(struct net_device *d)
{
	struct vd_queue *q = d->ctrl.q;
	struct burst *b = &q->burst;
	int n;

	b->n = b->nseg = 0;
	n = ring_take_any(&q->ring, b, RING_BURST);
	for (int i = 0; i < n; i++) {
		/* Started and not enabled: no side effects. */
		uint32_t written = q->enabled ? serve(d, &b->chain[i]) : 0;

		ring_give_any(&q->ring, b, &b->chain[i], written);
		queue_flush(q);
	}
	return n;
}

int ctrl_visit(struct net_device *d)
{
	struct vd_queue *q = d->ctrl.q;
	int n = 0;

	vd_queue_lock(q);
	if (q->started)
		n = visit_locked(d);
	vd_queue_unlock(q);
	return n;
}

void ctrl_reset(struct net_device *d)
{
	struct net_ctrl *c = &d->ctrl;

	c->pairs = 1;
	c->coal_rx = c->coal_tx = (struct ctrl_coal){ 0, 0 };
	memset(c->coal, 0, d->conf.pairs * 2 * sizeof(*c->coal));
}

void ctrl_queue_enabled(struct net_device *d, unsigned index)
{
	if (index < d->conf.pairs * 2)
		d->ctrl.coal[index] =
			index & 1 ? d->ctrl.coal_tx : d->ctrl.coal_rx;
}
