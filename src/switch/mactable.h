/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mactable.h - which port a station was last heard on. switch includes it, and
 * the daemon to print it.
 *
 * A fixed-size hash of buckets, one cache line each: four stations and a
 * sequence number. Readers take no lock: they read a bucket between two looks
 * at its sequence and start again when a writer was there [M]. Writers (a new
 * station, one that moved, a port that went away: all rare) hold the mutex.
 * The time a station was last heard is refreshed in place, once a second.
 *
 * Ageing is lazy: an old entry is not an answer, and the first to be replaced.
 * In a full bucket a port replaces its own stations before others', so that
 * one that invents addresses forgets its own and not its neighbours'.
 */
#ifndef VIADUCT_SWITCH_MACTABLE_H
#define VIADUCT_SWITCH_MACTABLE_H

#include <pthread.h>

#include "base/order.h"

#define MAC_WAYS    4u
#define MAC_BUCKETS 1024u

struct mac_bucket {
	le64 key[MAC_WAYS];  /* mac_key(), 0: empty */
	le32 seen[MAC_WAYS]; /* seconds, monotonic */
	le16 port[MAC_WAYS];
	le32 seq; /* odd while a writer is inside */
} cache_aligned;

struct mac_table {
	uint64_t factor; /* secret and odd, so that nobody aims at a bucket */
	uint32_t age_s;
	pthread_mutex_t lock; /* writers */
	struct mac_bucket bucket[MAC_BUCKETS];
};

/* A station: 48 bits of address as they lie in memory, 12 of VLAN, one that
 * says "valid". */
static inline uint64_t mac_key(const uint8_t mac[6], uint16_t vlan)
{
	uint32_t first;
	uint16_t last;

	__builtin_memcpy(&first, mac, 4);
	__builtin_memcpy(&last, mac + 4, 2);
	return first | (uint64_t)last << 32 | (uint64_t)vlan << 48 | 1ull << 60;
}

struct mac_table *mac_table_new(uint32_t age_s, int *err);
void mac_table_free(struct mac_table *t);

/* The port @key was last heard on, -1 if nowhere for age_s. Any thread. */
int mac_table_find(const struct mac_table *t, uint64_t key, uint32_t now_s);

/* @key was heard on @port again. False: it was not there, and has to be
 * learned. Any thread. */
bool mac_table_refresh(struct mac_table *t, uint64_t key, unsigned port,
                       uint32_t now_s);

/* @key is on @port from now on. Any thread. */
void mac_table_learn(struct mac_table *t, uint64_t key, unsigned port,
                     uint32_t now_s);

/* Nobody is behind @port any more. */
void mac_table_forget(struct mac_table *t, unsigned port);

struct mac_entry {
	uint8_t mac[6];
	uint16_t vlan;
	unsigned port;
	uint32_t age_s;
};

/* Calls @fn for every station that is not too old. Any thread. */
void mac_table_walk(const struct mac_table *t, uint32_t now_s,
                    void (*fn)(void *ctx, const struct mac_entry *e),
                    void *ctx);

#endif
