/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * packets.h - packets for tests: made at random from a seed, laid out as views
 * over memory in pieces, and judged by a slow and obvious reader.
 */
#ifndef VIADUCT_TESTS_PACKETS_H
#define VIADUCT_TESTS_PACKETS_H

#include "net/frame.h"

#define PACKET_MAX 70000u

/* A plain generator, the same everywhere. */
struct dice {
	uint64_t state;
};

uint32_t dice_roll(struct dice *d, uint32_t sides); /* 0 .. sides - 1 */

/* What packet_make() is asked for. */
struct packet_wish {
	uint8_t gso_type; /* VIRTIO_NET_HDR_GSO_* */
	bool v6;          /* NONE and UDP_L4, UDP: which IP */
	bool udp;         /* NONE: which layer 4 */
	bool vlan;
	bool options;    /* IPv4 and TCP options, IPv6 extension headers */
	bool unfinished; /* NONE: leave the checksum undone */
	uint32_t payload;
	uint16_t gso_size;
};

struct packet {
	struct frame_hdr hdr;
	uint32_t len;
	uint32_t l3, l4, data; /* where the layers begin */
	uint8_t bytes[PACKET_MAX];
};

/* An unfinished checksum field holds the sum of the pseudo header. */
void packet_make(struct packet *p, const struct packet_wish *w, struct dice *d);

/* A view over the packet whose segments are cut at random, the head copied as
 * hdr_read() does. At most @nseg segments. */
void packet_view(const struct packet *p, struct frame *f, struct seg *seg,
                 unsigned nseg, struct dice *d);

/* Flatten a view. */
uint32_t frame_flatten(const struct frame *f, uint8_t *to);

/* Sum of 16 bit words as RFC 1071 says, slowly; 0xffff for good bytes. */
uint16_t slow_sum(const uint8_t *p, uint32_t len, uint32_t start);

/* Is the checksum of layer 4 right, and that of an IPv4 header? @l3 and @l4
 * are where they begin. */
bool l4_sum_is_right(const uint8_t *p, uint32_t len, uint32_t l3, uint32_t l4);
bool ip_sum_is_right(const uint8_t *p, uint32_t l3);

#endif
