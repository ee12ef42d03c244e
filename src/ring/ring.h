/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ring.h - the device end of a virtqueue: its state, its faults, its counters.
 * poll, vhost, net, vsock and tests include it.
 *
 * Freestanding: no libc, no system call, no allocation. The memory is the
 * caller's, the notification is the caller's; the ring says when one is due.
 *
 * The way of a burst (bodies in dev.h, variants by literal bits):
 *
 *   ring_take        available chains -> chains[] with segments in segs[]
 *   ... the caller reads and writes the segments ...
 *   ring_give        one used element a chain, not visible yet
 *   ring_publish     one release store makes them all visible        [B]
 *   ring_call_wanted does the driver want to hear of it?             [C]
 *
 * and, before going to sleep, ring_kick_enable(): ask for kicks, look again
 * [D].
 *
 * Trusts nobody: what the driver wrote is loaded once into a local, checked,
 * and only the local is used. A broken rule breaks this ring: ring->fault says
 * which, every later call answers -EBADMSG, until ring_start().
 *
 * Spec: virtio 1.3, 2.7 Split Virtqueues; 2.8 Packed Virtqueues.
 */
#ifndef VIADUCT_RING_RING_H
#define VIADUCT_RING_RING_H

#include "mem/dirty.h"
#include "mem/map.h"
#include "ring/fault.h"
#include "wire/packed.h"
#include "wire/split.h"
#include "wire/virtio.h"

#define RING_BURST 32u   /* chains in a burst */
#define RING_SEGS  2048u /* segments that any burst can be given at most */

/* Literal bits of the template bodies, last parameter of each. */
#define V_PACKED  1u
#define V_TRACKED 2u /* dirty log or in-flight record on */

/* One name and one value a variant, for X-macros. */
#define RING_VARIANTS(X)            \
	X(split, 0u)                \
	X(packed, V_PACKED)         \
	X(split_tracked, V_TRACKED) \
	X(packed_tracked, V_PACKED | V_TRACKED)
#define RING_VARIANT_COUNT 4u

/* Negative answers of the ring. The values of Linux's errno, which a
 * freestanding body cannot include. */
#define RING_EINVAL  (-22)
#define RING_ENOSPC  (-28)
#define RING_EBADMSG (-74)

/*
 * A chain that was taken. Segments lie in the burst's segs[]: first the ones
 * the device may read, then the ones it may write
 * [spec: split.desc.readable-untouched] [spec: packed.desc.readable-untouched].
 * It borrows the driver's memory until ring_give().
 */
struct chain {
	union {
		struct {
			uint32_t first;    /* its first segment in burst->seg */
			uint16_t nread;    /* readable segments */
			uint16_t nwrite;   /* writable ones, behind them */
			uint32_t read_len; /* bytes of each kind */
			uint32_t write_len;
			uint16_t id;    /* split: head; packed: buffer id */
			uint16_t ndesc; /* ring slots it fills; split: 1 */

			/* Tracked variants with an in-flight record. */
			uint16_t entry; /* packed: its head's in the record */
			uint16_t again; /* a predecessor took it already */
		};
		uint64_t word[3]; /* the same in three stores */
	};
};

_Static_assert(sizeof(struct chain) == 24, "three words");

/* What one turn of the owner's loop holds. Arrays are the caller's. */
struct burst {
	struct chain *chain;
	struct seg *seg;
	uint64_t *gpa; /* guest address a segment; tracked variants only */
	unsigned max_chains, max_segs;
	unsigned n;    /* chains taken and not given or untaken */
	unsigned nseg; /* segments in use */
};

/* Histogram of burst sizes: 0, 1, 2-3, 4-7, 8-15, 16-31, 32. */
#define RING_HISTOGRAM 7u

/* One writer (the owner), any reader. The first cache line is the hot one. */
struct ring_counters {
	uint64_t chains;
	uint64_t bytes_read;    /* bytes the driver gave us to read */
	uint64_t bytes_written; /* bytes we wrote */
	uint64_t calls;         /* interrupts sent */
	uint64_t calls_suppressed;
	uint64_t kicks; /* counted by the poll layer */
	uint64_t kicks_empty;
	uint64_t kick_requests; /* times we asked for kicks */

	uint64_t bursts[RING_HISTOGRAM];
	uint64_t indirect; /* chains in an indirect table */
	uint64_t faults;
	uint64_t polls_hit; /* looks that found work / none, poll layer */
	uint64_t polls_miss;
	uint64_t sleeps;
	uint64_t drops; /* frames or packets lost here, by the device above */
} cache_aligned;

