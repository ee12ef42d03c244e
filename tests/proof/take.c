/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * take.c - the proof of the bodies in src/ring/dev.h, dev_split.h,
 * dev_packed.h and event.h: each of them from any state that a ring and a
 * burst can be in, back into such a state. So it holds for calls in any order
 * and number.
 *
 * Chains that need a walk come from a stand-in that answers whatever walk.c
 * proved of the real one, and demands what walk.c takes for granted. One of
 * the regions is large enough for runs of plain chains (MEM_SHORT).
 */
#include "world.h"

#define WINDOW 0x1000u
#define LARGE  (MEM_SHORT + 8)
#define CHAINS 2u
#define SEGS   3u

static uint8_t large[LARGE], small[1];

static struct chain chains[CHAINS];
static struct seg segs[SEGS];

static int key_n, key_nseg, key_end, key_plain, key_slots;

/* Slots of a packed ring that are not taken. A split one's do not count. */
static uint32_t slots_free(void)
{
#ifdef PACKED
	key_next = ring.next;
	key_free = SIZE - packed_held(&ring);
	return key_free;
#else
	return SIZE;
#endif
}

/* Without a region of MEM_SHORT bytes no chain is plain: one case. */
static void any_hit(void)
{
	world_hit();
	key_hit = key_hit == 1;
}

/* --- the walk's stand-in -------------------------------------------------- */

static enum ring_fault any_fault(void)
{
	return any_of(RING_OK + 1, RING_FAULT_COUNT - 1);
}

static int walked(struct chain *c, unsigned max_segs)
{
	unsigned n;

	//@ assert demands_chain: burst.n < CHAINS && c == &chains[burst.n];
	//@ assert demands_room: burst.nseg <= max_segs <= SEGS;
	//@ assert demands_whole: ring.fault == RING_OK;
	//@ assert demands_one: c->ndesc == 1;
	any_hit();
	c->first = burst.nseg;
	c->read_len = any32();
	c->write_len = any32();
	c->id = any16();
	if (any_bool())
		return ring_break(&ring, any_fault());
	if (any_bool())
		return RING_ENOSPC;
	key_n = burst.n + 1;
	key_nseg = any_of(burst.nseg, max_segs);
	n = key_nseg - burst.nseg;
	c->nread = any_of(0, n);
	c->nwrite = n - c->nread;
	burst.nseg = key_nseg;
	return 0;
}

int ring_walk_split(struct ring *r, struct burst *b, struct chain *c,
                    const struct desc *d, unsigned max_segs)
{
	(void)r, (void)b, (void)d;
	//@ assert demands_head: c->id < SIZE;
	return walked(c, max_segs);
}

int ring_walk_packed(struct ring *r, struct burst *b, struct chain *c,
                     const struct desc *d, unsigned max_segs)
{
	unsigned left = slots_free();
	int err;

	(void)r, (void)b, (void)d;
	//@ assert demands_free: 1 <= left <= SIZE;
	err = walked(c, max_segs);
	if (err) {
		c->ndesc = any_of(1, left);
		return err;
	}
	key_slots = any_of(1, left);
	c->ndesc = key_slots;
#ifdef PACKED /* where packed_advance() will go */
	key_next = (key_next + key_slots) % SIZE;
	key_free -= key_slots;
#endif
	key_slots = 0; /* told by key_free */
	return 0;
}

/* --- any state ------------------------------------------------------------ */

static struct chain any_chain(void)
{
	struct chain c = { 0 };

	c.first = any_of(0, key_nseg);
	c.nread = any_of(0, SEGS);
	c.nwrite = any_of(0, SEGS);
	c.read_len = any32();
	c.write_len = any32();
	c.id = VARIANT ? any16() : any_of(0, SIZE - 1);
	key_slots = any_of(1, max_of(SIZE - slots_free(), 1));
	c.ndesc = key_slots;
	return c;
}

static void any_state(void)
{
	world_mem.nregions = 2;
	world_mem.region[0] = (struct mem_region){
		.gpa = WINDOW, .size = LARGE, .host = large
	};
	world_mem.region[1] = (struct mem_region){
		.gpa = WINDOW + LARGE, .size = 1, .host = small
	};
	world_ring_areas();
	world_position(0);
	ring.published = any16();
	ring.added = any32();
#ifdef PACKED
	if (any_bool()) {
		ring.first = &packed_ring[any_of(0, SIZE - 1)];
		ring.first_rest = any64();
	}
#endif
	burst = (struct burst){ chains, segs, NULL, CHAINS, SEGS, 0, 0 };
}

/* A burst that holds some chains already. */
static void any_burst(void)
{
	key_n = any_of(0, CHAINS - 1);
	key_nseg = VARIANT ? 2 * any_of(0, 1) : any_of(0, SEGS - 1);
	burst.n = key_n;
	burst.nseg = key_nseg;
}

