/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * walk.c - the proof of src/ring/walk.h: a chain that begins with any
 * descriptor, each one behind it any, in any table.
 *
 * What a caller may rely on is asserted at the end of main(); take.c relies on
 * it. In the place of mem_piece() stands what piece.c proved of it: nothing,
 * or bytes inside one region, at most as many as were wanted. Which address
 * gives which bytes is left open, so every map is among them.
 */
#include "world.h"

#include "ring/dev.h"

#define BEGIN 1u /* segments that the burst holds before */
#define END   (BEGIN + 3u)
#define TABLE 32u /* bytes of the region where tables lie */

static uint8_t data[2], other[1], table[TABLE];

static struct chain chains[2];
static struct seg segs[END + 1]; /* one more, so that END is what bounds */

static int key_piece, key_bytes, key_left, key_table, key_len, key_flags,
	key_nseg, key_read, key_more;
static bool unseen; /* the last piece is not yet seen in the burst */
static unsigned reads;

/* The segment that was added last is the piece that was found last. */
static void see_segment(unsigned nseg)
{
	const struct chain *c = &chains[1];

	if (unseen) {
		uint8_t *base = segs[nseg - 1].base;
		size_t len = segs[nseg - 1].len;

		//@ assert segment_in_region: \valid(base + (0 .. len - 1));
		//@ assert segment_not_empty: len >= 1;
	}
	unseen = false;
	key_nseg = nseg;
	key_read = c->nread;
}

/* --- mem_piece()'s stand-in ----------------------------------------------- */

/* For a buffer: each range of two regions, of two bytes and of one. */
static void *piece_of_data(size_t *len)
{
	uint8_t *p = data;
	size_t n = 1;

	key_piece = any_of(0, 4);
	if (!key_piece || (key_piece == 4 && *len < 2))
		return NULL;
	if (key_piece == 2)
		p = data + 1;
	if (key_piece == 3)
		p = other;
	if (key_piece == 4)
		n = 2;
	*len = n;
	unseen = true;
	return p;
}

/* For an entry of a table that is read by bytes. */
static void *piece_of_entry(size_t *len)
{
	key_left = *len;
#ifdef ENTRY
	key_bytes = any_of(0, key_left);
#else /* ENTRY shows that the pieces make no difference */
	key_bytes = key_left * any_of(0, 1);
#endif
	if (!key_bytes)
		return NULL;
	*len = key_bytes;
	return table + any_of(0, TABLE - key_bytes);
}

/* For a table: all of it, or its first bytes. */
static void *piece_of_table(size_t *len)
{
	key_table = any_bool() ? -2 : -1;
	if (key_table == -2)
		return NULL;
	if (key_len == 1 || key_len == 2) {
		if (any_bool()) {
			key_table = key_len;
			return table + any_of(0, TABLE - 16 * key_table);
		}
		*len = any_of(1, 16 * key_len - 1);
	} else {
		*len = any_of(1, key_len ? 15 : TABLE);
	}
	return table;
}

static void *piece(unsigned nseg, size_t *len, const char *caller)
{
	//@ assert wanted: *len >= 1;
	if (caller[5] == 'r') /* walk_read_bytes(), the same for every chain */
		return piece_of_entry(len);
	see_segment(nseg);
	return caller[5] == 'a' ? piece_of_data(len) : piece_of_table(len);
}

/* --- descriptors ---------------------------------------------------------- */

/* The lengths of the tables that fit (one entry, two), the shorter ones, none
 * and the longer ones. */
static uint32_t table_len(void)
{
	key_len = any_of(0, 4);
	switch (key_len) {
	case 0:
		return any_of(TABLE + 1, UINT32_MAX);
	case 3:
		return any_of(1, TABLE - 1);
	case 4:
		return 0;
	default:
		return 16 * key_len;
	}
}

/* Any descriptor. Told apart: INDIRECT and then its length; WRITE where it
 * means something. Flags that the walk does not know are 0. */
