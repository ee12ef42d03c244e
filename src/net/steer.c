/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * steer.c - a table of flows, and the hash that finds a frame in it.
 */
#include "net/steer.h"

#include <string.h>

#include "base/order.h"
#include "net/layers.h"

static uint32_t word_at(const uint8_t *p)
{
	uint32_t x;

	memcpy(&x, p, sizeof(x));
	return x;
}

/* Source and destination are exchanged without effect. */
static uint32_t hash_ip(const uint8_t *p, unsigned len, unsigned at, bool v6)
{
	unsigned l4 = v6 ? at + 40 : at + (p[at] & 15u) * 4;
	unsigned proto = v6 ? p[at + 6] : p[at + 9];
	uint32_t h = 0;

	if (v6) {
		for (unsigned i = 8; i < 40; i += 4)
			h ^= word_at(p + at + i);
	} else {
		h = word_at(p + at + 12) ^ word_at(p + at + 16);
		if (be16_at(p + at + 6) & 0x3fff)
			return h;
	}
	if ((proto == PROTO_TCP || proto == PROTO_UDP) && l4 + 4 <= len)
		h += (uint32_t)(be16_at(p + l4) ^ be16_at(p + l4 + 2)) << 8;
	return h;
}

static unsigned slot_of(const struct frame *f)
{
	const uint8_t *p = frame_head(f);
	unsigned len = f->head_len;
	uint16_t at, type = layers_type(p, len, &at);
	uint32_t h;

	if (type == TYPE_IPV4 && at + 20u <= len)
		h = hash_ip(p, len, at, false);
	else if (type == TYPE_IPV6 && at + 40u <= len)
		h = hash_ip(p, len, at, true);
	else
		h = word_at(p + 2) ^ word_at(p + 8);
	return (h * 0x9e3779b1u) >> 22;
}

_Static_assert(STEER_SLOTS == 1u << (32 - 22), "slot_of() gives 10 bits");

void steer_set(struct steer *s, uint64_t live)
{
	bool one = live && !(live & (live - 1));
	uint64_t left = live;

	st64(&s->live, live);
	st16_rel(&s->only,
	         one ? (uint16_t)__builtin_ctzll(live) : (uint16_t)STEER_NONE);
	for (unsigned i = 0; i < STEER_SLOTS; i++) {
		if (!left)
			left = live;
		st16_rel(&s->slot[i], left ? (uint16_t)__builtin_ctzll(left)
		                           : (uint16_t)STEER_NONE);
		left &= left - 1;
	}
}

unsigned steer_pick(const struct steer *s, const struct frame *f)
{
	unsigned only = ld16_acq(&s->only);

	return likely(only != STEER_NONE) ? only
	                                  : ld16_acq(&s->slot[slot_of(f)]);
}

void steer_learn(struct steer *s, struct frame *const *f, unsigned n,
                 unsigned pair)
{
	if (likely(ld16(&s->only) != STEER_NONE) ||
	    !(ld64(&s->live) >> pair & 1))
		return;
	for (unsigned i = 0; i < n; i++) {
		le16 *slot = &s->slot[slot_of(f[i])];

		if (ld16(slot) != pair)
			st16_rel(slot, (uint16_t)pair);
	}
}