/* What every call leaves: a state from which the others are proved. */
static void sound_state(void)
{
	//@ assert burst_chains: burst.n <= CHAINS;
	//@ assert burst_segs: burst.nseg <= SEGS;
#ifdef PACKED
	//@ assert position_next: ring.next < SIZE;
	//@ assert position_used: ring.used < SIZE;
	/*@ assert position_first: ring.first == \null ||
	      \valid(ring.first); */
	slots_free();
	//@ assert position_held: 0 <= key_free <= SIZE;
#endif
}

/* --- the bodies, stopped where states are told apart ---------------------- */

static int pending(int n)
{
	if (n < 0)
		return n;
	key_end = n;
	return key_end;
}

/* Whether a plain chain was found, and so whether @p was set. */
static bool plain(const struct run *k, struct plain *p)
{
	bool found = VARIANT ? packed_plain(k, p) : split_plain(k, p);

	key_plain = found;
	return found;
}

/* The segment of a plain chain, as it lies in the burst. */
static void placed(const struct seg *s)
{
	uint8_t *base = s->base;
	size_t len = s->len;

	//@ assert segment_in_region: \valid(base + (0 .. len - 1));
}

#define split_plain            plain
#define packed_plain           plain
#define split_pending(r, max)  pending(split_pending(r, max))
#define packed_pending(r, max) pending(packed_pending(r, max))
#define split_run_next(k) \
	(placed(s - 1), key_n = (int)(c - chains) + 1, key_nseg++, \
	 split_run_next(k))
#ifdef PACKED
#define packed_run_next(k)                                         \
	(placed(s - 1), key_n = (int)(c - chains) + 1, key_nseg++, \
	 key_next = (k)->next + 1, packed_run_next(k))
#endif
#include "ring/dev.h"
#undef split_plain
#undef packed_plain
#undef split_pending
#undef packed_pending
#undef split_run_next
#undef packed_run_next
#undef ring_break

/* The walks of dev.c are there, but nobody calls them. */
#define ring_walk_split  real_walk_split
#define ring_walk_packed real_walk_packed
#include "ring/dev.c"

/* --- each call ------------------------------------------------------------ */

static void take(void)
{
	int n;

	any_burst();
	any_hit();
	n = ring_take_any(&ring, &burst, any32());
	key_end = key_plain = key_nseg = key_hit = 0;
	//@ assert answer: 0 <= n <= CHAINS || n == RING_EBADMSG;
	//@ assert told: n < 0 ==> ring.fault != RING_OK;
}

static void take_broken(void)
{
	int n;

	ring.fault = any_fault();
	n = ring_take_any(&ring, &burst, any32());
	//@ assert sticky: n == RING_EBADMSG && ring.fault != RING_OK;
	//@ assert nothing: burst.n == 0 && burst.nseg == 0;
}

static void untake(void)
{
	any_burst();
	if (!burst.n || (VARIANT && slots_free() == SIZE))
		return;
	chains[burst.n - 1] = any_chain();
	ring_untake_any(&ring, &burst, 1);
}

static void give(void)
{
	struct chain c;

	if (VARIANT && slots_free() == SIZE)
		return;
	c = any_chain();
	ring_give_any(&ring, &burst, &c, any32());
}

static void start(void)
{
	struct ring_conf conf = {
		any64(), SIZE, ring.sdesc, ring.avail, ring.used_ring,
		ring.mem, any32()
	};

	conf.features = VARIANT ? VIRTIO_F_RING_PACKED : 0;
	key_end = any_of(0, 2);
	if (key_end)
		conf.size = key_end == 1 ? 0
		                         : any_of(SPLIT_SIZE_MAX + 1,
		                                  UINT32_MAX);
	if (any_bool())
		conf.desc = NULL;
	if (ring_start(&ring, &conf))
		return;
	//@ assert started: ring.fault == RING_OK && ring.size == SIZE;
	sound_state();
}

int main(void)
{
	any_state();
	switch (any_of(CALL_FIRST, CALL_LAST)) {
	case 0:
		take();
		break;
	case 1:
		untake();
		break;
	case 2:
		give();
		break;
	case 3:
		ring_publish_any(&ring);
		break;
	case 4:
		ring_call_wanted_any(&ring);
		break;
	case 5:
		ring_kick_enable_any(&ring);
		break;
	case 6:
		ring_kick_disable_any(&ring);
		break;
	case 7:
		ring_has_work_any(&ring);
		break;
	case 8:
		take_broken();
		break;
	default:
		start();
		return 0;
	}
	sound_state();
	return 0;
}