static struct desc any_desc(void)
{
	bool inside = VARIANT && key_table; /* INDIRECT means nothing */
	struct desc d = { any64(), any32(), 0, any16() };

	key_len = 0;
	key_more = any_of(0, 1); /* NEXT, told apart where slots count */
	key_flags = any_of(0, inside ? 1 : 2);
	d.flags = key_more * DESC_NEXT + any_of(0, 1) * PACKED_AVAIL +
	          any_of(0, 1) * PACKED_USED + key_flags * DESC_WRITE;
	if (key_flags == 2) /* 2 * DESC_WRITE is DESC_INDIRECT */
		d.flags += any_of(0, 1) * DESC_WRITE;
	if (inside)
		d.flags += any_of(0, 1) * DESC_INDIRECT;
	if (key_flags == 2 && TABLES && !key_table)
		d.len = table_len();
	return d;
}

static struct desc read_desc(unsigned nseg, struct desc d)
{
	(void)d;
	reads++;
	see_segment(nseg);
	key_piece = key_left = key_bytes = 0;
	return any_desc();
}

#define mem_piece(m, hit, gpa, len)  piece(w->nseg, len, __func__)
#define split_desc_read(table, i)  read_desc(w->nseg, split_desc_read(table, i))
#define packed_desc_read(table, i) \
	read_desc(w->nseg, packed_desc_read(table, i))
#ifdef PACKED
#define packed_held(r) (SIZE - FREE) /* take.c: 0 to SIZE */
#endif
#include "ring/walk.h"
#undef packed_held
#undef mem_piece
#undef split_desc_read
#undef packed_desc_read
#undef ring_break
#include "ring/dev.c"

/* An entry that is read by bytes: all of it is there, or none is told. */
static void entry(void)
{
	struct walk w = { &ring, &burst, &chains[1] };
	struct split_desc copy;

	w.gpa = any64();
	key_read = walk_read_bytes(&w, any32(), &copy);
	if (key_read) {
		//@ assert whole_entry: \initialized(&copy);
	}
}

static void chain(void)
{
	struct chain *c = &chains[1];
	unsigned slots = 1;
	struct desc d;
	int err;

	world_ring_areas();
	ring.next = any_of(0, VARIANT ? SIZE - 1 : UINT16_MAX);
	ring.next_wrap = any_bool();
#ifdef PACKED
	slots = FREE;
#endif
	burst = (struct burst){ chains, segs, NULL, 2, END + 1, 1, BEGIN };
	key_nseg = BEGIN;
	d = any_desc();
	ring.indirect = TABLES;
	if (VARIANT) { /* a table has to be the head's */
		if (TABLES && key_flags < 2)
			return;
		if (!TABLES && key_flags < 2)
			ring.indirect = any_bool();
	}
	c->id = VARIANT ? any16() : any_of(0, SIZE - 1);
	c->ndesc = 1;
	err = VARIANT ? ring_walk_packed(&ring, &burst, c, &d, END)
	              : ring_walk_split(&ring, &burst, c, &d, END);
	/*@ assert answer: err == 0 || err == RING_ENOSPC ||
	      err == RING_EBADMSG; */
	//@ assert bounded: reads <= SIZE + 1;
	//@ assert named: err == RING_EBADMSG ==> ring.fault != RING_OK;
	//@ assert whole: err != RING_EBADMSG ==> ring.fault == RING_OK;
	//@ assert begins: c->first == BEGIN;
	if (err) {
		//@ assert kept: burst.nseg == BEGIN;
		return;
	}
	see_segment(burst.nseg);
	//@ assert room: BEGIN <= burst.nseg <= END;
	//@ assert counted: c->first + c->nread + c->nwrite == burst.nseg;
	//@ assert slots: 1 <= c->ndesc <= slots;
}

int main(void)
{
#ifdef ENTRY
	entry();
#else
	chain();
#endif
	return 0;
}
