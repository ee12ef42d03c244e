/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes that two rigs exchange: little-endian on every machine. */
#include "rig.h"

#include <errno.h>
#include <string.h>

#define REQUEST_MAGIC	0x52494751u
#define VERDICT_MAGIC	0x52494756u

static void put32(uint8_t *p, uint32_t v)
{
	for (int i = 0; i < 4; i++)
		p[i] = v >> (8 * i);
}

static void put64(uint8_t *p, uint64_t v)
{
	put32(p, (uint32_t)v);
	put32(p + 4, v >> 32);
}

static uint32_t get32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint64_t get64(const uint8_t *p)
{
	return get32(p) | (uint64_t)get32(p + 4) << 32;
}

void request_put(const struct request *r, uint8_t out[REQUEST_BYTES])
{
	memset(out, 0, REQUEST_BYTES);
	put32(out, REQUEST_MAGIC);
	put32(out + 4, r->op);
	put32(out + 8, r->size);
	put64(out + 16, r->total);
	put64(out + 24, r->seed);
}

int request_get(struct request *r, const uint8_t in[REQUEST_BYTES])
{
	if (get32(in) != REQUEST_MAGIC)
		return -EPROTO;
	r->op = get32(in + 4);
	r->size = get32(in + 8);
	r->total = get64(in + 16);
	r->seed = get64(in + 24);
	if (r->op < OP_SINK || r->op > OP_QUIT || !r->size ||
	    r->size > CHUNK_MAX)
		return -EPROTO;
	return 0;
}

void verdict_put(const struct verdict *v, uint8_t out[VERDICT_BYTES])
{
	memset(out, 0, VERDICT_BYTES);
	put32(out, VERDICT_MAGIC);
	put64(out + 8, v->received);
	put64(out + 16, v->first_bad);
}

int verdict_get(struct verdict *v, const uint8_t in[VERDICT_BYTES])
{
	if (get32(in) != VERDICT_MAGIC)
		return -EPROTO;
	v->received = get64(in + 8);
	v->first_bad = get64(in + 16);
	return 0;
}

/* The finaliser of splitmix64: cheap, and no two words of a stream agree. */
static uint64_t word_at(uint64_t index, uint64_t seed)
{
	uint64_t z = (index + seed) * 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	return z ^ z >> 31;
}

void pattern_fill(uint8_t *buf, size_t len, uint64_t offset, uint64_t seed)
{
	uint8_t word[8];
	size_t done = 0;

	while (done < len) {
		size_t skip = (offset + done) % 8;
		size_t n = 8 - skip < len - done ? 8 - skip : len - done;

		put64(word, word_at((offset + done) / 8, seed));
		memcpy(buf + done, word + skip, n);
		done += n;
	}
}

uint64_t pattern_check(const uint8_t *buf, size_t len, uint64_t offset,
		       uint64_t seed)
{
	uint8_t want[4096];

	for (size_t done = 0; done < len; done += sizeof(want)) {
		size_t left = len - done;
		size_t n = left < sizeof(want) ? left : sizeof(want);

		pattern_fill(want, n, offset + done, seed);
		if (!memcmp(want, buf + done, n))
			continue;
		for (size_t i = 0; i < n; i++)
			if (want[i] != buf[done + i])
				return offset + done + i;
	}
	return NO_FAULT;
}
