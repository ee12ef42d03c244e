/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * csum.h - the internet checksum (RFC 1071) over bytes in several pieces. net
 * and port include it.
 *
 * A sum is kept in the machine's own byte order of 16 bit words as they lie in
 * memory; the checksum is stored with memcpy() and needs no swap anywhere.
 */
#ifndef VIADUCT_NET_CSUM_H
#define VIADUCT_NET_CSUM_H

#include "base/defs.h"

struct csum {
	uint64_t sum; /* ones' complement, not folded */
	bool odd;     /* an odd number of bytes was fed so far */
};

/* The next @len bytes; pieces may begin and end anywhere. */
void csum_feed(struct csum *c, const void *p, size_t len);

/* All that was fed to @next, as if it followed here. */
void csum_join(struct csum *c, const struct csum *next);

/* A 16 bit number in host byte order, at an even position. */
void csum_feed_number(struct csum *c, uint16_t x);

/* The sum in 16 bits, not complemented: what NEEDS_CSUM fields hold. */
uint16_t csum_partial(const struct csum *c);

/* The checksum. 0 comes out as 0xffff, its other name: in UDP 0 says "none". */
uint16_t csum_final(const struct csum *c);

#endif
