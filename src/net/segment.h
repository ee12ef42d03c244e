/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * segment.h - finish in software what a sender left undone: checksums and
 * segmentation. net and every port include it.
 *
 * A frame may ask for a checksum (NEEDS_CSUM) and to be cut (gso_type). Where
 * it goes, some of that may be allowed as it is, because hardware, a kernel or
 * a guest does it there. For the rest:
 *
 *	if (segment_needed(f, allowed) && segment_start(s, f, allowed) > 0)
 *		while ((piece = segment_next(s)))
 *			... send piece, an ordinary frame ...
 *
 * Pieces have headers of their own in the segmenter and payload where it was,
 * in the sender's memory: nothing is copied but headers. A piece lives until
 * the next call. Its head may be shorter than FRAME_HEAD when the rest is in
 * its segments.
 */
#ifndef VIADUCT_NET_SEGMENT_H
#define VIADUCT_NET_SEGMENT_H

#include "net/frame.h"

/* What a destination takes as it is. The first is what the others stand on. */
#define OFFLOAD_CSUM 1u
#define OFFLOAD_TSO4 2u
#define OFFLOAD_TSO6 4u
#define OFFLOAD_ECN  8u
#define OFFLOAD_UFO  16u
#define OFFLOAD_USO4 32u
#define OFFLOAD_USO6 64u

#define SEGMENT_HEADER 320u  /* longest headers that are understood */
#define SEGMENT_SEGS   2050u /* pieces of memory a piece can lie in */

struct segmenter {
	const struct frame *from;
	const struct segment_kind *kind; /* how it is cut */
	uint32_t count;                  /* pieces in all */
	uint32_t index;                  /* of the next piece */
	uint32_t step;                   /* payload bytes a piece */
	uint32_t extra;                  /* header bytes that count as such */
	bool csum_left;                  /* pieces keep NEEDS_CSUM */
	uint16_t l3, l4;
	uint8_t version;

	/* Where the next payload byte is. */
	uint32_t left;
	uint32_t seg_at; /* index and offset in from->seg */
	size_t seg_off;

	/* Of the original headers. */
	uint16_t ip_id;
	uint32_t tcp_seq;
	uint8_t tcp_flags;
	uint32_t frag_at;    /* UFO: bytes that every fragment repeats */
	uint32_t frag_ident; /* IPv6; goes on from frame to frame */

	uint32_t header_len;
	uint8_t header[SEGMENT_HEADER + 8]; /* and a fragment header */
	struct frame piece;
	struct seg seg[SEGMENT_SEGS];
};

/* What features of a destination guest's driver allow (GUEST_* bits). */
unsigned segment_allowed(uint64_t features);

/* Does @f ask for something that is not in @allowed? */
bool segment_needed(const struct frame *f, unsigned allowed);

/**
 * segment_start() - begin with a frame that asks for more than is allowed
 * @s: zeroed once in its life
 * @f: has to stay until the last piece
 *
 * Return: how many pieces will come, at least 1; -EINVAL when the headers are
 * not what the frame says they are.
 */
int segment_start(struct segmenter *s, const struct frame *f, unsigned allowed);

/* The next piece, NULL when there is no more. */
const struct frame *segment_next(struct segmenter *s);

#endif
