/* SPDX-License-Identifier: BSD-2-Clause */
/* netrig.c - see netrig.h */
#include "netrig.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "poll/pump.h"

uint8_t *rig_at(struct rig *g, uint64_t gpa)
{
	return g->memory + (gpa - RIG_BASE);
}

uint64_t rig_alloc(struct rig *g, uint32_t len)
{
	uint32_t at = (g->used + 63) & ~63u;

	if (at + len > RIG_MEMORY)
		at = g->floor;
	assert(at + len <= RIG_MEMORY);
	g->used = at + len;
	return RIG_BASE + at;
}

/* --- rings -------------------------------------------------------------- */

void rig_start(struct rig *g, unsigned index)
{
	struct rig_queue *k = &g->queue[index];
	bool packed = g->features & VIRTIO_F_RING_PACKED;
	uint32_t n = g->size;
	uint8_t *desc = rig_at(g, rig_alloc(g, 16 * n));
	uint8_t *driver = rig_at(g, rig_alloc(g, 6 + 2 * n));
	uint8_t *device = rig_at(g, rig_alloc(g, 6 + 8 * n));
	struct drv_conf dc = { .features = g->features,
		               .size = n,
		               .desc = desc,
		               .driver = driver,
		               .device = device,
		               .slot = k->slot,
		               .free_id = k->free_id };
	struct ring_conf rc = { .features = g->features,
		                .size = n,
		                .desc = desc,
		                .driver = driver,
		                .device = device,
		                .mem = g->mem,
		                .position = ring_position_initial(packed) };

	g->floor = (g->used + 63) & ~63u;
	memset(desc, 0, 16 * n);
	memset(driver, 0, 6 + 2 * n);
	memset(device, 0, 6 + 8 * n);
	memset(k->busy, 0, sizeof(k->busy));
	assert(!drv_start(&k->drv, &dc));
	assert(!ring_start(&k->q.ring, &rc));
	vd_queue_lock(&k->q);
	k->q.started = true;
	g->ops->queue_start(g->dev, &k->q);
	if (g->loop)
		assert(!pump_start(k->q.pump));
	vd_queue_unlock(&k->q);
}

void rig_stop(struct rig *g, unsigned index)
{
	struct rig_queue *k = &g->queue[index];

	vd_queue_lock(&k->q);
	if (g->loop)
		pump_stop(k->q.pump);
	g->ops->queue_stop(g->dev, &k->q);
	k->q.started = false;
	vd_queue_unlock(&k->q);
}

void rig_enable(struct rig *g, unsigned index, bool on)
{
	struct rig_queue *k = &g->queue[index];

	vd_queue_lock(&k->q);
	k->q.enabled = on;
	g->ops->queue_enable(g->dev, &k->q, on);
	vd_queue_unlock(&k->q);
}

static uint8_t *map_memory(int fd)
{
	void *p = mmap(NULL, RIG_MEMORY, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
	               0);

	assert(p != MAP_FAILED);
	return p;
}

static void make_memory(struct rig *g)
{
	uint32_t half = RIG_MEMORY / 2 + 4096 * 3 + 77;
	struct mem_region r[2] = { { .gpa = RIG_BASE, .size = half },
		                   { .gpa = RIG_BASE + half,
		                     .size = RIG_MEMORY - half } };
	int err;

	int fd = memfd_create("rig", MFD_CLOEXEC);

	assert(!ftruncate(fd, RIG_MEMORY));
	g->memory = map_memory(fd);
	g->alias = map_memory(fd);
	close(fd);
	g->queue = calloc(RIG_QUEUES, sizeof(*g->queue));
	assert(g->queue);
	r[0].host = g->memory;
	r[1].host = g->memory + half;
	g->mem = mem_new(r, 2, &err);
	assert(g->mem);
}

static void make_queue(struct rig *g, unsigned index)
{
	struct vd_queue *q = &g->queue[index].q;
	int err;

	assert(!queue_init(q, &g->device, index));
	if (!g->loop)
		return;
	q->kick_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	assert(pump_new(g->loop, q, PUMP_NOTIFY, &err));
}

void rig_open_device(struct rig *g, struct net_device *dev, struct loop *l,
                     uint64_t features, unsigned size)
{
	memset(g, 0, sizeof(*g));
	make_memory(g);
	g->dev = dev;
	g->loop = l;
	g->ops = net_device_ops(g->dev);
	g->device = (struct vd_device){ "rig", g->ops, g->dev, features };
	g->features = features;
	g->pairs = g->ops->queue_num;
	g->size = size;
	assert(!g->ops->set_features(g->dev, features));
	for (unsigned i = 0; i < g->ops->queues; i++)
		make_queue(g, i);
	for (unsigned i = 0;
	     i < g->pairs * 2 + !!(features & VIRTIO_NET_F_CTRL_VQ); i++) {
		rig_start(g, i);
		rig_enable(g, i, true);
	}
}

void rig_open(struct rig *g, const struct net_conf *c,
              const struct net_events *e, uint64_t features, unsigned size)
{
	struct net_device *dev;
	int err;

	dev = net_device_new(c, e, &err);
	assert(dev);
	rig_open_device(g, dev, NULL, features, size);
	g->own = true;
}

