/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * test_ring_faults.c - the bad driver: each rule broken once, by hand.
 *
 * Two good chains, then the bad one. The good ones are handed out, the next
 * take names the fault, the ring stays broken when memory is mended, and a
 * neighbour on the same memory never notices.
 */
#include "rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPLIT  1u
#define PACKED 2u
#define BOTH   3u
#define CLOSED 0x4000u /* our own flag: leave a packed descriptor unavailable */
#define TABLE  (RIG_GPA + 0x4000)
#define HOLE   (RIG_GPA + RIG_LEN)
#define N      DESC_NEXT
#define W      DESC_WRITE
#define I      DESC_INDIRECT

static struct rig rig, other;

/* A bad chain: direct descriptors from number 2 on, and a table at TABLE. The
 * last member of a desc is what split's next is set to; 0: the one behind. */
static const struct bad {
	enum ring_fault fault;
	unsigned layouts;
	const char *what;
	struct desc d[4];
	struct desc t[4];
} bads[] = {
	{ RING_BAD_NEXT,
	  SPLIT,
	  "next beyond the queue",
	  { { RIG_GPA, 8, N, 16 } },
	  { { 0 } } },
	{ RING_BAD_NEXT,
	  SPLIT,
	  "next beyond the table",
	  { { TABLE, 32, I, 0 } },
	  { { RIG_GPA, 8, N, 1 }, { RIG_GPA, 8, N, 2 } } },
	{ RING_LOOP,
	  SPLIT,
	  "a descriptor behind itself",
	  { { RIG_GPA, 8, N, 2 } },
	  { { 0 } } },
	{ RING_LOOP,
	  SPLIT,
	  "three in a ring",
	  { { RIG_GPA, 8, N, 3 }, { RIG_GPA, 8, N, 4 }, { RIG_GPA, 8, N, 2 } },
	  { { 0 } } },
	{ RING_LOOP,
	  SPLIT,
	  "a table's entry behind itself",
	  { { TABLE, 32, I, 0 } },
	  { { RIG_GPA, 8, N, 0 } } },
	{ RING_LOOP,
	  SPLIT,
	  "empty ones in a ring",
	  { { RIG_GPA, 0, N, 2 } },
	  { { 0 } } },
	{ RING_LOOP,
	  PACKED,
	  "a table longer than the queue",
	  { { TABLE, 17 * 16, I, 0 } },
	  { { RIG_GPA, 0, 0, 0 } } },
	{ RING_BAD_ADDRESS,
	  BOTH,
	  "below memory",
	  { { RIG_GPA - 1, 8, 0, 0 } },
	  { { 0 } } },
	{ RING_BAD_ADDRESS,
	  BOTH,
	  "across the end",
	  { { HOLE - 4, 5, 0, 0 } },
	  { { 0 } } },
	{ RING_BAD_ADDRESS,
	  BOTH,
	  "in the hole",
	  { { HOLE, 1, W, 0 } },
	  { { 0 } } },
	{ RING_BAD_ADDRESS,
	  BOTH,
	  "from region to region over the hole",
	  { { HOLE - 8, RIG_FAR - HOLE + 16, W, 0 } },
	  { { 0 } } },
	{ RING_BAD_ADDRESS,
	  BOTH,
	  "around the end of addresses",
	  { { UINT64_MAX - 3, 8, 0, 0 } },
	  { { 0 } } },
	{ RING_BAD_ADDRESS,
	  BOTH,
	  "a length that reaches everything",
	  { { RIG_GPA, UINT32_MAX, 0, 0 } },
	  { { 0 } } },
	{ RING_BAD_ADDRESS,
	  BOTH,
	  "second of two",
	  { { RIG_GPA, 8, N, 0 }, { 8, 8, 0, 0 } },
	  { { 0 } } },
	{ RING_BAD_ADDRESS,
	  BOTH,
	  "in a table",
	  { { TABLE, 16, I, 0 } },
	  { { HOLE, 8, W, 0 } } },
	{ RING_BAD_ORDER,
	  BOTH,
	  "readable behind writable",
	  { { RIG_GPA, 8, N | W, 0 }, { RIG_GPA, 8, 0, 0 } },
	  { { 0 } } },
	{ RING_BAD_ORDER,
	  BOTH,
	  "the same in a table",
	  { { TABLE, 32, I, 0 } },
	  { { RIG_GPA, 8, N | W, 1 }, { RIG_GPA, 8, 0, 0 } } },
	{ RING_TABLE_NESTED,
	  SPLIT,
	  "table in a table",
	  { { TABLE, 32, I, 0 } },
	  { { TABLE, 16, I, 0 } } },
	{ RING_TABLE_CHAINED,
	  BOTH,
	  "INDIRECT with NEXT",
	  { { TABLE, 16, I | N, 0 }, { RIG_GPA, 8, 0, 0 } },
	  { { RIG_GPA, 8, 0, 0 } } },
	{ RING_TABLE_CHAINED,
	  PACKED,
	  "a table at the end of a list",
	  { { RIG_GPA, 8, N, 0 }, { TABLE, 16, I, 0 } },
	  { { RIG_GPA, 8, 0, 0 } } },
	{ RING_TABLE_SIZE,
	  BOTH,
	  "an empty table",
	  { { TABLE, 0, I, 0 } },
	  { { 0 } } },
	{ RING_TABLE_SIZE,
	  BOTH,
	  "half an entry",
	  { { TABLE, 24, I, 0 } },
	  { { RIG_GPA, 8, 0, 0 } } },
	{ RING_TABLE_ADDRESS,
	  BOTH,
	  "a table in the hole",
	  { { HOLE, 16, I, 0 } },
	  { { 0 } } },
	{ RING_TABLE_ADDRESS,
	  BOTH,
	  "a table half in the hole",
	  { { HOLE - 8, 16, I, 0 } },
	  { { 0 } } },
	{ RING_CHAIN_OPEN,
	  PACKED,
	  "the second is not available",
	  { { RIG_GPA, 8, N, 0 }, { RIG_GPA, 8, CLOSED, 0 } },
	  { { 0 } } },
	{ RING_CHAIN_OPEN,
	  PACKED,
	  "nothing behind NEXT",
	  { { RIG_GPA, 8, N, 0 } },
	  { { 0 } } },
};

