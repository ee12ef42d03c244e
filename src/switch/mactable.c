/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * mactable.c - which port a station was last heard on; the picture is in
 * mactable.h.
 *
 * The pair [M]: a writer makes seq odd, releases every word it changes, and
 * releases seq even again. A reader acquires seq, acquires the words, and looks
 * at seq once more. If it saw any word of a writer, it also sees that seq
 * moved, and reads again.
 */
#include "switch/mactable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

_Static_assert(sizeof(struct mac_bucket) == 64, "a bucket is a cache line");

/* One way of a bucket, copied out. */
struct way {
	uint64_t key;
	uint32_t seen;
	uint16_t port;
};

struct mac_table *mac_table_new(uint32_t age_s, int *err)
{
	struct mac_table *t = aligned_alloc(64, sizeof(*t));

	if (!t) {
		*err = -ENOMEM;
		return NULL;
	}
	*t = (struct mac_table){ .age_s = age_s };
	pthread_mutex_init(&t->lock, NULL);
	if (getrandom(&t->factor, sizeof(t->factor), GRND_NONBLOCK) < 0)
		t->factor = (uintptr_t)t * 0x9e3779b97f4a7c15ull;
	t->factor |= 1;
	return t;
}

void mac_table_free(struct mac_table *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	free(t);
}

static size_t bucket_of(const struct mac_table *t, uint64_t key)
{
	/* High bits of a product depend on all bits below them: bring them
	 * down, and once more, since stations have few bits that differ. */
	key *= t->factor;
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return key >> 54 & (MAC_BUCKETS - 1);
}

static bool is_old(const struct mac_table *t, uint32_t seen, uint32_t now_s)
{
	/* Workers' clocks differ by a turn: the difference may be negative. */
	return (int32_t)(now_s - seen) >= (int32_t)t->age_s;
}

/* Copy way @i out while no writer is inside; false: one was, look again. */
static bool way_read(const struct mac_bucket *b, unsigned i, struct way *w)
{
	uint32_t seq = ld32_acq(&b->seq); /* [M] */

	w->key = ld64_acq(&b->key[i]);
	w->seen = ld32_acq(&b->seen[i]);
	w->port = ld16_acq(&b->port[i]);
	return !(seq & 1) && ld32(&b->seq) == seq;
}

/* The way that holds @key, -1 for none; out: its copy. */
static int way_find(const struct mac_bucket *b, uint64_t key, struct way *w)
{
	for (unsigned i = 0; i < MAC_WAYS; i++) {
		if (ld64(&b->key[i]) != key)
			continue;
		while (!way_read(b, i, w))
			cpu_relax();
		if (w->key == key)
			return (int)i;
	}
	return -1;
}

int mac_table_find(const struct mac_table *t, uint64_t key, uint32_t now_s)
{
	struct way w;

	if (way_find(&t->bucket[bucket_of(t, key)], key, &w) < 0 ||
	    is_old(t, w.seen, now_s))
		return -1;
	return w.port;
}

/* Under the lock. */
static void way_write(struct mac_bucket *b, unsigned i, const struct way *w)
{
	uint32_t seq = ld32(&b->seq);

	st32(&b->seq, seq + 1);
	st64_rel(&b->key[i], w->key);
	st32_rel(&b->seen[i], w->seen);
	st16_rel(&b->port[i], w->port);
	st32_rel(&b->seq, seq + 2); /* [M] */
}

/* Where a new station of @port goes: an empty or old way, the longest silent
 * of the port's own, the longest silent of all. Under the lock. */
static unsigned way_victim(const struct mac_table *t,
                           const struct mac_bucket *b, unsigned port,
                           uint32_t now_s)
{
	uint32_t longest = 0;
	unsigned victim = 0;
	bool own = false;

	for (unsigned i = 0; i < MAC_WAYS; i++) {
		uint32_t silent = now_s - ld32(&b->seen[i]);
		bool mine = ld16(&b->port[i]) == port;

		if (!ld64(&b->key[i]) || is_old(t, ld32(&b->seen[i]), now_s))
			return i;
		if ((int32_t)silent < 0)
			silent = 0;
		if (i == 0 || mine > own || (mine == own && silent > longest)) {
			victim = i;
			longest = silent;
			own = mine;
		}
	}
	return victim;
}

bool mac_table_refresh(struct mac_table *t, uint64_t key, unsigned port,
                       uint32_t now_s)
{
	struct mac_bucket *b = &t->bucket[bucket_of(t, key)];
	struct way w;
	int i = way_find(b, key, &w);

	if (i < 0 || w.port != port || is_old(t, w.seen, now_s))
		return false;
	/* If the way is replaced meanwhile, that station looks a moment
	 * younger: no harm. */
	if (w.seen != now_s)
		st32(&b->seen[i], now_s);
	return true;
}

void mac_table_learn(struct mac_table *t, uint64_t key, unsigned port,
                     uint32_t now_s)
{
	struct mac_bucket *b = &t->bucket[bucket_of(t, key)];
	struct way w;
	int i;

	pthread_mutex_lock(&t->lock);
	i = way_find(b, key, &w);
	if (i < 0)
		i = (int)way_victim(t, b, port, now_s);
	w = (struct way){ key, now_s, (uint16_t)port };
	way_write(b, (unsigned)i, &w);
	pthread_mutex_unlock(&t->lock);
}

void mac_table_forget(struct mac_table *t, unsigned port)
{
	static const struct way none;

	pthread_mutex_lock(&t->lock);
	for (size_t n = 0; n < MAC_BUCKETS; n++) {
		struct mac_bucket *b = &t->bucket[n];

		for (unsigned i = 0; i < MAC_WAYS; i++) {
			if (ld64(&b->key[i]) && ld16(&b->port[i]) == port)
				way_write(b, i, &none);
		}
	}
	pthread_mutex_unlock(&t->lock);
}

static struct mac_entry entry_of(const struct way *w, uint32_t now_s)
{
	int32_t age = (int32_t)(now_s - w->seen);
	uint32_t first = (uint32_t)w->key;
	uint16_t last = (uint16_t)(w->key >> 32);
	struct mac_entry e = {
		.vlan = (uint16_t)(w->key >> 48 & 0xfff),
		.port = w->port,
		.age_s = age < 0 ? 0 : (uint32_t)age,
	};

	memcpy(e.mac, &first, 4);
	memcpy(e.mac + 4, &last, 2);
	return e;
}

void mac_table_walk(const struct mac_table *t, uint32_t now_s,
                    void (*fn)(void *ctx, const struct mac_entry *e), void *ctx)
{
	struct mac_entry e;
	struct way w;

	for (size_t n = 0; n < MAC_BUCKETS * MAC_WAYS; n++) {
		const struct mac_bucket *b = &t->bucket[n / MAC_WAYS];

		while (!way_read(b, n % MAC_WAYS, &w))
			cpu_relax();
		if (!w.key || is_old(t, w.seen, now_s))
			continue;
		e = entry_of(&w, now_s);
		fn(ctx, &e);
	}
}
