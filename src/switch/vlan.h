/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vlan.h - which VLAN a frame is in, and how it looks on a port. switch and the
 * daemon's configuration include it. Spec: IEEE 802.1Q, C-tags (0x8100) only.
 *
 * An access port is in one VLAN and its frames carry no tag; a tagged one is
 * refused there. A trunk carries tagged frames of the VLANs it is a member of,
 * and untagged ones of its native VLAN. VLAN 0 is the network of frames that
 * carry no tag between ports that were told nothing: a port as it comes is a
 * trunk of everything with native VLAN 0, which changes no frame.
 */
#ifndef VIADUCT_SWITCH_VLAN_H
#define VIADUCT_SWITCH_VLAN_H

#include "net/frame.h"

#define VLAN_MAX 4094u

struct vlan_port {
	bool access;
	uint16_t native; /* of untagged frames; an access port's only one */
	uint64_t member[4096 / 64];
};

void vlan_port_init(struct vlan_port *p); /* as it comes */
void vlan_port_access(struct vlan_port *p, uint16_t vlan);
/* A trunk of nothing; then vlan_port_add() each. */
void vlan_port_trunk(struct vlan_port *p);
void vlan_port_add(struct vlan_port *p, uint16_t vlan);
void vlan_port_native(struct vlan_port *p, uint16_t vlan);

static inline bool vlan_is_member(const struct vlan_port *p, uint16_t vlan)
{
	return p->member[vlan / 64] >> (vlan % 64) & 1;
}

/* A tag as a number: VLAN_TAGGED and the 16 bits of control information, or 0
 * for none. */
#define VLAN_TAGGED  0x10000u
#define VLAN_TPID    0x8100u
#define VLAN_TAG_LEN 4u
#define VLAN_ETH_LEN 14u /* of an untagged frame's header */

static inline bool vlan_has_tpid(const struct frame *f)
{
	const uint8_t *h = frame_head(f);

	return h[12] == VLAN_TPID >> 8 && h[13] == (VLAN_TPID & 0xff);
}

static inline uint32_t vlan_tag_get(const struct frame *f)
{
	const uint8_t *h = frame_head(f);

	if (!vlan_has_tpid(f) || f->len < VLAN_ETH_LEN + VLAN_TAG_LEN)
		return 0;
	return VLAN_TAGGED | (uint32_t)h[14] << 8 | h[15];
}

/* Push, pop or rewrite, from the tag a frame carries to another; keeps the
 * header's offsets true. The frame was accepted by vlan_frame_is_sane(). What
 * it carries is told and not read again: under one tag may be a second one. */
void vlan_tag_change(struct frame *f, uint32_t from, uint32_t to);

/* Can a tag be pushed and popped without a header offset going astray? */
static inline bool vlan_frame_is_sane(const struct frame *f)
{
	unsigned eth_len = VLAN_ETH_LEN + (vlan_has_tpid(f) ? VLAN_TAG_LEN : 0);

	if (f->len < eth_len)
		return false;
	if (!(f->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return true;
	return f->hdr.csum_start >= eth_len &&
	       f->hdr.csum_start <= UINT16_MAX - VLAN_TAG_LEN;
}

/* The VLAN of a frame with @tag that comes from @p; -1: not allowed there. */
static inline int vlan_ingress(const struct vlan_port *p, uint32_t tag)
{
	uint16_t vlan = tag & 0xfff;

	if (!vlan) /* no tag, or one that only tells the priority */
		return vlan_is_member(p, p->native) ? p->native : -1;
	return !p->access && vlan_is_member(p, vlan) ? vlan : -1;
}

/* The tag of a frame of @vlan on its way out of @p, if it now has @tag. */
uint32_t vlan_egress(const struct vlan_port *p, uint16_t vlan, uint32_t tag);

#endif