static void write_bad(struct rig *g, const struct bad *bad)
{
	bool packed = g->ring.packed;

	for (unsigned i = 0; i < 4 && (bad->d[i].addr || bad->d[i].flags);
	     i++) {
		struct desc d = bad->d[i];

		if (packed && !(d.flags & CLOSED))
			d.flags |= FRESH;
		d.flags &= ~CLOSED;
		if (packed)
			d.last = 2;
		else if (!d.last)
			d.last = 3 + i;
		rig_desc(g, 2 + i, d);
	}
	memset(rig_ram(g, TABLE), 0, 0x200);
	for (unsigned i = 0; i < 4; i++)
		rig_entry(g, TABLE, i, bad->t[i]);
	if (!packed)
		rig_avail(g, 2);
}

/* Take what there is; then the fault, for good. */
static void expect_fault(struct rig *g, enum ring_fault fault, int before)
{
	uint64_t faults = count_get(&g->ring.count.faults);

	assert_int_equal(rig_take(g, 16), before ? before : RING_EBADMSG);
	assert_string_equal(ring_fault_word(g->ring.fault),
	                    ring_fault_word(fault));
	for (int i = 0; i < before; i++)
		ring_give_any(&g->ring, &g->b, &g->chain[i], 0);
	ring_publish_any(&g->ring);
	assert_int_equal(rig_take(g, 16), RING_EBADMSG);

	/* Mended memory heals nothing, and the first name stays. */
	memset(g->desc, 0, sizeof(g->desc));
	assert_int_equal(rig_take(g, 16), RING_EBADMSG);
	ring_break(&g->ring, RING_BAD_HEAD);
	assert_int_equal(g->ring.fault, fault);
	assert_true(count_get(&g->ring.count.faults) > faults);
}

/* A queue beside it on the same memory goes on, before and behind. */
static void neighbour(unsigned n)
{
	rig_offer(&other, n, RIG_GPA, 64, W);
	assert_int_equal(rig_take(&other, 16), 1);
	ring_give_any(&other.ring, &other.b, &other.chain[0], 8);
	ring_publish_any(&other.ring);
	assert_int_equal(other.ring.fault, RING_OK);
}

static void good_two(struct rig *g)
{
	rig_offer(g, 0, RIG_GPA, 64, 0);
	rig_offer(g, 1, RIG_GPA + 64, 64, W);
}

