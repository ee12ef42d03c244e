/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drv.c - the driver end: one body for both layouts. Freestanding.
 *
 * An id names a buffer while the device has it: split, the index of its head;
 * packed, a number of our own. Free ids stand in a FIFO, so that a device that
 * returns buffers in order is given ids in ring order, as VIRTIO_F_IN_ORDER
 * asks, without a mode for it.
 */
#include "ring/drv.h"
#include "ring/drv_packed.h"

int drv_break(struct drv *d, enum ring_fault why)
{
	if (d->fault == RING_OK)
		d->fault = why;
	count_add(&d->count.faults, 1);
	return DRV_EBADMSG;
}

/* --- start -------------------------------------------------------------- */

static bool conf_is_sound(const struct drv_conf *c)
{
	uint32_t n = c->size;

	if (!n || n > SPLIT_SIZE_MAX || !c->desc || !c->driver || !c->device ||
	    !c->slot || !c->free_id)
		return false;
	if (c->ntables && (!c->table || !c->free_table || !c->table_descs ||
	                   c->table_descs > n || c->ntables == UINT16_MAX))
		return false;
	return c->features & VIRTIO_F_RING_PACKED || !(n & (n - 1));
}

int drv_start(struct drv *d, const struct drv_conf *c)
{
	bool tables = c->features & VIRTIO_F_INDIRECT_DESC;
	struct drv_counters count = d->count;

	if (!conf_is_sound(c))
		return DRV_EINVAL;
	*d = (struct drv){
		.slot = c->slot,
		.free_id = c->free_id,
		.size = c->size,
		.mask = c->size - 1,
		.packed = c->features & VIRTIO_F_RING_PACKED,
		.event_idx = c->features & VIRTIO_F_EVENT_IDX,
		.in_order = c->features & VIRTIO_F_IN_ORDER,
		.platform = c->features & VIRTIO_F_ORDER_PLATFORM,
		.table = c->table,
		.table_gpa = c->table_gpa,
		.free_table = c->free_table,
		/* [spec: split.indirect.negotiated]
		 * [spec: packed.indirect.negotiated] */
		.ntables = tables ? c->ntables : 0,
		.table_descs = c->table_descs,
		.nfree = c->size,
		.ids_free = c->size,
		.count = count,
	};
	d->sdesc = c->desc;
	d->avail = c->driver;
	d->used_ring = c->device;
	d->next_wrap = d->used_wrap =
		d->packed; /* [spec: packed.wrap.start-one] */
	d->tables_free = d->ntables;
	for (uint32_t i = 0; i < c->size; i++) {
		d->free_id[i] = i;
		d->slot[i] = (struct drv_slot){ 0 };
	}
	for (uint16_t i = 0; i < d->ntables; i++)
		d->free_table[i] = i;
	return 0;
}

/* --- adding ------------------------------------------------------------- */

/* [spec: split.framing.readable-first] [spec: packed.list.readable-first] */
static always_inline struct desc piece_desc(const struct drv_buf *b, unsigned i)
{
	return (struct desc){ b->piece[i].gpa, b->piece[i].len,
		              i < b->nread ? 0 : DESC_WRITE, 0 };
}

/* Bytes of both kinds; false: more than a chain may hold
 * [spec: split.desc.total-4g]. */
static always_inline bool add_up(const struct drv_buf *b, uint32_t *write_len)
{
	unsigned n = b->nread + b->nwrite;
	uint64_t read = 0, write = 0;

	for (unsigned i = 0; i < b->nread; i++)
		read += b->piece[i].len;
	for (unsigned i = b->nread; i < n; i++)
		write += b->piece[i].len;
	*write_len = write;
	return read + write <= UINT32_MAX;
}

static always_inline void fill_table(struct drv *d, const struct drv_buf *b,
                                     uint16_t table, const unsigned packed)
{
	struct split_desc *at = d->table + (size_t)table * d->table_descs;
	unsigned n = b->nread + b->nwrite;

	for (unsigned i = 0; i < n; i++) {
		struct desc w = piece_desc(b, i);

		if (packed)
			packed_table_write(at, i, n, &w);
		else
			split_table_write(at, i, n, &w);
	}
}

/* A table for the buffer, or none: then it goes direct, counted. No table is
 * longer than a queue [spec: packed.indirect.device-limit]. */
static always_inline bool take_table(struct drv *d, unsigned n, uint16_t *table)
{
	if (n < 2 || !d->ntables)
		return false;
	if (!d->tables_free || n > d->table_descs) {
		if (n <= d->nfree)
			count_add(&d->count.fallbacks, 1);
		return false;
	}
	*table = d->free_table[--d->tables_free];
	count_add(&d->count.indirect, 1);
	return true;
}

