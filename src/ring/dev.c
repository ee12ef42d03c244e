/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * dev.c - the device end: start, position, faults, walks, and the bodies of
 * dev.h stamped once a variant. Freestanding.
 */
#include "ring/dev.h"
#include "ring/walk.h"

/* --- faults ------------------------------------------------------------- */

int ring_break(struct ring *r, enum ring_fault why)
{
	if (r->fault == RING_OK)
		r->fault = why;
	count_add(&r->count.faults, 1);
	return RING_EBADMSG;
}

/* --- start and position ------------------------------------------------- */

static bool is_aligned(const void *p, size_t to)
{
	return (uintptr_t)p % to == 0;
}

bool ring_size_is_legal(uint32_t size, bool packed)
{
	if (!size || size > SPLIT_SIZE_MAX)
		return false;
	return packed || !(size & (size - 1));
}

/* [spec: split.layout.align] [spec: packed.layout.align] */
static bool conf_is_sound(const struct ring_conf *c, bool packed)
{
	if (!ring_size_is_legal(c->size, packed))
		return false;
	if (!c->desc || !c->driver || !c->device)
		return false;
	return is_aligned(c->desc, 16) &&
	       is_aligned(c->driver, packed ? 4 : 2) &&
	       is_aligned(c->device, 4);
}

/* Half of a packed position: a slot and its wrap counter. */
static bool packed_position_read(uint32_t size, uint16_t half, uint16_t *slot,
                                 bool *wrap)
{
	*slot = half & (PACKED_WRAP - 1);
	*wrap = half & PACKED_WRAP;
	return *slot < size;
}

static bool packed_position_set(struct ring *r, uint32_t position)
{
	if (!packed_position_read(r->size, position, &r->next, &r->next_wrap) ||
	    !packed_position_read(r->size, position >> 16, &r->used,
	                          &r->used_wrap))
		return false;
	/* The next one to take is at most a lap ahead of the next used one. */
	return r->next_wrap == r->used_wrap ? r->next >= r->used
	                                    : r->next <= r->used;
}

static bool split_position_set(struct ring *r, uint32_t position)
{
	uint16_t used = ld16(&r->used_ring->idx);

	if (position > UINT16_MAX)
		return false;
	r->next = position;
	r->used = r->published = used;
	return (uint16_t)(r->next - used) <= r->size;
}

int ring_start(struct ring *r, const struct ring_conf *c)
{
	bool packed = c->features & VIRTIO_F_RING_PACKED;
	struct ring_counters count = r->count;

	if (!conf_is_sound(c, packed))
		return RING_EINVAL;
	*r = (struct ring){
		.size = c->size,
		.mask = c->size - 1,
		.mem = c->mem,
		.packed = packed,
		.indirect = c->features & VIRTIO_F_INDIRECT_DESC,
		.event_idx = c->features & VIRTIO_F_EVENT_IDX,
		.in_order = c->features & VIRTIO_F_IN_ORDER,
		.platform = c->features & VIRTIO_F_ORDER_PLATFORM,
		.count = count,
	};
	r->sdesc = c->desc;
	r->avail = c->driver;
	r->used_ring = c->device;
	if (packed ? !packed_position_set(r, c->position)
	           : !split_position_set(r, c->position))
		return RING_EINVAL;
	return 0;
}

uint32_t ring_position(const struct ring *r)
{
	uint32_t next = r->next | (r->next_wrap ? PACKED_WRAP : 0);
	uint32_t used = r->used | (r->used_wrap ? PACKED_WRAP : 0);

	return r->packed ? used << 16 | next : r->next;
}

/* [spec: packed.wrap.start-one] */
uint32_t ring_position_initial(bool packed)
{
	return packed ? (uint32_t)PACKED_WRAP << 16 | PACKED_WRAP : 0;
}

void ring_set_mem(struct ring *r, const struct mem *m)
{
	r->mem = m;
	r->hit = (struct mem_hit){ 0 };
}

void ring_set_areas(struct ring *r, const struct ring_conf *c)
{
	if (r->first) /* given, and still to be published */
		r->first =
			(struct packed_desc *)c->desc + (r->first - r->pdesc);
	r->sdesc = c->desc;
	r->avail = c->driver;
	r->used_ring = c->device;
	ring_set_mem(r, c->mem);
}

/* --- walks -------------------------------------------------------------- */