/* [spec: split.framing.readable-first] [spec: packed.list.readable-first]
 * [spec: split.indirect.no-nesting] [spec: split.indirect.no-next]
 * [spec: packed.indirect.no-chain] [spec: split.indirect.within-queue-size]
 * [spec: packed.list.within-queue-size] [spec: packed.list.head-last]
 * [spec: packed.next.flags-everywhere] [spec: packed.list.space-first] */
static void test_bad_chains(void **state)
{
	unsigned turns = 0;

	(void)state;
	rig_open(&other, 4, 0);
	for (unsigned i = 0; i < 2 * array_len(bads); i++) {
		const struct bad *bad = &bads[i / 2];
		uint64_t f = i % 2 ? VIRTIO_F_RING_PACKED : 0;

		if (!(bad->layouts & (f ? PACKED : SPLIT)))
			continue;
		print_message("%s: %s\n", f ? "packed" : "split", bad->what);
		rig_open(&rig, 16, f | VIRTIO_F_INDIRECT_DESC);
		good_two(&rig);
		write_bad(&rig, bad);
		neighbour(turns++);
		expect_fault(&rig, bad->fault, 2);
		neighbour(turns++);
		rig_restart(&rig);
		good_two(&rig);
		assert_int_equal(rig_take(&rig, 16), 2);
		rig_close(&rig);
	}
	rig_close(&other);
}

/* [spec: split.indirect.negotiated] [spec: packed.indirect.negotiated] */
static void test_table_refused(void **state)
{
	static const struct bad bad = { .d = { { TABLE, 16, I, 0 } },
		                        .t = { { RIG_GPA, 8, 0, 0 } } };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rig_open(&rig, 16, i ? VIRTIO_F_RING_PACKED : 0);
		good_two(&rig);
		write_bad(&rig, &bad);
		expect_fault(&rig, RING_TABLE_REFUSED, 2);
		rig_close(&rig);
	}
}

static void test_bad_head(void **state)
{
	(void)state;
	for (unsigned head = 16; head < 65536; head += 16 + head / 2) {
		rig_open(&rig, 16, 0);
		good_two(&rig);
		rig_avail(&rig, head);
		expect_fault(&rig, RING_BAD_HEAD, 2);
		rig_close(&rig);
	}
}

/* The index jumps ahead, goes back, or over what the device still holds
 * [spec: split.avail.idx.no-decrement]. */
static void test_bad_jump(void **state)
{
	(void)state;
	for (unsigned jump = 17; jump < 65536; jump += 1 + jump / 3) {
		rig_open(&rig, 16, 0);
		good_two(&rig);
		assert_int_equal(rig_take(&rig, 2), 2);
		ring_give_any(&rig.ring, &rig.b, &rig.chain[0], 0);
		ring_give_any(&rig.ring, &rig.b, &rig.chain[1], 0);
		ring_publish_any(&rig.ring);
		st16(&rig.avail->idx, 2 + jump);
		expect_fault(&rig, RING_BAD_JUMP, 0);
		rig_close(&rig);
	}
	rig_open(&rig, 16, 0);
	good_two(&rig);
	assert_int_equal(rig_take(&rig, 2), 2);
	st16(&rig.avail->idx, 17); /* 15 new ones while two are held */
	expect_fault(&rig, RING_BAD_JUMP, 0);
	rig_close(&rig);
}

/* More than 2^32 - 1 bytes; the memory is never touched
 * [spec: split.desc.total-4g]. */
static void test_too_long(void **state)
{
	struct mem_region huge = { .gpa = RIG_GPA, .size = UINT64_C(1) << 40 };
	int err;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		bool writes = i / 2;
		const struct bad bad = {
			.d = { { RIG_GPA, UINT32_MAX - 7, N, 0 },
			       { RIG_GPA, 8, writes ? W : 0, 0 } }
		};

		rig_open(&rig, 16, i % 2 ? VIRTIO_F_RING_PACKED : 0);
		huge.host = rig.ram;
		mem_put(rig.mem);
		rig.conf.mem = rig.mem = mem_new(&huge, 1, &err);
		rig_restart(&rig);
		good_two(&rig);
		write_bad(&rig, &bad);
		expect_fault(&rig, RING_TOO_LONG, 2);
		rig_close(&rig);
	}
}

