/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layers.c - Ethernet, VLAN tags, IPv4, IPv6 with extension headers.
 *
 * Works on a private copy of a frame's first bytes and never looks behind it.
 */
#include "net/layers.h"

#include <errno.h>

#define IPV4_BYTES 20u
#define IPV6_BYTES 40u

/* IPv6 extension headers that may stand before layer 4. */
#define EXT_HOP_BY_HOP  0u
#define EXT_ROUTING     43u
#define EXT_FRAGMENT    44u
#define EXT_DESTINATION 60u
#define EXT_MAX         8u

uint16_t layers_type(const uint8_t *p, uint32_t len, uint16_t *at)
{
	uint16_t type, off = ETH_BYTES - 2;

	for (unsigned tags = 0; tags <= 2; tags++) {
		if (off + 2u > len)
			return 0;
		type = be16_at(p + off);
		off += 2;
		if (type != TYPE_VLAN && type != TYPE_QINQ) {
			*at = off;
			return type;
		}
		off += VLAN_BYTES - 2;
	}
	return 0;
}

static int find_ipv4(const uint8_t *p, uint32_t len, struct layers *l)
{
	unsigned ihl;

	if (l->l3 + IPV4_BYTES > len || p[l->l3] >> 4 != 4)
		return -EINVAL;
	ihl = (p[l->l3] & 15u) * 4;
	if (ihl < IPV4_BYTES || l->l3 + ihl > len)
		return -EINVAL;
	l->version = 4;
	l->l4 = (uint16_t)(l->l3 + ihl);
	l->proto = p[l->l3 + 9];
	l->fragment = be16_at(p + l->l3 + 6) & 0x3fff; /* more, or an offset */
	return 0;
}

/*
 * The part that every fragment repeats ends behind the last hop-by-hop or
 * routing header; destination options behind them belong to the payload
 * (RFC 8200, 4.5).
 */
static int find_ipv6(const uint8_t *p, uint32_t len, struct layers *l)
{
	unsigned next_at = l->l3 + 6u;
	unsigned at = l->l3 + IPV6_BYTES;

	if (at > len || p[l->l3] >> 4 != 6)
		return -EINVAL;
	l->version = 6;
	l->split_at = (uint16_t)at;
	l->split_next = (uint16_t)next_at;
	for (unsigned n = 0; n < EXT_MAX; n++) {
		unsigned next = p[next_at];

		if (next != EXT_HOP_BY_HOP && next != EXT_ROUTING &&
		    next != EXT_DESTINATION && next != EXT_FRAGMENT) {
			l->proto = (uint8_t)next;
			l->l4 = (uint16_t)at;
			return 0;
		}
		if (at + 8 > len)
			return -EINVAL;
		next_at = at;
		if (next == EXT_FRAGMENT) {
			l->fragment = true;
			at += 8;
			continue;
		}
		at += (p[at + 1] + 1u) * 8;
		if (at > len)
			return -EINVAL;
		if (next != EXT_DESTINATION) {
			l->split_at = (uint16_t)at;
			l->split_next = (uint16_t)next_at;
		}
	}
	return -EINVAL;
}

int layers_find(const uint8_t *p, uint32_t len, struct layers *l)
{
	uint16_t type;

	*l = (struct layers){ 0 };
	type = layers_type(p, len, &l->l3);
	if (type == TYPE_IPV4)
		return find_ipv4(p, len, l);
	if (type == TYPE_IPV6)
		return find_ipv6(p, len, l);
	return -EINVAL;
}