static always_inline void ids_take(struct drv *d, uint32_t n)
{
	d->ids_free -= n;
	d->free_at += n;
	if (d->free_at >= d->size)
		d->free_at -= d->size;
}

static always_inline void id_put(struct drv *d, uint32_t id)
{
	uint32_t at = d->free_at + d->ids_free++;

	d->free_id[at >= d->size ? at - d->size : at] = id;
}

static always_inline void desc_write(struct drv *d, uint16_t id, struct nth at,
                                     const struct desc *w,
                                     const unsigned packed)
{
	if (packed)
		packed_desc_write(d, id, at, w);
	else
		split_desc_write(d, id, at, w);
}

static always_inline void write_direct(struct drv *d, const struct drv_buf *b,
                                       uint16_t id, unsigned n,
                                       const unsigned packed)
{
	for (unsigned i = 0; i < n; i++) {
		struct desc w = piece_desc(b, i);

		desc_write(d, id, (struct nth){ i, n }, &w, packed);
	}
}

/* INDIRECT alone [spec: split.indirect.no-next]
 * [spec: packed.indirect.no-chain] */
static always_inline void write_table(struct drv *d, const struct drv_buf *b,
                                      uint16_t id, uint16_t table,
                                      const unsigned packed)
{
	struct desc w = { d->table_gpa + (uint64_t)table * d->table_descs * 16,
		          (b->nread + b->nwrite) * 16, DESC_INDIRECT, 0 };

	fill_table(d, b, table, packed);
	desc_write(d, id, (struct nth){ 0, 1 }, &w, packed);
}

static always_inline int add(struct drv *d, const struct drv_buf *b,
                             const unsigned packed)
{
	unsigned n = b->nread + b->nwrite, ndesc = n;
	uint16_t id, table = 0;
	uint32_t writable;
	bool indirect;

	if (unlikely(d->fault))
		return DRV_EBADMSG;
	/* [spec: split.indirect.within-queue-size]
	 * [spec: packed.list.within-queue-size]
	 * [spec: packed.list.device-limit] */
	if (unlikely(!n || n > d->size || !add_up(b, &writable)))
		return DRV_EINVAL;
	indirect = d->nfree && take_table(d, n, &table);
	if (indirect)
		ndesc = 1;
	/* Room for all of it, or nothing is begun
	 * [spec: packed.list.space-first] [spec: packed.list.no-waiting]. */
	if (unlikely(ndesc > d->nfree)) {
		count_add(&d->count.full, 1);
		return DRV_ENOSPC;
	}
	id = d->free_id[d->free_at];
	if (indirect)
		write_table(d, b, id, table, packed);
	else if (likely(n == 1))
		write_direct(d, b, id, 1, packed);
	else
		write_direct(d, b, id, n, packed);
	d->slot[id].token = b->token;
	d->slot[id].write_len = writable;
	d->slot[id].serial = ++d->serial;
	d->slot[id].ndesc = ndesc;
	d->slot[id].table = indirect ? table + 1 : 0;
	ids_take(d, packed ? packed_ids(ndesc) : split_ids(ndesc));
	d->nfree -= ndesc;
	d->outstanding++;
	if (packed)
		packed_chain_ready(d, id, ndesc);
	else
		split_chain_ready(d, id, ndesc);
	count_add(&d->count.buffers, 1);
	return 0;
}

int drv_add(struct drv *d, const struct drv_buf *b)
{
	return d->packed ? add(d, b, 1) : add(d, b, 0);
}

/* --- publishing --------------------------------------------------------- */

void drv_publish(struct drv *d)
{
	d->shown = d->serial;
	d->added = event_add(d->added, d->packed ? packed_drv_publish(d)
	                                         : split_drv_publish(d));
}

bool drv_kick_wanted(struct drv *d)
{
	uint32_t added = d->added;
	bool wanted;

	if (!added)
		return false;
	d->added = 0;
	/* [C] publish before, the device's wish behind; pairs with its [D]
	 * [spec: split.avail-notify.barrier]
	 * [spec: packed.avail-notify.barrier] */
	if (d->platform)
		fence_platform();
	else
		fence_store_load();
	wanted = d->packed ? packed_kick_asked(d, added)
	                   : split_kick_asked(d, added);
	count_add(wanted ? &d->count.kicks : &d->count.kicks_suppressed, 1);
	return wanted;
}

uint16_t drv_kick_data(const struct drv *d)
{
	return d->packed ? packed_kick_position(d) : split_kick_position(d);
}

/* --- reaping ------------------------------------------------------------ */

