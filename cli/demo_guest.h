/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_guest.h - an embedded guest: a driver with just enough of a network
 * stack above it (ARP, ping, UDP). Only the demo includes it.
 *
 * One thread at a time. What comes in is checked: the checksum of every IP
 * header, of every ping and of every datagram.
 */
#ifndef VIADUCT_CLI_DEMO_GUEST_H
#define VIADUCT_CLI_DEMO_GUEST_H

#include <viaduct/driver.h>

#include "base/defs.h"

#define GUEST_FRAME 1514u
#define GUEST_UDP   (GUEST_FRAME - 14u - 20u - 8u) /* bytes in a datagram */
#define GUEST_BURST 32u
#define GUEST_PEERS 4u
#define GUEST_PORT  7000u

struct guest {
	const char *name; /* in sentences: "guest a" */
	struct vd_driver *d;
	uint8_t mac[6];
	uint32_t ip; /* network order */

	struct {
		uint32_t ip;
		uint8_t mac[6];
	} peer[GUEST_PEERS];
	unsigned npeers;

	uint16_t ping_seq;
	uint64_t ping_sent_ns, ping_rtt_ns;

	/* Datagrams that came to GUEST_PORT. */
	void (*input)(void *ctx, const uint8_t *payload, unsigned len);
	void *ctx;

	uint64_t bad_checksums;
	bool offload; /* the device sums for us */

	/* Frames on their way out. */
	uint8_t frame[GUEST_BURST][GUEST_FRAME];
	unsigned len[GUEST_BURST];
	struct vd_offload todo[GUEST_BURST];
	unsigned nout;

	uint8_t whole[65550]; /* a received frame in one piece */
};

/* @last: last byte of MAC and IP address 10.77.0.x. 0 or negative errno. */
int guest_open(struct guest *g, const char *name, const char *socket,
               uint8_t last);
void guest_close(struct guest *g);

/* Who has @ip? 0, or -ETIMEDOUT after @timeout_ms. */
int guest_resolve(struct guest *g, uint32_t ip, int timeout_ms);
/* An echo to @ip and back. 0 and the time in g->ping_rtt_ns. */
int guest_ping(struct guest *g, uint32_t ip, int timeout_ms);

/* A datagram to a resolved @ip, from and to GUEST_PORT. It goes out with the
 * next guest_flush(), or when a burst is full. 0 or negative errno. */
int guest_send_udp(struct guest *g, uint32_t ip, const void *payload,
                   unsigned len);
int guest_flush(struct guest *g);

/* Wait at most @timeout_ms, serve what came. Frames served, or negative. */
int guest_poll(struct guest *g, int timeout_ms);

#endif
