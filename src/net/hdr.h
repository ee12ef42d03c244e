/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * hdr.h - the header before every packet: from a chain to a frame, and from a
 * frame to what a receiving guest may see. net includes it.
 *
 * Spec: virtio 1.3, 5.1.6 Device Operation.
 */
#ifndef VIADUCT_NET_HDR_H
#define VIADUCT_NET_HDR_H

#include "net/frame.h"
#include "ring/ring.h"

#define NET_HDR_BYTES        12u /* VIRTIO 1, or legacy with MRG_RXBUF */
#define NET_HDR_BYTES_LEGACY 10u
#define FRAME_LEN_MIN        14u /* shorter is no Ethernet frame */

/* What the sender's driver negotiated; set once, when features are. */
struct hdr_rules {
	uint32_t gso_types; /* bit t: gso_type t may be asked for */
	uint8_t len;        /* bytes of a header */
	bool ecn;
};

void hdr_rules_set(struct hdr_rules *r, uint64_t features);

/**
 * hdr_read() - a transmitted chain becomes a frame
 * @r: rules of the sender
 * @b: burst that holds the chain; its segments are trimmed to what lies behind
 *     the header and the head, and the frame borrows them
 * @c: the chain
 * @f: out
 *
 * Header and head are read once, however many descriptors they are spread
 * over. The header is checked against the frame's length.
 *
 * Return: 0; -EINVAL: no frame, or a header that makes no sense: drop it.
 * Spec: virtio 1.3, 5.1.6.2 Packet Transmission
 */
int hdr_read(const struct hdr_rules *r, struct burst *b, const struct chain *c,
             struct frame *f);

/**
 * hdr_make() - the header for a guest that takes the frame as it is
 * @f:    frame, of which nothing is left to do that the guest did not offer
 * @csum: the guest negotiated GUEST_CSUM: it understands flags
 *
 * num_buffers is 1; the writer of merged buffers corrects it.
 * Spec: virtio 1.3, 5.1.6.4.1 Device Requirements: Processing of Incoming
 * Packets
 */
struct virtio_net_hdr hdr_make(const struct frame *f, bool csum);

#endif
