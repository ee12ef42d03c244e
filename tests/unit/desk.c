/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * desk.c - a driver end whose device is played by hand.
 */
#include "desk.h"

#include <assert.h>
#include <string.h>

void desk_open(struct desk *k, uint32_t size, uint64_t features)
{
	bool tables = features & VIRTIO_F_INDIRECT_DESC;

	memset(k, 0, sizeof(*k));
	k->avail = (void *)k->driver;
	k->driver_event = (void *)k->driver;
	k->used = (void *)k->device;
	k->device_event = (void *)k->device;
	k->conf = (struct drv_conf){
		.features = features,
		.size = size,
		.desc = k->desc,
		.driver = k->driver,
		.device = k->device,
		.slot = k->slot,
		.free_id = k->free_id,
		.table = k->table,
		.table_gpa = DESK_TABLE,
		.free_table = k->free_table,
		.ntables = tables ? DESK_TABLES : 0,
		.table_descs = min_of(size, DESK_DESCS),
	};
	desk_restart(k);
}

void desk_restart(struct desk *k)
{
	int err;

	memset(k->desc, 0, sizeof(k->desc));
	memset(k->driver, 0, sizeof(k->driver));
	memset(k->device, 0, sizeof(k->device));
	k->nused = 0;
	k->token = 100;
	err = drv_start(&k->drv, &k->conf);
	assert(!err);
	(void)err;
}

int desk_add(struct desk *k, unsigned nread, unsigned nwrite)
{
	struct drv_piece piece[2 * DESK_SIZE];
	struct drv_buf b = { piece, nread, nwrite, k->token };
	int err;

	for (unsigned i = 0; i < nread + nwrite; i++)
		piece[i] = (struct drv_piece){ DESK_GPA + 256 * i, 256 };
	err = drv_add(&k->drv, &b);
	if (!err)
		k->token++;
	return err;
}

void desk_use_split(struct desk *k, uint32_t id, uint32_t len)
{
	struct split_used_elem *e = &k->used->ring[k->nused & k->drv.mask];

	st32(&e->id, id);
	st32(&e->len, len);
	st16_rel(&k->used->idx, ++k->nused);
}

void desk_use_packed(struct desk *k, uint32_t at, bool wrap, struct desc d)
{
	uint64_t flags = d.flags | packed_used_marks(wrap);

	st64_rel(&k->pdesc[at].rest,
	         d.len | (uint64_t)d.last << 32 | flags << 48);
}