static always_inline int ring_walk(struct walk w, const struct desc *d,
                                   const unsigned v)
{
	struct chain *c = w.c;
	int err;

	w.nseg = c->first = w.b->nseg;
	c->nread = c->nwrite = 0;
	c->read_len = c->write_len = 0;
	err = walk(&w, *d, v);
	if (err)
		return err;
	if (w.indirect)
		count_add(&w.r->count.indirect, 1);
	w.b->nseg = w.nseg;
	return 0;
}

int ring_walk_split(struct ring *r, struct burst *b, struct chain *c,
                    const struct desc *d, unsigned max_segs)
{
	return ring_walk((struct walk){ r, b, c, .max_segs = max_segs }, d, 0);
}

int ring_walk_packed(struct ring *r, struct burst *b, struct chain *c,
                     const struct desc *d, unsigned max_segs)
{
	return ring_walk((struct walk){ r, b, c, .max_segs = max_segs }, d,
	                 V_PACKED);
}

/* --- dirty log ---------------------------------------------------------- */

/* Bytes [off, off + len) of the used area (packed: of the descriptor ring). */
static void track_used(struct ring *r, uint64_t off, uint64_t len)
{
	if (r->log_used)
		dirty_mark(r->log, r->used_gpa + off, len);
}

void ring_track_give(struct ring *r, const struct burst *b,
                     const struct chain *c, uint32_t written)
{
	uint32_t i = c->first + c->nread;

	if (r->inflight)
		inflight_give(r, c);
	if (!r->log)
		return;
	for (; written; i++) {
		size_t n = min_of(b->seg[i].len, written);

		dirty_mark(r->log, b->gpa[i], n);
		written -= n;
	}
}

/* The used element of a give, that began at the position @at. */
void ring_track_element(struct ring *r, uint16_t at)
{
	if (!r->packed)
		track_used(r, 4 + 8 * (uint64_t)(at & r->mask), 8);
	else if (r->first != &r->pdesc[at]) /* that one is to be written */
		track_used(r, 16 * (uint64_t)at, 16);
}

void ring_track_publish(struct ring *r, const struct packed_desc *first)
{
	if (r->packed)
		track_used(r, 16 * (uint64_t)(first - r->pdesc), 16);
	else
		track_used(r, 0, 4);
}

void ring_track_event(struct ring *r)
{
	/* A packed ring's device area has no log address of its own. */
	if (!r->packed)
		track_used(r, r->event_idx ? 4 + 8 * (uint64_t)r->size : 0, 2);
}

/* --- stamped ------------------------------------------------------------ */

/* A noinline function for each variant, and @name_any() that picks one. The
 * variant is part of the name, so profiles and backtraces show it. @ends is
 * return, or nothing where there is nothing to return. */
#define STAMP(ret, ends, name, args, call)                                     \
	STAMP_ONE(ret, ends, name, split, 0u, args, call)                      \
	STAMP_ONE(ret, ends, name, packed, V_PACKED, args, call)               \
	STAMP_ONE(ret, ends, name, split_tracked, V_TRACKED, args, call)       \
	STAMP_ONE(ret, ends, name, packed_tracked, V_PACKED | V_TRACKED, args, \
	          call)                                                        \
	ret name##_any args                                                    \
	{                                                                      \
		switch (ring_variant(r)) {                                     \
		case V_PACKED:                                                 \
			ends name##_packed call;                               \
			break;                                                 \
		case V_TRACKED:                                                \
			ends name##_split_tracked call;                        \
			break;                                                 \
		case V_PACKED | V_TRACKED:                                     \
			ends name##_packed_tracked call;                       \
			break;                                                 \
		default:                                                       \
			ends name##_split call;                                \
		}                                                              \
	}
#define UNPACK(...) __VA_ARGS__
#define STAMP_ONE(ret, ends, name, variant, v, args, call) \
	static noinline ret name##_##variant args          \
	{                                                  \
		ends name(UNPACK call, v);                 \
	}

STAMP(int, return, ring_take, (struct ring * r, struct burst *b, unsigned max),
      (r, b, max))
STAMP(void, , ring_untake, (struct ring * r, struct burst *b, unsigned n),
      (r, b, n))
STAMP(void, , ring_give,
      (struct ring * r, const struct burst *b, const struct chain *c,
       uint32_t written),
      (r, b, c, written))
STAMP(void, , ring_publish, (struct ring * r), (r))
STAMP(bool, return, ring_call_wanted, (struct ring * r), (r))
STAMP(bool, return, ring_kick_enable, (struct ring * r), (r))
STAMP(void, , ring_kick_disable, (struct ring * r), (r))

bool ring_has_work_any(struct ring *r)
{
	if (inflight_left(r))
		return true;
	return r->packed ? packed_has_work(r) : split_has_work(r);
}
