/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * piece.c - the proof of src/mem/find.c and of mem_piece(): any address and any
 * length, in a map of two small regions, GAP bytes apart, after any hit.
 *
 * What a caller may rely on is asserted at the end of main(); walk.c relies on
 * it.
 */
#include "world.h"

#define FIRST  5u
#define SECOND 3u
#define BYTES  (FIRST + GAP + SECOND)
#ifdef TOP /* the second region ends where addresses end */
#define WINDOW (UINT64_MAX - BYTES)
#else
#define WINDOW UINT64_C(0x1000)
#endif

static uint8_t first[FIRST], second[SECOND];

static int key_address, key_len;

/* Any address: each of the window for itself, all below, all above. */
static uint64_t any_address(void)
{
	key_address = any_of(0, BYTES + 1);
	if (key_address < BYTES)
		return WINDOW + key_address;
	if (key_address == BYTES)
		return Frama_C_unsigned_long_interval(0, WINDOW - 1);
	return Frama_C_unsigned_long_interval(WINDOW + BYTES, UINT64_MAX);
}

/* The byte at @gpa, or NULL: what the functions should find. */
static uint8_t *byte_at(uint64_t gpa)
{
	if (gpa >= WINDOW && gpa < WINDOW + FIRST)
		return first + (gpa - WINDOW);
	if (gpa >= WINDOW + FIRST + GAP && gpa < WINDOW + BYTES)
		return second + (gpa - WINDOW - FIRST - GAP);
	return NULL;
}

static void check_piece(uint64_t gpa, const uint8_t *byte)
{
	size_t wanted = Frama_C_unsigned_long_interval(1, UINT64_MAX);
	size_t len = wanted;
	uint8_t *p = mem_piece(ring.mem, &ring.hit, gpa, &len);

	//@ assert place: p == byte;
	if (p) {
		//@ assert inside: \valid(p + (0 .. len - 1));
		//@ assert some: len >= 1;
	}
	if (ring.hit.host) {
		/*@ assert hit: \valid(ring.hit.host +
		      (0 .. ring.hit.size - 1)); */
		//@ assert span: ring.hit.span == 0;
	}
}

/* Any length but 0, the short ones told apart. */
static uint64_t any_length(void)
{
	key_len = any_of(0, BYTES);
	return key_len ? (uint64_t)key_len
	               : Frama_C_unsigned_long_interval(BYTES + 1, UINT64_MAX);
}

/* A buffer that has to be in one piece: all of it, or nothing. */
static void check_whole(uint64_t gpa, const uint8_t *byte)
{
	uint64_t len = any_length();
	uint8_t *p = mem_at_gpa(ring.mem, (gpa_t){ gpa }, len);

	if (p) {
		//@ assert place: p == byte;
		//@ assert inside: \valid(p + (0 .. len - 1));
	}
	p = mem_at_uva(ring.mem, (uva_t){ gpa }, len);
	if (p) {
		//@ assert place: p == byte;
		//@ assert inside: \valid(p + (0 .. len - 1));
	}
}

int main(void)
{
	const uint8_t *byte;
	uint64_t gpa;

	world_mem.nregions = 2;
	world_mem.region[0] = (struct mem_region){
		.gpa = WINDOW, .uva = WINDOW, .size = FIRST, .host = first
	};
	world_mem.region[1] = (struct mem_region){
		.gpa = WINDOW + FIRST + GAP, .uva = WINDOW + FIRST + GAP,
		.size = SECOND, .host = second
	};
	ring.mem = (const struct mem *)&world_mem;
	world_hit();
	gpa = any_address();
	byte = byte_at(gpa);
	if (any_bool())
		check_piece(gpa, byte);
	else
		check_whole(gpa, byte);
	return 0;
}
