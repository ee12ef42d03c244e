/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * drv.h - the driver end of a virtqueue. driver and tests include it.
 *
 * Freestanding like ring.h: all memory is the caller's. The way of a burst:
 *
 *   drv_add          a buffer becomes a chain, direct or in a table, invisible
 *   drv_publish      one release store makes all of them available    [A] [F]
 *   drv_kick_wanted  does the device want to hear of it?              [C]
 *   drv_reap         what came back, with the caller's tokens         [B] [E]
 *
 * and, before going to sleep, drv_call_enable(): ask for interrupts, look again
 * [D].
 *
 * Resists a hostile device: an id that is not outstanding, a length beyond what
 * was offered, an index that jumps break this queue by name (d->fault), for
 * good, until drv_start().
 *
 * Spec: virtio 1.3, 2.7 Split Virtqueues; 2.8 Packed Virtqueues.
 */
#ifndef VIADUCT_RING_DRV_H
#define VIADUCT_RING_DRV_H

#include "ring/fault.h"
#include "wire/packed.h"
#include "wire/split.h"
#include "wire/virtio.h"

#define DRV_EINVAL  (-22)
#define DRV_ENOSPC  (-28)
#define DRV_EBADMSG (-74)

/* A piece of a buffer: guest address and bytes. */
struct drv_piece {
	uint64_t gpa;
	uint32_t len;
};

/* A buffer to offer: readable pieces first, then writable ones. */
struct drv_buf {
	const struct drv_piece *piece;
	uint16_t nread;  /* pieces the device may read */
	uint16_t nwrite; /* pieces it may write, behind them */
	uint64_t token;  /* comes back from drv_reap() */
};

/* What came back. */
struct drv_done {
	uint64_t token;
	/* Bytes from the start of the writable part; for what lies behind
	 * nobody vouches [spec: split.used.nothing-beyond-len]. */
	uint32_t written;
};

/* What we remember of an id; one each descriptor of the queue. */
struct drv_slot {
	uint64_t token;
	uint32_t write_len; /* bytes we offered for writing */
	uint32_t serial;    /* of the buffer, counted from the start on */
	uint16_t ndesc;     /* slots of the ring; 0: not outstanding */
	uint16_t next;      /* split: the descriptor behind this one */
	uint16_t table;     /* its indirect table + 1; 0: none */
};

struct drv_counters {
	uint64_t buffers; /* made available */
	uint64_t reaped;
	uint64_t kicks; /* decided; the transport sends them */
	uint64_t kicks_suppressed;
	uint64_t indirect;
	uint64_t fallbacks; /* direct because no table was free or fit */
	uint64_t full;      /* drv_add() had no room */
	uint64_t faults;
} cache_aligned;

struct drv {
	/* Set by drv_start(), then read-only. */
	union {
		struct split_desc *sdesc;
		struct packed_desc *pdesc;
	};
	union {
		struct split_avail *avail;
		struct packed_event *driver_event;
	};
	union {
		const struct split_used *used_ring;
		const struct packed_event *device_event;
	};
	struct drv_slot *slot; /* size of them */
	uint16_t *free_id;     /* FIFO of free ids, size of them */
	uint32_t size;
	uint16_t mask; /* split */
	bool packed;
	bool event_idx;
	bool in_order;
	bool platform;

	/* Indirect tables: ntables of table_descs entries each. */
	struct split_desc *table;
	uint64_t table_gpa;
	uint16_t *free_table; /* stack of free tables */
	uint16_t ntables, table_descs;

	/* Owner thread. Positions: split, running indices; packed, slots. */
	uint16_t next;      /* to make available */
	uint16_t published; /* split: avail.idx; packed: slots since publish */
	uint32_t added;     /* slots since the last kick decision */
	uint16_t used;      /* to look for used elements */
	bool next_wrap, used_wrap;
	uint16_t tables_free;
	uint32_t nfree;       /* descriptors free */
	uint32_t outstanding; /* buffers at the device */
	uint32_t serial;      /* of the buffer added last */
	uint32_t shown;       /* of the one published last */
	uint32_t free_at;     /* first entry of the FIFO in use */
	uint32_t ids_free;
	uint16_t oldest; /* IN_ORDER: id of the oldest outstanding buffer */
	/* IN_ORDER: one element returned a batch, up to and with this id. */
	bool in_batch;
	uint16_t batch_id;
	uint32_t batch_len;
	struct packed_desc *first; /* packed: head withheld till publish */
	uint64_t first_rest;
	enum ring_fault fault;

	struct drv_counters count;
};

struct drv_conf {
	uint64_t features;
	uint32_t size;
	/* All three zeroed by the caller, as the driver has to
	 * [spec: split.avail-notify.flags-init]. */
	void *desc;
	void *driver;
	void *device;
	struct drv_slot *slot; /* [size] */
	uint16_t *free_id;     /* [size] */

	/* Indirect tables, or ntables 0. 16-aligned, ntables * table_descs. */
	void *table;
	uint64_t table_gpa;
	uint16_t *free_table; /* [ntables] */
	uint16_t ntables, table_descs;
};

/**
 * drv_start() - a fresh queue: nothing outstanding, everything free; after a
 * reset too [spec: queue.reset.full-setup]
 * Return: 0 or DRV_EINVAL.
 */
int drv_start(struct drv *d, const struct drv_conf *c);

/**
 * drv_add() - offer a buffer, not visible before drv_publish()
 *
 * With tables it goes into one when it has more than one piece; when no table
 * is free or it does not fit, it falls back to direct descriptors, counted.
 *
 * Return: 0; DRV_ENOSPC no room now; DRV_EINVAL no pieces, more than the queue
 * can ever hold, or 2^32 bytes; DRV_EBADMSG the queue is broken.
 * Spec: virtio 1.3, 2.7.13 Supplying Buffers to The Device; 2.8.21 Supplying
 * Buffers to The Device
 */
int drv_add(struct drv *d, const struct drv_buf *b);

/** drv_publish() - all that was added becomes available, one release store */
void drv_publish(struct drv *d);

/** drv_kick_wanted() - has the device asked to be told of what was published?
 * Asks once for all that was published since it was asked last. */
bool drv_kick_wanted(struct drv *d);

/** drv_kick_data() - what VIRTIO_F_NOTIFICATION_DATA puts beside the queue's
 * number: next offset and wrap counter in the high half of the word
 * [spec: queue.notify-data.position] */
uint16_t drv_kick_data(const struct drv *d);

/**
 * drv_reap() - take back what the device used, at most @max
 * Return: how many; 0 none, an interrupt for nothing does no harm
 * [spec: split.used-notify.spurious]; DRV_EBADMSG the device broke a rule.
 * Spec: virtio 1.3, 2.7.14 Receiving Used Buffers From The Device
 */
int drv_reap(struct drv *d, struct drv_done *done, unsigned max);

/**
 * drv_call_enable() - ask for an interrupt
 * @after: not before this many buffers more came back (EVENT_IDX, at most what
 *         is outstanding); 1 the next one
 * Return: true when something is there already (do not sleep).
 */
bool drv_call_enable(struct drv *d, unsigned after);
void drv_call_disable(struct drv *d);

bool drv_has_used(const struct drv *d);

/**
 * drv_detach() - the tokens of what is still at the device, after it stopped
 * Return: true and a token, false when none is left.
 */
bool drv_detach(struct drv *d, uint64_t *token);

/* Note a broken rule, as ring_break() does. Return: DRV_EBADMSG. */
int drv_break(struct drv *d, enum ring_fault why);

#endif