void rig_close(struct rig *g)
{
	for (unsigned i = 0; i < g->ops->queues; i++) {
		if (g->queue[i].q.started)
			rig_stop(g, i);
	}
	for (unsigned i = 0; i < g->ops->queues; i++) {
		pump_free(g->queue[i].q.pump);
		queue_fini(&g->queue[i].q);
	}
	if (g->own)
		net_device_free(g->dev);
	mem_put(g->mem);
	free(g->queue);
	munmap(g->memory, RIG_MEMORY);
	munmap(g->alias, RIG_MEMORY);
}

void rig_kick(struct rig *g, unsigned index)
{
	uint64_t one = 1;

	if (drv_kick_wanted(&g->queue[index].drv))
		assert(write(g->queue[index].q.kick_fd, &one, 8) == 8);
}

/* --- buffers ------------------------------------------------------------ */

int rig_offer(struct rig *g, unsigned index, const struct drv_piece *p,
              unsigned nread, unsigned nwrite)
{
	struct rig_queue *k = &g->queue[index];
	struct drv_buf b = { p, (uint16_t)nread, (uint16_t)nwrite, 0 };
	unsigned n = 0;

	while (n < RIG_SIZE && k->busy[n])
		n++;
	if (n == RIG_SIZE)
		return -1;
	b.token = n;
	if (drv_add(&k->drv, &b))
		return -1;
	assert(nread + nwrite <= 64);
	memcpy(k->piece[n], p, (nread + nwrite) * sizeof(*p));
	k->npiece[n] = (uint16_t)(nread + nwrite);
	k->busy[n] = true;
	return (int)n;
}

static uint32_t hdr_bytes(const struct rig *g)
{
	return g->features & (VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF) ? 12
	                                                                   : 10;
}

int rig_transmit(struct rig *g, unsigned index, const struct rig_bytes *b)
{
	uint32_t hdr = hdr_bytes(g);
	uint64_t gpa = rig_alloc(g, hdr + b->len);
	struct drv_piece p[64];
	unsigned n = 0;
	int token;

	memcpy(rig_at(g, gpa), &b->hdr, hdr);
	memcpy(rig_at(g, gpa) + hdr, b->data, b->len);
	for (uint32_t left = hdr + b->len; left; n++) {
		uint32_t k = n == 63 ? left : min_of(left, b->cut);

		p[n] = (struct drv_piece){ gpa, k };
		gpa += k;
		left -= k;
	}
	token = rig_offer(g, index, p, n, 0);
	drv_publish(&g->queue[index].drv);
	return token;
}

int rig_post(struct rig *g, unsigned index, uint32_t len, unsigned npieces)
{
	struct drv_piece p[64];
	int token;

	for (unsigned i = 0; i < npieces; i++) {
		/* Room to see that nothing is written behind it. */
		p[i].gpa = rig_alloc(g, len + 16);
		p[i].len = len;
		memset(rig_at(g, p[i].gpa), RIG_POISON, len + 16);
	}
	token = rig_offer(g, index, p, 0, npieces);
	drv_publish(&g->queue[index].drv);
	return token;
}

int rig_reap(struct rig *g, unsigned index, uint32_t *written)
{
	struct rig_queue *k = &g->queue[index];
	struct drv_done done;
	int n = drv_reap(&k->drv, &done, 1);

	assert(n >= 0);
	if (!n)
		return -1;
	assert(done.token < RIG_SIZE && k->busy[done.token]);
	k->busy[done.token] = false;
	*written = done.written;
	return (int)done.token;
}

/* The poison behind the first @written bytes is whole. */
static void check_poison(struct rig *g, unsigned index, int token,
                         uint32_t written)
{
	struct rig_queue *k = &g->queue[index];

	for (unsigned i = 0; i < k->npiece[token]; i++) {
		const struct drv_piece *p = &k->piece[token][i];
		uint32_t n = min_of(written, p->len);

		written -= n;
		for (; n < p->len + 16; n++)
			assert(rig_at(g, p->gpa)[n] == RIG_POISON);
	}
	assert(!written);
}

uint32_t rig_copy(struct rig *g, unsigned index, int token, uint8_t *to,
                  uint32_t len)
{
	struct rig_queue *k = &g->queue[index];
	uint32_t at = 0;

	for (unsigned i = 0; i < k->npiece[token]; i++) {
		const struct drv_piece *p = &k->piece[token][i];
		uint32_t n = min_of(len - at, p->len);

		memcpy(to + at, rig_at(g, p->gpa), n);
		at += n;
	}
	return at;
}

int rig_receive(struct rig *g, unsigned index, struct virtio_net_hdr *h,
                uint8_t *data)
{
	static uint8_t all[PACKET_MAX + 4096];
	uint32_t hdr =
		g->features & (VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF)
			? 12
			: 10;
	uint32_t written, len;
	int token = rig_reap(g, index, &written);
	unsigned n;

	if (token < 0)
		return -1;
	check_poison(g, index, token, written);
	len = rig_copy(g, index, token, all, written);
	assert(len == written && len >= hdr);
	memcpy(h, all, hdr);
	n = hdr == 12 ? le16_get(h->num_buffers) : 1;
	assert(n >= 1);
	while (--n) {
		token = rig_reap(g, index, &written);
		assert(token >= 0);
		check_poison(g, index, token, written);
		assert(len + written <= sizeof(all));
		assert(rig_copy(g, index, token, all + len, written) ==
		       written);
		len += written;
	}
	memcpy(data, all + hdr, len - hdr);
	return (int)(len - hdr);
}
