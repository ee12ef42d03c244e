/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * desk.h - a driver end whose device is played by hand. test_ring_*.c includes
 * it. The counterpart of rig.h.
 */
#ifndef VIADUCT_TESTS_DESK_H
#define VIADUCT_TESTS_DESK_H

#include "ring/desc.h"
#include "ring/drv.h"

#define DESK_SIZE   16u
#define DESK_TABLES 4u
#define DESK_DESCS  4u
#define DESK_TABLE  UINT64_C(0x70000) /* where tables are, for the device */
#define DESK_GPA    UINT64_C(0x10000)

struct desk {
	union {
		struct split_desc sdesc[DESK_SIZE];
		struct packed_desc pdesc[DESK_SIZE];
		uint8_t desc[16 * DESK_SIZE];
	} cache_aligned;
	uint8_t driver[6 + 2 * DESK_SIZE] cache_aligned;
	uint8_t device[6 + 8 * DESK_SIZE] cache_aligned;
	struct split_avail *avail; /* these four point to the two above */
	struct packed_event *driver_event;
	struct split_used *used;
	struct packed_event *device_event;
	struct split_desc table[DESK_TABLES * DESK_DESCS];

	struct drv drv;
	struct drv_conf conf;
	struct drv_slot slot[DESK_SIZE];
	uint16_t free_id[DESK_SIZE];
	uint16_t free_table[DESK_TABLES];
	struct drv_done done[DESK_SIZE];
	uint64_t token; /* of the next desk_add(): 100, 101 .. */
	uint16_t nused; /* split: what the device's index says */
};

/* A fresh queue; tables are offered when INDIRECT_DESC is among @features. */
void desk_open(struct desk *k, uint32_t size, uint64_t features);

/* Start again from nothing, as after a reset. */
void desk_restart(struct desk *k);

/* A buffer of @nread and @nwrite pieces of 256 bytes each; drv_add()'s word. */
int desk_add(struct desk *k, unsigned nread, unsigned nwrite);

/* The device's part: split, the next used element and the index behind it;
 * packed, a used descriptor in slot @at with the marks of @wrap. */
void desk_use_split(struct desk *k, uint32_t id, uint32_t len);
void desk_use_packed(struct desk *k, uint32_t at, bool wrap, struct desc d);

#endif