/* A chain of more pieces than the burst has segments: in an empty burst it is a
 * fault, behind others it waits for the next one. */
static void test_too_scattered(void **state)
{
	static const struct bad bad = { .d = { { RIG_GPA, 8, N, 0 },
		                               { RIG_GPA, 8, N, 0 },
		                               { RIG_GPA, 8, W, 0 } } };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		rig_open(&rig, 16, i ? VIRTIO_F_RING_PACKED : 0);
		good_two(&rig);
		write_bad(&rig, &bad);
		rig.b.max_chains = rig.b.max_segs = 4;
		assert_int_equal(rig_take(&rig, 3), 2);
		assert_int_equal(rig_take(&rig, 1), 1);
		assert_int_equal(rig.chain[0].nread, 2);
		ring_untake_any(&rig.ring, &rig.b, 1);
		rig.b.max_segs = 2;
		expect_fault(&rig, RING_TOO_SCATTERED, 0);
		rig_close(&rig);
	}
}

/* The whole packed ring is held, and the next lap is available already; a list
 * that runs into what is held. */
static void test_packed_overrun(void **state)
{
	(void)state;
	rig_open(&rig, 4, VIRTIO_F_RING_PACKED);
	for (unsigned i = 0; i < 4; i++)
		rig_offer(&rig, i, RIG_GPA, 8, 0);
	assert_int_equal(ring_take_any(&rig.ring, &rig.b, 4), 4);
	rig_offer(&rig, 4, RIG_GPA, 8, 0);
	expect_fault(&rig, RING_CHAIN_OPEN, 0);
	rig_close(&rig);

	rig_open(&rig, 4, VIRTIO_F_RING_PACKED);
	for (unsigned i = 0; i < 2; i++)
		rig_offer(&rig, i, RIG_GPA, 8, 0);
	assert_int_equal(ring_take_any(&rig.ring, &rig.b, 4), 2);
	for (unsigned i = 2; i < 5; i++)
		rig_offer(&rig, i, RIG_GPA, 8, i < 4 ? N : 0);
	expect_fault(&rig, RING_CHAIN_OPEN, 0);
	rig_close(&rig);
}

/* In one burst: a list takes the last free slots, and the slot behind it, which
 * is held, is marked available for the next lap. The region is large enough for
 * runs of plain chains. */
static void test_packed_overrun_in_burst(void **state)
{
	static uint8_t bytes[2 * MEM_SHORT];
	struct mem_region at = { .gpa = RIG_GPA,
		                 .size = sizeof(bytes),
		                 .host = bytes };
	struct mem *large;
	int err;

	(void)state;
	large = mem_new(&at, 1, &err);
	assert_non_null(large);
	rig_open(&rig, 4, VIRTIO_F_RING_PACKED);
	ring_set_mem(&rig.ring, large);
	rig_offer(&rig, 0, RIG_GPA, 8, 0);
	assert_int_equal(ring_take_any(&rig.ring, &rig.b, 4), 1);
	for (unsigned i = 1; i < 5; i++)
		rig_offer(&rig, i, RIG_GPA, 8, i < 3 ? N : 0);
	assert_int_equal(ring_take_any(&rig.ring, &rig.b, 4), 1);
	expect_fault(&rig, RING_CHAIN_OPEN, 0);
	rig_close(&rig);
	mem_put(large);
}

/* Each name has a word, a title and a text; none twice. */
static void test_names(void **state)
{
	(void)state;
	for (int f = RING_OK; f <= RING_FAULT_COUNT; f++) {
		const char *word = ring_fault_word(f);

		assert_true(*word && *ring_fault_text(f));
		if (f == RING_OK || f == RING_FAULT_COUNT) {
			assert_string_equal(word, "none");
			assert_string_equal(ring_fault_title(f), "");
			continue;
		}
		assert_true(*ring_fault_title(f));
		for (int other_f = RING_OK; other_f < f; other_f++)
			assert_string_not_equal(word, ring_fault_word(other_f));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_chains),
		cmocka_unit_test(test_table_refused),
		cmocka_unit_test(test_bad_head),
		cmocka_unit_test(test_bad_jump),
		cmocka_unit_test(test_too_long),
		cmocka_unit_test(test_too_scattered),
		cmocka_unit_test(test_packed_overrun),
		cmocka_unit_test(test_packed_overrun_in_burst),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
