/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * vlan.c - which VLAN a frame is in, and how it looks on a port; the rules are
 * in vlan.h.
 *
 *	 0            6            12           14
 *	| destination | source      | type       | ...        untagged
 *	| destination | source      | 0x8100 tci | type | ... tagged
 *
 * The two addresses move, the rest stays where it is: that is why a frame's
 * head has four bytes of room in front.
 */
#include "switch/vlan.h"

#include <assert.h>
#include <string.h>

#define TPID     VLAN_TPID
#define TAG_LEN  VLAN_TAG_LEN
#define ETH_LEN  VLAN_ETH_LEN
#define ADDR_LEN 12u

void vlan_port_init(struct vlan_port *p)
{
	*p = (struct vlan_port){ .native = 0 };
	memset(p->member, 0xff, sizeof(p->member));
	p->member[4095 / 64] &= ~(1ull << (4095 % 64)); /* reserved */
}

void vlan_port_access(struct vlan_port *p, uint16_t vlan)
{
	*p = (struct vlan_port){ .access = true, .native = vlan };
	vlan_port_add(p, vlan);
}

void vlan_port_trunk(struct vlan_port *p)
{
	*p = (struct vlan_port){ .native = 0 };
}

void vlan_port_add(struct vlan_port *p, uint16_t vlan)
{
	p->member[vlan / 64] |= 1ull << (vlan % 64);
}

void vlan_port_native(struct vlan_port *p, uint16_t vlan)
{
	p->member[0] &= ~1ull; /* untagged frames are not in VLAN 0 here */
	p->native = vlan;
	vlan_port_add(p, vlan);
}

/* The header's offsets count from the frame's first byte. */
static void frame_grow(struct frame *f, int by)
{
	f->head_at = (uint8_t)(f->head_at - by);
	f->head_len = (uint8_t)(f->head_len + by);
	f->len = (uint32_t)((int)f->len + by);
	if (f->hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
		f->hdr.csum_start = (uint16_t)(f->hdr.csum_start + by);
	/* A hint; where it makes no sense it is left alone. */
	if (f->hdr.hdr_len >= (by > 0 ? ETH_LEN : ETH_LEN + TAG_LEN) &&
	    f->hdr.hdr_len <= UINT16_MAX - TAG_LEN)
		f->hdr.hdr_len = (uint16_t)(f->hdr.hdr_len + by);
}

static void tag_push(struct frame *f)
{
	assert(f->head_at >= TAG_LEN);
	memmove(f->room + f->head_at - TAG_LEN, f->room + f->head_at, ADDR_LEN);
	frame_grow(f, TAG_LEN);
}

static void tag_pop(struct frame *f)
{
	memmove(f->room + f->head_at + TAG_LEN, f->room + f->head_at, ADDR_LEN);
	frame_grow(f, -(int)TAG_LEN);
}

void vlan_tag_change(struct frame *f, uint32_t from, uint32_t to)
{
	uint8_t *h;

	if (from == to)
		return;
	if (!to) {
		tag_pop(f);
		return;
	}
	if (!from)
		tag_push(f);
	h = f->room + f->head_at;
	h[12] = TPID >> 8;
	h[13] = TPID & 0xff;
	h[14] = (uint8_t)(to >> 8);
	h[15] = (uint8_t)to;
}

uint32_t vlan_egress(const struct vlan_port *p, uint16_t vlan, uint32_t tag)
{
	if (vlan == p->native)
		return vlan ? 0 : tag;
	return VLAN_TAGGED | (tag & 0xf000) | vlan;
}
