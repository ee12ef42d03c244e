/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire/split.h - bytes of a split virtqueue. Layout only, no logic; anyone may
 * include it. Spec: virtio 1.3, 2.7 Split Virtqueues.
 */
#ifndef VIADUCT_WIRE_SPLIT_H
#define VIADUCT_WIRE_SPLIT_H

#include "base/le.h"

/* Descriptor flags, shared with packed rings (2.7.5, 2.8.1). */
#define DESC_NEXT     1u
#define DESC_WRITE    2u
#define DESC_INDIRECT 4u

/* avail.flags: do not interrupt me. used.flags: do not notify me. */
#define SPLIT_NO_INTERRUPT 1u
#define SPLIT_NO_NOTIFY    1u

#define SPLIT_SIZE_MAX 32768u

struct split_desc {
	le64 addr;
	union {
		struct {
			le32 len;
			le16 flags;
			le16 next;
		};
		le64 rest; /* len | flags << 32 | next << 48, one load */
	};
};

struct split_avail {
	le16 flags;
	le16 idx;
	le16 ring[]; /* size entries, then le16 used_event */
};

struct split_used_elem {
	le32 id;
	le32 len;
};

struct split_used {
	le16 flags;
	le16 idx;
	struct split_used_elem ring[]; /* size entries, then le16 avail_event */
};

/* Bytes of each area for a queue of @n descriptors, event word included. */
#define SPLIT_DESC_BYTES(n)  ((size_t)16 * (n))
#define SPLIT_AVAIL_BYTES(n) ((size_t)6 + (size_t)2 * (n))
#define SPLIT_USED_BYTES(n)  ((size_t)6 + (size_t)8 * (n))

_Static_assert(sizeof(struct split_desc) == 16, "2.7.5");
_Static_assert(offsetof(struct split_desc, flags) == 12, "2.7.5");
_Static_assert(offsetof(struct split_desc, next) == 14, "2.7.5");
_Static_assert(sizeof(struct split_avail) == 4, "2.7.6");
_Static_assert(sizeof(struct split_used_elem) == 8, "2.7.8");
_Static_assert(offsetof(struct split_used, ring) == 4, "2.7.8");

#endif
