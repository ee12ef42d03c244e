/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig.c - a device end whose ring is written by hand.
 */
#include "rig.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void rig_open(struct rig *g, uint32_t size, uint64_t features)
{
	struct mem_region r[] = {
		{ .gpa = RIG_GPA, .size = RIG_LEN, .host = g->ram },
		{ .gpa = RIG_FAR, .size = RIG_PAGE, .host = g->far_page },
	};
	int err;

	memset(g, 0, sizeof(*g));
	g->avail = (void *)g->driver;
	g->driver_event = (void *)g->driver;
	g->used = (void *)g->device;
	g->device_event = (void *)g->device;
	g->mem = mem_new(r, array_len(r), &err);
	assert(g->mem);
	g->conf = (struct ring_conf){
		.features = features,
		.size = size,
		.desc = g->desc,
		.driver = g->driver,
		.device = g->device,
		.mem = g->mem,
		.position =
			ring_position_initial(features & VIRTIO_F_RING_PACKED),
	};
	g->b = (struct burst){ .chain = g->chain,
		               .seg = g->seg,
		               .gpa = g->gpa,
		               .max_chains = RING_BURST,
		               .max_segs = RING_SEGS };
	rig_restart(g);
}

void rig_close(struct rig *g)
{
	mem_put(g->mem);
	g->mem = NULL;
}

void rig_restart(struct rig *g)
{
	int err;

	memset(g->desc, 0, sizeof(g->desc));
	memset(g->driver, 0, sizeof(g->driver));
	memset(g->device, 0, sizeof(g->device));
	g->navail = 0;
	g->b.n = g->b.nseg = 0;
	err = ring_start(&g->ring, &g->conf);
	assert(!err);
	(void)err;
}

static void put(void *table, uint32_t i, struct desc d, bool packed)
{
	struct split_desc *at = (struct split_desc *)table + i;
	uint64_t third = packed ? d.flags : d.last;
	uint64_t second = packed ? d.last : d.flags;

	st64(&at->addr, d.addr);
	st64_rel(&at->rest, d.len | second << 32 | third << 48);
}

/* From the configuration: a scribbling thread asks while the ring restarts. */
static bool is_packed(const struct rig *g)
{
	return g->conf.features & VIRTIO_F_RING_PACKED;
}

void rig_desc(struct rig *g, uint32_t i, struct desc d)
{
	put(g->desc, i, d, is_packed(g));
}

void rig_entry(struct rig *g, uint64_t gpa, uint32_t i, struct desc d)
{
	put(rig_ram(g, gpa), i, d, is_packed(g));
}

void rig_avail(struct rig *g, uint16_t head)
{
	st16(&g->avail->ring[g->navail & g->ring.mask], head);
	st16_rel(&g->avail->idx, ++g->navail);
}

uint8_t *rig_ram(struct rig *g, uint64_t gpa)
{
	if (gpa >= RIG_FAR)
		return g->far_page + (gpa - RIG_FAR);
	return g->ram + (gpa - RIG_GPA);
}

int rig_take(struct rig *g, unsigned max)
{
	g->b.n = g->b.nseg = 0;
	return ring_take_any(&g->ring, &g->b, max);
}

void rig_offer(struct rig *g, unsigned n, uint64_t gpa, uint32_t len,
               uint16_t flags)
{
	uint32_t i = n % g->ring.size;
	bool wrap = n / g->ring.size % 2 == 0;

	if (g->ring.packed)
		flags |= packed_avail_marks(wrap);
	rig_desc(g, i,
	         (struct desc){ gpa, len, flags, g->ring.packed ? i : 0 });
	if (!g->ring.packed)
		rig_avail(g, i);
}
