/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * order.h - for the proof, in the place of src/base/order.h. Only the harness
 * includes it, by an include path that comes first.
 *
 * Shared memory is what somebody else writes: a load needs a valid address and
 * answers with any value whatever, another one each time. Stores need a valid
 * address and store. Orders mean nothing here.
 */
#ifndef VIADUCT_BASE_ORDER_H
#define VIADUCT_BASE_ORDER_H

#include "base/le.h"

#include "__fc_builtin.h"

/* A hint is no value: what a condition says of its operands is not lost. */
#define __builtin_expect(x, y) (x)

static inline uint8_t any8(void)
{
	return Frama_C_unsigned_char_interval(0, UINT8_MAX);
}

static inline uint16_t any16(void)
{
	return Frama_C_unsigned_short_interval(0, UINT16_MAX);
}

static inline uint32_t any32(void)
{
	return Frama_C_unsigned_int_interval(0, UINT32_MAX);
}

static inline uint64_t any64(void)
{
	return Frama_C_unsigned_long_interval(0, UINT64_MAX);
}

/* The load proves that the address is valid; its value is thrown away. */
static inline uint8_t ld8(const uint8_t *p)
{
	uint8_t seen = *p;

	(void)seen;
	return any8();
}

static inline uint16_t ld16(const le16 *p)
{
	uint16_t seen = p->v;

	(void)seen;
	return any16();
}

static inline uint32_t ld32(const le32 *p)
{
	uint32_t seen = p->v;

	(void)seen;
	return any32();
}

static inline uint64_t ld64(const le64 *p)
{
	uint64_t seen = p->v;

	(void)seen;
	return any64();
}

static inline uint16_t ld16_acq(const le16 *p)
{
	return ld16(p);
}

static inline uint32_t ld32_acq(const le32 *p)
{
	return ld32(p);
}

static inline uint64_t ld64_acq(const le64 *p)
{
	return ld64(p);
}

static inline uint16_t ld16h(const uint16_t *p)
{
	uint16_t seen = *p;

	(void)seen;
	return any16();
}

static inline uint64_t ld64h(const uint64_t *p)
{
	uint64_t seen = *p;

	(void)seen;
	return any64();
}

static inline void st8(uint8_t *p, uint8_t x)
{
	*p = x;
}

static inline void st16h(uint16_t *p, uint16_t x)
{
	*p = x;
}

static inline void st64h(uint64_t *p, uint64_t x)
{
	*p = x;
}

static inline void st16(le16 *p, uint16_t x)
{
	*p = le16_make(x);
}

static inline void st32(le32 *p, uint32_t x)
{
	*p = le32_make(x);
}

static inline void st64(le64 *p, uint64_t x)
{
	*p = le64_make(x);
}

static inline void st16_rel(le16 *p, uint16_t x)
{
	st16(p, x);
}

static inline void st64_rel(le64 *p, uint64_t x)
{
	st64(p, x);
}

static inline void fence_platform(void)
{
}

static inline void fence_store_load(void)
{
}

static inline void fence_program(void)
{
}

/* Counters are ours alone. */
static inline void count_add(uint64_t *c, uint64_t n)
{
	*c += n;
}

#endif
