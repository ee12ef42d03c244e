/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * le.h - little-endian integers as types of their own. Anyone may include it.
 *
 * VIRTIO 1 structures are little-endian on every machine. A field of type le16
 * cannot be used as a number by accident: shared ones are read and written with
 * the words of order.h, private copies with le16_get() and le16_make(). On a
 * little-endian host all of it is nothing.
 */
#ifndef VIADUCT_BASE_LE_H
#define VIADUCT_BASE_LE_H

#include "base/defs.h"

typedef struct {
	uint16_t v;
} le16;

typedef struct {
	uint32_t v;
} le32;

typedef struct {
	uint64_t v;
} le64;

#define IS_LITTLE (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LE_SWAP(bits, x) (x)
#else
#define LE_SWAP(bits, x) __builtin_bswap##bits(x)
#endif

static always_inline uint16_t le16_get(le16 x)
{
	return LE_SWAP(16, x.v);
}

static always_inline uint32_t le32_get(le32 x)
{
	return LE_SWAP(32, x.v);
}

static always_inline uint64_t le64_get(le64 x)
{
	return LE_SWAP(64, x.v);
}

static always_inline le16 le16_make(uint16_t x)
{
	return (le16){ LE_SWAP(16, x) };
}

static always_inline le32 le32_make(uint32_t x)
{
	return (le32){ LE_SWAP(32, x) };
}

static always_inline le64 le64_make(uint64_t x)
{
	return (le64){ LE_SWAP(64, x) };
}

#endif