struct inflight; /* ring/inflight.h */

struct ring {
	/* Set by ring_start(), then read-only. */
	union {
		struct split_desc *sdesc;
		struct packed_desc *pdesc;
	};
	union {
		struct split_avail *avail;
		struct packed_event *driver_event;
	};
	union {
		struct split_used *used_ring;
		struct packed_event *device_event;
	};
	const struct mem *mem; /* ring_set_mem() between bursts */
	uint32_t size;
	uint32_t mask; /* split */
	bool packed;
	bool indirect;
	bool event_idx;
	bool in_order;
	bool platform; /* ORDER_PLATFORM: full device barriers */

	/* Owner thread. Positions: split, running indices; packed, slots. */
	struct mem_hit hit;
	uint16_t next;      /* of the next available element */
	uint16_t used;      /* of the next used element to write */
	uint16_t published; /* used, as the driver sees it (split) */
	bool next_wrap;     /* packed: wrap counters */
	bool used_wrap;
	uint32_t added; /* used slots since the last call decision */
	enum ring_fault fault;
	struct packed_desc *first; /* packed: the head withheld till publish */
	uint64_t first_rest;

	/* Tracked variants only. */
	const struct dirty_log *log;
	uint64_t used_gpa; /* log address of the used area (packed: of desc) */
	bool log_used;
	struct inflight *inflight;

	struct ring_counters count;
};

struct ring_conf {
	uint64_t features;
	uint32_t size;
	void *desc;   /* split: table; packed: ring */
	void *driver; /* split: available ring; packed: driver event */
	void *device; /* split: used ring; packed: device event */
	const struct mem *mem;
	uint32_t position; /* vhost-user's vring state; see ring_position() */
};

/**
 * ring_start() - bring a ring to life, or back to life after a fault
 * @r: memory of the caller; counters survive a restart, all else is set
 * @c: areas already translated, each wholly mapped
 *
 * The position is what vhost-user calls the base: split, the next available
 * index; packed, next available slot and wrap counter in the low half, next
 * used slot and wrap counter in the high half.
 *
 * A queue that was reset starts again here, with nothing of what it was
 * [spec: queue.reset.default-state] [spec: queue.reset.new-setup].
 *
 * Return: 0, or RING_EINVAL: size not legal for the layout, area missing or
 *         misaligned, a position that makes no sense for the layout.
 * Spec: virtio 1.3, 2.7 Split Virtqueues [spec: split.size]
 */
int ring_start(struct ring *r, const struct ring_conf *c);

/**
 * ring_position() - where the next take would look, in the form ring_start()
 * accepts. Chains taken and not given count as taken.
 */
uint32_t ring_position(const struct ring *r);

/* A position of a fresh ring: 0 split, wrap counters set packed. */
uint32_t ring_position_initial(bool packed);

/* Is @size one that a queue of this layout may have? [spec: split.size]
 * [spec: packed.size] */
bool ring_size_is_legal(uint32_t size, bool packed);

/* Install another memory snapshot; between bursts, owner only. */
void ring_set_mem(struct ring *r, const struct mem *m);

/* Its areas are at other addresses of ours now (the same bytes, mapped anew):
 * desc, driver, device and mem of @c. Between bursts, owner only. */
void ring_set_areas(struct ring *r, const struct ring_conf *c);

/* The variant bits that suit the ring now. */
static always_inline unsigned ring_variant(const struct ring *r)
{
	return (r->packed ? V_PACKED : 0) |
	       (r->log || r->inflight ? V_TRACKED : 0);
}

/**
 * ring_break() - note a broken rule
 * Sticky: the first fault is kept. Counted, never logged here.
 * Return: RING_EBADMSG, so that callers may return it.
 */
int ring_break(struct ring *r, enum ring_fault why);

/*
 * Stamped bodies, chosen at run time; what device writers reach through
 * <viaduct/queue.h>. The inlined ones with a literal v are in ring/dev.h.
 */
int ring_take_any(struct ring *r, struct burst *b, unsigned max);
void ring_untake_any(struct ring *r, struct burst *b, unsigned n);
void ring_give_any(struct ring *r, const struct burst *b, const struct chain *c,
                   uint32_t written);
void ring_publish_any(struct ring *r);
bool ring_call_wanted_any(struct ring *r);
bool ring_kick_enable_any(struct ring *r);
void ring_kick_disable_any(struct ring *r);
bool ring_has_work_any(struct ring *r);

#endif
