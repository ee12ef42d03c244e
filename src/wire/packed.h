/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * wire/packed.h - bytes of a packed virtqueue. Layout only, no logic; anyone
 * may include it. Spec: virtio 1.3, 2.8 Packed Virtqueues.
 */
#ifndef VIADUCT_WIRE_PACKED_H
#define VIADUCT_WIRE_PACKED_H

#include "base/le.h"

#define PACKED_AVAIL (1u << 7)
#define PACKED_USED  (1u << 15)

/* Flags of an event suppression structure (2.8.14). */
#define PACKED_EVENT_ENABLE  0u
#define PACKED_EVENT_DISABLE 1u
#define PACKED_EVENT_DESC    2u

#define PACKED_SIZE_MAX 32768u
#define PACKED_WRAP     (1u << 15) /* the wrap counter's bit beside an index */

struct packed_desc {
	le64 addr;
	union {
		struct {
			le32 len;
			le16 id;
			le16 flags;
		};
		le64 rest; /* len | id << 32 | flags << 48, one access */
	};
};

struct packed_event {
	union {
		struct {
			le16 off_wrap; /* offset, wrap counter in bit 15 */
			le16 flags;
		};
		le32 both; /* off_wrap | flags << 16, one access */
	};
};

#define PACKED_DESC_BYTES(n) ((size_t)16 * (n))

_Static_assert(sizeof(struct packed_desc) == 16, "2.8.13");
_Static_assert(offsetof(struct packed_desc, id) == 12, "2.8.13");
_Static_assert(offsetof(struct packed_desc, flags) == 14, "2.8.13");
_Static_assert(sizeof(struct packed_event) == 4, "2.8.14");

#endif