/* The buffer @id is ours again; its descriptors, ids and table are free. */
static always_inline void release(struct drv *d, uint16_t id,
                                  const unsigned packed)
{
	struct drv_slot *s = &d->slot[id];
	uint16_t n = s->ndesc;

	if (s->table)
		d->free_table[d->tables_free++] = s->table - 1;
	d->nfree += n;
	d->outstanding--;
	s->ndesc = 0;
	id_put(d, id);
	if (packed)
		return;
	while (unlikely(--n)) {
		id = d->slot[id].next;
		id_put(d, id);
	}
}

/* Does the device have it, as far as we told? */
static always_inline bool is_issued(const struct drv *d,
                                    const struct drv_slot *s)
{
	return s->ndesc && (int32_t)(d->shown - s->serial) >= 0;
}

static always_inline int reap_id(struct drv *d, struct drv_done *done,
                                 uint16_t id, uint32_t len,
                                 const unsigned packed)
{
	const struct drv_slot *s = &d->slot[id];
	uint16_t n = s->ndesc;

	if (unlikely(!is_issued(d, s)))
		return drv_break(d, USED_NOT_OUTSTANDING);
	if (unlikely(len > s->write_len))
		return drv_break(d, USED_TOO_LONG);
	*done = (struct drv_done){ s->token, len };
	if (packed)
		packed_used_advance(d, n);
	else
		split_used_advance(d, n);
	if (d->in_order)
		d->oldest = packed ? packed_id_behind(d, id, n)
		                   : split_id_behind(d, id, n);
	release(d, id, packed);
	return 1;
}

/*
 * With IN_ORDER one element may stand for all buffers up to its own: the ones
 * before it were used completely [spec: split.in-order.batch]
 * [spec: packed.in-order.batch].
 */
static always_inline int reap_batch(struct drv *d, struct drv_done *done,
                                    const unsigned packed)
{
	uint16_t id = d->oldest;
	uint32_t len = d->slot[id].write_len;

	/* The used index has to have moved by the whole batch. */
	if (unlikely(!d->outstanding || (!packed && !split_has_used(d))))
		return drv_break(d, USED_BAD_ORDER);
	if (id == d->batch_id) {
		d->in_batch = false;
		len = d->batch_len;
	}
	return reap_id(d, done, id, len, packed);
}

static always_inline int reap_one(struct drv *d, struct drv_done *done,
                                  const unsigned packed)
{
	uint16_t id = 0;
	uint32_t len = 0;
	int err;

	if (d->in_batch)
		return reap_batch(d, done, packed);
	err = packed ? packed_used_next(d, &id, &len)
	             : split_used_next(d, &id, &len);
	if (err <= 0)
		return err;
	if (!d->in_order)
		return reap_id(d, done, id, len, packed);
	if (unlikely(!is_issued(d, &d->slot[id])))
		return drv_break(d, USED_NOT_OUTSTANDING);
	d->in_batch = true;
	d->batch_id = id;
	d->batch_len = len;
	return reap_batch(d, done, packed);
}

static always_inline int reap(struct drv *d, struct drv_done *done,
                              unsigned max, const unsigned packed)
{
	unsigned n = 0;
	int err = 0;

	if (unlikely(d->fault))
		return DRV_EBADMSG;
	while (n < max) {
		err = reap_one(d, &done[n], packed);
		if (err <= 0)
			break;
		n++;
	}
	count_add(&d->count.reaped, n);
	return n ? (int)n : err;
}

int drv_reap(struct drv *d, struct drv_done *done, unsigned max)
{
	return d->packed ? reap(d, done, max, 1) : reap(d, done, max, 0);
}

/* --- interrupts --------------------------------------------------------- */

bool drv_has_used(const struct drv *d)
{
	return d->in_batch || (d->packed ? packed_has_used(d) && d->outstanding
	                                 : split_has_used(d));
}

bool drv_call_enable(struct drv *d, unsigned after)
{
	if (after > d->outstanding)
		after = d->outstanding;
	if (!after)
		after = 1;
	if (d->packed)
		packed_call_ask(d, after);
	else
		split_call_ask(d, after);
	/* [D] wish before, the last look behind; pairs with the device's [C] */
	if (d->platform)
		fence_platform();
	else
		fence_store_load();
	return drv_has_used(d);
}

void drv_call_disable(struct drv *d)
{
	if (d->packed)
		packed_call_refuse(d);
	else
		split_call_refuse(d);
}

bool drv_detach(struct drv *d, uint64_t *token)
{
	for (uint32_t id = 0; d->outstanding && id < d->size; id++) {
		if (!d->slot[id].ndesc)
			continue;
		*token = d->slot[id].token;
		release(d, id, d->packed);
		return true;
	}
	return false;
}
