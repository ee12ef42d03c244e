/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * rig.h - a device end whose ring is written by hand. test_ring_*.c includes
 * it.
 *
 * One block of guest memory at RIG_GPA, one page more behind a hole at RIG_FAR;
 * the ring's areas lie outside of both, as plain memory. The driver is whoever
 * calls rig_desc() and rig_avail(): nothing here keeps a rule.
 */
#ifndef VIADUCT_TESTS_RIG_H
#define VIADUCT_TESTS_RIG_H

#include "ring/dev.h"

#define RIG_GPA  UINT64_C(0x10000)
#define RIG_LEN  0x20000u /* runs of plain chains need 64 KiB and more */
#define RIG_FAR  UINT64_C(0x40000)
#define RIG_PAGE 0x1000u
#define RIG_SIZE 16u /* largest queue */

/* Marks of a packed descriptor in the first lap. */
#define FRESH PACKED_AVAIL

struct rig {
	union {
		struct split_desc sdesc[RIG_SIZE];
		struct packed_desc pdesc[RIG_SIZE];
		uint8_t desc[16 * RIG_SIZE];
	} cache_aligned;
	uint8_t driver[6 + 2 * RIG_SIZE] cache_aligned;
	uint8_t device[6 + 8 * RIG_SIZE] cache_aligned;
	struct split_avail *avail; /* these four point to the two above */
	struct packed_event *driver_event;
	struct split_used *used;
	struct packed_event *device_event;
	uint8_t ram[RIG_LEN] cache_aligned;
	uint8_t far_page[RIG_PAGE] cache_aligned;

	struct mem *mem;
	struct ring ring;
	struct ring_conf conf;
	struct burst b;
	struct chain chain[RING_BURST];
	struct seg seg[RING_SEGS];
	uint64_t gpa[RING_SEGS];
	uint16_t navail; /* split: what the driver's index says */
};

/* A fresh ring of @size with the bits of @features; memory all zero. */
void rig_open(struct rig *g, uint32_t size, uint64_t features);
void rig_close(struct rig *g);

/* Start again from nothing, as after a reset. */
void rig_restart(struct rig *g);

/* Descriptor @i: address, length, flags, and next (split) or id (packed). */
void rig_desc(struct rig *g, uint32_t i, struct desc d);

/* The same in an indirect table at guest address @gpa. */
void rig_entry(struct rig *g, uint64_t gpa, uint32_t i, struct desc d);

/* Split: make @head available and say so. */
void rig_avail(struct rig *g, uint16_t head);

/* Host pointer to guest memory. */
uint8_t *rig_ram(struct rig *g, uint64_t gpa);

/* Take into an empty burst; what ring_take said. */
int rig_take(struct rig *g, unsigned max);

/* One descriptor, offered as the @n-th chain ever (both layouts). */
void rig_offer(struct rig *g, unsigned n, uint64_t gpa, uint32_t len,
               uint16_t flags);

#endif
