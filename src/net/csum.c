/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csum.c - the internet checksum, eight bytes a step.
 *
 * Adding 64 bit words with end-around carry and folding at the end gives the
 * same sum as adding 16 bit words. A piece that begins at an odd position has
 * its bytes in the other half of each word, which swaps the halves of its sum.
 */
#include "net/csum.h"

#include <string.h>

static inline uint64_t add_carry(uint64_t sum, uint64_t x)
{
	sum += x;
	return sum + (sum < x);
}

static inline uint64_t word_at(const uint8_t *p)
{
	uint64_t x;

	memcpy(&x, p, sizeof(x));
	return x;
}

/* Carries are counted apart: an addition and an addition with carry for eight
 * bytes, and no chain of them. */
static inline void add_word(uint64_t *sum, uint64_t *carries, uint64_t x)
{
	*sum += x;
	*carries += *sum < x;
}

static uint64_t sum_bytes(const uint8_t *p, size_t len)
{
	uint64_t sum = 0, carries = 0, last = 0;

	for (; len >= 32; p += 32, len -= 32) {
		add_word(&sum, &carries, word_at(p));
		add_word(&sum, &carries, word_at(p + 8));
		add_word(&sum, &carries, word_at(p + 16));
		add_word(&sum, &carries, word_at(p + 24));
	}
	for (; len >= 8; p += 8, len -= 8)
		add_word(&sum, &carries, word_at(p));
	memcpy(&last, p, len);
	add_word(&sum, &carries, last);
	return add_carry(sum, carries);
}

static uint16_t fold(uint64_t sum)
{
	sum = (sum >> 32) + (uint32_t)sum;
	sum = (sum >> 32) + (uint32_t)sum;
	sum = (sum >> 16) + (uint16_t)sum;
	sum = (sum >> 16) + (uint16_t)sum;
	return (uint16_t)sum;
}

void csum_feed(struct csum *c, const void *p, size_t len)
{
	uint64_t sum = sum_bytes(p, len);

	if (c->odd)
		sum = __builtin_bswap16(fold(sum));
	c->sum = add_carry(c->sum, sum);
	c->odd ^= len & 1;
}

void csum_join(struct csum *c, const struct csum *next)
{
	uint64_t sum = fold(next->sum);

	c->sum = add_carry(c->sum, c->odd ? __builtin_bswap16(sum) : sum);
	c->odd ^= next->odd;
}

void csum_feed_number(struct csum *c, uint16_t x)
{
	const uint8_t bytes[2] = { (uint8_t)(x >> 8), (uint8_t)x };

	csum_feed(c, bytes, sizeof(bytes));
}

uint16_t csum_partial(const struct csum *c)
{
	return fold(c->sum);
}

uint16_t csum_final(const struct csum *c)
{
	uint16_t sum = (uint16_t)~fold(c->sum);

	return sum ? sum : 0xffff;
}
