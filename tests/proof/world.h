/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * world.h - what the harnesses share: guest memory, a ring, a burst. The
 * harnesses of tests/proof include it, first of all.
 *
 * Each region is an object of C of its own, so a range of bytes is valid when
 * it lies inside one region. A read of shared memory gives any value
 * (words/base/order.h); nothing here depends on what the objects hold.
 *
 * key_* are the numbers by which the analysis keeps states apart (option
 * -eva-partition-value): states that differ in them are never joined. They say
 * nothing to the code under proof.
 */
#ifndef VIADUCT_TESTS_PROOF_WORLD_H
#define VIADUCT_TESTS_PROOF_WORLD_H

#include "base/order.h"

#include "ring/ring.h"

static int key_fault;

/* A broken ring is told apart from a sound one. */
#define ring_break(r, why) (key_fault = 1, ring_break(r, why))
#include "ring/dev_packed.h"

#ifdef PACKED
#define VARIANT V_PACKED
#else
#define VARIANT 0u
#endif

static int key_hit;
#ifdef PACKED
static int key_next, key_free, key_wrap;
#endif

/* Any number from @low to @high. */
static unsigned any_of(unsigned low, unsigned high)
{
	return Frama_C_unsigned_int_interval(low, high);
}

static bool any_bool(void)
{
	return any_of(0, 1);
}

/* Memory: a map of three regions. */
struct world_mem {
	unsigned nregions, refs;
	struct mem_region region[3];
};

static struct world_mem world_mem;

/* Areas of the ring, of the size that the specification gives them. */
static struct {
	struct split_desc desc[SIZE];
} split_table;
static uint16_t split_avail[3 + SIZE];
static struct {
	uint16_t flags, idx;
	struct split_used_elem ring[SIZE];
	uint16_t event;
} __attribute__((packed)) split_used;
static struct packed_desc packed_ring[SIZE];
static struct packed_event packed_driver, packed_device;

static struct ring ring;
static struct burst burst;

static void world_ring_areas(void)
{
#ifdef PACKED
	ring.pdesc = packed_ring;
	ring.driver_event = &packed_driver;
	ring.device_event = &packed_device;
#else
	ring.sdesc = split_table.desc;
	ring.avail = (struct split_avail *)split_avail;
	ring.used_ring = (struct split_used *)&split_used;
#endif
	ring.size = SIZE;
	ring.mask = SIZE - 1;
	ring.packed = VARIANT & V_PACKED;
	ring.indirect = any_bool();
	ring.event_idx = any_bool();
	ring.in_order = any_bool();
	ring.platform = any_bool();
	ring.mem = (const struct mem *)&world_mem;
}

/* Any hit the ring may have in this map, nothing among them. */
static void world_hit(void)
{
	key_hit = any_of(0, world_mem.nregions);
	ring.hit = (struct mem_hit){ 0 };
	if (key_hit) {
		const struct mem_region *at = &world_mem.region[key_hit - 1];

		ring.hit = (struct mem_hit){ at->gpa, at->size, at->host, 0 };
		if (at->size >= MEM_SHORT)
			ring.hit.span = at->size - MEM_SHORT;
	}
}

/* Where a started ring may stand. Split positions are running numbers: any.
 * Packed: each slot for the next chain, each number of slots not free. */
static void world_position(unsigned free_least)
{
#ifdef PACKED
	uint32_t held;

#ifdef NEXT
	key_next = NEXT;
	key_wrap = WRAP;
	key_free = FREE;
#else
	key_next = any_of(0, SIZE - 1);
	key_wrap = any_bool();
	key_free = any_of(free_least, SIZE);
#endif
	held = SIZE - key_free;
	ring.next = key_next;
	ring.next_wrap = key_wrap;
	ring.used_wrap = ring.next_wrap;
	if (held > ring.next) {
		ring.used = ring.next + SIZE - held;
		ring.used_wrap = !ring.next_wrap;
	} else {
		ring.used = ring.next - held;
	}
#else
	(void)free_least;
	ring.next = any16();
	ring.used = any16();
#endif
}

#endif
