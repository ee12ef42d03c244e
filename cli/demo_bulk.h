/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * demo_bulk.h - bulk data in both directions at once, every byte accounted for.
 * Only the demo includes it.
 *
 * Each end sends numbered datagrams of random bytes, at most a window ahead of
 * what the other acknowledged, and at its end a last one with the number and
 * the hash of all. The other end checks numbers as they come and the hash at
 * the end. Nothing is ever sent twice: a datagram that is lost is a failure.
 */
#ifndef VIADUCT_CLI_DEMO_BULK_H
#define VIADUCT_CLI_DEMO_BULK_H

#include "base/defs.h"

/* How datagrams travel; both answer 0 or a count, or negative errno. */
struct bulk_way {
	int (*send)(void *ctx, const void *payload, unsigned len);
	/* Wait at most so long; what came goes to bulk_input(). */
	int (*poll)(void *ctx, int timeout_ms);
	int (*flush)(void *ctx);
	void *ctx;
	unsigned payload; /* bytes in a datagram, at most BULK_PAYLOAD */
	unsigned window;
};

#define BULK_PAYLOAD 1472u

struct bulk {
	const char *here, *there; /* in sentences */
	struct bulk_way way;
	uint64_t random;

	uint64_t sent, acked, sent_hash;
	bool end_sent, end_acked;

	uint64_t received, told, received_hash;
	bool end_received;

	uint64_t bytes_sent, bytes_received;
	double seconds;
	char failure[200]; /* empty: none */
};

/* @seed: of the random bytes, another for each end. */
void bulk_init(struct bulk *b, const struct bulk_way *way, uint64_t seed);

/* A datagram came. */
void bulk_input(struct bulk *b, const uint8_t *p, unsigned len);

/* Send for @seconds, receive until the other end is done. 0, or -1 and
 * b->failure. */
int bulk_run(struct bulk *b, double seconds);

#endif
