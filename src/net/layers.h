/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layers.h - where the headers inside a frame begin. net includes it.
 */
#ifndef VIADUCT_NET_LAYERS_H
#define VIADUCT_NET_LAYERS_H

#include "base/defs.h"

#define ETH_BYTES  14u
#define VLAN_BYTES 4u
#define TYPE_IPV4  0x0800u
#define TYPE_IPV6  0x86ddu
#define TYPE_VLAN  0x8100u
#define TYPE_QINQ  0x88a8u

#define PROTO_TCP     6u
#define PROTO_UDP     17u
#define TCP_BYTES     20u
#define UDP_BYTES     8u
#define TCP_CHECK_OFF 16u
#define UDP_CHECK_OFF 6u

struct layers {
	uint16_t l3;
	uint16_t l4;
	uint8_t version; /* of IP: 4 or 6 */
	uint8_t proto;   /* of layer 4 */
	bool fragment;   /* a piece of a datagram: layer 4 may be missing */
	/* IPv6: where a fragment header would go, and the byte that names what
	 * follows there. */
	uint16_t split_at;
	uint16_t split_next;
};

static inline uint16_t be16_at(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* The type behind up to two VLAN tags; *at: where its payload begins. 0 when
 * the bytes end before. */
uint16_t layers_type(const uint8_t *p, uint32_t len, uint16_t *at);

/**
 * layers_find() - the layers of an IP packet in an Ethernet frame
 * @p:   the frame's first bytes, a private copy
 * @len: how many
 *
 * Return: 0, or -EINVAL: not IP, malformed, or the headers are longer than
 * what is there.
 */
int layers_find(const uint8_t *p, uint32_t len, struct layers *l);

#endif
