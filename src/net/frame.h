/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * frame.h - a view of a packet on its way. net, port and switch include it.
 *
 * A frame lives for one turn of the loop: its first bytes were copied out of
 * the sender's memory once (head), its other bytes are still there (segments).
 * Decisions are made on the head, and whoever writes the frame somewhere writes
 * the head from the copy, so that the bytes that were judged are the bytes that
 * arrive: a hostile sender who rewrites its memory changes only its payload.
 *
 * The frame's bytes are head[0 .. head_len) and then the segments. Pushing or
 * popping a VLAN tag is an edit of the head. The header says what the sender
 * left undone (checksum, segmentation), checked against the frame's length.
 */
#ifndef VIADUCT_NET_FRAME_H
#define VIADUCT_NET_FRAME_H

#include "wire/net.h"

#define FRAME_HEAD      60u /* bytes of a frame that are copied out */
#define FRAME_HEAD_ROOM 4u  /* room in front of them for a VLAN tag */
#define FRAME_LEN_MAX   (65536u + 22u + 18u)

/* The sender's header in host byte order, checked by net_hdr_read(). */
struct frame_hdr {
	uint8_t flags;    /* VIRTIO_NET_HDR_F_NEEDS_CSUM, _DATA_VALID */
	uint8_t gso_type; /* VIRTIO_NET_HDR_GSO_*, ECN bit included */
	uint16_t hdr_len;
	uint16_t gso_size;
	uint16_t csum_start;
	uint16_t csum_offset;
};

struct frame {
	struct frame_hdr hdr;
	uint32_t len; /* bytes of the whole frame, head included */
	uint16_t nseg;
	uint8_t head_len;      /* min(len, FRAME_HEAD), +-4 by VLAN edits */
	uint8_t head_at;       /* where the head begins in room[] */
	const struct seg *seg; /* the bytes behind the head */
	uint8_t room[FRAME_HEAD_ROOM + FRAME_HEAD];
};

static inline const uint8_t *frame_head(const struct frame *f)
{
	return f->room + f->head_at;
}

/* Copy bytes [at, at + len) out; false when the frame is shorter. frame.c */
bool frame_copy(const struct frame *f, uint32_t at, uint32_t len, void *to);

#endif
