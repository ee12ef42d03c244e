/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire/inflight.h - bytes of the in-flight record, one region a queue. Layout
 * only, no logic; ring includes it. Numbers have the host's byte order.
 * Spec: vhost-user, Inflight I/O Tracking.
 */
#ifndef VIADUCT_WIRE_INFLIGHT_H
#define VIADUCT_WIRE_INFLIGHT_H

#include "base/defs.h"

#define INFLIGHT_VERSION 1u  /* 0: nobody has used the region yet */
#define INFLIGHT_ALIGN   64u /* regions of several queues follow each other */

struct inflight_split_desc {
	uint8_t inflight;
	uint8_t padding[5];
	uint16_t next;    /* list of the last batch */
	uint64_t counter; /* order in which heads were taken */
};

struct inflight_split {
	uint64_t features;
	uint16_t version;
	uint16_t desc_num;
	uint16_t last_batch_head;
	uint16_t used_idx;
	struct inflight_split_desc desc[];
};

struct inflight_packed_desc {
	uint8_t inflight; /* this and the next ones: heads only */
	uint8_t padding;
	uint16_t next; /* of this list, or of the free list */
	uint16_t last; /* entry of the list's last descriptor */
	uint16_t num;  /* descriptors in the list */
	uint64_t counter;
	uint16_t id; /* what the descriptor held */
	uint16_t flags;
	uint32_t len;
	uint64_t addr;
};

struct inflight_packed {
	uint64_t features;
	uint16_t version;
	uint16_t desc_num;
	uint16_t free_head;
	uint16_t old_free_head;
	uint16_t used_idx;
	uint16_t old_used_idx;
	uint8_t used_wrap_counter;
	uint8_t old_used_wrap_counter;
	uint8_t padding[7];
	struct inflight_packed_desc desc[];
};

_Static_assert(sizeof(struct inflight_split_desc) == 16, "inflight");
_Static_assert(sizeof(struct inflight_split) == 16, "inflight");
_Static_assert(sizeof(struct inflight_packed_desc) == 32, "inflight");
_Static_assert(sizeof(struct inflight_packed) == 32, "inflight");
_Static_assert(offsetof(struct inflight_packed, used_wrap_counter) == 20,
               "inflight");

#endif
